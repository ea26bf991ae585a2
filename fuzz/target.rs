//! Feeds what the fuzzer makes up to the entry that has this program's name.
#![no_main]

use std::sync::LazyLock;

use halfpower_fuzz::{Entry, entry};

static ENTRY: LazyLock<&Entry> = LazyLock::new(|| entry(env!("CARGO_BIN_NAME")));

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (ENTRY.feed)(bytes));
