# A run's --write-cache switches each kind of disk, and its setting is back afterwards, also after kill -9.
#room: disk nvme
#room: disk virtio
#room: disk scsi
#room: disk sata
#room: load nvme virtio_pci virtio_blk virtio_scsi ahci sd_mod sg
#room: timeout 1200
switches() {
  device=$1; was=$(cache_of "$device"); [ "$was" = on ] && to=off || to=on
  halfpower run "$device" --rw write --bs 64k --iodepth 2 --runtime 5 --write-cache $to --overwrite > /tmp/out 2>&1 & run=$!
  becomes $to cache_of "$device"
  wait $run; ended=$?; [ $ended = 0 ] || cat /tmp/out
  same "exit of the run on $device" $ended 0
  same "cache of $device afterwards" "$(cache_of "$device")" "$was"
  halfpower run "$device" --rw write --bs 64k --runtime 300 --write-cache $to --overwrite > /tmp/out 2>&1 & run=$!
  becomes $to cache_of "$device"
  kill -9 $run; wait $run 2> /dev/null
  same "cache of $device after kill -9" "$(cache_of "$device")" $to
  exits 0 halfpower probe /dev/null
  same "cache of $device after the next start" "$(cache_of "$device")" "$was"
}
switches "$(disk nvme0)"
switches "$(disk virtio1)"
switches "$(disk scsi2)"
switches "$(disk sata3)"
modprobe scsi_debug dev_size_mb=64; debug=/dev/$(ls /sys/bus/pseudo/drivers/scsi_debug/adapter*/host*/target*/*:*/block)
waits "$debug"; switches "$debug"
