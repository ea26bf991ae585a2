//! Fuzzes `halfpower_fuzz::system`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| halfpower_fuzz::system(bytes));
