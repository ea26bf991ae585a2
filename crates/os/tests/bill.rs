//! Checks that the bill of processor time is complete: the work of kernel threads for a ring is charged to the process
//! that owns it.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Barrier};
use std::time::Duration;

use halfpower_os::processor::{self, Times, charged, machine};
use halfpower_os::{Action, Buffers, DataFile, Mode, Ring, RingForm, Transfer, io_uring_available};

fn skip(what: &str) {
    assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "may not be skipped: {what}");
    eprintln!("skipped: {what}");
}

fn ring(form: RingForm) -> Option<Ring> {
    if let Err(error) = io_uring_available(form) {
        skip(&format!("{form:?}: {error}"));
        return None;
    }
    let file = DataFile::unnamed_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    file.write_all_at(&[5; 4096], 0).unwrap();
    let run_file = file.reopen(Mode { write: true, ..Mode::default() }).unwrap();
    Some(Ring::new(form, Buffers::new(1, 4096, 1).unwrap(), Some(run_file)).unwrap())
}

fn carry(ring: &mut Ring, action: Action) {
    ring.push([Transfer { slot: 0, action, offset: 0, length: if action == Action::Flush { 0 } else { 4096 } }]);
    while ring.in_flight() > 0 {
        ring.submit_and_wait(1).unwrap();
        ring.reap(|reaped| assert!(reaped.result.is_ok(), "{reaped:?}"));
    }
}

/// Names of this process's threads.
fn threads() -> Vec<String> {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok()).collect()
}

/// Processor time in nanoseconds of this process's threads with names that begin with `beginning`.
fn spent_ns(beginning: &str) -> u64 {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let folders = tasks.filter_map(|task| Some(task.ok()?.path()));
    let of = |folder: &Path| -> Option<u64> {
        fs::read_to_string(folder.join("comm")).ok().filter(|name| name.starts_with(beginning))?;
        fs::read_to_string(folder.join("schedstat")).ok()?.split(' ').next()?.parse().ok()
    };
    folders.filter_map(|folder| of(&folder)).sum()
}

/// Lets the kernel's polling thread work for some time: what it spent, what this process was charged, and how long the
/// machine was busy, in nanoseconds; `None`, with a printed reason, if that cannot be told here.
fn polled() -> Option<[u64; 3]> {
    let mut ring = ring(RingForm::Sqpoll)?;
    carry(&mut ring, Action::Read);
    if spent_ns("iou-sqp") == 0 {
        skip("this kernel keeps its polling thread outside of the process, or says no times of threads");
        return None;
    }
    let charged_ns = || charged().user_ns + charged().system_ns;
    let busy_ns =
        || machine().iter().map(|cpu: &Times| cpu.user_ns + cpu.system_ns + cpu.irq_ns + cpu.softirq_ns).sum();
    let (charged_before_ns, before_ns, busy_before_ns): (_, _, u64) = (charged_ns(), spent_ns("iou-sqp"), busy_ns());
    // The thread polls on after its last request, and this thread does almost nothing meanwhile.
    while spent_ns("iou-sqp") < before_ns + 200_000_000 {
        carry(&mut ring, Action::Read);
        std::thread::sleep(Duration::from_millis(20));
    }
    let spent_ns = spent_ns("iou-sqp") - before_ns;
    let charged_ns = charged_ns() - charged_before_ns;
    let busy_ns = busy_ns() - busy_before_ns;
    eprintln!("the polling thread spent {spent_ns} ns, charged were {charged_ns}, the machine was busy {busy_ns}");
    Some([spent_ns, charged_ns, busy_ns])
}

/// The kernel's polling thread is a thread of ours, so its time is charged to this process.
#[test]
fn the_thread_that_polls_is_charged_to_this_process() {
    let Some([spent_ns, charged_ns, _]) = polled() else { return };
    assert!(charged_ns as f64 >= 0.98 * spent_ns as f64, "charged {charged_ns} of {spent_ns} ns");
}

/// Two threads that always have work share one processor, so each waits while the other runs.
#[test]
fn threads_that_share_a_processor_wait_for_it() {
    let both = Arc::new(Barrier::new(2));
    let burn = |both: Arc<Barrier>| {
        both.wait();
        let begun_ns = processor::charged_to_this_thread_ns();
        while processor::charged_to_this_thread_ns() - begun_ns < 100_000_000 {}
        processor::waited_by_this_thread_ns()
    };
    if !Path::new("/proc/thread-self/schedstat").exists() {
        return skip("this kernel does not say how long threads wait");
    }
    let cpu = processor::usable()[0];
    let begun = || [0, 1].map(|_| Arc::clone(&both)).map(|both| std::thread::spawn(move || burn(both)));
    let threads = processor::on_processor(cpu, begun).unwrap();
    let waited_ns: u64 = threads.map(|thread| thread.join().unwrap()).iter().sum();
    assert!(waited_ns > 50_000_000, "{waited_ns}");
}

/// Kernel workers, which carry out what would block, such as a flush, are also threads of this process.
#[test]
fn workers_of_the_kernel_are_threads_of_this_process() {
    let Some(mut ring) = ring(RingForm::Registered) else { return };
    // A worker without work ends after some seconds, for which this thread may stand still.
    let is_seen = |_: u32| {
        carry(&mut ring, Action::Flush);
        let is_there = threads().iter().any(|name| name.starts_with("iou-wrk"));
        is_there && (spent_ns("iou-wrk") > 0 || spent_ns("") == 0)
    };
    assert!((0..50).any(is_seen), "there is no worker that took time among {:?}", threads());
}

/// Measurements that only the laboratory runs.
mod lab {
    use halfpower_lab::{Figure, judge};

    use super::*;

    #[test]
    #[ignore = "lab: a machine whose host takes its processors loses ticks"]
    fn the_machines_ticks_hold_what_the_thread_that_polls_spent() {
        let figure = Figure::between("the machine's ticks over what a polling thread spent", 1.0, "", 0.5..=10.0);
        let ratio = || polled().map(|[spent_ns, _, busy_ns]| vec![busy_ns as f64 / spent_ns as f64]);
        judge("processors", vec![figure], ratio);
    }
}
