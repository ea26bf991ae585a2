# A watch takes from an application about what it says and at most 4%, on one slow processor that both share.
#room: icount 1
#room: timeout 1500
# 500 million instructions a second: a tenth of today's processors, so that a watch takes ten times the share.
nullb disk completion_nsec=20000 hw_queue_depth=64
run() { halfpower run /dev/disk --rw randread --bs 4k --iodepth $1 --engine $2 --runtime 30 --json; }
for shape in "1 sync" "16 libaio"; do
  set -- $shape
  alone=$(json .iops run $1 $2)
  halfpower watch -- sh -c "halfpower run /dev/disk --rw randread --bs 4k --iodepth $1 --engine $2 --runtime 30 --json > /tmp/run.json" > /tmp/watch.txt 2>&1
  watched=$(jq .iops /tmp/run.json)
  grep -E "costs|slices" /tmp/watch.txt
  within "rate of $2 $1 deep while watched" "$watched" "$alone" 4
  told=$(sed -n 's/.* costs \([0-9.]*\)% of one processor.*/\1/p' /tmp/watch.txt)
  above "what it says it costs, $told%, and two points, over what is lost" "$(awk -v told="${told:-0}" -v alone="$alone" -v watched="$watched" 'BEGIN { lost = 100 * (1 - watched / alone); print (lost > 0 ? (told + 2) / lost : 9) }')" 1
done
