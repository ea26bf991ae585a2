# doctor --try measures schedulers, write caches and a control group's limit, and each is back afterwards, also after kill -9.
#room: disk virtio
#room: disk scsi
#room: load virtio_pci virtio_blk virtio_scsi sd_mod sg ext4 bfq mq_deadline kyber_iosched
#room: timeout 1800
tried() { # TARGET NAME FILE
  was=$(cat "$3")
  same "whether $2 of $1 is measured" "$(json '[.places[0].tries[] | select(.pairs > 1)] | length > 0 | tostring' halfpower doctor "$1" --try="$2" --budget 90s --json)" true
  same "whether all of it is put back" "$(figure '[.places[0].tries[].put_back] | all | tostring')" true
  same "$3 afterwards" "$(cat "$3")" "$was"
}
killed() { # TARGET NAME FILE
  was=$(cat "$3"); tries=0
  halfpower doctor "$1" --try="$2" --budget 600s > /tmp/out 2>&1 & run=$!
  while [ "$(cat "$3")" = "$was" ] && [ $tries -lt 3000 ]; do usleep 20000; tries=$((tries + 1)); done
  kill -9 $run; wait $run 2> /dev/null
  same "whether $3 is switched after kill -9" "$([ "$(cat "$3")" = "$was" ] && echo no || echo yes)" yes
  exits 0 halfpower probe /dev/null
  same "$3 after the next start" "$(cat "$3")" "$was"
}
virtio=$(disk virtio0); scsi=$(disk scsi1)
for device in $virtio $scsi; do
  queue=/sys/block/${device##*/}/queue
  echo none > $queue/scheduler
  tried "$device" scheduler $queue/scheduler
  same "schedulers that were tried" "$(figure '[.places[0].tries[].to] | unique | join(" ")')" "bfq kyber mq-deadline"
  echo mq-deadline > $queue/scheduler
  echo 77 > $queue/nr_requests
  tried "$device" scheduler $queue/scheduler
  same "requests of the queue, which follow the scheduler" "$(cat $queue/nr_requests)" 77
  killed "$device" scheduler $queue/scheduler
  same "requests of the queue after kill -9" "$(cat $queue/nr_requests)" 77
  lacks 'write through' cat $queue/write_cache $queue/rotational
  mkfs.ext4 -q "$device"; mount -t ext4 "$device" /mnt
  cache=$(echo /sys/block/${device##*/}/cache_type /sys/block/${device##*/}/device/scsi_disk/*/cache_type | tr ' ' '\n' | while read file; do [ -e "$file" ] && echo "$file"; done | head -n 1)
  tried /mnt write-cache "$cache"
  killed /mnt write-cache "$cache"
  # Off is never switched on.
  echo 'write through' > "$cache"
  sees 'there is nothing to switch here' sh -c 'halfpower doctor /mnt --try=write-cache 2>&1'
  same "a cache that was off" "$(cat "$cache")" "write through"
  echo 'write back' > "$cache"; umount /mnt
done
nullb disk completion_nsec=100000 hw_queue_depth=64
group lab io.max="$(number disk) riops=200"
was=$(cat /sys/fs/cgroup/lab/io.max)
same "what a limit costs" "$(json '[.places[0].tries[].decided] | unique | join(" ")' inside lab halfpower doctor /dev/disk --try=cgroup-io-limit --budget 60s --json)" faster
same "the limit afterwards" "$(cat /sys/fs/cgroup/lab/io.max)" "$was"
