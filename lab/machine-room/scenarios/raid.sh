# RAID 5 and RAID 10 of md are told with their members, which are spared, and a run and a study go on them.
#room: disk virtio
#room: disk virtio
#room: disk virtio
#room: disk virtio
#room: load virtio_pci virtio_blk md_mod raid10 raid456 ext4
#room: timeout 900
waits /dev/vda /dev/vdb /dev/vdc /dev/vdd
for level in 5 10; do
  mdadm --create /dev/md$level --run --level=$level --metadata=1.2 --raid-devices=4 /dev/vd[abcd] --assume-clean --force 2> /dev/null
  sees "md raid$level on vda and vdb and vdc and vdd;" halfpower probe /dev/md$level
  for disk in vda vdd; do spared /dev/$disk 'in use'; done
  # The second array may show the file system of the first.
  exits 0 halfpower run /dev/md$level --rw write --bs 64k --iodepth 2 --runtime 0.3 --overwrite --force-content
  mkfs.ext4 -q /dev/md$level; mount -t ext4 -o ro /dev/md$level /mnt
  spared /dev/md$level 'in use'
  # Any member may be asked by two paths: the array, and what is mounted of it.
  spared /dev/vdb 'in use'
  mount -o remount,rw /mnt
  exits 0 halfpower study /mnt --size 32m --rw read --budget 8s --output /tmp/s$level.halfpower
  umount /mnt; mdadm -S /dev/md$level 2> /dev/null
  for disk in vda vdd; do spared /dev/$disk 'not active'; done
  mdadm --zero-superblock /dev/vd[abcd]
done
