//! Compares hosts that run at once with the same hosts one by one.

use std::collections::BTreeSet;

use halfpower_analyse::{ExperimentCell, Interval, SharedBy, SharedCeiling, mean};
use halfpower_spec::{Direction, Hosts, Pattern};

use super::answer::{HostsAnswer, HostsScaling, HostsVerdict, SharedPart, TakenOver};
use super::rows::{HostAloneRow, HostsRow, Rows};
use crate::data::ExperimentData;
use crate::ratio::Scale;
use crate::ratio_finding::RatioFinding;

/// Share of the hosts' summed rates from which each host is considered unlimited by the others.
const SCALES: f64 = 0.95;
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

pub(super) fn kinds() -> impl Iterator<Item = (Pattern, Direction)> {
    [Pattern::Sequential, Pattern::Random]
        .into_iter()
        .flat_map(|pattern| Direction::ALL.iter().map(move |rw| (pattern, *rw)))
}

fn of_kind<'a>(data: &'a ExperimentData, pattern: Pattern, rw: Direction) -> Vec<(Hosts, &'a ExperimentCell<'a>)> {
    let is_of = |cell: &&ExperimentCell| (cell.finding.pattern, cell.finding.rw) == (pattern, rw);
    data.sound().filter(is_of).filter_map(|cell| Some((cell.workload.options.hosts?, cell))).collect()
}

/// Hosts measured alone, by rank.
fn alone<'a>(data: &'a ExperimentData, pattern: Pattern, rw: Direction) -> Vec<(HostAloneRow, &'a ExperimentCell<'a>)> {
    let row = |(hosts, cell): (Hosts, &'a ExperimentCell<'a>)| {
        let Interval { value: mbps, low, high } = cell.finding.mbps;
        (HostAloneRow { rank: hosts.from, rw, pattern, mbps, low, high }, cell)
    };
    let mut rows: Vec<_> =
        of_kind(data, pattern, rw).into_iter().filter(|(hosts, _)| hosts.count == 1).map(row).collect();
    rows.sort_by_key(|(row, _)| row.rank);
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
        let times_single = ideal / single.finding.mbps.value;
        let is_surely_less = |times: RatioFinding| times.is_known() && times.interval.high < times_single;
        let shared = mbps < SCALES * ideal && scale.times(&[cell], &[single]).is_some_and(is_surely_less);
        HostsRow { n: hosts.count, rw, pattern, mbps, low, high, of_alone: mbps / ideal, shared }
    };
    let several = cells.iter().filter(|(hosts, _)| hosts.count > 1 && hosts.from == 0);
    let mut rows: Vec<HostsRow> = several.map(row).collect();
    rows.sort_by_key(|row| row.n);
    rows
}

/// The ceiling that hosts share, as their runs at once show it: the highest throughput in one direction.
pub(crate) fn shared_ceiling(rows: &[HostsRow], rw: Direction) -> Option<SharedCeiling> {
    let of_rw = rows.iter().filter(|row| row.rw == rw);
    // Fewer hosts than the ones it stops may get more through it.
    let is_shared =
        |row: &&HostsRow| rows.iter().any(|other| other.shared && (other.pattern, other.rw) == (row.pattern, rw));
    let most = of_rw.filter(is_shared).max_by(|one, other| one.mbps.total_cmp(&other.mbps))?;
    let HostsRow { n, pattern, mbps, of_alone, .. } = *most;
    let alone_mbps = mbps / of_alone / f64::from(n);
    Some(SharedCeiling { by: SharedBy::Hosts, rw, pattern, members: n, mbps, alone_mbps })
}

fn scaling(data: &ExperimentData, rows: &Rows, pattern: Pattern, rw: Direction) -> Option<HostsScaling> {
    let of: Vec<&HostsRow> = rows.hosts.iter().filter(|row| (row.pattern, row.rw) == (pattern, rw)).collect();
    let last = of.last()?;
    let alone = alone(data, pattern, rw);
    let rates: Vec<f64> = alone.iter().map(|(row, _)| row.mbps).collect();
    let taken_over = of.iter().position(|row| row.shared).map(|at| {
        let first = alone.first().map_or(0.0, |(row, _)| row.mbps);
        let (before_n, before_mbps) = if at > 0 { (of[at - 1].n, of[at - 1].mbps) } else { (1, first) };
        let ceiling_mbps = of.iter().map(|row| row.mbps).fold(0.0, f64::max);
        TakenOver {
            n: of[at].n,
            mbps: of[at].mbps,
            before_n,
            before_mbps,
            ceiling_mbps,
            by: part(data, pattern, rw, of[at].n),
        }
    });
    let verdict = match &taken_over {
        Some(_) => HostsVerdict::Stopped,
        None if last.of_alone >= SCALES => HostsVerdict::Scale,
        None => HostsVerdict::Unclear,
    };
    Some(HostsScaling { pattern, rw, verdict, one_mbps: mean(&rates), n: last.n, mbps: last.mbps, taken_over })
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
        _ => SharedPart::FarWire,
    }
}
