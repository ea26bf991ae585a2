# Without io_uring, by a container's profile or by the kernel's switch, runs go another way, and say so if it was asked for.
#room: timeout 600
# A profile in classic BPF: io_uring's three calls are answered with an error, all others pass.
half() { printf "\\$(printf %o $(($1 & 255)))\\$(printf %o $(($1 >> 8 & 255)))"; }
instruction() { half $1; printf "\\$(printf %o $2)\\0"; half $(($3 & 65535)); half $(($3 >> 16)); }
profile() {
  instruction 32 0 0; instruction 21 3 425; instruction 21 2 426; instruction 21 1 427
  instruction 6 0 $((0x7fff0000)); instruction 6 0 $((0x50000 | $1))
}
contained() { errno=$1; shift; profile "$errno" > /tmp/profile; bwrap --uid 1000 --gid 1000 --unshare-user --unshare-pid --ro-bind / / --proc /proc --dev /dev --tmpfs /tmp --seccomp 9 --chdir /tmp "$@" 9< /tmp/profile; }
for errno in 1 38; do
  same "who runs, errno $errno" "$(contained $errno id -u)" 1000
  same "the engine taken, errno $errno" "$(json .engine contained $errno halfpower run /tmp --size 8m --rw randread --bs 4k --iodepth 4 --cache os --runtime 0.3 --json)" pool
  same "errors" "$(figure .errors)" 0
  refused 'io_uring' contained $errno halfpower run /tmp --size 8m --engine io_uring --cache os --runtime 0.3
  exits 0 contained $errno halfpower study /tmp --size 8m --budget 3s --rw read
done
if [ -e /proc/sys/kernel/io_uring_disabled ]; then
  echo 2 > /proc/sys/kernel/io_uring_disabled
  same "the engine taken where the kernel's switch is off" "$(json .engine halfpower run /tmp --size 8m --rw randread --bs 4k --iodepth 4 --cache os --runtime 0.3 --json)" pool
  refused 'io_uring' halfpower run /tmp --size 8m --engine io_uring --cache os --runtime 0.3
  shows 'io_uring_disabled'
fi
