# io_uring polls for completion where a device can: NVMe with poll queues, and null_blk.
#room: disk nvme
#room: append nvme.poll_queues=1
#room: load nvme
#room: timeout 600
waits /dev/nvme0n1
modprobe null_blk nr_devices=1 queue_mode=2 irqmode=2 completion_nsec=100000 submit_queues=2 poll_queues=1 gb=1
waits /dev/nullb0
for device in nvme0n1 nullb0; do
  for engine in io_uring io_uring_iopoll libaio sync; do
    depth=4; [ $engine = sync ] && depth=1
    above "requests of $device through $engine" "$(json .ios halfpower run /dev/$device --rw randread --bs 4k --iodepth $depth --runtime 0.5 --engine $engine --json)" 10
    same "errors" "$(figure .errors)" 0
    same "engine" "$(figure .engine)" $engine
  done
done
# A device that cannot is said to be one.
modprobe brd rd_nr=1 rd_size=8192; waits /dev/ram0
refused 'poll' halfpower run /dev/ram0 --rw randread --bs 4k --iodepth 4 --runtime 0.5 --engine io_uring_iopoll
