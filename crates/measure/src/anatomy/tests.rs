//! Tests the anatomy with traces of known phases, with splits, merges, and requests of others.

use std::collections::BTreeSet;

use halfpower_os::trace::{RingEntry, Step, Trace, TraceEvent, What};
use halfpower_record::{Anatomy, Phase};

use super::anatomy;

/// The submitting thread, a kernel thread, and a foreign thread.
const OWN: u32 = 10;
const KERNEL: u32 = 2;
const STRANGER: u32 = 77;
/// The disk's interrupt line.
const LINE: u32 = 36;

/// Builds a trace event by event.
#[derive(Default)]
struct Tape {
    trace: Trace,
}

impl Tape {
    fn event(&mut self, at_ns: u64, thread: u32, what: What) -> &mut Self {
        let from_kernel = thread == KERNEL;
        let event = TraceEvent { at_ns, cpu: 0, thread, in_interrupt: from_kernel, is_worker: from_kernel, what };
        self.trace.events.push(event);
        self
    }

    fn submit(&mut self, at_ns: u64, slot: u64, bytes: u64) -> &mut Self {
        self.event(at_ns, OWN, What::Submitted(RingEntry { ring: 5, mark: bytes << 32 | slot }))
    }

    fn answer(&mut self, at_ns: u64, slot: u64, bytes: u64) -> &mut Self {
        self.event(at_ns, OWN, What::Answered(RingEntry { ring: 5, mark: bytes << 32 | slot }))
    }

    fn block(&mut self, at_ns: u64, thread: u32, step: Step, start: u64, sectors: u64) -> &mut Self {
        self.event(at_ns, thread, What::Block { step, disk: 0, sectors: start..start + sectors })
    }

    fn interrupt(&mut self, at_ns: u64) -> &mut Self {
        self.event(at_ns, KERNEL, What::Interrupt { number: LINE })
    }

    /// A request of 4 KiB with every step; the first steps are 10 ns apart, and the device takes `device_ns`.
    fn whole(&mut self, at_ns: u64, slot: u64, start: u64, device_ns: u64) -> &mut Self {
        self.submit(at_ns, slot, 4096)
            .block(at_ns + 10, OWN, Step::Queued, start, 8)
            .block(at_ns + 30, OWN, Step::Granted, start, 8)
            .block(at_ns + 60, OWN, Step::Inserted, start, 8)
            .block(at_ns + 100, OWN, Step::Issued, start, 8)
            .interrupt(at_ns + 100 + device_ns)
            .block(at_ns + 105 + device_ns, KERNEL, Step::Completed, start, 8)
            .answer(at_ns + 112 + device_ns, slot, 4096)
    }

    fn anatomy(&mut self) -> Anatomy {
        self.trace.events.sort_by_key(|event| event.at_ns);
        anatomy(&self.trace, &BTreeSet::from([OWN]))
    }
}

fn means(anatomy: &Anatomy) -> [f64; 7] {
    Phase::ALL.map(|phase| anatomy.mean_ns(phase))
}

#[test]
fn each_stretch_of_the_way_is_a_phase() {
    let anatomy = Tape::default().whole(1000, 0, 64, 5000).whole(9000, 0, 640, 7000).anatomy();
    assert_eq!(means(&anatomy), [10.0, 20.0, 30.0, 40.0, 6000.0, 5.0, 7.0]);
    assert_eq!((anatomy.requests, anatomy.block_requests, anatomy.unseen), (2, 2, 0));
    assert_eq!(anatomy.total_ns(), 6112.0);
    assert!(anatomy.phases.iter().all(|phase| phase.requests == 2));
}

#[test]
fn many_in_flight_are_kept_apart_also_at_the_same_place() {
    let mut tape = Tape::default();
    tape.whole(0, 0, 64, 5000).whole(1, 1, 64, 5000).whole(2, 2, 128, 5000);
    assert_eq!(means(&tape.anatomy()), [10.0, 20.0, 30.0, 40.0, 5000.0, 5.0, 7.0]);
}

#[test]
fn of_the_parts_of_a_cut_request_the_last_one_counts() {
    let mut tape = Tape::default();
    tape.submit(0, 0, 1 << 20)
        .block(10, OWN, Step::Queued, 0, 2048)
        .event(20, OWN, What::Split { disk: 0, from: 0, at: 2032 })
        .block(30, OWN, Step::Granted, 0, 2032)
        .block(40, OWN, Step::Granted, 2032, 16)
        .block(50, OWN, Step::Issued, 0, 2032)
        .block(60, OWN, Step::Issued, 2032, 16)
        .block(260, KERNEL, Step::Completed, 2032, 16)
        .block(550, KERNEL, Step::Completed, 0, 2032)
        .answer(560, 0, 1 << 20);
    let anatomy = tape.anatomy();
    assert_eq!((anatomy.requests, anatomy.block_requests, anatomy.splits), (1, 2, 1));
    assert_eq!(means(&anatomy), [10.0, 20.0, 20.0, 0.0, 500.0, 0.0, 10.0]);
}

#[test]
fn a_merged_request_shares_the_steps_of_its_neighbour() {
    let mut tape = Tape::default();
    tape.submit(0, 0, 4096).block(10, OWN, Step::Queued, 0, 8).block(20, OWN, Step::Granted, 0, 8);
    tape.submit(30, 1, 4096).block(40, OWN, Step::Queued, 8, 8).block(45, OWN, Step::Merged, 8, 8);
    tape.block(60, OWN, Step::Inserted, 0, 16).block(80, OWN, Step::Issued, 0, 16);
    tape.block(180, KERNEL, Step::Completed, 0, 16).answer(190, 0, 4096).answer(190, 1, 4096);
    let anatomy = tape.anatomy();
    assert_eq!((anatomy.requests, anatomy.block_requests, anatomy.merges), (2, 1, 1));
    // One is plugged from its grant at 20 and one from its merge at 45, both until the scheduler at 60.
    assert_eq!(means(&anatomy), [10.0, 7.5, 27.5, 20.0, 100.0, 0.0, 10.0]);
}

#[test]
fn a_request_that_joins_one_in_the_schedulers_queue_was_never_plugged() {
    let mut tape = Tape::default();
    tape.submit(0, 0, 4096).block(0, OWN, Step::Queued, 8, 8).block(0, OWN, Step::Granted, 8, 8);
    tape.block(0, OWN, Step::Inserted, 8, 8);
    tape.submit(0, 1, 4096).block(0, OWN, Step::Queued, 0, 8).block(100, OWN, Step::Merged, 0, 8);
    tape.block(200, OWN, Step::Issued, 0, 16).block(200, KERNEL, Step::Completed, 0, 16);
    let anatomy = tape.answer(200, 0, 4096).answer(200, 1, 4096).anatomy();
    assert_eq!((anatomy.mean_ns(Phase::Plug), anatomy.mean_ns(Phase::Scheduler)), (0.0, 150.0));
}

#[test]
fn requests_that_become_one_are_issued_once() {
    let mut tape = Tape::default();
    for (slot, start) in [(0, 0), (1, 8)] {
        tape.submit(0, slot, 4096).block(0, OWN, Step::Queued, start, 8).block(10, OWN, Step::Granted, start, 8);
    }
    tape.block(20, OWN, Step::Inserted, 0, 8).block(40, OWN, Step::Joined, 8, 8).block(50, OWN, Step::Issued, 0, 16);
    tape.block(150, KERNEL, Step::Completed, 0, 16).answer(150, 0, 4096).answer(150, 1, 4096);
    let anatomy = tape.anatomy();
    assert_eq!((anatomy.requests, anatomy.block_requests, anatomy.merges), (2, 1, 1));
    assert_eq!(means(&anatomy), [0.0, 10.0, 20.0, 20.0, 100.0, 0.0, 0.0]);
}

#[test]
fn waiting_for_a_full_driver_is_the_schedulers() {
    let mut tape = Tape::default();
    tape.submit(0, 0, 4096).block(0, OWN, Step::Queued, 0, 8).block(0, OWN, Step::Granted, 0, 8);
    tape.block(10, OWN, Step::Inserted, 0, 8).block(20, OWN, Step::Issued, 0, 8);
    tape.block(30, OWN, Step::Requeued, 0, 8).block(500, KERNEL, Step::Issued, 0, 8);
    let anatomy = tape.block(600, KERNEL, Step::Completed, 0, 8).answer(600, 0, 4096).anatomy();
    assert_eq!(means(&anatomy), [0.0, 0.0, 10.0, 490.0, 100.0, 0.0, 0.0]);
    assert_eq!((anatomy.requests, anatomy.requeues), (1, 1));
}

#[test]
fn a_request_is_done_when_its_last_sector_is() {
    let mut tape = Tape::default();
    tape.submit(0, 0, 8192).block(0, OWN, Step::Queued, 0, 16).block(0, OWN, Step::Issued, 0, 16);
    tape.block(100, KERNEL, Step::Completed, 0, 8).block(300, KERNEL, Step::Completed, 8, 8);
    let anatomy = tape.answer(310, 0, 8192).anatomy();
    assert_eq!((anatomy.requests, anatomy.mean_ns(Phase::Device)), (1, 300.0));
}

#[test]
fn what_was_held_back_above_the_block_layer_is_found_again() {
    let mut tape = Tape::default();
    tape.submit(0, 0, 4096).submit(1, 1, 8192);
    tape.block(500, KERNEL, Step::Queued, 64, 8).block(500, KERNEL, Step::Issued, 64, 8);
    tape.block(600, KERNEL, Step::Completed, 64, 8).answer(600, 0, 4096);
    tape.block(700, KERNEL, Step::Queued, 0, 16).block(700, KERNEL, Step::Issued, 0, 16);
    let anatomy = tape.block(800, KERNEL, Step::Completed, 0, 16).answer(801, 1, 8192).anatomy();
    assert_eq!((anatomy.requests, anatomy.unseen), (2, 0));
    assert_eq!(anatomy.mean_ns(Phase::Submit), (500.0 + 699.0) / 2.0);
}

#[test]
fn strangers_leave_no_trace() {
    let mut tape = Tape::default();
    tape.whole(0, 0, 64, 5000);
    tape.event(1, STRANGER, What::Submitted(RingEntry { ring: 9, mark: 4096 << 32 }));
    tape.block(2, STRANGER, Step::Queued, 512, 8).block(3, STRANGER, Step::Issued, 512, 8);
    tape.block(4, KERNEL, Step::Completed, 512, 8);
    tape.event(5, STRANGER, What::Answered(RingEntry { ring: 9, mark: 4096 << 32 }));
    // Another device's interrupt on the same processor, between ours and the report.
    tape.event(5102, KERNEL, What::Interrupt { number: 99 }).whole(10_000, 0, 64, 5000).whole(20_000, 0, 64, 5000);
    let anatomy = tape.anatomy();
    assert_eq!((anatomy.requests, anatomy.block_requests, anatomy.splits), (3, 3, 0));
    assert_eq!(means(&anatomy), [10.0, 20.0, 30.0, 40.0, 5000.0, 5.0, 7.0]);
}

#[test]
fn a_workers_request_for_another_is_not_taken_for_ours() {
    let mut tape = Tape::default();
    tape.whole(0, 0, 64, 5000);
    // Written back between our request's way off the ring and its way into the block layer.
    tape.block(5, KERNEL, Step::Queued, 512, 8).block(15, KERNEL, Step::Merged, 512, 8);
    let anatomy = tape.anatomy();
    assert_eq!((anatomy.requests, anatomy.unseen), (1, 0));
    assert_eq!(means(&anatomy), [10.0, 20.0, 30.0, 40.0, 5000.0, 5.0, 7.0]);
}

#[test]
fn only_requests_that_began_when_the_trace_was_whole_count() {
    let mut tape = Tape::default();
    tape.whole(0, 0, 64, 5000).whole(10_000, 0, 64, 6000);
    tape.trace.events.remove(1);
    tape.trace = Trace { whole_from_ns: 50, overwritten: 3, ..tape.trace };
    let anatomy = tape.anatomy();
    assert_eq!((anatomy.requests, anatomy.unseen, anatomy.overwritten_events), (1, 0, 3));
    assert_eq!(anatomy.mean_ns(Phase::Device), 6000.0);
}

#[test]
fn a_request_with_a_step_lost_is_unseen() {
    for lost in [Step::Queued, Step::Issued, Step::Completed] {
        let mut tape = Tape::default();
        tape.whole(0, 0, 64, 5000).whole(10_000, 1, 640, 6000);
        let lost = |event: &TraceEvent| matches!(&event.what, What::Block { step, .. } if *step == lost);
        let first = tape.trace.events.iter().position(lost).unwrap();
        tape.trace.events.remove(first);
        let anatomy = tape.anatomy();
        assert_eq!((anatomy.requests, anatomy.unseen), (1, 1));
        assert_eq!(anatomy.mean_ns(Phase::Device), 6000.0);
    }
}

#[test]
fn what_is_left_of_a_request_is_no_part_of_the_next_in_its_slot() {
    let mut tape = Tape::default();
    tape.submit(1_000, 1, 4096).block(1_010, OWN, Step::Queued, 640, 8).answer(1_200, 1, 4096);
    tape.submit(2_000, 1, 4096).block(2_100, KERNEL, Step::Completed, 640, 8).answer(2_200, 1, 4096);
    tape.whole(3_000, 1, 64, 1_000);
    let anatomy = tape.anatomy();
    assert_eq!((anatomy.requests, anatomy.unseen), (1, 2));
}

#[test]
fn without_a_ring_the_way_begins_at_the_queue() {
    let mut tape = Tape::default();
    tape.block(0, OWN, Step::Queued, 64, 8).block(20, OWN, Step::Granted, 64, 8);
    tape.block(30, OWN, Step::Issued, 64, 8).interrupt(130).block(135, KERNEL, Step::Completed, 64, 8);
    tape.block(200, STRANGER, Step::Queued, 64, 8).block(300, STRANGER, Step::Issued, 64, 8);
    let anatomy = tape.block(900, KERNEL, Step::Completed, 64, 8).anatomy();
    assert_eq!((anatomy.requests, anatomy.unseen), (1, 0));
    let phases: Vec<Phase> = anatomy.phases.iter().map(|phase| phase.phase).collect();
    assert_eq!(phases, [Phase::Queue, Phase::Plug, Phase::Device, Phase::Interrupt]);
    assert_eq!(anatomy.total_ns(), 135.0);
}

#[test]
fn a_report_outside_an_interrupt_has_none() {
    let mut tape = Tape::default();
    tape.interrupt(0).block(1, KERNEL, Step::Completed, 999, 8);
    tape.block(10, OWN, Step::Queued, 64, 8).block(20, OWN, Step::Issued, 64, 8).interrupt(50);
    let anatomy = tape.block(100, OWN, Step::Completed, 64, 8).anatomy();
    assert_eq!((anatomy.mean_ns(Phase::Device), anatomy.mean_ns(Phase::Interrupt)), (80.0, 0.0));
}

#[test]
fn an_empty_trace_has_no_requests() {
    let anatomy = Tape::default().anatomy();
    assert_eq!((anatomy.requests, anatomy.phases.len(), anatomy.total_ns()), (0, 0, 0.0));
}
