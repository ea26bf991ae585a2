//! Fuzzes `halfpower_fuzz::sysfs`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| halfpower_fuzz::sysfs(bytes));
