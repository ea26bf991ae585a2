# A study in virtual time finds both limits of a device, the half-power size that follows from them, and what stops it.
#room: icount 3
#room: timeout 900
nullb disk completion_nsec=1000000 hw_queue_depth=64
group lab io.max="$(number disk) rbps=41943040 riops=1000"
study() { inside lab halfpower study /dev/disk --rw read --experiments random --cache device --iodepth 16,32 --engine libaio --runtime 1s --budget 60s --seed 1 --bs 4k,8k,16k,32k,256k --output "$1" --json; }
# Half of the peak lies at BPS / (2 x IOPS), which is 20,971 bytes: the next size is 32 KiB.
within "ceiling in MB/s" "$(json '.limits[0].ceiling_mbps.value' study /tmp/a.halfpower)" 41.943 3
within "ceiling in IO/s" "$(figure '.limits[0].ceiling_iops.value')" 1000 3
same "half-power size" "$(figure '[.curves[] | .half_power_bs_bytes] | unique | join(" ")')" 32768
same "the narrowest level is a cgroup's" "$(figure '.bottleneck.level | test("cgroup") | tostring')" true
