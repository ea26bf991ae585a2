#!/usr/bin/env bash
# Feeds each kind of input to its reader under LLVM's fuzzer: fuzz/run.sh SECONDS [ENTRY...]
#
# SECONDS is for each entry; as many run at once as there are processors. Needs no nightly compiler: the coverage that
# the fuzzer follows is switched on by plain flags (instrumented.sh). With KEEP=1, what reached something new is added to
# crates/fuzz/corpus. HALFPOWER_CORPUS names the program that packs the corpus, where it is built already. Ends with 1
# where an input made the program stumble, take a GiB, or take 10 s; that input is in fuzz/artifacts.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:?how many seconds for each entry}
shift
entries=("$@")
# Examples use the libraries of tests: where these have been built, our crates alone are built again.
RUSTC_WORKSPACE_WRAPPER=$PWD/instrumented.sh CARGO_INCREMENTAL=0 cargo build --manifest-path ../Cargo.toml --workspace \
  --locked --quiet --example feed --features halfpower-fuzz/libfuzzer
built=${CARGO_TARGET_DIR:-$PWD/../target}/debug
feeder=$built/examples/feed
packer=${HALFPOWER_CORPUS:-}
if [ -z "$packer" ]; then
  cargo build --quiet --manifest-path ../Cargo.toml -p halfpower-fuzz --bin corpus
  packer=$built/corpus
fi
if ((${#entries[@]} == 0)); then mapfile -t entries < <("$packer" entries); fi

# Feeds one entry, and says how often.
feed() {
  local entry=$1 folder=corpus/$1 log least status=0
  "$packer" unpack "$entry" "$folder"
  log=$(mktemp)
  # Address space is limited rather than residence: whoever asks for a GiB is found whether or not it is touched.
  (
    ulimit -v 1572864
    HALFPOWER_ENTRY=$entry "$feeder" "$folder" -artifact_prefix="artifacts/$entry-" -max_total_time="$seconds" \
      -timeout=10 -rss_limit_mb=1024 -max_len=65536 -print_final_stats=1
  ) >"$log" 2>&1 || status=1
  printf '%s: %s executions, %s found\n' "$entry" \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" "$(grep -c '^SUMMARY: libFuzzer' "$log" || true)"
  if ((status)); then tail -n 30 "$log"; fi
  if [ "${KEEP:-0}" = 1 ]; then
    least=$(mktemp -d)
    HALFPOWER_ENTRY=$entry "$feeder" -merge=1 "$least" "$folder" >/dev/null 2>&1
    "$packer" pack "$entry" "$least"
    rm -rf "$least"
  fi
  rm -f "$log"
  return "$status"
}
export -f feed
export seconds feeder packer
mkdir -p artifacts
printf '%s\n' "${entries[@]}" | xargs -P "$(nproc)" -I{} bash -c 'feed {}'
