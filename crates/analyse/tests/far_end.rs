//! Gives records a far end with known constants, and checks that the analysis finds them.

use crate::built::{disk, question, study};
use halfpower_analyse::{
    Accounting, CostLine, EndsCost, Findings, LevelId, LevelKind, MeasuredCeilings, StoppedBy, analyse,
};
use halfpower_record::{CpuTimes, DiskUse, Environment, FarBill, FarEnd, FarEndMachine, ProcessTime, Record, Soaker};
use halfpower_spec::{Direction, Pass, Pattern};

const PROCESSORS: u64 = 4;
/// Cores that the far end uses when idle.
const AT_REST: f64 = 0.25;

/// Microseconds of a request at the far end, fixed and for each KiB: of the named process, the machine and the soaker.
const PROCESS: (f64, f64) = (8.0, 0.05);
const MACHINE: (f64, f64) = (20.0, 0.10);
const SOAKER: (f64, f64) = (24.0, 0.12);

fn ns(record: &Record, (fixed_us, us_a_kib): (f64, f64)) -> u64 {
    let a_request_us = fixed_us + us_a_kib * record.run.workload.bs.0 as f64 / 1024.0;
    (record.cpu.ios as f64 * a_request_us * 1e3) as u64
}

/// A far end with these constants, and `more` busy time as a share of all its processors.
fn far_end(record: &Record, more: f64) -> FarEnd {
    let span_ns = record.elapsed_ns;
    let all_ns = span_ns * PROCESSORS;
    let busy_ns = ns(record, MACHINE) + (AT_REST * span_ns as f64) as u64 + (more * all_ns as f64) as u64;
    let of_one = |ns: u64| ns / PROCESSORS;
    let cpu =
        CpuTimes { system_ns: of_one(busy_ns), idle_ns: of_one(all_ns.saturating_sub(busy_ns)), ..CpuTimes::default() };
    let soaker = Soaker { lost_ns: ns(record, SOAKER), baseline_share: 0.99 };
    let bill = FarBill {
        span_ns,
        machine: vec![cpu; PROCESSORS as usize],
        soaker: (record.run.pass == Pass::Soaker).then_some(soaker),
        processes: vec![ProcessTime { name: "smbd".into(), processes: 1, charged_ns: ns(record, PROCESS) }],
        ..FarBill::default()
    };
    FarEnd { bill, ..FarEnd::default() }
}

fn findings(far: impl Fn(&Record) -> Option<FarEnd>) -> Findings {
    let question = question();
    let mut records = study(&disk("fixed=200us,rate=100MB/s,disks=2,noise=1%"), &question);
    records.iter_mut().for_each(|record| record.far_end = far(record).map(Box::new));
    let machine = FarEndMachine { idle_cores: Some(AT_REST), ..FarEndMachine::default() };
    let environment = Environment { far_end: Some(machine), ..Environment::default() };
    analyse(&question, &environment, &records, &MeasuredCeilings::default())
}

#[track_caller]
fn assert_line(line: Option<CostLine>, (fixed_us, us_a_kib): (f64, f64)) {
    let line = line.expect("a line");
    let close = |value: f64, truth: f64| (value / truth - 1.0).abs() < 0.02;
    assert!(close(line.fixed_us.value, fixed_us), "{line:?}, not {fixed_us}");
    assert!(close(line.marginal_us_per_kib.value, us_a_kib), "{line:?}, not {us_a_kib}");
}

#[test]
fn both_ends_bills_are_recovered_beside_each_other() {
    let findings = findings(|record| Some(far_end(record, 0.0)));
    let far = findings.far_end.as_ref().expect("a far end");
    let of = |by| -> &EndsCost {
        let same = |cost: &&EndsCost| {
            (cost.path.rw, cost.path.pattern, cost.by) == (Direction::Read, Pattern::Sequential, by)
                && cost.path.cache.direct()
        };
        far.cost.iter().find(same).expect("a row")
    };
    assert_line(of(Accounting::Charged).far, PROCESS);
    assert_line(of(Accounting::Machine).far, MACHINE);
    assert_line(of(Accounting::Soaker).far, SOAKER);
    let near = of(Accounting::Charged).near.expect("a charge");
    let charged = findings.cost.iter().find(|cost| cost.rw == Direction::Read).expect("a cost");
    assert_eq!((near.fixed_us, near.cells), (charged.fixed_us, charged.cells), "this end's is the one of the tables");
    assert_eq!(of(Accounting::Machine).near, None, "nothing is known of this machine's ticks");
    assert!(!matches!(findings.bottleneck.stopped_by, StoppedBy::FarProcessors { .. } | StoppedBy::FarDisk { .. }));
}

#[test]
fn a_far_end_that_told_of_some_runs_is_found_by_these() {
    let findings = findings(|record| (record.run.repeat == 0).then(|| far_end(record, 0.0)));
    let far = findings.far_end.expect("a far end");
    assert!(far.runs > 0 && far.runs < findings.runs, "{} of {}", far.runs, findings.runs);
    assert_line(far.cost.iter().find(|cost| cost.by == Accounting::Charged).expect("a row").far, PROCESS);
    let silent = self::findings(|_| None).far_end.expect("its machine is known");
    assert_eq!((silent.runs, silent.cost.len()), (0, 0));
}

#[test]
fn processors_that_are_full_at_the_far_end_stop_the_path() {
    let findings = findings(|record| Some(far_end(record, 0.92)));
    let StoppedBy::FarProcessors { processors, share, .. } = findings.bottleneck.stopped_by else {
        panic!("{:?}", findings.bottleneck)
    };
    assert!(processors == 4 && share > 0.9, "{share}");
    assert_eq!(findings.bottleneck.level, Some(LevelId::of(LevelKind::FarProcessors)));
    assert!(findings.levels.iter().any(|level| level.narrowest && level.id.kind == LevelKind::FarProcessors));
}

#[test]
fn time_that_a_hypervisor_takes_is_not_to_be_had_either() {
    let findings = findings(|record| {
        let mut end = far_end(record, 0.5);
        end.bill.machine.iter_mut().for_each(|cpu| cpu.steal_ns = record.elapsed_ns * 45 / 100);
        Some(end)
    });
    let StoppedBy::FarProcessors { share, steal_share, .. } = findings.bottleneck.stopped_by else {
        panic!("{:?}", findings.bottleneck)
    };
    assert!(share < 0.7 && (steal_share - 0.45).abs() < 0.01, "{share} {steal_share}");
}

#[test]
fn a_disk_that_is_busy_all_the_time_at_the_far_end_stops_the_path() {
    let with_disks = |share: u64| {
        move |record: &Record| {
            let disk = |name: &str, share: u64| DiskUse {
                name: name.into(),
                read_bytes: record.bytes,
                busy_ns: record.elapsed_ns * share / 100,
                ..DiskUse::default()
            };
            let disks = vec![disk("sda", 3), disk("sdb", share)];
            let bill = FarBill { disks, ..far_end(record, 0.0).bill };
            Some(FarEnd { bill, ..FarEnd::default() })
        }
    };
    let StoppedBy::FarDisk { disk, share } = findings(with_disks(99)).bottleneck.stopped_by else { panic!("no disk") };
    assert!(disk == "sdb" && (share - 0.99).abs() < 0.001, "{disk} {share}");
    assert!(!matches!(findings(with_disks(60)).bottleneck.stopped_by, StoppedBy::FarDisk { .. }));
}

#[test]
fn one_processor_that_is_full_at_the_far_end_stops_what_one_thread_there_serves() {
    let with_one_full = |busy: u64, here: bool| {
        let question = question();
        let mut records = study(&disk("fixed=200us,rate=100MB/s,disks=2,cpu_fixed=1us,cpu_per_kib=0us"), &question);
        for record in &mut records {
            let mut end = far_end(record, 0.0);
            end.bill.machine[2].system_ns = record.elapsed_ns * busy / 100;
            record.far_end = Some(Box::new(end));
            let charged_ns = if here { record.cpu.span_ns * 7 / 10 } else { 0 };
            (record.cpu.user_ns, record.cpu.system_ns) = (charged_ns, 0);
        }
        let machine = FarEndMachine { is_this_machine: true, ..FarEndMachine::default() };
        let environment = Environment { far_end: Some(machine), ..Environment::default() };
        analyse(&question, &environment, &records, &MeasuredCeilings::default()).bottleneck.stopped_by
    };
    let StoppedBy::FarProcessors { processors: 1, of_processors: 4, share, .. } = with_one_full(97, false) else {
        panic!("not named")
    };
    assert!((share - 0.97).abs() < 0.001, "{share}");
    for other in [with_one_full(80, false), with_one_full(97, true)] {
        assert!(!matches!(other, StoppedBy::FarProcessors { .. }), "{other:?}");
    }
}
