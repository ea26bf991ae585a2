//! Checks that rings of every form, and libaio, keep the contract for slots and waits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use halfpower_os::{Action, Aio, Buffers, DataFile, Mode, Reaped, Ring, RingForm, Transfer, aio, io_uring_available};

/// Forms that work on any device.
const FORMS: [RingForm; 3] = [RingForm::Registered, RingForm::Plain, RingForm::Sqpoll];

fn skip(what: &str) {
    assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "may not be skipped: {what}");
    eprintln!("skipped: {what}");
}

fn file(bytes: usize) -> DataFile {
    let file = DataFile::unnamed_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    file.write_all_at(&vec![5; bytes], 0).unwrap();
    file.sync().unwrap();
    file
}

fn ring(form: RingForm, slots: u32, file: &DataFile) -> Option<Ring> {
    if let Err(error) = io_uring_available(form) {
        skip(&format!("{form:?}: {error}"));
        return None;
    }
    let run_file = file.reopen(Mode { write: true, ..Mode::default() }).unwrap();
    Some(Ring::new(form, Buffers::new(slots, 4096, 1).unwrap(), Some(run_file)).unwrap())
}

fn transfer(slot: u32, action: Action) -> Transfer {
    Transfer { slot, action, offset: u64::from(slot) * 4096, length: if action == Action::Flush { 0 } else { 4096 } }
}

fn all(ring: &mut Ring) -> Vec<Reaped> {
    let mut outcomes = Vec::new();
    while ring.in_flight() > 0 {
        ring.submit_and_wait(1).unwrap();
        ring.reap(|reaped| outcomes.push(reaped));
    }
    outcomes
}

#[test]
fn a_busy_thread_of_the_kernel_never_lacks_room() {
    let file = file(1 << 16);
    for form in FORMS {
        let Some(mut ring) = ring(form, 4, &file) else { continue };
        ring.push((0..4).map(|slot| transfer(slot, Action::Read)));
        let mut free = Vec::new();
        let mut reads = 0;
        while reads < 100_000 {
            // Reads hit the page cache: slots come back at once, sometimes before the kernel reports that it took them.
            ring.submit_and_wait(0).unwrap();
            ring.reap(|reaped| {
                assert_eq!(reaped.result, Ok(4096), "{form:?}");
                free.push(reaped.slot);
            });
            reads += free.len();
            if free.is_empty() {
                // On one processor the kernel's thread has to get it.
                std::thread::yield_now();
            }
            ring.push(free.drain(..).map(|slot| transfer(slot, Action::Read)));
        }
        assert_eq!((ring.in_flight(), all(&mut ring).len()), (4, 4), "{form:?}");
    }
}

#[test]
fn each_of_many_rings_gets_the_same_treatment() {
    let file = file(4096);
    let Some(first) = ring(RingForm::Registered, 256, &file) else { return };
    let registered = first.has_registered_buffers();
    drop(first);
    for _ in 0..30 {
        // Other programs of the same user may have locked as much memory as it may at this moment.
        let rings = (0..600).map(|look| {
            std::thread::sleep(Duration::from_millis(if look > 0 { 100 } else { 0 }));
            ring(RingForm::Registered, 256, &file).unwrap()
        });
        let mut rings = rings.skip_while(|ring| registered && !ring.has_registered_buffers());
        let mut ring = rings.next().expect("it has registered buffers, too");
        // Driven by another thread, so the kernel frees its memory only later.
        std::thread::scope(|scope| scope.spawn(|| ring.submit_and_wait(0).unwrap()).join().unwrap());
    }
}

#[test]
fn a_broken_promise_leaves_every_slot_accounted_for() {
    let file = file(1 << 16);
    for form in FORMS {
        let Some(mut ring) = ring(form, 3, &file) else { continue };
        let too_long = Transfer { length: 4097, ..transfer(1, Action::Read) };
        let push = || ring.push([transfer(0, Action::Read), too_long, transfer(2, Action::Read)]);
        assert!(catch_unwind(AssertUnwindSafe(push)).is_err());
        assert_eq!(ring.in_flight(), 1, "{form:?}: what went out before counts");
        assert_eq!(all(&mut ring), [Reaped { slot: 0, result: Ok(4096) }], "{form:?}");
    }
}

#[test]
fn a_wait_for_a_time_ends_with_the_time_or_an_outcome() {
    let file = file(1 << 16);
    for form in FORMS {
        let Some(mut ring) = ring(form, 2, &file) else { continue };
        if !ring.can_wait_for_a_time() {
            skip("this kernel waits without a limit only");
            continue;
        }
        let began = Instant::now();
        ring.submit_and_wait_at_most(Duration::from_millis(20)).unwrap();
        assert!(began.elapsed() >= Duration::from_millis(20), "{form:?}");
        ring.push([transfer(1, Action::Read)]);
        let mut outcome = None;
        while outcome.is_none() {
            ring.submit_and_wait_at_most(Duration::from_secs(3_600)).unwrap();
            ring.reap(|reaped| outcome = Some(reaped));
        }
        assert_eq!(outcome, Some(Reaped { slot: 1, result: Ok(4096) }), "{form:?}");
    }
}

#[test]
fn the_older_brother_refuses_one_and_carries_the_rest() {
    if let Err(error) = aio::available() {
        return skip(&error.to_string());
    }
    let file = file(1 << 16);
    let read_only = file.reopen(Mode::default()).unwrap();
    let mut aio = Aio::new(Buffers::new(4, 4096, 1).unwrap(), [read_only]).unwrap();
    aio.submit(
        [Action::Write, Action::Read, Action::Write, Action::Read].into_iter().zip(0..).map(|(a, s)| transfer(s, a)),
    )
    .unwrap();
    let mut outcomes = Vec::new();
    aio.reap(4, None, |reaped| outcomes.push((reaped.slot, reaped.result))).unwrap();
    outcomes.sort_unstable();
    assert_eq!(outcomes, [(0, Err(libc::EBADF)), (1, Ok(4096)), (2, Err(libc::EBADF)), (3, Ok(4096))]);
    assert_eq!(aio.in_flight(), 0);
    aio.submit([transfer(0, Action::Read)]).unwrap();
    assert!(catch_unwind(AssertUnwindSafe(|| aio.stamp(0, 0, 16, 0))).is_err(), "a slot in flight can be stamped");
    assert!(catch_unwind(AssertUnwindSafe(|| aio.submit([transfer(0, Action::Read)]))).is_err());
    aio.reap(1, None, |reaped| assert_eq!(reaped.result, Ok(4096))).unwrap();
}
