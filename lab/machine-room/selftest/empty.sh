# Nothing is checked, and the scenario is missed.
#room: expects 0 checks were seen
#room: kernels 6.12
echo "ok"
