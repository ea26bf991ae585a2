#!/usr/bin/env bash
# Cargo calls this instead of the compiler (RUSTC_WORKSPACE_WRAPPER). Our own crates get the counters that LLVM's fuzzer
# follows, the libraries none: the fuzzer looks at every counter after every input, so fewer of them are many more inputs.
set -euo pipefail
flags=()
if [[ " $* " == *" --crate-name halfpower_"* ]]; then
  flags=(-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1)
fi
exec "$@" "${flags[@]}"
