# The scenario does not end, and is missed when its time is over.
#room: expects not ended within 25 s
#room: kernels 6.12
#room: timeout 25
same "what holds" yes yes
sleep 1000
