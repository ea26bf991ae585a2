# A folder on a CIFS mount of the kernel is told with its server, and a run and a study go on it.
#room: load ext4 cifs ksmbd
# The kernel's server of 6.1 finds no share with the tools of Debian 12, whatever the client: BAD_NETWORK_NAME, also for IPC$.
#room: kernels 6.12
#room: timeout 900
modprobe brd rd_nr=1 rd_size=262144; waits /dev/ram0
mkfs.ext4 -q /dev/ram0; mount -t ext4 /dev/ram0 /export; chmod 777 /export
printf '[global]\nserver string = room\n[share]\npath = /export\nread only = no\n' > /etc/ksmbd/ksmbd.conf; cp /etc/ksmbd/ksmbd.conf /etc/ksmbd/smb.conf
ksmbd.adduser -a tester -p secret -i /etc/ksmbd/ksmbdpwd.db; ksmbd.mountd -c /etc/ksmbd/ksmbd.conf
# The server knows its share a while after it was begun.
tries=0
until mount.cifs //127.0.0.1/share /mnt -o username=tester,password=secret,vers=3.1.1 2> /run/mount || [ $tries = 60 ]; do
  sleep 1; tries=$((tries + 1))
done
[ $tries -lt 60 ] || { cat /run/mount; dmesg | tail -n 20; }
same "what is mounted" "$(awk '$2 == "/mnt" { print $3 }' /proc/mounts)" cifs
sees 'cifs|smb3' halfpower probe /mnt
for rw in read write; do
  above "bytes of $rw" "$(json .bytes halfpower run /mnt --size 16m --rw $rw --bs 64k --iodepth 4 --runtime 0.5 --json)" 0
  same "errors of $rw" "$(figure .errors)" 0
done
exits 0 halfpower study /mnt --size 16m --budget 8s --output /tmp/s.halfpower
same "files left behind" "$(ls -A /export)" lost+found
