#!/usr/bin/env bash
# Do halfpower's copies move as much as C's? Runs the memory kernels and a STREAM-like program of our own (stream.c) in
# turn, over equal arrays in huge pages, and prints ratios: the median over the pairs, with the least and the greatest.
#
#   bench/against-stream.sh [--tiny]      PAIRS=9 RUNTIME=0.5 HALFPOWER=target/release/halfpower CC=cc
#
#   best copy     the best of memcpy, copy-vector and copy-stream over the better of C's plain loop and its non-temporal one
#   memcpy        our kernel over C's memcpy, both 8 MiB a call
#
# A second ratio is of the bytes copied in a second of charged processor time, which others on the machine disturb less.
# Rates are as each run gave them: nothing is taken off for the loop. MB/s count a byte copied once; STREAM's figure is
# twice that. Needs a C compiler and python3. Let nothing else run.
set -euo pipefail
pairs=${PAIRS:-9} runtime=${RUNTIME:-0.5}
if [ "${1:-}" = --tiny ]; then pairs=1 runtime=0.1; fi
here=$(cd "$(dirname "$0")" && pwd)
halfpower=${HALFPOWER:-$here/../target/release/halfpower}
block=$((8 << 20))
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"${CC:-cc}" -O3 -march=native -fno-tree-loop-distribute-patterns -pthread -o "$scratch/stream" "$here/stream.c"

ours() { # kernel threads: MB/s, MB for a second of processor time, and the bytes of all arenas
  "$halfpower" run null: --engine memory --kernel "$1" --threads "$2" --bs "$block" --iodepth 1 --runtime "${runtime}s" --json |
    python3 -c 'import json,sys; run=json.load(sys.stdin)
print(run["mbps"], run["bytes"] * 1e3 / run["cpu"]["charged_ns"], run["span_bytes"])'
}

measure() { # side threads
  local kernel way
  if [ "$1" = ours ]; then
    for kernel in memcpy copy-vector copy-stream; do echo "$pair $2 ours $kernel $(ours "$kernel" "$2")"; done
  else
    for way in loop nontemporal memcpy; do
      echo "$pair $2 C $way $("$scratch/stream" "$way" "$2" "$runtime" "$bytes" "$block")"
    done
  fi >>"$scratch/results"
}

for pair in $(seq "$pairs"); do
  for threads in $(printf '%s\n' 1 "$(nproc)" | sort -nu); do
    bytes=$(ours memcpy "$threads" | cut -d' ' -f3)
    # Who goes first changes from pair to pair.
    if ((pair % 2)); then order="ours C"; else order="C ours"; fi
    for side in $order; do measure "$side" "$threads"; done
  done
done

python3 - "$scratch/results" <<'PYTHON'
import collections, statistics, sys
rates = collections.defaultdict(dict)
for line in open(sys.argv[1]):
    pair, threads, side, kernel, mbps, charged, *_ = line.split()
    rates[int(threads), int(pair)][side, kernel] = float(mbps), float(charged)
print("| threads | what | halfpower, MB/s | C, MB/s | ratio | least to greatest | by charged time |")
print("|---|---|---|---|---|---|---|")
rows = [("best copy of each", [("ours", "memcpy"), ("ours", "copy-vector"), ("ours", "copy-stream")], [("C", "loop"), ("C", "nontemporal")]),
        ("`copy-vector`, plain loop", [("ours", "copy-vector")], [("C", "loop")]),
        ("`copy-stream`, non-temporal", [("ours", "copy-stream")], [("C", "nontemporal")]),
        ("`memcpy`", [("ours", "memcpy")], [("C", "memcpy")])]
for threads in sorted({threads for threads, _ in rates}):
    for name, ours, theirs in rows:
        def sides(of):
            return [[max(pair[key][of] for key in keys) for (count, _), pair in rates.items() if count == threads]
                    for keys in (ours, theirs)]
        one, other = sides(0)
        ratios, charged = ([a / b for a, b in zip(*sides(of))] for of in (0, 1))
        print(f"| {threads} | {name} | {statistics.median(one):,.0f} | {statistics.median(other):,.0f} | "
              f"{statistics.median(ratios):.3f} | {min(ratios):.3f} to {max(ratios):.3f} | {statistics.median(charged):.3f} |")
PYTHON
