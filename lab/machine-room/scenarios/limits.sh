# What a control group admits is named: io.max, the memory limit, and the model of io.cost, which holds for all groups.
#room: icount 3
#room: timeout 900
nullb disk completion_nsec=1000000 hw_queue_depth=64
group lab memory.max=200M io.max="$(number disk) riops=500"
sees 'cgroup limit, reads +500 IOPS' inside lab halfpower probe /dev/disk
same "memory that the group may have" "$(json .machine.memory_limit inside lab halfpower probe /dev/disk --json)" 209715200
mkdir /sys/fs/cgroup/cost
echo "$(number disk) enable=1 ctrl=user min=100.00 max=100.00" > /sys/fs/cgroup/io.cost.qos
echo "$(number disk) ctrl=user model=linear rbps=20000000 rseqiops=2000 rrandiops=1000 wbps=20000000 wseqiops=2000 wrandiops=1000" > /sys/fs/cgroup/io.cost.model
sees 'cgroup limit .*20 MB/s' inside cost halfpower probe /dev/disk
shows 'the model of io.cost'
lacks 'cgroup limit' halfpower probe /dev/disk
# A request costs 0.5 ms and 0.205 ms for each page but the first, 6.85 ms; each 50 ms as many whole ones pass: seven.
within "rate under io.cost" "$(json .mbps inside cost halfpower run /dev/disk --rw read --bs 128k --iodepth 8 --runtime 4 --engine libaio --json)" 18.35 2
same "errors" "$(figure .errors)" 0
