#!/usr/bin/env bash
# A file server at the other end of a wire: `lab.sh SCRIPT` runs SCRIPT with $HP, the shares and the words below.
#
# Everything lives in namespaces of its own (processes, network, mounts), so that it goes when this does, also by a kill.
# Needs root, Samba, NFS-Ganesha and rpcbind.
#
#   wire RATE          both ends of the wire carry RATE (as tc has it)
#   link down|up       the client's end of the wire
#   server start|stop  Samba and Ganesha; stop kills them
#   $SMB $NFS          the shares; $FULL is one of 100 MB; user root, password lab-secret
set -euo pipefail
if [ "${1:-}" != inside ]; then
  exec unshare --mount --net --pid --fork --kill-child --mount-proc bash "$0" inside "$@"
fi
script=$2
work=/mnt
mount -t tmpfs none "$work"
mount -t tmpfs none /run
mkdir -p "$work"/{data,state,full} /run/rpcbind
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
[closed]
  path = $work/data
  read only = yes
C
cat >"$work/ganesha.conf" <<C
NFS_CORE_PARAM { Protocols = 3; MNT_Port = 20048; Enable_NLM = false; Enable_RQUOTA = false; }
EXPORT {
  Export_Id = 1; Path = $work/data; Pseudo = /data; Access_Type = RW; Squash = No_Root_Squash; Protocols = 3;
  Transports = TCP; SecType = sys; FSAL { Name = VFS; }
}
C
printf 'lab-secret\nlab-secret\n' | smbpasswd -c "$work/smb.conf" -a -s root >/dev/null 2>&1
far rpcbind -w

server() {
  if [ "$1" = stop ]; then
    pkill -KILL -x smbd || true
    pkill -KILL -x ganesha.nfsd || true
    return
  fi
  far smbd -D -s "$work/smb.conf"
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

server start
export HALFPOWER_SMB_PASSWORD=lab-secret
SMB=smb://root@10.77.1.2/data FULL=smb://root@10.77.1.2/full NFS=nfs://10.77.1.2$work/data
cd "$work/state"
set +e
eval "$script"
