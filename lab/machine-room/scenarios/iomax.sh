# Under a cgroup's io.max each engine gets the limit, without an error, and the limit is named.
#room: icount 3
#room: timeout 600
# The kernel hands out slices of 100 ms, and a window may begin or end within one: of 6 s, one is less than 2%.
nullb disk completion_nsec=1000000 hw_queue_depth=64
group lab io.max="$(number disk) rbps=37000000 wbps=23000000"
inside lab halfpower probe /dev/disk | head -30
sees 'io[.]max' inside lab halfpower probe /dev/disk
for engine in sync libaio io_uring; do
  [ $engine = sync ] && depth=1 || depth=4
  within "MB/s read through $engine" "$(json .mbps inside lab halfpower run /dev/disk --rw read --bs 128k --iodepth $depth --runtime 6 --engine $engine --json)" 37 3
  same "errors of $engine" "$(figure .errors)" 0
done
within "MB/s written" "$(json .mbps inside lab halfpower run /dev/disk --rw write --bs 128k --iodepth 4 --runtime 6 --overwrite --json)" 23 3
same "errors of writes" "$(figure .errors)" 0
