# Rates that are known in closed form come out right in virtual time: null_blk's, dm-delay's and io.max's.
#room: icount 3
#room: load dm_mod dm_delay
#room: timeout 900
# Completion after 1 ms and after 10 ms; a rate of null_blk's own, which it gives out in ticks of 20 ms.
nullb one completion_nsec=1000000 hw_queue_depth=64
nullb ten completion_nsec=10000000 hw_queue_depth=8
nullb bytes irqmode=0 mbps=37
rate() { filter=$1; shift; json "$filter" halfpower run "$@" --json; }

# A request costs about 0.08 ms of this guest's processor, which adds to 1 ms where one waits for it.
within "IO/s, 1 ms, 1 deep" "$(rate .iops /dev/one --rw randread --bs 4k --iodepth 1 --runtime 1)" 1000 15
within "achieved depth, 1 ms, 16 deep" "$(rate .achieved_depth /dev/one --rw randread --bs 4k --iodepth 16 --runtime 1)" 16 5
below "IO/s, 1 ms, 16 deep" "$(figure .iops)" 16000
within "IO/s, 10 ms, 1 deep" "$(rate .iops /dev/ten --rw randread --bs 4k --iodepth 1 --runtime 2)" 100 3
within "latency p50 in ns, 10 ms, 1 deep" "$(figure .latency_ns.p50)" 10000000 3
within "IO/s, 10 ms, 4 deep" "$(rate .iops /dev/ten --rw randread --bs 4k --iodepth 4 --runtime 2)" 400 5
within "IO/s, 10 ms, 32 deep over a queue of 8" "$(rate .iops /dev/ten --rw randread --bs 4k --iodepth 32 --runtime 2)" 800 10
within "achieved depth, 32 deep over a queue of 8" "$(figure .achieved_depth)" 32 5
within "latency p50 in ns, 32 deep over a queue of 8" "$(figure .latency_ns.p50)" 40000000 10
# 37 MiB/s are 775,946 bytes a tick, and so 5 whole requests of 128 KiB: 32.8 MB/s.
within "MB/s, null_blk's mbps=37" "$(rate .mbps /dev/bytes --rw read --bs 128k --iodepth 4 --runtime 2)" 32.8 3

# 20 ms of dm-delay over 1 ms. On 6.1 it counts in ticks of 4 ms, and ends with the one after the next.
case $(uname -r) in 6.1.*) truth=41.67;; *) truth=50;; esac
dm del --table "0 $(sectors /dev/one) delay /dev/one 0 20"
within "IO/s, dm-delay 20 ms, 1 deep" "$(rate .iops /dev/mapper/del --rw randread --bs 4k --iodepth 1 --runtime 4)" $truth 4
within "IO/s, dm-delay 20 ms, 4 deep" "$(rate .iops /dev/mapper/del --rw randread --bs 4k --iodepth 4 --runtime 4)" \
  $(awk -v one=$truth 'BEGIN { print 4 * one }') 4
dmsetup remove del

# io.max, whose first tenth of a second lets through more.
group lab io.max="$(number one) rbps=37000000 wbps=23000000"
limited() { filter=$1; shift; json "$filter" inside lab halfpower run /dev/one "$@" --json; }
within "MB/s, io.max rbps=37000000, sync" "$(limited .mbps --rw read --bs 128k --iodepth 1 --runtime 3 --engine sync)" 37 3
within "MB/s, io.max rbps=37000000, libaio" "$(limited .mbps --rw read --bs 128k --iodepth 4 --runtime 3 --engine libaio)" 37 3
within "MB/s, io.max wbps=23000000" "$(limited .mbps --rw write --bs 128k --iodepth 4 --runtime 3 --engine libaio --overwrite)" 23 3
group lab io.max="$(number one) rbps=max wbps=max riops=1000"
within "IO/s, io.max riops=1000" "$(limited .iops --rw randread --bs 4k --iodepth 8 --runtime 3 --engine libaio)" 1000 3
