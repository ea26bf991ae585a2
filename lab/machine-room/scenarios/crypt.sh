# An encrypted volume is told with its disk, which is spared, and what is written to it is not what lies on the disk.
#room: disk virtio
#room: load virtio_pci virtio_blk dm_mod dm_crypt dm_delay xts
#room: timeout 600
waits /dev/vda
dm cry --uuid CRYPT-PLAIN-cry --table "0 $(sectors /dev/vda) crypt aes-xts-plain64 $(printf '%0128d' 7) 0 /dev/vda 0"
waits /dev/mapper/cry
sees 'encrypted volume cry on vda;' halfpower probe /dev/mapper/cry
spared /dev/vda 'in use'
before=$(first_bytes /dev/vda)
above "bytes written" "$(json .bytes halfpower run /dev/mapper/cry --rw write --bs 64k --iodepth 2 --runtime 0.5 --overwrite --json)" 0
same "errors of writes" "$(figure .errors)" 0
same "the disk has changed" "$([ "$(first_bytes /dev/vda)" != "$before" ] && echo yes)" yes
same "it is not what the volume shows" "$([ "$(first_bytes /dev/vda)" != "$(first_bytes /dev/mapper/cry)" ] && echo yes)" yes
above "bytes read" "$(json .bytes halfpower run /dev/mapper/cry --rw read --bs 64k --iodepth 2 --runtime 0.5 --json)" 0
same "errors of reads" "$(figure .errors)" 0
# The disk is read where the volume's bytes lie, as a layer of its own.
above "bytes read of the disk beneath" "$(json .bytes halfpower run /dev/mapper/cry --layer 1 --rw randread --bs 64k --iodepth 2 --runtime 0.5 --json)" 0
same "errors of reads of the disk beneath" "$(figure '.errors | tostring')" 0
sees 'halfpower run /dev/mapper/cry .*--layer 1 ' halfpower plan /dev/mapper/cry --experiments layers
# A volume that sends requests of its own passes the mark of polled ones on, and nobody polls for these: a null device has
# queues to poll, and with a delay between, a polled read would never end.
nullb one completion_nsec=20000 hw_queue_depth=64
dm late --table "0 $((48 * 2048)) delay /dev/one 8192 2"
dm cri --table "0 $((40 * 2048)) crypt aes-xts-plain64 $(printf '%0128d' 7) 0 /dev/mapper/late 0"
waits /dev/mapper/cri
refused 'polled for|no queues to poll' halfpower run /dev/mapper/cri --engine io_uring_iopoll --rw randread --bs 4k --runtime 0.2
above "bytes read of an encrypted volume with a delay" "$(json .bytes halfpower run /dev/mapper/cri --rw randread --bs 4k --runtime 0.5 --json)" 0
same "errors of these reads" "$(figure '.errors | tostring')" 0
