//! Fuzzes `halfpower_fuzz::sqlio_trace`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| halfpower_fuzz::sqlio_trace(bytes));
