# A study of a device of 250 GB keeps its budget in runs as one of 1 GB does: nothing grows with the size.
#room: timeout 900
nullb small size=1024 completion_nsec=100000
nullb big size=250000 completion_nsec=100000
runs() { json .runs halfpower study /dev/$1 --budget 10s --rw read --output /tmp/$1.halfpower --json; }
small=$(runs small); big=$(runs big)
above "runs of 1 GB" "$small" 10
above "runs of 250 GB as a share of those of 1 GB" "$(awk -v a="$big" -v b="$small" 'BEGIN { print a / b }')" 0.5
