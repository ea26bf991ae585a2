# One check fails, and the scenario is missed.
#room: expects 1 of 2 checks failed
#room: kernels 6.12
same "what holds" yes yes
same "what does not hold" no yes
