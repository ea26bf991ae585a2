# A zoned device is read like any other; writes to it are refused in words, and none of its zones is touched.
#room: timeout 600
nullb disk zoned=1 zone_size=64 zone_max_open=8 zone_max_active=8 memory_backed=1 size=256
waits /dev/disk
same "the device's zones" "$(cat /sys/block/disk/queue/zoned)" host-managed
exits 0 halfpower probe /dev/disk
above "bytes read" "$(json .bytes halfpower run /dev/disk --rw read --bs 64k --iodepth 4 --runtime 0.5 --json)" 0
same "errors of reads" "$(figure .errors)" 0
exits 0 halfpower study /dev/disk --rw read --budget 3s --output /tmp/s.halfpower
spared /dev/disk 'zoned device'
refused 'zoned device' halfpower run /dev/disk --rw randwrite --bs 64k --iodepth 4 --runtime 0.5 --overwrite --force-in-use
refused 'zoned device' halfpower study /dev/disk --rw write --budget 3s --overwrite --output /tmp/w.halfpower
# A device without zones takes writes as ever.
nullb plain memory_backed=1 size=256
waits /dev/plain
above "bytes written" "$(json .bytes halfpower run /dev/plain --rw write --bs 64k --runtime 0.5 --overwrite --json)" 0
