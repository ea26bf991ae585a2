# What each layer of a stack adds to a read comes out right in virtual time: a delay of 20 ms, and the processor time of encryption.
#room: icount 3
#room: load dm_mod dm_delay dm_crypt xts ext4 loop
#room: timeout 1200
nullb one completion_nsec=1000000 hw_queue_depth=64
# Beneath: only 64 MiB in the middle can be read, so that a read at another place would be an error.
M=2048; all=$(sectors /dev/one)
printf '%s\n' "0 $((128 * M)) error" "$((128 * M)) $((64 * M)) linear /dev/one 0" "$((192 * M)) $((all - 192 * M)) error" | dm low
dm del --table "0 $((56 * M)) delay /dev/mapper/low $((132 * M)) 20"
dm cry --uuid CRYPT-PLAIN-cry --table "0 $((48 * M)) crypt aes-xts-plain64 $(printf '%0128d' 7) 0 /dev/mapper/del $((4 * M))"
waits /dev/mapper/cry
for layer in 1 2; do
  above "requests to layer $layer" "$(json .ios halfpower run /dev/mapper/cry --layer $layer --rw randread --bs 4k --iodepth 8 --runtime 1 --json)" 50
  same "errors of layer $layer" "$(figure '.errors | tostring')" 0
  same "bytes of layer $layer that are read" "$(figure .span_bytes)" $((48 << 20))
done
refused 'several parts' halfpower run /dev/mapper/cry --layer 3 --rw randread --bs 4k --runtime 0.2
refused 'only read' halfpower run /dev/mapper/cry --layer 1 --rw randwrite --bs 4k --runtime 0.2 --overwrite
refused 'page cache' halfpower run /dev/mapper/cry --layer 1 --rw randread --cache both --bs 4k --runtime 0.2

# On 6.1 a delay counts in ticks of 4 ms, and ends with the one after the next.
case $(uname -r) in 6.1.*) truth=23000; off=6;; *) truth=20000; off=3;; esac
STEP='.experiments[] | select(.experiment == "layers") | .found.steps'
json "$STEP | length" halfpower study /dev/mapper/cry --experiments layers --engine libaio --runtime 2s --budget 90s --seed 1 --output /tmp/l.halfpower --json > /run/steps
same "layers that are set against the next" "$(cat /run/steps)" 2
within "time that the delay adds, in us" "$(figure "$STEP[1].added_us.value")" $truth $off
same "what adds it" "$(figure "$STEP[1].name")" "mapped volume del ($(basename "$(readlink -f /dev/mapper/del)"))"
above "processor time of encryption, in ns a KiB of large reads" "$(figure "$STEP[0].soaker_ns_per_kib")" 100
above "times that of the delay" "$(figure "$STEP | .[0].soaker_ns_per_kib / (if .[1].soaker_ns_per_kib > 1 then .[1].soaker_ns_per_kib else 1 end)")" 3
above "time that encryption adds, in us" "$(figure "$STEP[0].added_us.value")" 1
below "time that encryption adds, in us" "$(figure "$STEP[0].added_us.value")" 2000
sees 'is what mapped volume del .* adds to a random direct read of 4 KiB' halfpower report /tmp/l.halfpower
