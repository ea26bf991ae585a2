#!/usr/bin/env bash
# Every benchmark, one after the other. With --tiny each goes once through all it does, for its own sake: the numbers
# mean nothing then, and no time fails it.
#
#   bench/all.sh [--tiny] [FOLDER]
#
# FOLDER (default: this one) takes the files of the benchmarks, which are removed again.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tiny=()
if [ "${1:-}" = --tiny ]; then
  tiny=(--tiny)
  export PAIRS=1 RUNTIME=1 SIZE=16m SECONDS_MORE=0.2
  shift
fi
folder=${1:-.}
cargo build --release --manifest-path "$here/../Cargo.toml"
"$here/generator.py" "${tiny[@]}" "$folder"
"$here/instructions.sh"
"$here/against-fio.sh" "$folder"
