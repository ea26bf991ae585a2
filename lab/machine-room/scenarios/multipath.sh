# Two paths of one disk are one volume, each path is spared, and each has its write cache back, also after kill -9.
#room: load sd_mod sg dm_mod dm_multipath dm_round_robin
#room: timeout 900
# Two hosts that show one and the same disk.
modprobe scsi_debug dev_size_mb=64 add_host=2 per_host_store=0 vpd_use_hostno=0
waits /dev/sda /dev/sdb
same "the paths' identities" "$(cat /sys/block/sda/device/wwid)" "$(cat /sys/block/sdb/device/wwid)"
paths="1 1 round-robin 0 2 1 $(number sda) 100 $(number sdb) 100"
dm mp --uuid mpath-$(tr -d ' .' < /sys/block/sda/device/wwid | tail -c 17) --table "0 $(sectors /dev/sda) multipath 0 0 $paths"
sees 'multipath volume mp on sda and sdb;' halfpower probe /dev/mapper/mp
for path in sda sdb; do spared /dev/$path 'in use'; done
above "bytes read through both" "$(json .bytes halfpower run /dev/mapper/mp --rw read --bs 64k --iodepth 4 --runtime 0.5 --json)" 0
above "bytes written" "$(json .bytes halfpower run /dev/mapper/mp --rw write --bs 64k --iodepth 4 --runtime 0.5 --overwrite --json)" 0
refused 'no write cache that can be switched' halfpower run /dev/mapper/mp --rw write --bs 64k --runtime 0.2 --write-cache off --overwrite

# Both paths switched by one run: each has its own note of what it was.
dmsetup remove mp
caches() { echo "$(cache_of /dev/sda) $(cache_of /dev/sdb)"; }
was=$(caches); case $was in on*) to=off;; *) to=on;; esac
halfpower run each:/dev/sda,/dev/sdb --rw write --bs 64k --runtime 300 --write-cache $to --overwrite > /tmp/out 2>&1 & run=$!
becomes "$to $to" caches
tail -n 5 /tmp/out
kill -9 $run; wait $run 2> /dev/null
exits 0 halfpower probe /dev/null
same "caches of both paths after the next start" "$(caches)" "$was"
