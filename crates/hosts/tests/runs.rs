//! Tests that runs of many processes become one record, on simulated targets with known results.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use halfpower_hosts::{HostsTarget, InProcess, Lead, Opened, Ranks, Turn, serve};
use halfpower_measure::{
    Account, MeasureError, Prepared, SimulatedTarget, Spent, TargetBackend, measure, measure_until_stopped,
};
use halfpower_record::{DiscardReason, Environment, LEAST_OVERLAP, Record, overlap};
use halfpower_spec::{Bytes, Hosts, Nanos, Pass, Run, Rw, SimulatedDisk, Workload, WorkloadOptions};
use serde_json::Value;

use crate::messages::as_all;

const DISK: &str = "fixed=100us,rate=400MB/s,disks=2";

fn run(hosts: Option<Hosts>) -> Run {
    let options = WorkloadOptions { hosts, ..WorkloadOptions::default() };
    let workload = Workload { rw: Rw::Randread, bs: Bytes(16 << 10), iodepth: 4, options, ..Workload::default() };
    Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime: Nanos(400_000_000), seed: 7 }
}

fn simulated() -> SimulatedTarget {
    SimulatedTarget::new(SimulatedDisk::from_constants(DISK).unwrap())
}

type Made = Result<Box<dyn TargetBackend>, String>;

/// Runs `lead` on process 0 while the others serve, and returns its result; `open` makes the target of each process.
fn led<T: Send>(
    all: Vec<InProcess>,
    program: impl Fn(u32) -> String + Sync,
    open: impl Fn(u32) -> Made + Sync,
    lead: impl Fn(Result<HostsTarget, MeasureError>) -> T + Sync,
) -> T {
    let given = as_all(all, |ranks| {
        let ranks: Rc<dyn Ranks> = Rc::new(ranks);
        let program = program(ranks.rank());
        let mut open = |_: &Value, turn: Turn| Ok(Opened { target: open(turn.rank)?, link: None });
        if ranks.rank() > 0 {
            serve(ranks, &program, &mut open, &AtomicBool::new(false)).unwrap();
            return None;
        }
        let lead_of_all = Lead::new(ranks);
        Some(lead(HostsTarget::meet(&lead_of_all, &program, &Value::Null, &mut open)))
    });
    given.into_iter().flatten().next().unwrap()
}

/// The record of `run` by `size` processes, each with its own simulated disk.
fn made(size: u32, run: &Run) -> Record {
    led(
        InProcess::all(size),
        |_| "p".to_string(),
        |_| Ok(Box::new(simulated())),
        |target| measure(&mut target.unwrap(), run, &AtomicBool::new(false)).unwrap(),
    )
}

#[test]
fn two_processes_give_twice_what_one_gives_exactly() {
    let alone = measure(&mut simulated(), &run(None), &AtomicBool::new(false)).unwrap();
    let two = made(2, &run(None));
    // Two disks, each of which serves 16 KiB in 100 us + 16 KiB / 400 MB/s, with four requests in flight.
    let closed_form = 2.0 * 2.0 * 16_384.0 / (100_000.0 + 16_384.0 / 0.4);
    assert!((two.bytes as f64 / two.elapsed_ns as f64 / closed_form - 1.0).abs() < 0.001, "{}", two.mbps());
    assert_eq!((two.bytes, two.ios, two.elapsed_ns), (2 * alone.bytes, 2 * alone.ios, alone.elapsed_ns));
    assert_eq!((two.latency.count(), two.latency.quantile_ns(0.5)), (2 * alone.ios, alone.latency.quantile_ns(0.5)));
    assert_eq!(two.cpu.charged_ns(), 2 * alone.cpu.charged_ns());
    assert_eq!(two.achieved_depth, 2.0 * alone.achieved_depth);
    assert_eq!(two.series.bytes.iter().sum::<u64>(), 2 * alone.series.bytes.iter().sum::<u64>());
    assert_eq!((two.hosts.len(), overlap(&two.hosts)), (2, Some(1.0)));
    assert_eq!(two.hosts.iter().map(|host| host.bytes).sum::<u64>(), two.bytes);
    assert_eq!(two.run, run(None), "the run is the one that was asked for");
}

#[test]
fn whoever_is_left_out_measures_nothing() {
    let alone = measure(&mut simulated(), &run(None), &AtomicBool::new(false)).unwrap();
    for (hosts, ranks) in [(Hosts::only(3), vec![3]), (Hosts::only(0), vec![0]), (Hosts::first(2), vec![0, 1])] {
        let record = made(4, &run(Some(hosts)));
        assert_eq!(record.hosts.iter().map(|host| host.rank).collect::<Vec<_>>(), ranks);
        assert_eq!(record.ios, ranks.len() as u64 * alone.ios);
        assert_eq!(record.run.workload.options.hosts, Some(hosts));
    }
    let all = led(
        InProcess::all(2),
        |_| "p".to_string(),
        |_| Ok(Box::new(simulated())),
        |target| {
            let hosts = Some(Hosts { from: 1, count: 2 });
            measure(&mut target.unwrap(), &run(hosts), &AtomicBool::new(false)).unwrap_err().to_string()
        },
    );
    assert!(all.contains("there are 2 processes, 0 to 1"), "{all}");
}

#[test]
fn processes_that_would_end_at_times_of_their_own_are_refused() {
    let refused = |hosts: Option<Hosts>| {
        let mut asked = run(hosts);
        asked.workload.options.steady_state = "iops:10%:30s".parse().ok();
        led(
            InProcess::all(2),
            |_| "p".to_string(),
            |_| Ok(Box::new(simulated())),
            |target| target.unwrap().admits(&asked.workload).unwrap_err().to_string(),
        )
    };
    assert!(refused(None).contains("a time of its own"));
    let own = refused(Some(Hosts::only(0)));
    assert!(own.contains("a simulated run has the length"), "one process may, if its target can: {own}");
}

/// Bytes that process 0 receives in a run of `size` processes over `runtime_ns`.
fn gathered_bytes(size: u32, runtime_ns: u64) -> u64 {
    let all = InProcess::all(size);
    let heard = all[0].received_bytes();
    let disk = || SimulatedTarget::new(SimulatedDisk::from_constants("noise=3%,jitter=30%").unwrap());
    led(
        all,
        |_| "p".to_string(),
        |_| Ok(Box::new(disk())),
        |target| {
            let mut target = target.unwrap();
            let stop = AtomicBool::new(false);
            let before = heard();
            measure(&mut target, &Run { runtime: Nanos(runtime_ns), ..run(None) }, &stop).unwrap();
            heard() - before
        },
    )
}

#[test]
fn what_process_0_gathers_grows_by_little_a_process_and_not_with_requests() {
    let second_ns = 1_000_000_000;
    let [few, some, many] = [3, 32, 256].map(|size| gathered_bytes(size, second_ns));
    let each = (many - some) / (256 - 32);
    println!("a run of 1 s: {few} bytes from 2 others, {some} from 31, {many} from 255: {each} bytes a process");
    assert!(each <= 4096, "{each} bytes a process");
    let long = gathered_bytes(3, 8 * second_ns);
    println!("a run of 8 s: {long} bytes from 2 others");
    assert!(long < 2 * few, "{few} bytes of 1 s, {long} bytes of 8 s");
}

#[test]
fn many_processes_agree_as_two_do() {
    let alone = measure(&mut simulated(), &run(None), &AtomicBool::new(false)).unwrap();
    let record = made(65, &run(None));
    assert_eq!((record.ios, record.elapsed_ns), (65 * alone.ios, alone.elapsed_ns));
    assert_eq!(record.hosts.iter().map(|host| host.rank).collect::<Vec<_>>(), (0..65).collect::<Vec<_>>());
}

#[test]
fn another_version_is_refused_and_named() {
    let program = |rank: u32| if rank == 2 { "halfpower 2".to_string() } else { "halfpower 1".to_string() };
    let refused =
        led(InProcess::all(4), program, |_| Ok(Box::new(simulated())), |target| target.err().unwrap().to_string());
    assert!(refused.contains("rank 2") && refused.contains("is halfpower 2, and rank 0"), "{refused}");
}

#[test]
fn a_target_that_one_host_cannot_open_is_a_sentence_that_names_it() {
    let open = |rank: u32| -> Made {
        if rank == 1 { Err("/mnt/x is read-only".to_string()) } else { Ok(Box::new(simulated())) }
    };
    let refused = led(InProcess::all(3), |_| "p".to_string(), open, |target| target.err().unwrap().to_string());
    assert!(refused.starts_with("rank 1 on ") && refused.ends_with(": /mnt/x is read-only"), "{refused}");
}

/// A simulated target of one process with faults, in real time if `is_real`.
struct Odd {
    target: SimulatedTarget,
    /// Number of preparations that fail from now on.
    failures: Cell<u32>,
    is_real: bool,
    /// A clock that jumps forward by a day as a window opens, and in how many windows it does.
    jumps: Option<(Arc<AtomicI64>, u32)>,
    loses_answers: bool,
    /// A count of calls that hand requests to workers, and whether the next one changes anything here.
    hands: Option<(Arc<AtomicU32>, bool)>,
}

impl Odd {
    fn new(failures: u32) -> Self {
        Self {
            target: simulated(),
            failures: Cell::new(failures),
            is_real: false,
            jumps: None,
            loses_answers: false,
            hands: None,
        }
    }
}

impl TargetBackend for Odd {
    fn environment(&self) -> &Environment {
        self.target.environment()
    }

    fn environment_mut(&mut self) -> &mut Environment {
        self.target.environment_mut()
    }

    fn hand_to_workers(&mut self) -> bool {
        self.hands.as_mut().is_some_and(|(calls, changes)| {
            calls.fetch_add(1, Ordering::Relaxed);
            std::mem::take(changes)
        })
    }

    fn span_bytes(&self) -> u64 {
        self.target.span_bytes()
    }

    fn admits(&self, workload: &Workload) -> Result<(), MeasureError> {
        self.target.admits(workload)
    }

    fn make_ready(&mut self, span: Option<Bytes>, stop: &AtomicBool) -> Result<(), MeasureError> {
        if self.failures.get() == u32::MAX {
            return Err(MeasureError::Unfit { what: "the disk is full".to_string() });
        }
        self.target.make_ready(span, stop)
    }

    fn prepare(&mut self, run: &Run, stop: &AtomicBool) -> Result<Prepared, MeasureError> {
        if self.failures.get() > 0 {
            self.failures.set(self.failures.get() - 1);
            return Err(MeasureError::Unfit { what: "its cable is out".to_string() });
        }
        self.target.prepare(run, stop)
    }

    fn read_back(&mut self, _: &Run, _: &AtomicBool) -> Result<BTreeMap<String, u64>, MeasureError> {
        if self.loses_answers {
            return Err(MeasureError::Unfit { what: "its answer is lost".to_string() });
        }
        Ok(BTreeMap::new())
    }

    fn account(&mut self, pass: Pass) -> Result<Box<dyn Account>, MeasureError> {
        let account = self.target.account(pass)?;
        let ahead_ns = self.jumps.as_mut().filter(|(_, left)| *left > 0).map(|(ahead_ns, left)| {
            *left -= 1;
            Arc::clone(ahead_ns)
        });
        Ok(Box::new(Jumping { account, ahead_ns }))
    }

    fn harness_ns_per_io(&mut self, depth: u32) -> f64 {
        self.target.harness_ns_per_io(depth)
    }

    fn clock_ns(&self) -> u64 {
        self.target.clock_ns()
    }

    fn unix_ms(&self) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        if self.is_real { now.as_millis() as u64 } else { 0 }
    }
}

struct Jumping {
    account: Box<dyn Account>,
    ahead_ns: Option<Arc<AtomicI64>>,
}

impl Account for Jumping {
    fn begin(&mut self) -> Result<(), MeasureError> {
        self.ahead_ns.iter().for_each(|ahead_ns| {
            ahead_ns.fetch_add(86_400_000_000_000, Ordering::Relaxed);
        });
        self.account.begin()
    }

    fn end(&mut self) -> Spent {
        self.account.end()
    }
}

#[test]
fn a_run_that_one_process_cannot_prepare_ends_on_all_and_the_next_goes_on() {
    let open = |rank: u32| -> Made { Ok(Box::new(Odd::new(u32::from(rank == 2)))) };
    led(
        InProcess::all(5),
        |_| "p".to_string(),
        open,
        |target| {
            let mut target = target.unwrap();
            let stop = AtomicBool::new(false);
            target.make_ready(None, &stop).unwrap();
            let failed = measure(&mut target, &run(None), &stop).unwrap_err().to_string();
            assert!(failed.starts_with("rank 2 on ") && failed.ends_with("its cable is out"), "{failed}");
            assert_eq!(measure(&mut target, &run(None), &stop).unwrap().hosts.len(), 5);
        },
    );
}

#[test]
fn requests_that_were_given_back_anywhere_are_handed_to_workers_everywhere() {
    let calls = Arc::new(AtomicU32::new(0));
    let open =
        |rank: u32| -> Made { Ok(Box::new(Odd { hands: Some((Arc::clone(&calls), rank == 2)), ..Odd::new(0) })) };
    let (changes, hosts) = led(
        InProcess::all(4),
        |_| "p".to_string(),
        open,
        |target| {
            let mut target = target.unwrap();
            let changes = [target.hand_to_workers(), target.hand_to_workers()];
            (changes, measure(&mut target, &run(None), &AtomicBool::new(false)).unwrap().hosts.len())
        },
    );
    assert_eq!(changes, [true, false], "the target of one process changed, once");
    assert_eq!((calls.load(Ordering::Relaxed), hosts), (8, 4), "all were asked, and measure together afterwards");
}

#[test]
fn process_0_that_fails_leaves_nobody_waiting() {
    let open = |rank: u32| -> Made { Ok(Box::new(Odd::new(u32::from(rank == 0)))) };
    led(
        InProcess::all(3),
        |_| "p".to_string(),
        open,
        |target| {
            let mut target = target.unwrap();
            let stop = AtomicBool::new(false);
            let failed = measure(&mut target, &run(None), &stop).unwrap_err().to_string();
            assert!(failed.starts_with("rank 0 on "), "{failed}");
            assert_eq!(measure(&mut target, &run(None), &stop).unwrap().hosts.len(), 3);
        },
    );
}

#[test]
fn a_run_that_fails_after_it_began_is_told_with_its_host() {
    let open = |rank: u32| -> Made { Ok(Box::new(Odd { loses_answers: rank == 1, ..Odd::new(0) })) };
    let failed = led(
        InProcess::all(3),
        |_| "p".to_string(),
        open,
        |target| measure(&mut target.unwrap(), &run(None), &AtomicBool::new(false)).unwrap_err().to_string(),
    );
    assert!(failed.starts_with("rank 1 on ") && failed.ends_with("its answer is lost"), "{failed}");
}

#[test]
fn a_full_disk_on_one_host_is_known_before_anything_is_measured() {
    let open = |rank: u32| -> Made { Ok(Box::new(Odd::new(if rank == 1 { u32::MAX } else { 0 }))) };
    let failed = led(
        InProcess::all(2),
        |_| "p".to_string(),
        open,
        |target| target.unwrap().make_ready(None, &AtomicBool::new(false)).unwrap_err().to_string(),
    );
    assert!(failed.starts_with("rank 1 on ") && failed.ends_with("the disk is full"), "{failed}");
}

#[test]
fn clocks_that_differ_by_hours_tell_the_same_opening() {
    let hour_ns = 3_600_000_000_000;
    let all = InProcess::all(6);
    all.iter().zip(0..).for_each(|(ranks, rank)| ranks.ahead_ns().store(rank * hour_ns, Ordering::Relaxed));
    let open = |_: u32| -> Made { Ok(Box::new(Odd { is_real: true, ..Odd::new(0) })) };
    let record = led(
        all,
        |_| "p".to_string(),
        open,
        |target| measure_until_stopped(&mut target.unwrap(), &run(None), &AtomicBool::new(false)).unwrap(),
    );
    // A loaded machine may delay a thread for seconds, but an error of hours would show.
    let seconds = |ns: u64| Duration::from_nanos(ns).as_secs();
    for host in &record.hosts {
        assert!(seconds(host.opened_ns.unsigned_abs()) < 60 && seconds(host.opened_reach_ns) < 60, "{host:?}");
    }
    assert!(record.hosts.iter().skip(1).all(|host| host.opened_reach_ns > 0), "clocks were compared");
}

#[test]
fn windows_that_are_not_open_together_are_measured_again_and_told() {
    for (late, windows) in [(1, 1), (2, 2), (9, 2)] {
        let all = InProcess::all(2);
        let ahead_ns = all[1].ahead_ns();
        let open = |rank: u32| -> Made {
            let jumps = (rank == 1).then(|| (Arc::clone(&ahead_ns), late));
            Ok(Box::new(Odd { is_real: true, jumps, ..Odd::new(0) }))
        };
        // Long windows in virtual time: no delay of a thread comes near a twentieth of one.
        let long = Run { runtime: Nanos(200_000_000_000), ..run(None) };
        let (record, notes) = led(
            all,
            |_| "p".to_string(),
            open,
            |target| {
                let mut target = target.unwrap();
                let stop = AtomicBool::new(false);
                (measure(&mut target, &long, &stop).unwrap(), target.environment().notes.join("; "))
            },
        );
        let again = record.discarded.iter().filter(|window| window.reason == DiscardReason::NotTogether).count();
        assert_eq!(again, windows, "{late} windows were late");
        assert_eq!(overlap(&record.hosts).unwrap() < LEAST_OVERLAP, late > 2);
        assert_eq!(notes.contains("less than 95%"), late > 2, "{notes}");
    }
}

#[test]
fn the_others_end_when_process_0_does() {
    let stop = AtomicBool::new(false);
    as_all(InProcess::all(9), |ranks| {
        let ranks: Rc<dyn Ranks> = Rc::new(ranks);
        match ranks.rank() {
            0 => drop(Lead::new(ranks)),
            _ => serve(ranks, "p", &mut |_, _| Err("nobody asks".to_string()), &stop).unwrap(),
        }
    });
    assert!(!stop.load(Ordering::Relaxed));
}

#[test]
fn what_another_process_learnt_of_its_host_is_a_note_with_its_name() {
    let open = |rank: u32| -> Made {
        let mut target = simulated();
        target.note("all know this");
        if rank == 2 {
            target.note("its page cache could not be emptied");
        }
        Ok(Box::new(target))
    };
    let notes = led(
        InProcess::all(4),
        |_| "p".to_string(),
        open,
        |target| {
            let mut target = target.unwrap();
            (0..2).for_each(|_| drop(measure(&mut target, &run(None), &AtomicBool::new(false)).unwrap()));
            target.environment().notes.clone()
        },
    );
    let of_others: Vec<&String> = notes.iter().filter(|note| note.starts_with("rank ")).collect();
    assert!(
        matches!(&of_others[..], [note] if note.starts_with("rank 2 on ") && note.ends_with("could not be emptied")),
        "{notes:?}"
    );
}
