//! Feeds inputs of LLVM's fuzzer to the entry that `HALFPOWER_ENTRY` names; `fuzz/run.sh` builds and runs it.
#![no_main]

use std::env;
use std::sync::LazyLock;

use halfpower_fuzz::{Entry, entry};

static ENTRY: LazyLock<&Entry> = LazyLock::new(|| {
    let name = env::var("HALFPOWER_ENTRY").expect("HALFPOWER_ENTRY names an entry");
    entry(&name)
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (ENTRY.feed)(bytes));
