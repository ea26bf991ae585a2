# A processor that goes in the middle of a study, and a date that is set back meanwhile, end nothing and lose no record.
#room: processors 2
#room: disk virtio num-queues=2
#room: load virtio_pci virtio_blk
#room: timeout 600
waits /dev/vda
halfpower study /dev/vda --rw read --experiments random --threads 2 --bs 4k,64k --iodepth 1,4 --budget 30s --output /tmp/s.halfpower > /tmp/out 2> /tmp/words & study=$!
sleep 6
echo 0 > /sys/devices/system/cpu/cpu1/online
date -s '2020-01-01 00:00:00' > /dev/null
same "processors that are left" "$(cat /sys/devices/system/cpu/online)" 0
sleep 6
echo 1 > /sys/devices/system/cpu/cpu1/online
wait $study; ended=$?
cat /tmp/words; tail -n 20 /tmp/out
same "how the study ended" "$ended" 0
lacks 'panicked' cat /tmp/out /tmp/words
sees 'runs' halfpower report /tmp/s.halfpower
