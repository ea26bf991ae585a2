# A disk that is pulled in the middle of a run or a study ends it in words, without a hang, and the records are kept.
#room: disk nvme
#room: disk virtio
#room: disk usb
#room: disk virtio
#room: load nvme virtio_pci virtio_blk xhci_pci usb_storage sd_mod
#room: timeout 600
pull() { # NUMBER SERIAL: pulls the disk once the run has begun, and waits for the run's end
  device=$(disk "$2")
  "$3" "$device" & run=$!
  sleep 4; pulls "$1"
  tries=0; while kill -0 $run 2> /dev/null && [ $tries -lt 120 ]; do sleep 1; tries=$((tries + 1)); done
  kill -0 $run 2> /dev/null && { ps | grep halfpower; kill -9 $run; }
  wait $run; ended=$?; tail -n 15 /tmp/out
  same "$2 is gone" "$([ -e "$device" ] || echo gone)" gone
}
runs() { exec halfpower run "$1" --rw read --bs 64k --iodepth 4 --runtime 20 --json > /tmp/out 2> /tmp/words; }
studies() { exec halfpower study "$1" --rw read --budget 40s --output /tmp/s.halfpower > /tmp/out 2>&1; }
for disk in 0:nvme0 1:virtio1 2:usb2; do
  pull d${disk%%:*} ${disk#*:} runs
  echo "exit $ended"; cat /tmp/words; jq -c '[.ios,.errors,.errors_by_kind,.elapsed_ns]' /tmp/out
done
pull d3 virtio3 studies
echo "exit $ended"
sees 'runs' halfpower report /tmp/s.halfpower
