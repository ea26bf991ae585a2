# What a control group admits is named: io.max and the memory limit; io.cost is not mistaken for a device's own speed.
#room: icount 3
#room: timeout 900
nullb disk completion_nsec=1000000 hw_queue_depth=64
group lab memory.max=200M io.max="$(number disk) riops=500"
sees 'cgroup limit, reads +500 IOPS' inside lab halfpower probe /dev/disk
same "memory that the group may have" "$(json .machine.memory_limit inside lab halfpower probe /dev/disk --json)" 209715200
modprobe ext4; mkfs.ext4 -q /dev/disk 2> /dev/null
group cost cgroup.type= 2> /dev/null
echo "$(number disk) enable=1 ctrl=user min=100.00 max=100.00" > /sys/fs/cgroup/io.cost.qos
echo "$(number disk) ctrl=user model=linear rbps=20000000 rseqiops=2000 rrandiops=1000 wbps=20000000 wseqiops=2000 wrandiops=1000" > /sys/fs/cgroup/io.cost.model
cat /sys/fs/cgroup/io.cost.qos /sys/fs/cgroup/io.cost.model
halfpower probe /dev/disk
json .mbps inside cost halfpower run /dev/disk --rw read --bs 128k --iodepth 8 --runtime 2 --engine libaio --json
