//! Fuzzes `halfpower_fuzz::target`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| halfpower_fuzz::target(bytes));
