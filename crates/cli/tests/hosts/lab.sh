#!/usr/bin/env bash
# Hosts, a switch between them and a file server: `lab.sh SCRIPT` runs SCRIPT with $HP, the shares and the words below.
#
# Each host is a namespace of network and name behind a veth of its own; all hang on one bridge, as on a switch. What
# mpirun starts on a host, a program of ours starts in its namespaces, where ssh would stand. Everything lives in
# namespaces of processes, network and mounts, so that it goes when this does, also by a kill.
# Needs root, Samba and Open MPI.
#
#   hosts N RATE       N hosts, each behind a wire of RATE (as tc has it)
#   wire NAME RATE     the wire of a host (host0, host1, ...) or of the server carries RATE from now on
#   together [-n N] .. mpirun of $HP with these words, a process a host
#   $SMB               the share
set -euo pipefail
if [ "${1:-}" != inside ]; then
  exec unshare --mount --net --uts --pid --fork --kill-child --mount-proc bash "$0" inside "$@"
fi
script=$2
work=/mnt
mount -t tmpfs none "$work"
mount -t tmpfs none /run
mkdir -p "$work"/{data,state,tmp,pids}
hostname launcher
ip link set lo up
ip link add switch type bridge
ip address add 10.78.0.254/24 dev switch
ip link set switch up

# A host of this name and number behind a wire.
host() {
  unshare --net --uts sleep infinity &
  local pid=$! name=$1 number=$2
  echo $pid >"$work/pids/$name"
  until [ "$(readlink /proc/$pid/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
  on "$name" hostname "$name"
  ip link add "to-$name" type veth peer name wire netns $pid
  ip link set "to-$name" master switch up
  on "$name" ip address add "10.78.0.$number/24" dev wire
  on "$name" ip link set wire up
  on "$name" ip link set lo up
  echo "10.78.0.$number $name" >>"$work/state/names"
}
on() {
  local name=$1
  shift
  nsenter "--net=/proc/$(<"$work/pids/$name")/ns/net" "--uts=/proc/$(<"$work/pids/$name")/ns/uts" "$@"
}
wire() {
  tc qdisc replace dev "to-$1" root tbf rate "$2" burst 64k latency 50ms
  on "$1" tc qdisc replace dev wire root tbf rate "$2" burst 64k latency 50ms
}

# What mpirun starts on a host: HOST WORDS, the words for a shell there.
cat >"$work/state/enter" <<'C'
#!/usr/bin/env bash
host=$1
shift
pid=$(<"/mnt/pids/$host")
exec nsenter "--net=/proc/$pid/ns/net" "--uts=/proc/$pid/ns/uts" sh -c "$*"
C
chmod +x "$work/state/enter"
echo "127.0.0.1 localhost
10.78.0.254 launcher" >"$work/state/names"
mount --bind "$work/state/names" /etc/hosts

host server 200
cat >"$work/smb.conf" <<C
[global]
  server role = standalone server
  disable netbios = yes
  smb ports = 445
  load printers = no
  map to guest = never
  passdb backend = smbpasswd:$work/state/passwd
  log file = $work/state/log
$(for folder in "pid directory" "lock directory" "state directory" "cache directory" "private dir"; do
  echo "  $folder = $work/state"
done)
  ncalrpc dir = $work/state/rpc
[data]
  path = $work/data
  read only = no
C
printf 'lab-secret\nlab-secret\n' | smbpasswd -c "$work/smb.conf" -a -s root >/dev/null 2>&1
on server smbd -D -s "$work/smb.conf"
for _ in $(seq 100); do
  if (exec 3<>/dev/tcp/10.78.0.200/445) 2>/dev/null; then break; fi
  sleep 0.1
done

hosts() {
  : >"$work/state/hostfile"
  for ((number = 0; number < $1; number++)); do
    host "host$number" $((number + 1))
    wire "host$number" "$2"
    echo "host$number slots=1" >>"$work/state/hostfile"
  done
}
together() {
  mpirun --hostfile "$work/state/hostfile" --map-by node --mca plm_rsh_agent "$work/state/enter" \
    --mca oob_tcp_if_include 10.78.0.0/24 --mca btl_tcp_if_include 10.78.0.0/24 --mca btl self,tcp \
    --mca plm_rsh_no_tree_spawn 1 -x HALFPOWER_SMB_PASSWORD "$@"
}
export HALFPOWER_SMB_PASSWORD=lab-secret TMPDIR="$work/tmp"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
SMB=smb://root@10.78.0.200/data
cd "$work/state"
set +e
eval "$script"
