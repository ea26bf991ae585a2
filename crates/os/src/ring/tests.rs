//! Tests a ring over a real file.

use super::entry::entry;
use super::setup::{LEANEST, available, set_up_as};
use super::*;
use crate::skip::skip;
use crate::{Action, DataFile, Mode, Reaped};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

fn file() -> (DataFile, RunFile) {
    let file = DataFile::unnamed_in(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
    let run = file.reopen(Mode { write: true, ..Mode::default() }).unwrap();
    (file, run)
}

fn ring(count: u32, bytes_each: usize) -> Option<(DataFile, Ring)> {
    if let Err(error) = available(RingForm::Registered) {
        skip(&error.to_string());
        return None;
    }
    let (file, run) = file();
    Some((file, Ring::new(RingForm::Registered, Buffers::new(count, bytes_each, 1).unwrap(), Some(run)).unwrap()))
}

fn write(slot: u32, offset: u64, length: u32) -> Transfer {
    Transfer { slot, action: Action::Write, offset, length }
}

fn outcomes(ring: &mut Ring) -> Vec<Reaped> {
    let mut outcomes = Vec::new();
    while ring.in_flight() > 0 {
        ring.submit_and_wait(1).unwrap();
        ring.reap(|reaped| outcomes.push(reaped));
    }
    outcomes
}

#[test]
fn a_slot_in_flight_can_be_neither_seen_nor_sent_again() {
    let Some((_file, mut ring)) = ring(2, 4096) else { return };
    ring.push([write(1, 0, 4096)]);
    assert!(catch_unwind(AssertUnwindSafe(|| ring.slot(1).len())).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| ring.stamp(1, 0, 16, 0))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| ring.push([write(1, 0, 4096)]))).is_err());
    assert!(catch_unwind(AssertUnwindSafe(|| ring.push([write(0, 0, 4097)]))).is_err(), "longer than a slot");
    assert!(catch_unwind(AssertUnwindSafe(|| ring.push([write(2, 0, 4096)]))).is_err(), "no such slot");
    assert_eq!(ring.slot(0).len(), 4096);
    assert_eq!(outcomes(&mut ring), [Reaped { slot: 1, result: Ok(4096) }]);
    assert_eq!(ring.slot(1).len(), 4096);
}

#[test]
fn every_batch_is_sent_and_the_last_one_waits() {
    for batch in [1, 2, 3, 7, 8, 100] {
        let Some((file, ring)) = ring(8, 512) else { return };
        let mut ring = ring.in_batches(NonZeroU32::new(batch));
        ring.push((0..8).map(|slot| write(slot, u64::from(slot) * 512, 512)));
        ring.submit_and_wait(8).unwrap();
        assert_eq!(ring.queued, 0, "batches of {batch}");
        let mut count = 0;
        ring.reap(|_| count += 1);
        assert_eq!((count, ring.in_flight(), file.size_bytes().unwrap()), (8, 0, 4096), "batches of {batch}");
    }
}

#[test]
fn rings_of_older_kernels_and_small_limits_serve_as_well() {
    for (flags, registered) in LEANEST.into_iter().flat_map(|flags| [(flags, false), (flags, true)]) {
        let bare = match set_up_as(RingForm::Registered, flags, 4) {
            Ok(bare) => bare,
            Err(error) => return skip(&refusal(&error).to_string()),
        };
        let (file, run) = file();
        let mut ring =
            Ring::over(bare, RingForm::Registered, Buffers::new(4, 512, 1).unwrap(), vec![run], registered).unwrap();
        assert!(registered || !ring.has_registered_buffers());
        ring.push([write(3, 512, 512)]);
        assert_eq!(outcomes(&mut ring), [Reaped { slot: 3, result: Ok(512) }]);
        let mut bytes = [0; 512];
        file.read_at(&mut bytes, 512).unwrap();
        assert_eq!(bytes, ring.slot(3));
        ring.push([Transfer { slot: 0, action: Action::Read, offset: 512, length: 512 }]);
        ring.push([Transfer { slot: 1, action: Action::Flush, offset: 0, length: 0 }]);
        assert_eq!(outcomes(&mut ring).len(), 2);
        assert_eq!(bytes, ring.slot(0));
    }
}

#[test]
fn a_ring_on_a_strange_thread_is_an_error_and_leaves_no_dangling_buffer() {
    let Some((file, mut ring)) = ring(4, 65536) else { return };
    ring.submit_and_wait(0).unwrap();
    let lean = ring.ring.params().is_setup_single_issuer();
    let refused = std::thread::scope(|scope| {
        let strange = scope.spawn(|| {
            ring.push([write(0, 0, 65536)]);
            let refused = ring.submit_and_wait(1).is_err();
            drop(ring);
            refused
        });
        strange.join().unwrap()
    });
    assert_eq!(refused, lean);
    assert_eq!(file.size_bytes().unwrap(), if lean { 0 } else { 65536 });
}

/// Replaces an outcome by EAGAIN as many times as a test wants.
pub(super) fn given_back(times: &mut u32, reaped: Reaped) -> Reaped {
    if *times == 0 {
        return reaped;
    }
    *times -= 1;
    Reaped { result: Err(libc::EAGAIN), ..reaped }
}

#[test]
fn what_comes_back_with_eagain_is_sent_again_to_a_worker_and_counted() {
    for form in [RingForm::Registered, RingForm::Plain, RingForm::Sqpoll] {
        if let Err(error) = available(form) {
            skip(&error.to_string());
            continue;
        }
        let (data, run) = file();
        let mut ring = Ring::new(form, Buffers::new(4, 512, 1).unwrap(), [run]).unwrap();
        let is_by_worker = |ring: &Ring, slot: u32| {
            {
                // With or without a registered file: its flag is 1, a worker's is 16.
                let reported = format!("{:?}", entry(ring.means, &ring.slots[slot as usize]));
                reported.contains("flags: 16,") || reported.contains("flags: 17,")
            }
        };
        ring.give_back = 2;
        ring.push([write(0, 0, 512), write(1, 512, 512)]);
        assert!(!is_by_worker(&ring, 0), "{form:?}");
        while ring.ring.completion().len() < 2 {
            ring.submit_and_wait(2).unwrap();
        }
        let mut came = Vec::new();
        ring.reap(|reaped| came.push(reaped));
        assert_eq!((came, ring.resubmitted()), (vec![], 2), "{form:?}: they are no outcomes yet");
        assert_eq!(ring.in_flight(), 2, "{form:?}: they are still under way");
        assert!(catch_unwind(AssertUnwindSafe(|| ring.slot(0).len())).is_err(), "{form:?}: and their slots lent out");
        assert!(is_by_worker(&ring, 0) && is_by_worker(&ring, 1), "{form:?}");
        let mut slots: Vec<u32> = outcomes(&mut ring).iter().map(|reaped| reaped.slot).collect();
        slots.sort_unstable();
        assert_eq!((slots, ring.resubmitted()), (vec![0, 1], 2), "{form:?}: each comes once");
        let mut bytes = [0; 512];
        data.read_at(&mut bytes, 512).unwrap();
        assert_eq!(bytes, ring.slot(1), "{form:?}: and what it carried is there");
        // From now on workers get everything from the start, so EAGAIN is the outcome.
        ring.give_back = 1;
        ring.push([write(2, 0, 512)]);
        assert!(is_by_worker(&ring, 2), "{form:?}");
        assert_eq!(outcomes(&mut ring), [Reaped { slot: 2, result: Err(libc::EAGAIN) }], "{form:?}");
        assert_eq!((ring.resubmitted(), ring.in_flight()), (2, 0), "{form:?}");
    }
}

#[test]
fn a_ring_that_is_let_go_with_a_transfer_to_send_again_ends() {
    let Some((_file, mut ring)) = ring(2, 512) else { return };
    ring.give_back = 1;
    ring.push([write(0, 0, 512)]);
    ring.submit_and_wait(1).unwrap();
    ring.reap(|_| ());
    assert_eq!((ring.resubmitted(), ring.in_flight()), (1, 1));
    drop(ring);
}
