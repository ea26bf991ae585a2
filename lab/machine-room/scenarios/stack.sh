# Volumes of device-mapper and md are taken apart to their disks, and what they are made of is spared.
#room: disk virtio
#room: disk virtio
#room: disk virtio
#room: disk virtio
#room: load virtio_pci virtio_blk dm_mod dm_delay dm_flakey md_mod raid0 raid1 ext4
#room: timeout 900
waits /dev/vda /dev/vdb /dev/vdc /dev/vdd
S=$(sectors /dev/vda); used='in use|not active'
writes() { exits 0 halfpower run "$1" --rw write --bs 64k --iodepth 1 --runtime 0.2 --overwrite; }
levels() { sees "$2" halfpower probe "$1"; }

dm lin --table "0 $S linear /dev/vda 0"; dm str --table "0 $((S * 2)) striped 2 128 /dev/vdb 0 /dev/vdc 0"
dm del --table "0 $S delay /dev/vdd 0 20"
levels /dev/mapper/lin 'mapped volume lin on vda;'; levels /dev/mapper/str 'mapped volume str on vdb and vdc;'
levels /dev/mapper/del 'mapped volume del on vdd;'
for disk in vda vdb vdc vdd; do spared /dev/$disk "$used"; done
writes /dev/mapper/lin; writes /dev/mapper/str
below "IO/s of a device that waits for 20 ms" "$(json .iops halfpower run /dev/mapper/del --rw randread --bs 4k --iodepth 1 --runtime 1 --json)" 51
mkfs.ext4 -q /dev/mapper/lin; mount -t ext4 -o ro /dev/mapper/lin /mnt
spared /dev/mapper/lin "$used"; spared /dev/vda "$used"
mount -o remount,rw /mnt
levels /mnt 'mapped volume lin on vda;'
exits 0 halfpower run /mnt --size 32m --rw read --bs 64k --runtime 0.5
same "files left behind" "$(ls /mnt)" lost+found
umount /mnt; for volume in lin str del; do dmsetup remove $volume; done

# A device that fails for 2 of 4 seconds: errors are data, and are counted.
dm fla --table "0 $S flakey /dev/vdb 0 2 2"
above "errors of a device that fails now and then" "$(json .errors halfpower run /dev/mapper/fla --rw randread --bs 4k --iodepth 1 --runtime 5 --json)" 0
above "requests that it served" "$(figure .ios)" 0
dmsetup remove fla

for level in 0 1; do
  mdadm --create /dev/md$level --run --level=$level --metadata=1.2 --raid-devices=2 /dev/vda /dev/vdb --assume-clean --force 2> /dev/null
  levels /dev/md$level "md raid$level on vda and vdb;"
  spared /dev/vda "$used"; writes /dev/md$level
  mdadm -S /dev/md$level 2> /dev/null
  spared /dev/vdb 'not active'
  mdadm --zero-superblock /dev/vda /dev/vdb
done
# The file system of the beginning is still there, and nobody mounts it: it is spared too, unless it may be lost.
spared /dev/vda 'file system .ext4.*--force-content'
exits 0 halfpower run /dev/vda --rw write --bs 64k --iodepth 1 --runtime 0.2 --overwrite --force-content
