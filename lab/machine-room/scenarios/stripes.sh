# Aligned writes of full stripes read next to nothing of an array with parity, also where stripes begin within a volume, and move what they must in virtual time.
#room: icount 3
#room: load md_mod raid456 dm_mod ext4
#room: timeout 1200
# Each request of a disk takes 10 ms, which is much more than what the processor does.
for disk in a b c d; do nullb $disk completion_nsec=10000000 hw_queue_depth=64 memory_backed=1 size=96; done
mdadm --create /dev/md5 --run --level=5 --metadata=1.2 --chunk=64 --bitmap=none --raid-devices=4 /dev/a /dev/b /dev/c /dev/d --assume-clean --force 2> /dev/null
waits /dev/md5
reads() { awk '{ sum += $1 } END { print sum }' /sys/block/a/stat /sys/block/b/stat /sys/block/c/stat /sys/block/d/stat; }
# reads_of FLAGS...: reads of the disks in a run of writes.
reads_of() {
  before=$(reads); json .ios halfpower run "$@" --rw randwrite --iodepth 1 --engine libaio --runtime 1 --overwrite --json > /run/ios
  echo $(($(reads) - before))
}
# What is looked at before the first write, such as marks of what lies there, is some 20 reads.
above "full stripes" "$(reads_of /dev/md5 --bs 192k > /run/reads; cat /run/ios)" 50
below "reads of the disks, full stripes" "$(cat /run/reads)" 25
above "reads of the disks, chunks" "$(reads_of /dev/md5 --bs 64k)" 60
above "reads of the disks, full stripes a block later" "$(reads_of /dev/md5 --bs 192k --misalign 4k)" 60

# A chunk needs what it lacks of the parity first, 10 ms for these reads: 3 times 20 ms and what the array itself takes, over 10
# ms and that, which is some 7 ms.
ratio() { above "$1" "$2" 4; below "$1" "$2" 6.5; }
FOUND='.experiments[] | select(.experiment == "stripes") | .found'
study() { halfpower study "$@" --experiments stripes --rw write --engine libaio --runtime 2s --budget 90s --seed 1 --overwrite --force-content --json; }
same "full stripe" "$(json "$FOUND.full_bytes" study /dev/md5 --output /tmp/s.halfpower)" 196608
ratio "times the bytes of a chunk, 1 deep" "$(figure "$FOUND.depths[0].over_chunk.value")"
below "share that shifted stripes keep, 1 deep" "$(figure "$FOUND.depths[0].shifted.value")" 0.7
sees 'the bytes[.] Writes of a full stripe' halfpower report /tmp/s.halfpower
shows '192 KiB, at multiples of it'
lacks '^halfpower run' halfpower plan /dev/a --experiments stripes
shows 'no array with parity'

# A volume that begins 100 KiB into the array has its first full stripe 92 KiB into itself.
dm vol --table "0 $(($(sectors /dev/md5) - 200)) linear /dev/md5 200"
same "first full stripe of the volume" "$(json "$FOUND.first_byte" study /dev/mapper/vol --output /tmp/v.halfpower)" 94208
below "reads of the disks, full stripes of the volume" "$(reads_of /dev/mapper/vol --bs 192k --region 92KiB+96MiB --force-content)" 25
above "reads of the disks, elsewhere in it" "$(reads_of /dev/mapper/vol --bs 192k --region 0+96MiB --force-content)" 60
# A file has full stripes where its bytes lie.
mkfs.ext4 -q /dev/mapper/vol; mount -t ext4 /dev/mapper/vol /mnt
sees 'not known: the file is not laid out yet' halfpower plan /mnt --experiments stripes --size 64m
ratio "times the bytes of a chunk in a file, 1 deep" "$(json "$FOUND.depths[0].over_chunk.value" study /mnt --size 64m --output /tmp/f.halfpower)"
