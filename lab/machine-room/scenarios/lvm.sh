# Volumes of LVM, thin ones too, are taken apart to their disks; a physical volume is spared, its group active or not.
#room: disk virtio
#room: disk virtio
#room: disk virtio
#room: disk virtio
#room: load virtio_pci virtio_blk dm_mod dm_mirror dm_raid dm_thin_pool dm_snapshot raid1 raid10
#room: timeout 900
waits /dev/vda /dev/vdb /dev/vdc /dev/vdd
lvm_ pvcreate /dev/vda /dev/vdb /dev/vdc /dev/vdd > /dev/null; lvm_ vgcreate vg /dev/vda /dev/vdb /dev/vdc /dev/vdd > /dev/null
spared /dev/vda 'in use|not active'
lvm_ lvcreate -y -Zn -Wn -i2 -L 64m -n stripe vg > /dev/null
lvm_ lvcreate -y -Zn -Wn --type raid1 -m1 --nosync -L 64m -n raid1 vg > /dev/null
lvm_ lvcreate -y --type thin-pool -L 128m -n pool vg > /dev/null
lvm_ lvcreate -y -V 400m -T vg/pool -n thin > /dev/null
volume=/dev/mapper/vg
sees 'logical volume vg-stripe on vd. and vd.;' halfpower probe $volume-stripe
sees 'logical volume vg-raid1 on ' halfpower probe $volume-raid1
shows 'logical volume vg-raid1_rimage_1 on vd.;'
sees 'logical volume vg-thin on dm' halfpower probe $volume-thin
shows 'logical volume vg-pool_tdata on vd.;'
for part in stripe raid1 thin; do
  above "bytes written to $part" "$(json .bytes halfpower run $volume-$part --rw write --bs 64k --iodepth 2 --runtime 0.3 --overwrite --json)" 0
  same "errors on $part" "$(figure .errors)" 0
done
for disk in vda vdb; do spared /dev/$disk 'in use'; done
spared $volume-raid1_rimage_0 'in use'
spared $volume-pool_tdata 'in use'
# A thin pool that is full: errors are data.
dd if=/dev/zero of=$volume-thin bs=1M count=128 oflag=direct 2> /dev/null
lvm_ vgchange -an vg > /dev/null
same "volumes that are active" "$(dmsetup ls)" "No devices found"
for disk in vda vdb; do spared /dev/$disk 'not active'; done
sees 'Found|vg' lvm_ vgchange -ay vg
