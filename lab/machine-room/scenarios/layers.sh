# What a layer adds to a read comes out right in virtual time, and each layer is read where the target's bytes lie.
#room: icount 3
#room: load dm_mod dm_delay
#room: timeout 900
nullb one completion_nsec=1000000 hw_queue_depth=64
# Beneath: only 64 MiB in the middle can be read, so that a read at another place would be an error.
M=2048; all=$(sectors /dev/one)
printf '%s\n' "0 $((128 * M)) error" "$((128 * M)) $((64 * M)) linear /dev/one 0" "$((192 * M)) $((all - 192 * M)) error" | dm low
dm lin --table "0 $((56 * M)) linear /dev/mapper/low $((132 * M))"
dm del --table "0 $((48 * M)) delay /dev/mapper/lin $((4 * M)) 20"
waits /dev/mapper/del
for layer in 1 2; do
  above "requests to layer $layer" "$(json .ios halfpower run /dev/mapper/del --layer $layer --rw randread --bs 4k --iodepth 8 --runtime 0.5 --json)" 100
  same "errors of layer $layer" "$(figure '.errors | tostring')" 0
done
refused '2 devices .*several parts' halfpower run /dev/mapper/del --layer 3 --rw randread --bs 4k --runtime 0.2
refused 'only read' halfpower run /dev/mapper/del --layer 1 --rw randwrite --bs 4k --runtime 0.2 --overwrite
refused 'page cache' halfpower run /dev/mapper/del --layer 1 --rw randread --cache both --bs 4k --runtime 0.2

# On 6.1 a delay counts in ticks of 4 ms, and ends with the one after the next.
case $(uname -r) in 6.1.*) truth=23000; off=6;; *) truth=20000; off=3;; esac
FOUND='.experiments[] | select(.experiment == "layers") | .found'
same "layers that are set against the next" "$(json "$FOUND.steps | length" halfpower study /dev/mapper/del --experiments layers --engine libaio --runtime 1s --budget 60s --seed 1 --output /tmp/l.halfpower --json)" 2
within "time that the delay adds, in us" "$(figure "$FOUND.steps[0].added_us.value")" $truth $off
below "time that a linear volume adds, in us" "$(figure "$FOUND.steps[1].added_us.high")" 200
within "share of the rate that a linear volume keeps" "$(figure "$FOUND.steps[1].kept.value")" 1 10
sees 'mapped volume del .dm-2. adds to a random' halfpower report /tmp/l.halfpower
