//! Fuzzes `halfpower_fuzz::quantity`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| halfpower_fuzz::quantity(bytes));
