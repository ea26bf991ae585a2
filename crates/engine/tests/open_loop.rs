//! Checks that engines sleep while they wait for a deadline, never return early, and wake for a completion.

use std::path::Path;

use halfpower_engine::{Engine, Operation, Request, available, open};
use halfpower_os::{DataFile, Mode, processor};
use halfpower_spec::{Bytes, EngineName, Nanos};

const DEPTH: u32 = 4;

/// Runs a check over every available engine, over a file of 1 MiB, opened for direct I/O if the engine needs it.
fn over_all(check: impl Fn(EngineName, &mut dyn Engine)) {
    let file = DataFile::unnamed_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    file.write_all_at(&[1; 1 << 20], 0).unwrap();
    file.sync().unwrap();
    let names = EngineName::ALL.iter().copied();
    for name in names.filter(|name| !matches!(name, EngineName::Auto | EngineName::Simulated | EngineName::Memory)) {
        let mode = Mode { direct: name.polls_device(), ..Mode::default() };
        let run_file = file.reopen(mode).unwrap();
        match available(name, Some(&run_file)) {
            Ok(()) => check(name, &mut *open(Some(run_file), name, DEPTH, Bytes(4096), 1).unwrap().engine),
            Err(why) => eprintln!("left out: {name}: {why}"),
        }
    }
}

fn read(slot: u32) -> Request {
    Request { slot, operation: Operation::Read, offset: u64::from(slot) * 4096, length: 4096 }
}

#[test]
fn time_passes_to_the_moment_and_not_less() {
    over_all(|name, engine| {
        let mut done = Vec::with_capacity(DEPTH as usize);
        let mut late_ns: Vec<u64> = (1..=40)
            .map(|wait| {
                let until = Nanos(engine.now().0 + wait * 50_000);
                engine.reap_until(until, &mut done).unwrap();
                assert!(done.is_empty(), "{name}");
                engine.now().0.checked_sub(until.0).unwrap_or_else(|| panic!("{name} came back too early"))
            })
            .collect();
        late_ns.sort_unstable();
        eprintln!("{name}: late by {} us in the median, {} at most", late_ns[20] / 1000, late_ns[39] / 1000);
    });
}

#[test]
fn a_completion_ends_the_wait() {
    const HOUR_NS: u64 = 3_600_000_000_000;
    over_all(|name, engine| {
        let mut done = Vec::with_capacity(DEPTH as usize);
        let end = Nanos(engine.now().0 + HOUR_NS);
        for round in 0..20 {
            engine.submit(&[read(round % 4), read((round + 1) % 4)]).unwrap();
            let mut came = 0;
            while came < 2 {
                done.clear();
                engine.reap_until(end, &mut done).unwrap();
                assert!(!done.is_empty(), "{name} came back without anything");
                assert!(done.iter().all(|completion| completion.result == Ok(4096)), "{name}");
                came += done.len();
            }
            assert_eq!(came, 2, "{name}");
        }
    });
}

#[test]
fn a_moment_that_is_over_is_a_look() {
    over_all(|name, engine| {
        let mut done = Vec::with_capacity(DEPTH as usize);
        engine.reap_until(Nanos(0), &mut done).unwrap();
        assert!(done.is_empty(), "{name}");
        engine.submit(&[read(0)]).unwrap();
        while done.is_empty() {
            engine.reap_until(Nanos(0), &mut done).unwrap();
        }
        assert_eq!(done[0].result, Ok(4096), "{name}");
    });
}

#[test]
fn who_waits_sleeps() {
    over_all(|name, engine| {
        let mut done = Vec::with_capacity(DEPTH as usize);
        let began = engine.now();
        let charged_ns = processor::charged_to_this_thread_ns();
        for _ in 0..10 {
            let until = Nanos(engine.now().0 + 20_000_000);
            engine.reap_until(until, &mut done).unwrap();
        }
        let waited_ns = engine.now().0 - began.0;
        let spent_ns = processor::charged_to_this_thread_ns() - charged_ns;
        assert!(spent_ns * 4 < waited_ns, "{name} spent {spent_ns} ns of {waited_ns} awake");
    });
}
