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

# A delay ends with a tick of 4 ms, on 6.1 with the one after the next: a read takes 20 ms or 24 ms, and 1.1 ms of it beneath.
case $(uname -r) in 6.1.*) truth=24000;; *) truth=20000;; esac
FOUND='.experiments[] | select(.experiment == "layers") | .found'
same "layers that are set against the next" "$(json "$FOUND.steps | length" halfpower study /dev/mapper/del --experiments layers --engine libaio --runtime 1s --budget 60s --seed 1 --output /tmp/l.halfpower --json)" 2
within "time of a read, in us" "$(figure "$FOUND.read_us.value")" $truth 4
within "time that the delay adds, in us" "$(figure "$FOUND.steps[0].added_us.value")" $((truth - 1100)) 4
below "time that a linear volume adds, in us" "$(figure "$FOUND.steps[1].added_us.high")" 200
# Here the processor is the limit, of which the volume takes its part.
below "share of the rate that a linear volume keeps" "$(figure "$FOUND.steps[1].kept.value")" 1.05
above "share of the rate that a linear volume keeps" "$(figure "$FOUND.steps[1].kept.value")" 0.6
sees 'That is what device dm-2 adds to a' halfpower report /tmp/l.halfpower
