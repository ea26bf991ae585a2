#!/usr/bin/env bash
# Do halfpower and fio see the same disk, and who tells what a request costs the processors? Runs both on one file with
# equal settings, in turn, and prints the ratio of their throughputs for each cell: the median over the pairs, with the
# least and the greatest. Then the processor bills side by side (bills.py): each one's own account, and the machine's.
#
#   bench/against-fio.sh [FOLDER]      PAIRS=7 RUNTIME=2 SIZE=1g HALFPOWER=target/release/halfpower
#
# Equal settings are more than size, depth and direction: whether buffers and file are registered, whether the buffers
# lie in huge pages, and how many requests go in one call. Each of these changes what a disk gives (adjacent requests of
# one call are merged, a 1 MiB request out of small pages has 256 pieces). Here both have all of it; issuing.py compares
# the ways.
#
# Needs fio and python3, and root for huge pages (they are given back). FOLDER (default: this one) takes a file of
# SIZE, which is removed again. Let nothing else run.
set -euo pipefail
folder=${1:-.}
pairs=${PAIRS:-7} runtime=${RUNTIME:-2} size=${SIZE:-1g}
halfpower=${HALFPOWER:-$(dirname "$0")/../target/release/halfpower}
data=$(mktemp "$folder/against-fio.XXXXXX")
results=$(mktemp)
pages=/proc/sys/vm/nr_hugepages pages_before=$(cat /proc/sys/vm/nr_hugepages)
memory=pages fio_memory=()
if echo $((pages_before + 40)) 2>/dev/null >"$pages"; then memory=huge fio_memory=(--iomem=shmhuge); else echo "fio's buffers are in small pages" >&2; fi
trap 'rm -f "$data" "$results"; echo "$pages_before" 2>/dev/null >"$pages" || true' EXIT

fio_mbps() { # rw bs iodepth
  fio --name=cell --filename="$data" --size="$size" --ioengine=io_uring --direct=1 --rw="$1" --bs="$2" --iodepth="$3" \
    --fixedbufs=1 --registerfiles=1 "${fio_memory[@]}" --iodepth_batch_submit="$3" --iodepth_batch_complete_min=1 \
    --iodepth_batch_complete_max="$3" --time_based --runtime="$runtime" --output-format=json |
    python3 -c 'import json,sys; job=json.load(sys.stdin)["jobs"][0]; print((job["read"]["bw_bytes"]+job["write"]["bw_bytes"])/1e6)'
}

halfpower_mbps() { # rw bs iodepth
  "$halfpower" run "$data" --overwrite --engine io_uring --rw "$1" --bs "$2" --iodepth "$3" --runtime "$runtime" \
    --iomem "$memory" --iodepth-batch 0 --json |
    python3 -c 'import json,sys; print(json.load(sys.stdin)["mbps"])'
}

fio --name=layout --filename="$data" --size="$size" --ioengine=io_uring --direct=1 --rw=write --bs=1m --iodepth=8 >/dev/null
for pair in $(seq "$pairs"); do
  for rw in read write randread randwrite; do
    for bs in 4k 1m; do
      for iodepth in 1 32; do
        # Who goes first changes from pair to pair, so that neither always meets the device rested.
        if ((pair % 2)); then ours=$(halfpower_mbps $rw $bs $iodepth); theirs=$(fio_mbps $rw $bs $iodepth)
        else theirs=$(fio_mbps $rw $bs $iodepth); ours=$(halfpower_mbps $rw $bs $iodepth); fi
        echo "$rw $bs $iodepth $ours $theirs" >>"$results"
      done
    done
  done
done

python3 - "$results" <<'PYTHON'
import collections, statistics, sys
cells = collections.defaultdict(list)
for line in open(sys.argv[1]):
    rw, bs, iodepth, ours, theirs = line.split()
    cells[rw, bs, iodepth].append((float(ours), float(theirs)))
print(f"{'rw':10}{'bs':>4}{'depth':>6}{'halfpower MB/s':>16}{'fio MB/s':>12}{'ratio':>8}  (least to greatest)")
for (rw, bs, iodepth), pairs in cells.items():
    ratios = [ours / theirs for ours, theirs in pairs]
    ours, theirs = (statistics.median(side) for side in zip(*pairs))
    print(f"{rw:10}{bs:>4}{iodepth:>6}{ours:16.1f}{theirs:12.1f}{statistics.median(ratios):8.3f}  ({min(ratios):.3f} to {max(ratios):.3f})")
PYTHON

"$(dirname "$0")/bills.py" --halfpower "$halfpower" --pairs "$pairs" --runtime "$runtime" "$data"
