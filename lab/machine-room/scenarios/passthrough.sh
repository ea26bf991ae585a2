# NVMe commands past the block layer bring and leave the right bytes, are counted whole, and spare what the block device beside them spares.
#room: disk nvme
#room: disk nvme
#room: append nvme.poll_queues=1
#room: load nvme dm_mod ext4
#room: timeout 1200
waits /dev/nvme0n1 /dev/ng0n1 /dev/nvme1n1 /dev/ng1n1
bytes_of() { dd if="$1" bs=1M skip="$2" count="$3" iflag=direct 2>/dev/null | md5sum; }

# What the block layer wrote is what commands read, and the other way round: a run that verifies lays out by the one way, and
# reads and writes by the other.
for engine in io_uring_cmd io_uring_cmd_iopoll; do
  for rw in randread randwrite; do
    above "requests of $engine, $rw" "$(json .ios halfpower run /dev/ng0n1 --engine $engine --rw $rw --bs 4k --iodepth 8 --size 16m --runtime 1 --verify --overwrite --json)" 10
    same "errors" "$(figure '.errors | tostring')" 0
    same "engine" "$(figure .engine)" $engine
    same "bytes are those of the requests" "$(figure '.bytes == .ios * 4096 | tostring')" true
    same "the rate is what was done over the time" "$(figure '(.iops * .elapsed_ns / 1e9 / .ios - 1 | fabs) < 0.01 | tostring')" true
    below "requests in flight at once" "$(figure .achieved_depth)" 8.01
  done
done
beyond=$(bytes_of /dev/nvme0n1 16 4)
before=$(bytes_of /dev/nvme0n1 0 4)
exits 0 halfpower run /dev/ng0n1 --rw write --bs 64k --iodepth 4 --size 4m --runtime 1 --overwrite
same "whether the bytes of the device changed" "$([ "$(bytes_of /dev/nvme0n1 0 4)" = "$before" ] && echo no || echo yes)" yes
same "the bytes beyond the size" "$(bytes_of /dev/nvme0n1 16 4)" "$beyond"
dd if=/dev/nvme0n1 of=/run/block bs=64k count=1 iflag=direct 2> /dev/null
nvme read /dev/ng0n1 --start-block=0 --block-count=127 --data-size=65536 --data=/run/command > /dev/null 2>&1
exits 0 cmp /run/block /run/command
same "what the page cache says" "$(dd if=/dev/nvme0n1 bs=1M count=4 2> /dev/null | md5sum)" "$(bytes_of /dev/nvme0n1 0 4)"
before=$(bytes_of /dev/nvme0n1 0 4)
exits 0 halfpower run /dev/ng0n1 --rw read --bs 64k --iodepth 4 --runtime 0.5
same "the bytes after a run that reads" "$(bytes_of /dev/nvme0n1 0 4)" "$before"

# Durable writes and flushes are commands as well; the block device's name does as well as the generic one's.
for more in "--cache none" "--fdatasync 1"; do
  above "writes with $more" "$(json .ios halfpower run /dev/nvme0n1 --engine io_uring_cmd --rw randwrite --bs 4k --iodepth 1 $more --size 16m --runtime 0.5 --overwrite --json)" 0
  same "errors" "$(figure '.errors | tostring')" 0
done
sees 'nvme0n1' halfpower probe /dev/ng0n1
sees '"total_ios"' halfpower run --name a --filename /dev/ng0n1 --ioengine io_uring_cmd --cmd_type nvme --rw randread --bs 4k --iodepth 4 --time_based --runtime 0.5 --output-format json
sees 'engine io_uring_cmd ' halfpower plan /dev/nvme0n1 --experiments engines
sees 'engine io_uring_cmd ' halfpower plan /dev/ng0n1 --experiments engines
lacks 'engine io_uring ' halfpower plan /dev/ng0n1 --experiments engines

# What commands do not carry is refused before anything is sent.
refused 'moves .* at most' halfpower run /dev/ng0n1 --rw randread --bs 1m --iodepth 1 --runtime 0.2
refused 'multiple' halfpower run /dev/ng0n1 --rw randread --bs 1000 --iodepth 1 --runtime 0.2
refused 'misalign' halfpower run /dev/ng0n1 --rw randread --bs 4k --misalign 100 --iodepth 1 --runtime 0.2
refused 'page cache' halfpower run /dev/ng0n1 --rw randread --bs 4k --cache both --runtime 0.2
refused 'commands alone; name /dev/nvme0n1' halfpower run /dev/ng0n1 --engine libaio --rw randread --bs 4k --runtime 0.2
refused 'overwrite' halfpower run /dev/ng0n1 --rw randwrite --bs 4k --runtime 0.2
refused 'same data|named twice' halfpower run each:/dev/ng0n1,/dev/nvme0n1 --rw randread --bs 4k --runtime 0.2
refused 'Linux 6.13' halfpower run /dev/nvme0n1 --engine io_uring_hybrid --rw randread --bs 4k --runtime 0.2
modprobe brd rd_nr=1 rd_size=8192; waits /dev/ram0
refused 'no NVMe namespace' halfpower run /dev/ram0 --engine io_uring_cmd --rw randread --bs 4k --iodepth 4 --runtime 0.5

# What the block device beside it protects is not reached through the generic one.
spared_beside() { # GENERIC DISK REGEX
  before=$(first_bytes "$2")
  refused "$3" halfpower run "$1" --rw write --bs 64k --iodepth 1 --runtime 0.2 --overwrite
  same "the first bytes of $2" "$(first_bytes "$2")" "$before"
}
sleep 600 3<> /dev/ng0n1 & holder=$!
spared_beside /dev/ng0n1 /dev/nvme0n1 'open for writing in process'
kill $holder; wait $holder 2> /dev/null || true
mkfs.ext4 -q -F /dev/nvme0n1; mount -t ext4 -o ro /dev/nvme0n1 /mnt
spared_beside /dev/ng0n1 /dev/nvme0n1 'in use|is mounted'
umount /mnt
spared_beside /dev/ng0n1 /dev/nvme0n1 'file system .ext4.*--force-content'
lvm_ pvcreate /dev/nvme1n1 > /dev/null; lvm_ vgcreate vg /dev/nvme1n1 > /dev/null
spared_beside /dev/ng1n1 /dev/nvme1n1 'in use|not active'
lvm_ lvcreate -y -Zn -Wn -L 64m -n volume vg > /dev/null
spared_beside /dev/ng1n1 /dev/nvme1n1 'in use'
refused 'no NVMe namespace' halfpower run /dev/mapper/vg-volume --engine io_uring_cmd --rw randread --bs 4k --runtime 0.2
