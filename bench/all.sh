#!/usr/bin/env bash
# Every benchmark, one after the other. With --tiny each goes once through all it does, for its own sake: the numbers
# mean nothing then, and no time fails it.
#
#   bench/all.sh [--tiny] [FOLDER]
#
# FOLDER (default: this one) takes the files of the benchmarks, which are removed again.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tiny=() profile=release
if [ "${1:-}" = --tiny ]; then
  # The build that tests use will do: nobody looks at the numbers.
  tiny=(--tiny) profile=dev
  export PAIRS=1 RUNTIME=1 SIZE=16m SECONDS_MORE=0.2 DEPTHS=32
  shift
fi
folder=${1:-.}
export HALFPOWER=${HALFPOWER:-$(cargo build --profile "$profile" --manifest-path "$here/../Cargo.toml" --message-format json |
  python3 -c 'import json, sys
for line in sys.stdin:
    made = json.loads(line).get("executable")
    if made: print(made)')}
"$here/generator.py" "${tiny[@]}" "$folder"
"$here/instructions.sh"
"$here/against-fio.sh" "$folder"
"$here/against-stream.sh" "${tiny[@]}"
