# A zoned device is read like any other; writes that its zones do not take are counted as errors or refused, in words.
#room: timeout 600
nullb disk zoned=1 zone_size=64 zone_max_open=8 zone_max_active=8 memory_backed=1 size=256
waits /dev/disk
same "the device's zones" "$(cat /sys/block/disk/queue/zoned)" host-managed
halfpower probe /dev/disk
above "bytes read" "$(json .bytes halfpower run /dev/disk --rw read --bs 64k --iodepth 4 --runtime 0.5 --json)" 0
same "errors of reads" "$(figure .errors)" 0
halfpower run /dev/disk --rw randwrite --bs 64k --iodepth 4 --runtime 0.5 --overwrite; echo "[exit $?]"
halfpower run /dev/disk --rw write --bs 64k --iodepth 1 --runtime 0.5 --overwrite; echo "[exit $?]"
halfpower study /dev/disk --rw write --budget 3s --overwrite --output /tmp/s.halfpower; echo "[exit $?]"
