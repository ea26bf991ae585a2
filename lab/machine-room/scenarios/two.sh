# On two processors the record tells of both, threads use both, and the soaker loses time on the one that works.
#room: processors 2
#room: disk virtio num-queues=2
#room: load virtio_pci virtio_blk
#room: timeout 600
waits /dev/vda
same "processors" "$(json .environment.machine.cpus halfpower run /dev/vda --rw randread --bs 4k --iodepth 4 --threads 2 --runtime 1 --json)" 2
same "threads" "$(figure .threads)" 2
same "errors" "$(figure .errors)" 0
above "what the soaker lost, us a request" "$(json .cpu.soaker_us halfpower run /dev/vda --rw randread --bs 4k --iodepth 4 --runtime 1 --soaker --json)" 0
above "what was charged" "$(figure .cpu.charged_us)" 0
exits 0 halfpower study /dev/vda --rw read --experiments processors --budget 10s --output /tmp/s.halfpower
