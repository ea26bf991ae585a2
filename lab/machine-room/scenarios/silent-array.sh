# On an encrypted array that is degraded and recovers, with a member whose write cache is off, the doctor names each cause; it finds nothing before.
#room: disk sata rotation_rate=1
#room: disk sata rotation_rate=1
#room: disk sata rotation_rate=1
#room: disk sata rotation_rate=1
#room: load ahci sd_mod sg md_mod raid456 dm_mod dm_crypt xts aesni_intel ext4
#room: timeout 900
first=$(disk sata0); second=$(disk sata1); third=$(disk sata2); spare=$(disk sata3)
# The kernel's own limits let a recovery of so little end at once.
echo 100 > /proc/sys/dev/raid/speed_limit_min; echo 1000 > /proc/sys/dev/raid/speed_limit_max
mdadm --create /dev/md5 --run --level=5 --metadata=1.2 --raid-devices=3 "$first" "$second" "$third" --assume-clean --force 2> /dev/null
encrypted() { # OPTIONS
  dm cry --uuid CRYPT-PLAIN-cry --table "0 $(sectors /dev/md5) crypt aes-xts-plain64 $(printf '%0128d' 7) 0 /dev/md5 0 $1"
  waits /dev/mapper/cry
}
encrypted "2 no_read_workqueue no_write_workqueue"
mkfs.ext4 -q -b 4096 /dev/mapper/cry; mount -t ext4 /dev/mapper/cry /mnt
healthy halfpower doctor /mnt --json

umount /mnt; DM_DISABLE_UDEV=1 dmsetup remove cry
echo "write through" > "$(echo /sys/block/"${second##*/}"/device/scsi_disk/*/cache_type)"
encrypted ""
mount -t ext4 /dev/mapper/cry /mnt
mdadm /dev/md5 --fail "$third" 2> /dev/null; mdadm /dev/md5 --remove "$third" 2> /dev/null
mdadm /dev/md5 --add "$spare" 2> /dev/null
becomes recover cat /sys/block/md5/md/sync_action
names "crypt-queues md-degraded md-sync write-cache" halfpower doctor /mnt --json
halfpower doctor /mnt
sees 'raid5 lacks 1 of 3 disks' halfpower doctor /mnt --markdown
shows 'a recover is going on'
shows "${second##*/}: the write cache of the disk is off"
umount /mnt
