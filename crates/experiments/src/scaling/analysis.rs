//! Compares several members with a multiple of one, and a stripe with the same members driven separately.

use halfpower_analyse::{Access, ExperimentCell, Interval, SharedBy, SharedCeiling, has_settings};
use halfpower_spec::{Direction, InOrder, JsonSchema, Pattern, VolumeLayout};
use serde::Serialize;

use crate::at_once::{AtOnce, Growth, falls_short, kinds};
use crate::data::ExperimentData;
use crate::ratio::{Scale, is_undecided};

/// The lists of rows of this experiment; each is a key of the findings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Rows {
    /// Members together, driven separately and as a stripe.
    pub scaling: Vec<ScalingRow>,
}

/// `n` members together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ScalingRow {
    /// Order and direction.
    #[serde(flatten)]
    pub access: Access,
    /// Number of members.
    pub n: u32,
    /// Whether members were driven separately (`each`) or as a stripe; a single member counts as both and is `each`.
    pub volume_layout: VolumeLayout,
    /// Total throughput in MB/s.
    pub mbps: f64,
    /// Throughput as a share of `n` times one member's.
    pub of_ideal: f64,
    /// What stops them.
    pub limited_by: LimitedBy,
    /// Lower end of the 95% interval of `mbps`.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What stops members together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LimitedBy {
    /// The members: each reaches its rate alone, or a stripe does not keep all of them busy.
    Device,
    /// A part of the path that they share.
    Shared,
}

/// Throughput of several members together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct ScalingAnswer {
    /// The most members that were measured together; 0 if none was measured alone.
    pub members: u32,
    /// Members driven separately, by pattern and direction.
    pub kinds: Vec<MembersScaling>,
    /// The widest stripe compared with the same members driven separately.
    pub stripe: Option<StripeShare>,
    /// Processor cost per request with one member and with the most.
    pub cost: Option<CostByMembers>,
}

/// Members driven separately, in one pattern and direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MembersScaling {
    /// Order and direction.
    #[serde(flatten)]
    pub access: Access,
    /// What the runs show.
    pub verdict: ScalingVerdict,
    /// Throughput of one member in MB/s.
    pub one_mbps: f64,
    /// The largest number of members.
    pub n: u32,
    /// Their total throughput in MB/s.
    pub mbps: f64,
    /// The point from which a shared path is the limit.
    pub stopped: Option<StoppedMembers>,
}

/// What members driven separately show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScalingVerdict {
    /// Every member reaches its rate alone.
    Scales,
    /// The runs cannot tell.
    Unclear,
    /// A shared path stops them.
    Stopped,
}

/// The smallest number of members that a shared path limits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct StoppedMembers {
    /// Number of members.
    pub n: u32,
    /// Their total throughput in MB/s.
    pub mbps: f64,
    /// The next smaller number of members that was measured.
    pub before_n: u32,
    /// Its total throughput in MB/s.
    pub before_mbps: f64,
    /// What each member beyond `before_n` adds, as a share of one member's rate.
    pub brings_share: f64,
}

/// Throughput of a stripe as a share of the same members driven separately.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct StripeShare {
    /// Smallest share of any pattern and direction.
    pub least: f64,
    /// Largest share of any pattern and direction.
    pub most: f64,
}

/// Processor cost per request, by the number of members.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CostByMembers {
    /// Which way the bytes go.
    pub rw: Direction,
    /// With one member.
    pub one: MemberCost,
    /// With the largest number.
    pub most: MemberCost,
}

/// Processor cost per request with `n` members driven separately.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MemberCost {
    /// Number of members.
    pub n: u32,
    /// Charged per request whatever its size, in microseconds.
    pub fixed_us: f64,
    /// Charged per KiB, in microseconds.
    pub us_per_kib: f64,
}

pub(crate) fn analyse(data: &ExperimentData) -> (Rows, ScalingAnswer) {
    let rows: Vec<ScalingRow> = kinds().flat_map(|(pattern, rw)| rows_of(data, pattern, rw)).collect();
    let members = rows.iter().map(|row| row.n).max().unwrap_or(0);
    let answer = ScalingAnswer {
        members,
        kinds: kinds().filter_map(|(pattern, rw)| scaling(&alone(&rows, pattern, rw))).collect(),
        stripe: stripe(&rows),
        cost: if members == 0 { None } else { Direction::ALL.iter().find_map(|rw| cost(data, *rw)) },
    };
    (Rows { scaling: rows }, answer)
}

fn is_of(cell: &ExperimentCell, pattern: Pattern, rw: Direction) -> bool {
    (cell.finding.pattern, cell.finding.rw) == (pattern, rw)
}

fn rows_of(data: &ExperimentData, pattern: Pattern, rw: Direction) -> Vec<ScalingRow> {
    let cells: Vec<&ExperimentCell> = data.sound().filter(|cell| is_of(cell, pattern, rw)).collect();
    let Some(single) = cells.iter().find(|cell| cell.workload.options.members == 1) else { return Vec::new() };
    let scale = Scale::of(cells.iter().copied());
    let row = |cell: &&ExperimentCell| {
        let Interval { value, low, high } = cell.finding.mbps;
        let n = cell.workload.options.members.max(1);
        let of_ideal = value / f64::from(n) / single.finding.mbps.value;
        let is_short = falls_short(&scale, cell, single, of_ideal, f64::from(n));
        let limited_by = if is_short { LimitedBy::Shared } else { LimitedBy::Device };
        let volume_layout = cell.workload.options.volume_layout.unwrap_or(VolumeLayout::Each);
        ScalingRow { access: cell.finding.access(), n, volume_layout, mbps: value, of_ideal, limited_by, low, high }
    };
    let mut rows: Vec<ScalingRow> = cells.iter().map(row).collect();
    rows.order_by_key(|row| (row.volume_layout, row.n));
    // If only the stripe falls short, it does not keep its members busy: driven separately, they are not limited.
    let shared: Vec<u32> =
        rows.iter().filter(|row| is_shared(row) && row.volume_layout == VolumeLayout::Each).map(|row| row.n).collect();
    for row in rows.iter_mut().filter(|row| !shared.contains(&row.n)) {
        row.limited_by = LimitedBy::Device;
    }
    rows
}

fn is_shared(row: &ScalingRow) -> bool {
    row.limited_by == LimitedBy::Shared
}

/// Rows of members driven separately, in one pattern and direction.
pub(super) fn alone(rows: &[ScalingRow], pattern: Pattern, rw: Direction) -> Vec<&ScalingRow> {
    rows.iter().filter(|row| (row.pattern, row.rw, row.volume_layout) == (pattern, rw, VolumeLayout::Each)).collect()
}

/// The ceiling that members share, as their runs at once show it: the highest throughput in one direction.
pub(crate) fn shared_ceiling(rows: &[ScalingRow], rw: Direction) -> Option<SharedCeiling> {
    let shared = rows.iter().filter(|row| is_shared(row) && row.rw == rw);
    let most = shared.max_by(|one, other| one.mbps.total_cmp(&other.mbps))?;
    Some(at_once(most).ceiling(SharedBy::Members, most.pattern, rw))
}

fn at_once(row: &ScalingRow) -> AtOnce {
    let decided = !is_undecided(&Interval { value: row.mbps, low: row.low, high: row.high });
    AtOnce { n: row.n, mbps: row.mbps, of_alone: row.of_ideal, shared: is_shared(row), decided }
}

fn scaling(alone: &[&ScalingRow]) -> Option<MembersScaling> {
    let numbers: Vec<AtOnce> = alone.iter().map(|row| at_once(row)).collect();
    let growth = Growth::of(&numbers)?;
    let ScalingRow { access, mbps: one_mbps, .. } = **alone.first()?;
    let AtOnce { n, mbps, .. } = *numbers.last()?;
    let (verdict, stopped) = match growth {
        Growth::Scales => (ScalingVerdict::Scales, None),
        Growth::Unclear => (ScalingVerdict::Unclear, None),
        Growth::Stopped { at, before } => {
            let brings = (at.mbps - before.mbps) / f64::from(at.n - before.n) / one_mbps;
            let stopped = StoppedMembers {
                n: at.n,
                mbps: at.mbps,
                before_n: before.n,
                before_mbps: before.mbps,
                brings_share: brings.max(0.0),
            };
            (ScalingVerdict::Stopped, Some(stopped))
        }
    };
    Some(MembersScaling { access, verdict, one_mbps, n, mbps, stopped })
}

/// Compares the widest stripe with the same members driven separately.
fn stripe(rows: &[ScalingRow]) -> Option<StripeShare> {
    let share = |(pattern, rw)| {
        let each = alone(rows, pattern, rw).last().map(|row| (row.n, row.mbps))?;
        let same = |row: &&ScalingRow| {
            (row.pattern, row.rw, row.volume_layout, row.n) == (pattern, rw, VolumeLayout::Stripe, each.0)
        };
        Some(rows.iter().find(same)?.mbps / each.1)
    };
    let shares: Vec<f64> = kinds().filter_map(share).collect();
    let least = shares.iter().copied().reduce(f64::min)?;
    let most = shares.iter().copied().reduce(f64::max)?;
    Some(StripeShare { least, most })
}

/// The line through the two block sizes that were measured.
pub(super) fn costs(data: &ExperimentData, rw: Direction) -> Vec<MemberCost> {
    let of = |pattern| {
        let on_their_own = move |cell: &&ExperimentCell| {
            is_of(cell, pattern, rw)
                && cell.workload.options.volume_layout.is_none_or(|volume_layout| volume_layout == VolumeLayout::Each)
        };
        data.sound().filter(on_their_own)
    };
    let line = |large: &ExperimentCell| {
        let n = large.workload.options.members;
        let small = of(Pattern::Random).find(|cell| cell.workload.options.members == n)?;
        let kib = |cell: &ExperimentCell| cell.finding.bs_bytes as f64 / 1024.0;
        let (large_us, small_us) = large.finding.charged_us.zip(small.finding.charged_us)?;
        let us_per_kib = (large_us - small_us) / (kib(large) - kib(small));
        let fixed_us = small_us - us_per_kib * kib(small);
        // A line that begins below zero is none of a cost.
        let is_cost = small_us > 0.0 && fixed_us >= 0.0 && us_per_kib >= 0.0;
        (kib(large) > kib(small) && is_cost).then_some(MemberCost { n, fixed_us, us_per_kib })
    };
    let mut costs: Vec<MemberCost> = of(Pattern::Sequential).filter_map(line).collect();
    costs.order_by_key(|cost| cost.n);
    costs
}

fn cost(data: &ExperimentData, rw: Direction) -> Option<CostByMembers> {
    match costs(data, rw).as_slice() {
        [one, .., most] => Some(CostByMembers { rw, one: *one, most: *most }),
        _ => None,
    }
}

has_settings!(MembersScaling, access: Access);
has_settings!(ScalingRow, access: Access);

#[cfg(test)]
mod tests {
    use halfpower_analyse::Warning;
    use halfpower_record::{Environment, Level, Record};
    use halfpower_spec::{Cache, Experiment, Pass, Question, Rate, Run, Rw, VolumeLayout, Workload, WorkloadOptions};
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::LimitedBy::{self, Device, Shared};
    use crate::built::{disk, normal, record_at};
    use crate::study_findings::{StudyFindings, analyse};

    /// Sequential reads by 1, 2, 3, ... members driven separately, at these rates.
    fn records(rates: &[f64], repeats: u32, scatter: f64) -> Vec<Record> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let mut records = Vec::new();
        for (n, mbps) in (1..).zip(rates) {
            let options = WorkloadOptions {
                members: n,
                volume_layout: (n > 1).then_some(VolumeLayout::Each),
                ..WorkloadOptions::default()
            };
            let workload = Workload { options, ..crate::built::workload(Rw::Read, Cache::Device, 64, 8) };
            for repeat in 0..repeats {
                let rate = mbps * 1e6 * (1.0 + scatter * normal(&mut random));
                let record = record_at(&disk(""), workload, repeat, Pass::Plain, rate);
                let run = Run { experiment: Some(Experiment::Scaling), ..record.run };
                records.push(Record { run, ..record });
            }
        }
        records
    }

    fn findings(rates: &[f64], repeats: u32, scatter: f64) -> StudyFindings {
        let question = Question { experiments: vec![Experiment::Scaling], ..Question::about("d") };
        analyse(&question, &Environment::default(), &records(rates, repeats, scatter))
    }

    fn limited_by(findings: &StudyFindings) -> Vec<LimitedBy> {
        findings.rows.scaling.scaling.iter().map(|row| row.limited_by).collect()
    }

    #[test]
    fn the_member_that_a_shared_path_stops_is_named_with_its_own_rate() {
        let found = findings(&[25.0, 50.0, 60.0, 66.0], 3, 0.0);
        assert_eq!(limited_by(&found), [Device, Device, Shared, Shared]);
        let answer = &found.experiments[0].answer;
        let expected = "2 members still scale (50.0 MB/s), and a shared path stops number 3 at 60.0 MB/s: it brings 40% of \
                        what one gives, and all 4 reach 66.0 MB/s.";
        assert!(answer.contains(expected), "{answer}");
    }

    #[test]
    fn what_chance_or_a_single_run_could_have_made_is_no_shared_path() {
        for (repeats, scatter) in [(3, 0.15), (1, 0.0)] {
            let found = findings(&[25.0, 50.0, 75.0, 90.0], repeats, scatter);
            assert_eq!(limited_by(&found), [Device; 4], "{repeats} runs");
            let answer = &found.experiments[0].answer;
            assert!(answer.contains("cannot tell whether 4 members scale"), "{answer}");
        }
    }

    #[test]
    fn a_member_faster_than_its_own_limit_is_marked_and_bears_no_answer() {
        let limits = vec![Rate(31e6); 3];
        let level =
            Level { name: "cgroup limit".into(), pap: Some(Rate(93e6)), member_paps: limits, ..Level::default() };
        let environment = Environment { levels: vec![level], ..Environment::default() };
        let question = Question { experiments: vec![Experiment::Scaling], ..Question::about("d") };
        let found = analyse(&question, &environment, &records(&[36.4, 62.0, 93.0], 3, 0.0));
        assert!(found.rows.scaling.scaling.is_empty(), "nothing is said of what one member gives: {found:#?}");
        let marked = found.warnings.iter().find_map(|warning| match warning {
            Warning::ExperimentAboveKnown { experiment, cells, of_cells, mbps, known_mbps, .. } => {
                Some((*experiment, *cells, *of_cells, (mbps * 10.0).round(), known_mbps.round()))
            }
            _ => None,
        });
        assert_eq!(marked, Some((Experiment::Scaling, 1, 3, 364.0, 31.0)));
        let note = &found.experiments[0].notes[0];
        assert!(note.starts_with("1 of 3 cells is above what the path is known to let through"), "{note}");
        let within = analyse(&question, &environment, &records(&[31.2, 62.0, 93.0], 3, 0.0));
        assert_eq!((within.rows.scaling.scaling.len(), within.experiments[0].notes.len()), (3, 0));
    }

    /// A request of 64 KiB that costs more than 16 of 4 KiB leaves nothing for the request itself.
    #[test]
    fn a_request_never_costs_less_than_nothing() {
        let said = |large_us: u64| {
            let mut records = Vec::new();
            for members in [1, 2] {
                let volume_layout = (members > 1).then_some(VolumeLayout::Each);
                let options = WorkloadOptions { members, volume_layout, ..WorkloadOptions::default() };
                for (rw, bs_kib, us) in [(Rw::Randread, 4, 5), (Rw::Read, 64, large_us)] {
                    let workload = Workload { options, ..crate::built::workload(rw, Cache::Device, bs_kib, 8) };
                    let mut record = record_at(&disk(""), workload, 0, Pass::Plain, 25e6 * f64::from(members));
                    record.run.experiment = Some(Experiment::Scaling);
                    (record.cpu.user_ns, record.cpu.system_ns) = (record.cpu.ios * us * 1000, 0);
                    records.push(record);
                }
            }
            let question = Question { experiments: vec![Experiment::Scaling], ..Question::about("d") };
            analyse(&question, &Environment::default(), &records).experiments[0].answer.clone()
        };
        assert!(said(65).contains("A read costs the processor 1.0 µs and 1.0 µs a KiB"), "{}", said(65));
        assert!(!said(95).contains("costs the processor"), "{}", said(95));
    }

    #[test]
    fn runs_that_never_vary_carry_any_difference() {
        let found = findings(&[25.0, 50.0, 70.0], 3, 0.0);
        assert_eq!(limited_by(&found), [Device, Device, Shared]);
    }
}
