//! Fuzzes `halfpower_fuzz::study_file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| halfpower_fuzz::study_file(bytes));
