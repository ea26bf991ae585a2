//! Feeds thousands of mangled texts and files to every reader; none may panic, hang or use more than 1.5 GiB.
//!
//! `HALFPOWER_FUZZ_CASES` sets the number of cases per reader in the laboratory.

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

use halfpower_fuzz::{ENTRIES, Entry, entry, unescaped};

/// Words that are hard for readers.
const WORDS: [&str; 28] = [
    "0",
    "-1",
    "1",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999",
    "1e308",
    "1e-308",
    "NaN",
    "inf",
    "-0.0",
    "0x10",
    "\0",
    "é",
    "\u{1f4be}",
    "\n",
    "\r\n",
    ",",
    "=",
    ":",
    "..",
    "\"",
    "[",
    "{}",
    "null",
    "%",
    " ",
];

/// One change to a text.
#[derive(Debug, Clone)]
enum Edit {
    Cut(Index),
    Remove(Index, usize),
    Byte(Index, u8),
    Flip(Index, u8),
    Word(Index, usize),
    /// Replaces digits by a word.
    Number(Index, usize),
    Repeat(Index, usize),
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    prop_oneof![
        1 => at().prop_map(Edit::Cut),
        3 => (at(), 1..16usize).prop_map(|(at, count)| Edit::Remove(at, count)),
        3 => (at(), any::<u8>()).prop_map(|(at, byte)| Edit::Byte(at, byte)),
        3 => (at(), 0..8u8).prop_map(|(at, bit)| Edit::Flip(at, bit)),
        4 => (at(), 0..WORDS.len()).prop_map(|(at, word)| Edit::Word(at, word)),
        6 => (at(), 0..WORDS.len()).prop_map(|(at, word)| Edit::Number(at, word)),
        2 => (at(), 1..64usize).prop_map(|(at, count)| Edit::Repeat(at, count)),
    ]
}

fn apply(edit: &Edit, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        bytes.push(b'0');
    }
    let length = bytes.len();
    match edit {
        Edit::Cut(at) => bytes.truncate(at.index(length)),
        Edit::Remove(at, count) => {
            let from = at.index(length);
            drop(bytes.drain(from..(from + count).min(length)));
        }
        Edit::Byte(at, byte) => bytes[at.index(length)] = *byte,
        Edit::Flip(at, bit) => bytes[at.index(length)] ^= 1 << bit,
        Edit::Word(at, word) => {
            let from = at.index(length);
            bytes.splice(from..from, WORDS[*word].bytes());
        }
        Edit::Number(at, word) => {
            let from = at.index(length);
            let Some(from) = (from..length).find(|at| bytes[*at].is_ascii_digit()) else { return };
            let end = (from..length).find(|at| !bytes[*at].is_ascii_digit()).unwrap_or(length);
            bytes.splice(from..end, WORDS[*word].bytes());
        }
        Edit::Repeat(at, count) => {
            let from = at.index(length);
            let again = bytes[from..(from + count).min(length)].to_vec();
            bytes.splice(from..from, again);
        }
    }
}

/// A seed with some changes, or sometimes random bytes.
fn mangled(seeds: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let changed = (prop::sample::select(seeds), prop::collection::vec(edit(), 0..8));
    let changed = changed.prop_map(|(mut bytes, edits)| {
        edits.iter().for_each(|edit| apply(edit, &mut bytes));
        bytes
    });
    prop_oneof![19 => changed, 1 => prop::collection::vec(any::<u8>(), 0..200)]
}

/// Memory limit in bytes, above what the tests themselves need; a reader that allocates more aborts the test.
const MOST_BYTES: u64 = 3 << 29;

fn feed(entry: &Entry, cases: u32) {
    let limit = rustix::process::Rlimit { current: Some(MOST_BYTES), maximum: Some(MOST_BYTES) };
    rustix::process::setrlimit(rustix::process::Resource::As, limit).unwrap();
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let fed = TestRunner::new_with_rng(config, seeded()).run(&mangled((entry.seeds)()), |bytes| {
        (entry.feed)(&bytes);
        Ok(())
    });
    if let Err(error) = fed {
        panic!("{error}");
    }
}

/// The gate tries the same cases every time; the laboratory tries others.
fn seeded() -> prop::test_runner::TestRng {
    let algorithm = prop::test_runner::RngAlgorithm::ChaCha;
    match std::env::var("HALFPOWER_FUZZ_CASES") {
        Ok(_) => prop::test_runner::TestRng::from_seed(algorithm, &rand_seed()),
        Err(_) => prop::test_runner::TestRng::deterministic_rng(algorithm),
    }
}

/// From `HALFPOWER_FUZZ_SEED` or the clock; printed, so that a failure can be reproduced.
fn rand_seed() -> [u8; 32] {
    let clock = || std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos() as u64;
    let number = std::env::var("HALFPOWER_FUZZ_SEED").ok().map_or_else(clock, |text| text.parse().unwrap());
    println!("HALFPOWER_FUZZ_SEED={number}");
    let mut seed = [0; 32];
    seed[..8].copy_from_slice(&number.to_le_bytes());
    seed
}

fn long_cases() -> u32 {
    std::env::var("HALFPOWER_FUZZ_CASES").map_or(20_000, |cases| cases.parse().unwrap())
}

macro_rules! entries {
    ($($name:ident: $quick:literal;)+) => {
        $(#[test]
        fn $name() {
            feed(entry(stringify!($name)), $quick);
        })+

        /// Tests for the laboratory.
        mod lab {
            use super::*;

            $(#[test]
            #[ignore = "lab: as many cases as HALFPOWER_FUZZ_CASES says"]
            fn $name() {
                feed(entry(stringify!($name)), long_cases());
            })+
        }

        #[test]
        fn every_entry_is_fed() {
            let fed = [$(stringify!($name)),+];
            assert_eq!(ENTRIES.iter().map(|entry| entry.name).collect::<Vec<_>>(), fed);
        }
    };
}

entries! {
    quantity: 8000;
    target: 4000;
    system: 2000;
    profile: 500;
    command_line: 1000;
    job_file: 2000;
    diskspd_profile: 1000;
    sqlio_trace: 4000;
    sqlio_results: 250;
    fio_results: 250;
    diskspd_results: 250;
    elbencho_results: 250;
    ior_results: 250;
    strace_output: 1000;
    blkparse_output: 1000;
    fio_logs: 1000;
    trace_page: 2000;
    records: 1000;
    study_file: 500;
    watch_file: 2000;
    sysfs: 200;
    witness_replies: 4000;
}

/// Inputs that fuzzers have found are still read or refused without a panic.
#[test]
fn the_corpus_is_read() {
    for entry in ENTRIES {
        entry.corpus.lines().for_each(|line| (entry.feed)(&unescaped(line)));
    }
}
