#!/usr/bin/env bash
# A file server at the other end of a wire: `lab.sh SCRIPT` runs SCRIPT with $HP, the shares and the words below.
#
# Everything lives in namespaces of its own (processes, network, mounts), so that it goes when this does, also by a kill.
# Needs root, Samba, NFS-Ganesha and rpcbind.
#
#   wire RATE          both ends of the wire carry RATE (as tc has it)
#   link down|up       the client's end of the wire
#   server start|stop  Samba and Ganesha; stop kills them; start takes an option of Samba
#   $SMB $NFS          the shares; $FULL is one of 100 MB; user root, password lab-secret
#   $SLOW_SMB $SLOW_NFS shares on a disk of their own, of 1 GiB
#   disk RATE          the server's processes read and write RATE bytes a second of that disk, past their page cache
#   delay MS [RATE]    a second wire to the server whose round trip takes MS from now on, and that carries RATE bytes a second
#                      each way; $FAR_SMB $FAR_NFS lead over it
#   window BYTES       both ends' TCP keeps so many bytes of a connection at most, of which a part is its window
#   pinned PERCENT     the server has processor 1 alone, of which a burner takes PERCENT; the client has the others
#   far COMMAND        runs COMMAND at the server's end; $WITNESS is the witness there
set -euo pipefail
if [ "${1:-}" != inside ]; then
  exec unshare --mount --net --pid --fork --kill-child --mount-proc bash "$0" inside "$@"
fi
script=$2
here=$(cd "$(dirname "$0")" && pwd)
work=/mnt
mount -t tmpfs none "$work"
mount -t tmpfs none /run
mkdir -p "$work"/{data,state,full,slow} /run/rpcbind
mount -t tmpfs -o size=100m none "$work/full"
unshare --net sleep infinity &
far=$!
far() { nsenter --net=/proc/$far/ns/net "$@"; }
until [ "$(readlink /proc/$far/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.05; done
ip link set lo up
ip link add near type veth peer name far netns $far
ip address add 10.77.1.1/24 dev near
ip link set near up
far ip address add 10.77.1.2/24 dev far
far ip link set far up
far ip link set lo up

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
[full]
  path = $work/full
  read only = no
[signed]
  path = $work/data
  read only = no
  smb encrypt = required
[slow]
  path = $work/slow
  read only = no
[closed]
  path = $work/data
  read only = yes
C
cat >"$work/ganesha.conf" <<C
NFS_CORE_PARAM { Protocols = 3; MNT_Port = 20048; Enable_NLM = false; Enable_RQUOTA = false; }
$(for folder in 1:data 2:slow; do
  echo "EXPORT { Export_Id = ${folder%:*}; Path = $work/${folder#*:}; Pseudo = /${folder#*:}; Access_Type = RW; Squash = No_Root_Squash;"
  echo "  Protocols = 3; Transports = TCP; SecType = sys; FSAL { Name = VFS; } }"
done)
C
printf 'lab-secret\nlab-secret\n' | smbpasswd -c "$work/smb.conf" -a -s root >/dev/null 2>&1
far rpcbind -w

server() {
  if [ "$1" = stop ]; then
    pkill -KILL -x smbd || true
    pkill -KILL -x ganesha.nfsd || true
    # Until they are gone their sockets take connections, and reset them.
    for _ in $(seq 100); do [ -n "$(serving)" ] || break; sleep 0.02; done
    return
  fi
  far smbd -D -s "$work/smb.conf" ${2:+"--option=$2"}
  far ganesha.nfsd -f "$work/ganesha.conf" -L "$work/state/ganesha.log" -p "$work/state/ganesha.pid"
  for port in 445 2049; do
    for _ in $(seq 100); do
      if (exec 3<>/dev/tcp/10.77.1.2/$port) 2>/dev/null; then break; fi
      sleep 0.1
    done
  done
}
wire() {
  tc qdisc replace dev near root tbf rate "$1" burst 256k latency 50ms
  far tc qdisc replace dev far root tbf rate "$1" burst 256k latency 50ms
}
link() { ip link set near "$1"; }

group=
# What goes back when the lab does; processes and interfaces go with their namespaces.
taken() {
  if [ -n "$group" ]; then
    pkill -KILL -x smbd || true
    pkill -KILL -x ganesha.nfsd || true
    for _ in $(seq 50); do rmdir "$group" 2>/dev/null && break; sleep 0.1; done
  fi
  umount "$work/slow" 2>/dev/null || true
}
trap taken EXIT
serving() { pgrep -x smbd; pgrep -x ganesha.nfsd; }
disk() {
  truncate -s 1G "$work/disk"
  local loop
  loop=$(losetup --find --show "$work/disk")
  mkfs.ext4 -q "$loop"
  server stop
  mount "$loop" "$work/slow"
  server start
  # Gone as soon as nobody has it mounted.
  losetup --detach "$loop"
  local number
  number=$(cat "/sys/block/${loop#/dev/}/dev")
  if [ -d /sys/fs/cgroup/blkio ]; then
    group=/sys/fs/cgroup/blkio/halfpower-network-$$-$RANDOM
    mkdir "$group"
    echo "$number $1" >"$group/blkio.throttle.read_bps_device"
    echo "$number $1" >"$group/blkio.throttle.write_bps_device"
  else
    echo +io >/sys/fs/cgroup/cgroup.subtree_control
    group=/sys/fs/cgroup/halfpower-network-$$-$RANDOM
    mkdir "$group"
    echo "$number rbps=$1 wbps=$1" >"$group/io.max"
  fi
  for process in $(serving); do echo "$process" >"$group/cgroup.procs"; done
  # The server's page cache forgets what it has of the files there, every two seconds, but for what is read right now.
  (while sleep 2; do python3 -c '
import glob, os
for name in glob.glob("/mnt/slow/.halfpower-*"):
    with open(name, "rb") as file: os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)' 2>/dev/null; done) &
}
delay() {
  if [ -z "${DELAY_PID:-}" ]; then
    coproc DELAY { exec python3 "$here/delay.py" slow-near slow-far; }
    read -r -u "${DELAY[0]}"
    ip link set slow-far netns $far
    ip address add 10.78.1.1/24 dev slow-near
    ip link set slow-near mtu 65000 up
    far ip address add 10.78.1.2/24 dev slow-far
    far ip link set slow-far mtu 65000 up
  fi
  echo "$1 ${2:-inf}" >&"${DELAY[1]}"
}
window() {
  for end in "" far; do
    $end sysctl -qw net.ipv4.tcp_rmem="4096 $1 $1" net.ipv4.tcp_wmem="4096 $1 $1"
  done
  server stop
  server start
}
pinned() {
  for process in $(serving); do taskset -acp 1 "$process" >/dev/null; done
  taskset -cp 0 $$ >/dev/null
  if [ "$1" -gt 0 ]; then
    coproc BURNER { exec python3 "$here/burner.py" 1 "$1"; }
    read -r -u "${BURNER[0]}"
  fi
}

server start
export HALFPOWER_SMB_PASSWORD=lab-secret
SMB=smb://root@10.77.1.2/data FULL=smb://root@10.77.1.2/full NFS=nfs://10.77.1.2$work/data
SLOW_SMB=smb://root@10.77.1.2/slow SLOW_NFS=nfs://10.77.1.2$work/slow
FAR_SMB=smb://root@10.78.1.2/data FAR_NFS=nfs://10.78.1.2$work/data
WITNESS="nsenter --net=/proc/$far/ns/net $HP witness --processes smbd,ganesha.nfsd"
cd "$work/state"
set +e
eval "$script"
