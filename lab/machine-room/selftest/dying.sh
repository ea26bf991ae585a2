# The scenario dies midway, and is missed though what was checked before held.
#room: expects died midway
#room: kernels 6.12
same "what holds" yes yes
. /no/such/file
same "what is never reached" yes yes
