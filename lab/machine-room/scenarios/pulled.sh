# A disk that is pulled in the middle of a run or a study ends it in words, without a hang, and the records are kept.
#room: disk nvme
#room: disk virtio
#room: disk usb
#room: disk virtio
#room: load nvme virtio_pci virtio_blk xhci_pci usb_storage sd_mod
#room: timeout 600
pull() { # NUMBER SERIAL FUNCTION: pulls the disk once the run has begun, and waits for the run's end
  device=$(disk "$2")
  "$3" "$device" & run=$!
  sleep 4; pulls "$1"
  tries=0; while kill -0 $run 2> /dev/null && [ $tries -lt 120 ]; do sleep 1; tries=$((tries + 1)); done
  same "the work on $2" "$(kill -0 $run 2> /dev/null && echo hangs || echo ended)" ended
  kill -9 $run 2> /dev/null; wait $run; ended=$?
  same "$2" "$([ -e "$device" ] || echo gone)" gone
  lacks 'panicked' cat /tmp/out /tmp/words
}
runs() { exec halfpower run "$1" --rw read --bs 64k --iodepth 4 --runtime 20 --json > /tmp/out 2> /tmp/words; }
studies() { exec halfpower study "$1" --rw read --budget 40s --output /tmp/s.halfpower > /tmp/out 2> /tmp/words; }
for disk in 0:nvme0 1:virtio1 2:usb2; do
  pull d${disk%%:*} ${disk#*:} runs
  echo "exit $ended"; cat /tmp/words; jq -c '[.ios,.errors,.errors_by_kind,.elapsed_ns]' /tmp/out
  # What was served before it counts; what came after it failed, and nothing that moved no byte counts as served.
  above "requests of ${disk#*:}" "$(jq .ios /tmp/out)" 0
  above "errors of ${disk#*:}" "$(jq .errors /tmp/out)" 0
  same "bytes of each request of ${disk#*:}" "$(jq '.bytes / .ios' /tmp/out)" 65536
done
pull d3 virtio3 studies
echo "exit $ended"; cat /tmp/words; tail -n 20 /tmp/out
same "how the study ended" "$([ $ended -le 2 ] && echo "by itself")" "by itself"
sees 'no longer there|EIO|EOF|ENODEV|ENXIO|nothing' cat /tmp/out /tmp/words
lacks 'does not exist' cat /tmp/out /tmp/words
sees 'runs' halfpower report /tmp/s.halfpower
