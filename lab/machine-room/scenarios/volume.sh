# A watch sees what commits on a file system of a volume wait for, and names a control group's limit on the volume.
#room: disk virtio
#room: load virtio_pci virtio_blk dm_mod ext4
#room: icount 3
#room: timeout 900
waits /dev/vda
dm lin --table "0 $(sectors /dev/vda) linear /dev/vda 0"
waits /dev/mapper/lin
mkfs.ext4 -q /dev/mapper/lin; mount -t ext4 /dev/mapper/lin /mnt
# A watch that begins while the run measures sees nothing else.
watched() {
  want=$1; shift
  "$@" --runtime 40 > /run/of_run 2>&1 & sleep 12
  sees "$want" halfpower watch --name halfpower --for 8s --most-cost 90%
  kill -INT %1; wait
}
watched 'commits .*(journal|flush)' halfpower run /mnt --size 8m --rw write --bs 4k --cache both --fdatasync 1 --engine sync
group lab io.max="$(number dm-0) riops=50"
watched "reads: its control group's limit" inside lab halfpower run /mnt --size 8m --rw randread --bs 4k --cache device --engine sync
shows 'lab/io[.]max'
