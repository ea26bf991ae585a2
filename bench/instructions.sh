#!/usr/bin/env bash
# How many instructions does a request take in the program itself? Counted by callgrind, so they do not wobble: the
# difference of two runs of unequal length, over the difference of their requests. The kernel's are not in it.
#
#   bench/instructions.sh      HALFPOWER=target/release/halfpower SECONDS_MORE=2 DEPTHS='1 32 128'
#
# Needs valgrind and python3.
set -euo pipefail
halfpower=${HALFPOWER:-$(dirname "$0")/../target/release/halfpower}
more=${SECONDS_MORE:-2}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

counted() { # runtime flags...: instructions and requests
  local runtime=$1
  shift
  valgrind --tool=callgrind --callgrind-out-file="$scratch/counts" \
    "$halfpower" run null: --bs 4KiB --runtime "$runtime" --json "$@" >"$scratch/record" 2>"$scratch/said"
  echo "$(sed -n 's/.*Collected : //p' "$scratch/said")" \
    "$(python3 -c 'import json,sys; print(json.load(sys.stdin)["ios"])' <"$scratch/record")"
}

echo "| cell | instructions a request |"
echo "|---|---|"
for engine in null io_uring; do
  for rw in read randread randrw; do
    for depth in ${DEPTHS:-1 32 128}; do
      flags=(--engine "$engine" --rw "$rw" --iodepth "$depth")
      read -r few few_ios < <(counted 0.2s "${flags[@]}")
      read -r many many_ios < <(counted "$(python3 -c "print(0.2 + $more)")s" "${flags[@]}")
      python3 -c "print(f'| $engine, $rw, depth $depth | {($many - $few) / ($many_ios - $few_ios):.0f} |')"
    done
  done
done
