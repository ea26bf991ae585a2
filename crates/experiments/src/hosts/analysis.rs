//! Compares hosts that run at once with the same hosts one by one.

use std::collections::BTreeSet;

use halfpower_analyse::{Access, ExperimentCell, Interval, SharedBy, SharedCeiling, has_settings, mean};
use halfpower_spec::{Direction, Hosts, InOrder, JsonSchema, Pattern};
use serde::Serialize;

use crate::at_once::{AtOnce, Growth, falls_short, kinds};
use crate::data::ExperimentData;
use crate::ratio::{Scale, is_undecided};

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Hosts at once, by their number.
    pub hosts: Vec<HostsRow>,
    /// Each host alone.
    pub hosts_alone: Vec<HostAloneRow>,
}

/// The first `n` hosts by rank, at once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct HostsRow {
    /// Order and direction.
    #[serde(flatten)]
    pub access: Access,
    /// Number of hosts.
    pub n: u32,
    /// Total throughput in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// Total throughput as a share of the summed rates of these hosts alone. A host that was not measured alone counts
    /// with the mean of the others.
    pub of_alone: f64,
    /// Whether a shared path stops the hosts: the total is less than 95% of the summed rates alone, beyond the
    /// difference between runs.
    pub shared: bool,
}

/// One host alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct HostAloneRow {
    /// Order and direction.
    #[serde(flatten)]
    pub access: Access,
    /// Its rank.
    pub rank: u32,
    /// Throughput in MB/s.
    pub mbps: f64,
    /// Lower end of its 95% interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Throughput of hosts at once.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct HostsAnswer {
    /// The most hosts that were measured at once; 0 if none were.
    pub hosts: u32,
    /// The results by pattern and direction.
    pub kinds: Vec<HostsScaling>,
}

/// Hosts at once, in one pattern and direction.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HostsScaling {
    /// Order and direction.
    #[serde(flatten)]
    pub access: Access,
    /// What the runs show.
    pub verdict: HostsVerdict,
    /// Throughput of one host alone in MB/s: the mean of the hosts that were measured alone.
    pub one_mbps: f64,
    /// The largest number of hosts.
    pub n: u32,
    /// Their total throughput in MB/s.
    pub mbps: f64,
    /// The point from which a shared path is the limit.
    pub taken_over: Option<TakenOver>,
}

/// What runs with several hosts show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostsVerdict {
    /// Every host reaches its rate alone.
    Scale,
    /// The runs cannot tell.
    Unclear,
    /// A path that they share stops them.
    Stopped,
}

/// The smallest number of hosts that a shared path limits.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TakenOver {
    /// Number of hosts.
    pub n: u32,
    /// Their total throughput in MB/s.
    pub mbps: f64,
    /// The next smaller number of hosts that was measured.
    pub before_n: u32,
    /// Its total throughput in MB/s.
    pub before_mbps: f64,
    /// The highest throughput through the shared path, with any number of hosts, in MB/s.
    pub ceiling_mbps: f64,
    /// The part of the path that is the limit.
    pub by: SharedPart,
}

/// The part of the path that hosts share.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "part")]
pub enum SharedPart {
    /// A disk at the far end with requests in flight for this share of the time.
    FarDisk {
        /// Its device name there.
        disk: String,
        /// The share, 0 to 1.
        share: f64,
    },
    /// A disk at the far end that a control group limits for the server.
    FarDiskLimit {
        /// Its device name there.
        disk: String,
        /// The limit in MB/s.
        mbps: f64,
    },
    /// The processors at the far end, busy for this share of the time.
    FarProcessors {
        /// The share, 0 to 1.
        share: f64,
    },
    /// The far end's wire: its disk and processors are not busy.
    FarWire,
    /// All hosts are processes on one computer, so its path to the target is shared.
    OwnComputer,
    /// Unknown, without a witness that sees the disk there.
    Unknown,
}

/// Busy share from which a disk or the processors at the far end are the limit.
const FULL: f64 = 0.9;

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, HostsAnswer) {
    let rows = Rows {
        hosts: kinds().flat_map(|(pattern, rw)| together(data, pattern, rw)).collect(),
        hosts_alone: kinds().flat_map(|(pattern, rw)| alone(data, pattern, rw)).map(|(row, _)| row).collect(),
    };
    let answer = HostsAnswer {
        hosts: rows.hosts.iter().map(|row| row.n).max().unwrap_or(0),
        kinds: kinds().filter_map(|(pattern, rw)| scaling(data, &rows, pattern, rw)).collect(),
    };
    (rows, answer)
}

fn of_kind<'a>(data: &'a ExperimentData, pattern: Pattern, rw: Direction) -> Vec<(Hosts, &'a ExperimentCell<'a>)> {
    let is_of = |cell: &&ExperimentCell| (cell.finding.pattern, cell.finding.rw) == (pattern, rw);
    data.sound().filter(is_of).filter_map(|cell| Some((cell.workload.options.hosts?, cell))).collect()
}

/// Hosts measured alone, by rank.
fn alone<'a>(data: &'a ExperimentData, pattern: Pattern, rw: Direction) -> Vec<(HostAloneRow, &'a ExperimentCell<'a>)> {
    let row = |(hosts, cell): (Hosts, &'a ExperimentCell<'a>)| {
        let Interval { value: mbps, low, high } = cell.finding.mbps;
        (HostAloneRow { access: cell.finding.access(), rank: hosts.from, mbps, low, high }, cell)
    };
    let mut rows: Vec<_> =
        of_kind(data, pattern, rw).into_iter().filter(|(hosts, _)| hosts.count == 1).map(row).collect();
    rows.order_by_key(|(row, _)| row.rank);
    rows
}

fn together(data: &ExperimentData, pattern: Pattern, rw: Direction) -> Vec<HostsRow> {
    let alone = alone(data, pattern, rw);
    let Some((_, single)) = alone.first() else { return Vec::new() };
    let cells = of_kind(data, pattern, rw);
    let scale = Scale::of(cells.iter().map(|(_, cell)| *cell));
    let typical = mean(&alone.iter().map(|(row, _)| row.mbps).collect::<Vec<_>>());
    let one_by_one = |n: u32| -> f64 {
        let of = |rank| alone.iter().find(|(row, _)| row.rank == rank).map_or(typical, |(row, _)| row.mbps);
        (0..n).map(of).sum()
    };
    let row = |(hosts, cell): &(Hosts, &ExperimentCell)| {
        let Interval { value: mbps, low, high } = cell.finding.mbps;
        let ideal = one_by_one(hosts.count);
        let of_alone = mbps / ideal;
        let shared = falls_short(&scale, cell, single, of_alone, ideal / single.finding.mbps.value);
        HostsRow { access: cell.finding.access(), n: hosts.count, mbps, low, high, of_alone, shared }
    };
    let several = cells.iter().filter(|(hosts, _)| hosts.count > 1 && hosts.from == 0);
    let mut rows: Vec<HostsRow> = several.map(row).collect();
    rows.order_by_key(|row| row.n);
    rows
}

/// The ceiling that hosts share, as their runs at once show it: the highest throughput in one direction.
pub(crate) fn shared_ceiling(rows: &[HostsRow], rw: Direction) -> Option<SharedCeiling> {
    let of_rw = rows.iter().filter(|row| row.rw == rw);
    // Fewer hosts than the ones it stops may get more through it.
    let is_shared =
        |row: &&HostsRow| rows.iter().any(|other| other.shared && (other.pattern, other.rw) == (row.pattern, rw));
    let most = of_rw.filter(is_shared).max_by(|one, other| one.mbps.total_cmp(&other.mbps))?;
    Some(at_once(most).ceiling(SharedBy::Hosts, most.pattern, rw))
}

fn at_once(row: &HostsRow) -> AtOnce {
    let decided = !is_undecided(&Interval { value: row.mbps, low: row.low, high: row.high });
    AtOnce { n: row.n, mbps: row.mbps, of_alone: row.of_alone, shared: row.shared, decided }
}

fn scaling(data: &ExperimentData, rows: &Rows, pattern: Pattern, rw: Direction) -> Option<HostsScaling> {
    let rates: Vec<f64> = alone(data, pattern, rw).iter().map(|(row, _)| row.mbps).collect();
    let first = AtOnce { n: 1, mbps: *rates.first()?, of_alone: 1.0, shared: false, decided: true };
    let of = rows.hosts.iter().filter(|row| (row.pattern, row.rw) == (pattern, rw));
    let numbers: Vec<AtOnce> = [first].into_iter().chain(of.map(at_once)).collect();
    let (verdict, taken_over) = match Growth::of(&numbers)? {
        Growth::Scales => (HostsVerdict::Scale, None),
        Growth::Unclear => (HostsVerdict::Unclear, None),
        Growth::Stopped { at, before } => {
            let taken_over = TakenOver {
                n: at.n,
                mbps: at.mbps,
                before_n: before.n,
                before_mbps: before.mbps,
                ceiling_mbps: numbers[1..].iter().map(|row| row.mbps).fold(0.0, f64::max),
                by: part(data, pattern, rw, at.n),
            };
            (HostsVerdict::Stopped, Some(taken_over))
        }
    };
    let AtOnce { n, mbps, .. } = *numbers.last()?;
    Some(HostsScaling { access: Access { pattern, rw }, verdict, one_mbps: mean(&rates), n, mbps, taken_over })
}

/// The part of the path that stops this many hosts, by what a witness at the far end saw during these runs.
fn part(data: &ExperimentData, pattern: Pattern, rw: Direction, n: u32) -> SharedPart {
    let cells = of_kind(data, pattern, rw);
    let cell = cells.iter().find(|(hosts, _)| *hosts == Hosts::first(n));
    let Some(far) = cell.and_then(|(_, cell)| cell.finding.far_end.as_ref()) else {
        let computers: BTreeSet<_> =
            data.environment.hosts.iter().map(|place| place.machine.hostname.as_deref()).collect();
        let is_one = computers.len() == 1 && !computers.contains(&None);
        return if is_one { SharedPart::OwnComputer } else { SharedPart::Unknown };
    };
    if let Some(limit) = far.disk_limit.as_ref().filter(|limit| limit.is_reached()) {
        return SharedPart::FarDiskLimit { disk: limit.name.clone(), mbps: limit.limit_mbps };
    }
    match &far.disk {
        Some(disk) if disk.busy_share >= FULL => {
            SharedPart::FarDisk { disk: disk.name.clone(), share: disk.busy_share }
        }
        _ if far.busy_share >= FULL => SharedPart::FarProcessors { share: far.busy_share },
        Some(_) => SharedPart::FarWire,
        None => SharedPart::Unknown,
    }
}

has_settings!(HostsRow, access: Access);
has_settings!(HostsScaling, access: Access);
has_settings!(HostAloneRow, access: Access);

#[cfg(test)]
mod tests {
    use halfpower_analyse::LevelKind;
    use halfpower_record::{CpuTimes, DiskUse, Environment, FarBill, FarEnd, HostPlace, Machine, Record};
    use halfpower_spec::{Cache, Experiment, Hosts, Pass, Question, Run, Rw, Workload, WorkloadOptions};
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::{HostsVerdict, SharedPart};
    use crate::built::{disk, normal, record_at};
    use crate::plan::PlanRequest;
    use crate::study_findings::{StudyFindings, analyse};
    use crate::table::{ExperimentAnswer, plan};

    const PATIENT: u64 = 1_000_000_000;

    fn environment(hosts: u32) -> Environment {
        let machine = |rank| Machine { hostname: Some(format!("node{rank}")), ..Machine::default() };
        let place = |rank| HostPlace { rank, machine: machine(rank), ..HostPlace::default() };
        Environment { hosts: (0..hosts).map(place).collect(), ..Environment::default() }
    }

    /// Sequential reads: each host alone at these rates, and the first two, three and so on behind a path of `shared` MB/s.
    fn records(alone: &[f64], shared: f64, scatter: f64, far_end: Option<&FarEnd>) -> Vec<Record> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut cells: Vec<(Hosts, f64)> =
            (0..).zip(alone).map(|(rank, mbps)| (Hosts::only(rank), mbps.min(shared))).collect();
        cells.extend((2..=alone.len()).map(|n| (Hosts::first(n as u32), alone[..n].iter().sum::<f64>().min(shared))));
        let mut records = Vec::new();
        for (hosts, mbps) in cells {
            let options = WorkloadOptions { hosts: Some(hosts), ..WorkloadOptions::default() };
            let workload = Workload { options, ..crate::built::workload(Rw::Read, Cache::Device, 256, 16) };
            for repeat in 0..3 {
                let rate = mbps * 1e6 * (1.0 + scatter * normal(&mut random));
                let record = record_at(&disk(""), workload, repeat, Pass::Plain, rate);
                let run = Run { experiment: Some(Experiment::Hosts), ..record.run };
                records.push(Record { run, far_end: far_end.map(|far| Box::new(far.clone())), ..record });
            }
        }
        records
    }

    fn found(alone: &[f64], shared: f64, scatter: f64, far_end: Option<&FarEnd>) -> StudyFindings {
        let question = Question { experiments: vec![Experiment::Hosts], ..Question::about("d") };
        analyse(&question, &environment(alone.len() as u32), &records(alone, shared, scatter, far_end))
    }

    fn answer(found: &StudyFindings) -> &super::HostsAnswer {
        match &found.experiments[0].found {
            Some(ExperimentAnswer::Hosts(answer)) => answer,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_third_host_of_100_mbit_meets_the_wire_of_250() {
        let found = found(&[11.9; 4], 29.8, 0.01, None);
        let kind = &answer(&found).kinds[0];
        let over = kind.taken_over.as_ref().expect("the wire takes over");
        assert_eq!((kind.verdict, over.n, over.before_n), (HostsVerdict::Stopped, 3, 2));
        assert!((over.ceiling_mbps - 29.8).abs() < 0.6, "{over:?}");
        assert_eq!(over.by, SharedPart::Unknown);
        let text = &found.experiments[0].answer;
        assert!(text.contains("from host 3 on a shared path takes over") && text.contains("--far-end"), "{text}");
        let shared = found.levels.iter().find(|level| level.id.kind == LevelKind::SharedPath);
        assert!(shared.is_some(), "the path's table has it: {:?}", found.levels);
    }

    #[test]
    fn hosts_that_bring_what_they_have_share_nothing() {
        let found = found(&[50.0, 25.0, 50.0, 40.0], 1e6, 0.01, None);
        let kind = &answer(&found).kinds[0];
        assert_eq!((kind.verdict, kind.taken_over.is_none()), (HostsVerdict::Scale, true));
        let row = found.rows.hosts.hosts.last().expect("all four");
        assert!((row.of_alone - 1.0).abs() < 0.03, "a slow host is no shared path: {row:?}");
        assert_eq!(found.rows.hosts.hosts_alone.len(), 4);
    }

    #[test]
    fn a_witness_tells_wire_disk_and_processors_apart() {
        let busy = |share: f64| CpuTimes { user_ns: (share * PATIENT as f64) as u64, ..CpuTimes::default() };
        let disk = |busy_ns| DiskUse { name: "sdb".to_string(), busy_ns, ..DiskUse::default() };
        let far = |share, busy_ns| {
            let machine = vec![busy(share); 2];
            let disks = vec![disk(busy_ns)];
            FarEnd { bill: FarBill { span_ns: PATIENT, machine, disks, ..FarBill::default() }, ..FarEnd::default() }
        };
        let part = |far: &FarEnd| {
            let found = found(&[11.9; 4], 29.8, 0.0, Some(far));
            answer(&found).kinds[0].taken_over.as_ref().expect("it takes over").by.clone()
        };
        assert_eq!(part(&far(0.2, PATIENT / 10)), SharedPart::FarWire);
        assert_eq!(part(&far(0.97, PATIENT / 10)), SharedPart::FarProcessors { share: 0.97 });
        assert!(matches!(part(&far(0.2, PATIENT)), SharedPart::FarDisk { share: 1.0, .. }));
        let blind = |share| {
            let seen = far(share, 0);
            FarEnd { bill: FarBill { disks: Vec::new(), ..seen.bill }, ..seen }
        };
        assert_eq!(part(&blind(0.2)), SharedPart::Unknown, "it sees no disk, which may be what stops them");
        assert_eq!(part(&blind(0.97)), SharedPart::FarProcessors { share: 0.97 });
    }

    #[test]
    fn scatter_is_no_shared_path() {
        let found = found(&[11.9; 4], 46.0, 0.15, None);
        assert!(answer(&found).kinds[0].taken_over.is_none(), "{:?}", answer(&found));
    }

    #[test]
    fn the_plan_has_each_host_alone_and_so_many_at_once() {
        let question = Question { experiments: vec![Experiment::Hosts], ..Question::about("d") };
        let cells =
            |hosts| plan(Experiment::Hosts, &PlanRequest { question: &question, environment: &environment(hosts) });
        let four = cells(4).expect("there are four");
        // Sequential: 4 alone, and 2, 3 and 4 at once. Random: 1, 2, 3 and 4. Each is read and written.
        assert_eq!(four.len(), (4 + 3 + 4) * 2);
        assert!(cells(1).is_err_and(|why| why.contains("mpirun")));
        assert!(cells(1000).expect("many").len() < 120);
    }
}
