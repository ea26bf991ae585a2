# On two memory nodes the processors near a disk and far from it are told, chosen and compared, and without a difference nothing is advised.
#room: processors 4
#room: nodes 2
#room: disk nvme node=1
#room: load nvme
#room: timeout 1500
near=$(disk nvme0)
# It lies in memory, at no bus.
modprobe null_blk nr_devices=1 gb=1
elsewhere=/dev/nullb0
same "memory node of the disk" "$(json .device.memory_node halfpower probe "$near" --json)" 1
same "memory node of a disk without a bus" "$(json '.device.memory_node | tostring' halfpower probe "$elsewhere" --json)" null
# The processors that lanes of a process may run on.
seats() {
  for task in /proc/$1/task/*; do
    if grep -q '^lane' "$task/comm"; then sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "$task/status"; fi
  done 2> /dev/null | sort -u
}
# The same of a run, while it measures.
seat() { # AFFINITY
  halfpower run "$near" --rw randread --bs 4k --iodepth 4 --runtime 300 --affinity "$1" > /run/run 2>&1 & run=$!
  tries=0
  while [ -z "$(seats $run)" ] && [ $tries -lt 300 ]; do usleep 200000; tries=$((tries + 1)); done
  # What a lane is let on is there a moment after its name.
  sleep 1; seats $run
  kill -INT $run; wait $run
}
same "processor near the disk" "$(seat near)" 3
same "processor far from it" "$(seat far)" 1
refused 'does not tell which memory node' halfpower run "$elsewhere" --rw randread --bs 4k --iodepth 4 --runtime 1 --affinity near
exits 0 halfpower study "$near" --rw read --experiments processors --budget 60s --output /tmp/near.halfpower
same "rows near and far" "$(json '[.processors[].affinity | select(. == "near" or . == "far")] | unique | join(",")' halfpower report /tmp/near.halfpower --json)" far,near
lacks numactl halfpower report /tmp/near.halfpower
exits 0 halfpower study "$elsewhere" --rw read --experiments processors --budget 10s --output /tmp/other.halfpower
same "rows near and far elsewhere" "$(json '[.processors[].affinity | select(. == "near" or . == "far")] | length' halfpower report /tmp/other.halfpower --json)" 0
