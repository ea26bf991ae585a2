# What is written to a mirror goes to each of its disks, so their limits do not add up; those of a stripe do.
#room: disk virtio
#room: disk virtio
#room: disk virtio
#room: disk virtio
#room: load virtio_pci virtio_blk dm_mod dm_mirror dm_raid md_mod raid0 raid1 raid10
#room: timeout 900
waits /dev/vda /dev/vdb /dev/vdc /dev/vdd
for disk in vda vdb vdc vdd; do group lab io.max="$(number $disk) rbps=10000000 wbps=10000000"; done
limit() { json "[.levels[] | select((.name | startswith(\"cgroup\")) and (.direction == null or .direction == \"$1\")) | .pap] | max | round" inside lab halfpower probe "$2" --json; }
md() { mdadm --create /dev/md9 --run --level=$1 --metadata=1.2 --raid-devices="$2" $3 --assume-clean --force 2> /dev/null; }
while read -r level disks reads wrote; do
  md $level "${#disks}" "$(echo "$disks" | sed 's/[a-d]/\/dev\/vd& /g')"
  same "limit of reads of md raid$level" "$(limit read /dev/md9)" "$reads"
  same "limit of writes of md raid$level" "$(limit write /dev/md9)" "$wrote"
  mdadm -S /dev/md9 2> /dev/null; mdadm --zero-superblock /dev/vd[abcd] 2> /dev/null
done <<END
0 ab 20000000 20000000
1 ab 20000000 10000000
10 abcd 40000000 20000000
END
lvm_ pvcreate /dev/vda /dev/vdb /dev/vdc /dev/vdd > /dev/null; lvm_ vgcreate vg /dev/vda /dev/vdb /dev/vdc /dev/vdd > /dev/null
lvm_ lvcreate -y -Zn -Wn --type raid1 -m1 --nosync -L 64m -n raid1 vg > /dev/null
lvm_ lvcreate -y -Zn -Wn --type mirror --mirrorlog core -m1 --nosync -L 64m -n mirror vg > /dev/null
lvm_ lvcreate -y -Zn -Wn --type raid10 -i2 -m1 --nosync -L 64m -n raid10 vg > /dev/null
lvm_ lvcreate -y -Zn -Wn -i2 -L 64m -n stripe vg > /dev/null
while read -r volume reads wrote; do
  same "limit of reads of LVM's $volume" "$(limit read /dev/mapper/vg-$volume)" "$reads"
  same "limit of writes of LVM's $volume" "$(limit write /dev/mapper/vg-$volume)" "$wrote"
done <<END
raid1 20000000 10000000
mirror 20000000 10000000
raid10 40000000 20000000
stripe 20000000 20000000
END
