# The kernel panics, and the scenario is missed at once.
#room: expects the guest stopped
#room: kernels 6.12
same "what holds" yes yes
echo c > /proc/sysrq-trigger
