# A folder on an NFS mount of the kernel is told with its server, and a run and a study go on it.
#room: load ext4 nfs nfsv4 nfsd
#room: timeout 900
modprobe brd rd_nr=1 rd_size=262144; waits /dev/ram0
mkfs.ext4 -q /dev/ram0; mount -t ext4 /dev/ram0 /export
mount -t nfsd nfsd /proc/fs/nfsd; mount -t rpc_pipefs rpc_pipefs /var/lib/nfs/rpc_pipefs
nfsdcld
echo "/export *(rw,sync,no_root_squash,no_subtree_check,insecure,fsid=0)" > /etc/exports
exportfs -ra; rpc.mountd; rpc.nfsd --no-nfs-version 3 --no-udp 4
exits 0 mount.nfs localhost:/ /mnt -o vers=4.2,retry=0
sees 'nfs' halfpower probe /mnt
for rw in read write; do
  above "bytes of $rw" "$(json .bytes halfpower run /mnt --size 16m --rw $rw --bs 64k --iodepth 4 --runtime 0.5 --json)" 0
  same "errors of $rw" "$(figure .errors)" 0
done
exits 0 halfpower study /mnt --size 16m --budget 8s --output /tmp/s.halfpower
same "files left behind" "$(ls -A /export)" lost+found
