# In a control group with limits, on a file system and a thin pool that are nearly full, the doctor names each cause; it finds nothing before.
#room: disk virtio
#room: load virtio_pci virtio_blk dm_mod dm_thin_pool ext4
#room: timeout 900
waits /dev/vda
lvm_ pvcreate /dev/vda > /dev/null; lvm_ vgcreate vg /dev/vda > /dev/null
lvm_ lvcreate -y --type thin-pool -L 116m -n pool vg > /dev/null
lvm_ lvcreate -y -V 112m -T vg/pool -n thin > /dev/null
waits /dev/mapper/vg-thin
mkfs.ext4 -q -b 4096 -m 0 /dev/mapper/vg-thin; mount -t ext4 /dev/mapper/vg-thin /mnt
healthy halfpower doctor /mnt --json

room=$(df -Pm /mnt | awk 'END { print $4 }')
dd if=/dev/zero of=/mnt/fill bs=1M count=$((room - 3)) conv=fsync 2> /dev/null
group lab memory.max=300M io.max="$(number /dev/vda) rbps=20000000 wiops=500"
names "cgroup-io-limit cgroup-memory nearly-full thin-pool-full" inside lab halfpower doctor /mnt --json
inside lab halfpower doctor /mnt
sees 'a control group allows 20[.]0 MB/s of reads' inside lab halfpower doctor /mnt --markdown
shows 'a control group allows 300 ?MiB of memory'
shows 'the thin pool vg-pool-tpool is [89].% full'
# Outside of the group its limits are no cause.
names "nearly-full thin-pool-full" halfpower doctor /mnt --json
lacks 'a control group allows' halfpower doctor /mnt --markdown
umount /mnt
