//! Checks that the record of a simulated run matches its constants, to the nanosecond of virtual time.

use std::sync::atomic::AtomicBool;

use halfpower_measure::{
    Account, LatenciesOf, MeasureError, Prepared, SimulatedTarget, TargetBackend, find_depth, forwards, measure,
    measure_keeping,
};
use halfpower_record::{DepthSearch, DiscardReason, Environment, Record};
use halfpower_spec::{Arrival, Arrivals, Bytes, Nanos, Pass, Run, Rw, SimulatedDisk, Workload};

fn run(constants: &str, workload: Workload, pass: Pass) -> Record {
    let disk = SimulatedDisk::from_constants(constants).unwrap();
    let mut backend = SimulatedTarget::new(disk);
    let runtime = Nanos(500_000_000);
    let run = Run { experiment: None, workload, repeat: 0, pass, runtime, seed: 3 };
    measure(&mut backend, &run, &AtomicBool::new(false)).unwrap()
}

fn cell(bs: u64, iodepth: u32) -> Workload {
    Workload { rw: Rw::Randread, bs: Bytes(bs), iodepth, ..Workload::default() }
}

#[test]
fn one_request_at_a_time_takes_fixed_plus_size_over_rate() {
    let record = run("fixed=100us,rate=1GB/s", cell(100_000, 1), Pass::Plain);
    assert_eq!(record.ios, 2_500);
    assert_eq!((record.latency.min_ns(), record.latency.max_ns()), (200_000, 200_000));
    assert_eq!(record.elapsed_ns, 500_000_000);
    assert!((record.mbps() - 500.0).abs() < 1e-9);
    assert!((record.achieved_depth - 1.0).abs() < 1e-9);
    assert_eq!(record.spent_ns, record.elapsed_ns);
}

#[test]
fn depth_is_achieved_and_a_shared_limit_holds() {
    let record = run("fixed=0us,rate=1GB/s,disks=8,shared=2GB/s", cell(1 << 20, 16), Pass::Plain);
    assert!((record.mbps() / 2000.0 - 1.0).abs() < 0.01, "{}", record.mbps());
    assert!((record.achieved_depth - 16.0).abs() < 1e-9, "{}", record.achieved_depth);
}

#[test]
fn the_greatest_depth_that_keeps_a_latency_is_found() {
    let found = |constants: &str, most_us: u64, percent: f64| {
        let mut backend = SimulatedTarget::new(SimulatedDisk::from_constants(constants).unwrap());
        let workload = cell(4096, 32);
        let run =
            Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime: Nanos(1_000_000_000), seed: 3 };
        let search = DepthSearch {
            most_ns: most_us * 1_000,
            percent,
            window_ns: 500_000_000,
            most_depth: workload.iodepth,
            tried: Vec::new(),
        };
        let mut told = Vec::new();
        let stop = AtomicBool::new(false);
        let search = find_depth(&mut backend, &run, search, &mut |depth| told.push(depth), &stop).unwrap();
        assert_eq!(told, search.tried.iter().map(|tried| tried.depth).collect::<Vec<_>>());
        search.found()
    };
    // One disk: at depth d a request takes d x 100 us. Four disks: 100 us as long as each has one.
    assert_eq!(found("fixed=100us,rate=900000GB/s", 1_050, 100.0), Some(10));
    assert_eq!(found("fixed=100us,rate=900000GB/s", 1_050, 99.0), Some(10));
    assert_eq!(found("fixed=100us,rate=900000GB/s", 99, 100.0), None);
    assert_eq!(found("fixed=100us,rate=900000GB/s,disks=4", 150, 100.0), Some(4));
}

#[test]
fn processor_time_is_told_apart_into_charged_and_lost() {
    let constants = "fixed=50us,cpu_fixed=4us,cpu_per_kib=100ns,unseen=25%";
    let record = run(constants, cell(4096, 1), Pass::Soaker);
    let lost_ns = record.cpu.soaker.as_ref().unwrap().lost_ns;
    assert_eq!(lost_ns, record.cpu.ios * 4_400);
    assert_eq!(record.cpu.charged_ns(), record.cpu.ios * 3_300);
    assert_eq!(run(constants, cell(4096, 1), Pass::Plain).cpu.soaker, None);
}

#[test]
fn the_series_holds_what_was_moved() {
    let record = run("fixed=100us,rate=1GB/s", cell(100_000, 1), Pass::Plain);
    let in_series: u64 = record.series.bytes.iter().sum();
    assert!(record.series.step_ns <= 100_000_000);
    assert!(record.bytes - in_series <= 2 * record.series.step_ns, "{in_series} of {}", record.bytes);
}

#[test]
fn threads_are_depth_in_virtual_time() {
    let two = Workload { threads: 2, iodepth: 2, ..cell(100_000, 1) };
    let record = run("fixed=100us,rate=1GB/s,disks=4", two, Pass::Plain);
    assert!((record.mbps() / 2000.0 - 1.0).abs() < 0.01, "{}", record.mbps());
}

#[test]
fn an_interrupted_run_leaves_no_record() {
    let mut backend = SimulatedTarget::new(SimulatedDisk::default());
    backend.make_ready(None, &AtomicBool::new(false)).unwrap();
    let run = Run {
        experiment: None,
        workload: cell(4096, 1),
        repeat: 0,
        pass: Pass::Plain,
        runtime: Nanos(1_000_000),
        seed: 1,
    };
    let error = measure(&mut backend, &run, &AtomicBool::new(true)).unwrap_err();
    assert_eq!(error.to_string(), "interrupted");
}

/// The record of an open loop over ten seconds.
fn open_loop(constants: &str, iops: u64, arrivals: Arrivals, iodepth: u32) -> Record {
    let workload = Workload { rate: Some(Arrival { iops, arrivals }), ..cell(1000, iodepth) };
    let mut backend = SimulatedTarget::new(SimulatedDisk::from_constants(constants).unwrap());
    let runtime = Nanos(10_000_000_000);
    let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime, seed: 9 };
    measure(&mut backend, &run, &AtomicBool::new(false)).unwrap()
}

#[test]
fn requests_at_a_fixed_rate_come_at_that_rate() {
    let record = open_loop("fixed=99us,rate=1GB/s", 2_000, Arrivals::Fixed, 4);
    assert!((19_999..=20_000).contains(&record.ios), "{}", record.ios);
    assert_eq!((record.latency.min_ns(), record.latency.max_ns()), (100_000, 100_000));
    assert!((record.achieved_depth - 0.2).abs() < 0.001, "{}", record.achieved_depth);
    assert!(record.overdue_ios <= 1);
}

#[test]
fn random_arrivals_wait_as_queueing_theory_says() {
    // M/D/1 at half load: the mean wait is rho / (2 (1 - rho)) of the service time (Pollaczek and Khinchine).
    let record = open_loop("fixed=99us,rate=1GB/s", 5_000, Arrivals::Poisson, 64);
    let mean_us = record.latency.mean_ns() / 1e3;
    assert!((mean_us / 150.0 - 1.0).abs() < 0.03, "{mean_us}");
}

#[test]
fn latency_counts_from_when_a_request_should_have_come() {
    // 20,000 requests per second arrive and 10,000 are served: the last one served has waited half of the time.
    let record = open_loop("fixed=99us,rate=1GB/s", 20_000, Arrivals::Fixed, 4);
    assert!((record.iops() / 10_000.0 - 1.0).abs() < 0.01, "{}", record.iops());
    assert!((record.latency.max_ns() as f64 / 5e9 - 1.0).abs() < 0.01, "{}", record.latency.max_ns());
    assert!((record.overdue_ios as f64 / 100_000.0 - 1.0).abs() < 0.01, "{}", record.overdue_ios);
    // Those that have come and are not done grow from none to all that are overdue.
    assert!((record.achieved_depth / 50_000.0 - 1.0).abs() < 0.01, "{}", record.achieved_depth);
}

#[test]
fn each_of_several_threads_has_the_rate_that_was_asked_for() {
    let disk = SimulatedDisk::from_constants("fixed=99us,rate=1GB/s,disks=4").unwrap();
    for (arrivals, most_off) in [(Arrivals::Fixed, 4), (Arrivals::Poisson, 700)] {
        let workload = Workload { threads: 4, rate: Some(Arrival { iops: 500, arrivals }), ..cell(1000, 4) };
        let runtime = Nanos(10_000_000_000);
        let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime, seed: 9 };
        let record = measure(&mut SimulatedTarget::new(disk.clone()), &run, &AtomicBool::new(false)).unwrap();
        assert!(record.ios.abs_diff(20_000) <= most_off, "{arrivals}: {}", record.ios);
    }
}

/// A target whose kernel returns requests unserved in each window until kernel workers carry them.
struct GivesBack {
    inner: SimulatedTarget,
    by_workers: bool,
    windows: usize,
}

impl TargetBackend for GivesBack {
    fn environment(&self) -> &Environment {
        self.inner.environment()
    }

    fn environment_mut(&mut self) -> &mut Environment {
        self.inner.environment_mut()
    }

    fn hand_to_workers(&mut self) -> bool {
        !std::mem::replace(&mut self.by_workers, true)
    }

    fn span_bytes(&self) -> u64 {
        self.inner.span_bytes()
    }

    fn admits(&self, workload: &Workload) -> Result<(), MeasureError> {
        self.inner.admits(workload)
    }

    fn make_ready(&mut self, span: Option<Bytes>, stop: &AtomicBool) -> Result<(), MeasureError> {
        self.inner.make_ready(span, stop)
    }

    fn put_together(
        &mut self,
        _run: &Run,
        made: Option<Result<Record, MeasureError>>,
        _stop: &AtomicBool,
    ) -> Result<Option<Record>, MeasureError> {
        self.windows += 1;
        let resubmitted_ios = if self.by_workers { 0 } else { 4 };
        made.transpose().map(|record| record.map(|record| Record { resubmitted_ios, ..record }))
    }

    fn prepare(&mut self, run: &Run, stop: &AtomicBool) -> Result<Prepared, MeasureError> {
        self.inner.prepare(run, stop)
    }

    fn account(&mut self, pass: Pass) -> Result<Box<dyn Account>, MeasureError> {
        self.inner.account(pass)
    }

    fn harness_ns_per_io(&mut self, depth: u32) -> f64 {
        self.inner.harness_ns_per_io(depth)
    }

    fn clock_ns(&self) -> u64 {
        self.inner.clock_ns()
    }

    fn unix_ms(&self) -> u64 {
        self.inner.unix_ms()
    }
}

#[test]
fn a_window_in_which_requests_were_given_back_is_measured_again_once() {
    let disk = SimulatedDisk::from_constants("fixed=100us,rate=1GB/s").unwrap();
    let mut target = GivesBack { inner: SimulatedTarget::new(disk), by_workers: false, windows: 0 };
    let run = Run {
        experiment: None,
        workload: cell(100_000, 1),
        repeat: 0,
        pass: Pass::Plain,
        runtime: Nanos(500_000_000),
        seed: 3,
    };
    let mut measured = || {
        let record = measure(&mut target, &run, &AtomicBool::new(false)).unwrap();
        (record, std::mem::take(&mut target.windows), target.environment().notes.clone())
    };
    let (record, windows, notes) = measured();
    assert_eq!((windows, record.ios, record.resubmitted_ios), (2, 2_500, 4), "nothing is counted twice");
    assert_eq!(record.discarded.iter().map(|window| window.reason).collect::<Vec<_>>(), [DiscardReason::GivenBack]);
    assert_eq!(record.spent_ns, 2 * record.elapsed_ns);
    assert!(notes[0].contains("EAGAIN") && notes.len() == 1, "{notes:?}");
    let (record, windows, _) = measured();
    assert_eq!((windows, record.resubmitted_ios, record.discarded.len()), (1, 0, 0));
}

/// A target whose two lanes reach a disk each.
struct TwoDisks {
    first: SimulatedTarget,
    second: SimulatedTarget,
}

impl TargetBackend for TwoDisks {
    forwards!(first: environment environment_mut span_bytes make_ready harness_ns_per_io clock_ns unix_ms);

    fn admits(&self, workload: &Workload) -> Result<(), MeasureError> {
        self.first.admits(workload)
    }

    fn prepare(&mut self, run: &Run, stop: &AtomicBool) -> Result<Prepared, MeasureError> {
        let mut prepared = self.first.prepare(run, stop)?;
        prepared.lanes.extend(self.second.prepare(run, stop)?.lanes);
        Ok(prepared)
    }

    fn account(&mut self, pass: Pass) -> Result<Box<dyn Account>, MeasureError> {
        self.first.account(pass)
    }
}

#[test]
fn latencies_of_each_lane_are_kept_where_they_are_asked_for_and_nowhere_else() {
    let disk = |constants: &str| SimulatedTarget::new(SimulatedDisk::from_constants(constants).unwrap());
    let mut target = TwoDisks { first: disk("fixed=100us,rate=1GB/s"), second: disk("fixed=900us,rate=1GB/s") };
    let workload = cell(100_000, 1);
    let run = Run { experiment: None, workload, repeat: 0, pass: Pass::Plain, runtime: Nanos(500_000_000), seed: 3 };
    let stop = AtomicBool::new(false);
    let apart = measure_keeping(&mut target, &run, LatenciesOf::EachLane, &stop).unwrap();
    let [fast, slow] = &apart.lane_latencies[..] else { panic!("{} lanes", apart.lane_latencies.len()) };
    assert_eq!((fast.reads.count(), fast.reads.min_ns(), fast.reads.max_ns()), (2_500, 200_000, 200_000));
    assert_eq!((slow.reads.count(), slow.reads.min_ns(), slow.reads.max_ns()), (500, 1_000_000, 1_000_000));
    assert!(fast.writes.is_empty() && slow.writes.is_empty());
    let mut both = fast.reads.clone();
    both.merge(&slow.reads);
    assert_eq!(both, apart.latency, "together they are the run's");
    let together = measure_keeping(&mut target, &run, LatenciesOf::AllLanes, &stop).unwrap();
    assert!(together.lane_latencies.is_empty() && together.latency == apart.latency);
    assert!(measure(&mut target, &run, &stop).unwrap().lane_latencies.is_empty(), "a study keeps none");
}
