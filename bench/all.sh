#!/usr/bin/env bash
# Every benchmark, one after the other. With --tiny each goes once through all it does, for its own sake: the numbers
# mean nothing then, and no time fails it.
#
#   bench/all.sh [--tiny] [FOLDER]
#
# FOLDER (default: this one) takes the files of the benchmarks, which are removed again.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tiny=() profile=release shares=() issuing=(--control) segments=() history=() size=1G
if [ "${1:-}" = --tiny ]; then
  # The build that tests use will do: nobody looks at the numbers.
  tiny=(--tiny) profile=dev shares=(--pairs 1 --size 16 --runtime 0.2)
  issuing=(--control --pairs 1 --runtime 0.1 --cells randread:4k:8) segments=(--mib 0,8 --runtime 0.1 --fios 1) size=64M
  history=(--studies 24 --kinds 2 --rounds 1)
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
"$here/history.py" --halfpower "$HALFPOWER" "${history[@]}" "$folder"
# How requests are issued, and where their pages lie, which the kernel tells root.
data=$(mktemp -p "$folder")
trap 'rm -f "$data"' EXIT
head -c "$size" /dev/urandom >"$data"
"$here/issuing.py" --halfpower "$HALFPOWER" "${issuing[@]}" "$data"
if [ "$(id -u)" = 0 ]; then "$here/segments.py" --halfpower "$HALFPOWER" "${segments[@]}" "$data"; fi
# Shares of Samba and NFS-Ganesha, in namespaces of their own that go when this does.
needed=(smbd smbpasswd smbclient ganesha.nfsd rpcbind nfs-cp tc unshare)
if [ "$(id -u)" = 0 ] && missing=$(for word in "${needed[@]}"; do command -v "$word" >/dev/null || echo "$word"; done) &&
  [ -z "$missing" ]; then
  HP=$HALFPOWER bash "$here/../crates/cli/tests/network/lab.sh" \
    "'$(cd "$here" && pwd)/shares.py' --halfpower \"\$HP\" ${shares[*]} \$SMB \$NFS"
else
  echo "left out: shares.py takes root and ${needed[*]}" >&2
fi
# A bucket of S3 that nginx serves from memory, and that goes with its input.
needed=(nginx curl)
if missing=$(PATH=$PATH:/usr/sbin; for word in "${needed[@]}"; do command -v "$word" >/dev/null || echo "$word"; done) &&
  [ -z "$missing" ]; then
  coproc S3 { exec "$here/s3_server.py"; }
  read -r -u "${S3[0]}" endpoint
  AWS_ACCESS_KEY_ID=bench AWS_SECRET_ACCESS_KEY=bench-secret "$here/shares.py" --halfpower "$HALFPOWER" "${shares[@]}" \
    "s3://bench?endpoint=$endpoint"
else
  echo "left out: shares.py of S3 takes ${needed[*]}" >&2
fi
