//! Finds which of many alike machines is unlike the others, and where, from one study of each.
//!
//! Each cell's rate is set beside its median over the machines. The 99th percentile of its latency is first regressed on the
//! rate over the machines, since a machine that carries more waits longer (R. Lu et al., Perseus: A Fail-Slow Detection
//! Framework for Cloud Storage Systems, 2023); the line is a resistant one (J. W. Tukey, Exploratory Data Analysis, 1977). A
//! machine's level in a part of its cells is the median of these distances. It is unlike the others if it lies further from
//! their median than chance explains, measured by the median absolute deviation (P. J. Rousseeuw, C. Croux, Alternatives to
//! the Median Absolute Deviation, 1993), corrected for all that is tested. `docs/method/alike.md` has every definition.

use std::collections::BTreeMap;

use halfpower_spec::{InOrder, JsonSchema};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use crate::history::{CellDigest, StudyDigest};
use crate::mean::median;
use crate::order::ranks;
use crate::settings::{Access, CellSettings};

/// Fewest machines that show what is usual.
pub const LEAST_MACHINES: usize = 8;
/// Probability that any of equal machines is named.
const FALSE_ALARM: f64 = 0.05;
/// Smallest difference from the others that is worth a name.
const WORTH: f64 = 0.05;
/// Standard deviations in a median absolute deviation of normal values, inverted.
const OF_DEVIATION: f64 = 1.4826;
/// Share of a sample that a median absolute deviation uses: its efficiency for normal values.
const EFFICIENCY: f64 = 0.37;
/// Factor by which a part must differ more than all cells together, and the latency more than the rate, to be what is named.
const MUCH_MORE: f64 = 1.25;
/// Smallest deviation, as a logarithm: where most machines are equal to the last digit, there is none.
const LEAST_DEVIATION: f64 = 1e-6;
/// Machines that are told as the most typical ones.
const TYPICAL: usize = 10;

/// The machines of a fleet beside each other.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AlikeMachines {
    /// Number of machines.
    pub machines: usize,
    /// Cells that at least half of them have.
    pub cells: usize,
    /// Machines that are unlike the others, the most unlike first.
    pub unlike: Vec<UnlikeMachine>,
    /// All machines with all that is known of them, the one that is farthest from the others first.
    pub all: Vec<MachineLevels>,
}

impl AlikeMachines {
    /// The most typical machines, the nearest to the others first: ten at most, and none that is unlike the others.
    pub fn typical(&self) -> Vec<&MachineLevels> {
        self.all.iter().rev().filter(|one| !one.is_unlike && one.deviations.is_some()).take(TYPICAL).collect()
    }

    /// All machines that are neither unlike the others nor among the most typical, the farthest first.
    pub fn between(&self) -> Vec<&MachineLevels> {
        let typical = self.typical();
        let is_typical = |one: &MachineLevels| typical.iter().any(|other| std::ptr::eq(*other, one));
        self.all.iter().filter(|one| !one.is_unlike && !is_typical(one)).collect()
    }
}

/// A machine of a fleet, with its level in each figure.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MachineLevels {
    /// The file of its study.
    pub name: String,
    /// What was measured, in its canonical text.
    pub target: String,
    /// Whether it is unlike the others beyond chance.
    pub is_unlike: bool,
    /// Its greatest distance from the others, in their standard deviations; `null` if it has too few cells in common with
    /// them.
    pub deviations: Option<f64>,
    /// Its level in each figure and part of the cells: rates first, all cells together before their parts.
    pub levels: Vec<MachineLevel>,
}

/// The level of one machine in one figure: the median, over cells, of its distance from what is usual there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct MachineLevel {
    /// The figure.
    pub figure: UnlikeFigure,
    /// The part of the cells; `null` for all cells together.
    pub part: Option<Access>,
    /// The figure as a multiple of the others'.
    pub of_others: f64,
    /// Lower end of its 95% interval over the cells; `null` with fewer than six cells.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
    /// Cells that it is the median of.
    pub cells: usize,
    /// Its distance from the others in their standard deviations; below 0 where the figure is less than theirs.
    pub deviations: f64,
}

impl MachineLevel {
    /// Whether it differs in the bad direction: slower, or later.
    pub fn is_worse(&self) -> bool {
        match self.figure {
            UnlikeFigure::Rate => self.deviations < 0.0,
            UnlikeFigure::Latency => self.deviations > 0.0,
        }
    }
}

/// A machine that is unlike the others.
#[derive(Debug, Clone, PartialEq)]
pub struct UnlikeMachine {
    /// Its name.
    pub name: String,
    /// The figure in which it differs most.
    pub figure: UnlikeFigure,
    /// The part of the cells in which it does; `None` for all cells together.
    pub part: Option<Access>,
    /// The figure as a multiple of the others'.
    pub of_others: f64,
    /// Its distance from the others in their standard deviations.
    pub deviations: f64,
    /// The probability that any of equal machines lies as far away; at most 0.05.
    pub chance: f64,
    /// Its rate as a multiple of the others', by part of the cells.
    pub rates: BTreeMap<Access, f64>,
}

/// A figure in which a machine differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum UnlikeFigure {
    /// Throughput.
    Rate,
    /// The 99th percentile of latency, beside what the others have at such a rate.
    Latency,
}

/// The distances of each machine's cells from what is usual, as logarithms, in one part and figure.
type Distances = BTreeMap<(UnlikeFigure, Option<Access>), Vec<Vec<f64>>>;

/// A machine's distance from the others in one part and figure.
struct Found {
    machine: usize,
    figure: UnlikeFigure,
    part: Option<Access>,
    log: f64,
    /// Ends of the 95% interval of that distance over the cells.
    reach: Option<[f64; 2]>,
    cells: usize,
    deviations: f64,
    /// The probability that one machine that is equal to the others lies as far away.
    chance: f64,
}

impl Found {
    fn level(&self) -> MachineLevel {
        MachineLevel {
            figure: self.figure,
            part: self.part,
            of_others: self.log.exp(),
            low: self.reach.map(|[low, _]| low.exp()),
            high: self.reach.map(|[_, high]| high.exp()),
            cells: self.cells,
            deviations: if self.log < 0.0 { -self.deviations } else { self.deviations },
        }
    }

    /// Of several findings about a machine, the one with the most is named.
    fn weight(&self) -> f64 {
        let of_all = if self.part.is_none() { MUCH_MORE } else { 1.0 };
        let of_rate = if self.figure == UnlikeFigure::Rate { MUCH_MORE } else { 1.0 };
        of_all * of_rate * self.log.abs()
    }
}

/// Sets alike machines beside each other; each has a name and the digest of its study.
pub fn alike_machines(studies: &[(&str, &StudyDigest)]) -> AlikeMachines {
    let cells = common_cells(studies);
    let distances = distances(studies.len(), &cells);
    let found: Vec<Found> = distances.iter().flat_map(|((figure, part), each)| judged(*figure, *part, each)).collect();
    let mut all = all_levels(studies, &found);
    let tests = found.len() as f64;
    let mut most: BTreeMap<usize, Found> = BTreeMap::new();
    for mut one in found {
        one.chance = (one.chance * tests).min(1.0);
        let is_unlike = one.chance <= FALSE_ALARM && one.log.abs() >= WORTH.ln_1p();
        let is_most = most.get(&one.machine).is_none_or(|known| one.weight() > known.weight());
        if is_unlike && is_most {
            most.insert(one.machine, one);
        }
    }
    most.keys().for_each(|machine| all[*machine].is_unlike = true);
    let far = |machine: &MachineLevels| machine.deviations.unwrap_or(-1.0);
    all.order_by(|one, other| far(other).total_cmp(&far(one)));
    let mut unlike: Vec<UnlikeMachine> = most.into_values().map(|one| named(&one, studies, &distances)).collect();
    unlike.order_by(|one, other| other.deviations.total_cmp(&one.deviations));
    AlikeMachines { machines: studies.len(), cells: cells.len(), unlike, all }
}

/// Each machine with its levels, in the order of the studies.
fn all_levels(studies: &[(&str, &StudyDigest)], found: &[Found]) -> Vec<MachineLevels> {
    let machine = |(name, digest): &(&str, &StudyDigest)| MachineLevels {
        name: (*name).to_string(),
        target: digest.target.clone(),
        is_unlike: false,
        deviations: None,
        levels: Vec::new(),
    };
    let mut all: Vec<MachineLevels> = studies.iter().map(machine).collect();
    for one in found {
        let machine = &mut all[one.machine];
        machine.deviations = Some(machine.deviations.unwrap_or(0.0).max(one.deviations));
        machine.levels.push(one.level());
    }
    all
}

/// The cells that enough machines have, with the number of each machine.
fn common_cells<'a>(studies: &[(&str, &'a StudyDigest)]) -> BTreeMap<CellSettings, Vec<(usize, &'a CellDigest)>> {
    let mut cells: BTreeMap<CellSettings, Vec<(usize, &CellDigest)>> = BTreeMap::new();
    for (machine, (_, digest)) in studies.iter().enumerate() {
        for cell in &digest.cells {
            cells.entry(cell.settings).or_default().push((machine, cell));
        }
    }
    cells.retain(|_, known| is_enough(known.len(), studies.len()));
    cells
}

fn is_enough(known: usize, all: usize) -> bool {
    known >= LEAST_MACHINES && 2 * known >= all
}

fn distances(machines: usize, cells: &BTreeMap<CellSettings, Vec<(usize, &CellDigest)>>) -> Distances {
    let mut distances = Distances::new();
    for (settings, known) in cells {
        let part = Access { pattern: settings.pattern, rw: settings.rw };
        let mut add = |figure: UnlikeFigure, machine: usize, log: f64| {
            for part in [None, Some(part)] {
                distances.entry((figure, part)).or_insert_with(|| vec![Vec::new(); machines])[machine].push(log);
            }
        };
        let rates: Vec<f64> = known.iter().map(|(_, cell)| cell.mbps.value.ln()).collect();
        let usual = median(rates.clone());
        known.iter().zip(&rates).for_each(|((machine, _), log)| add(UnlikeFigure::Rate, *machine, log - usual));
        let late = known.iter().zip(&rates).filter_map(|((machine, cell), rate)| {
            Some((*machine, *rate, cell.latency_ns_p99.filter(|ns| *ns > 0.0)?.ln()))
        });
        let late: Vec<(usize, f64, f64)> = late.collect();
        if is_enough(late.len(), machines) {
            let slope = resistant_slope(late.iter().map(|(_, rate, ns)| (*rate, *ns)).collect());
            let rest = |rate: f64, ns: f64| ns - slope * rate;
            let usual = median(late.iter().map(|(_, rate, ns)| rest(*rate, *ns)).collect());
            late.iter().for_each(|(machine, rate, ns)| add(UnlikeFigure::Latency, *machine, rest(*rate, *ns) - usual));
        }
    }
    distances
}

/// The slope between the medians of the lowest and the highest third, which single machines do not bend; 0 if these lie at
/// one place.
fn resistant_slope(mut points: Vec<(f64, f64)>) -> f64 {
    points.order_by(|one, other| one.0.total_cmp(&other.0));
    let third = points.len() / 3;
    let middle = |points: &[(f64, f64)]| {
        let x = median(points.iter().map(|(x, _)| *x).collect());
        (x, median(points.iter().map(|(_, y)| *y).collect()))
    };
    let low = middle(&points[..third]);
    let high = middle(&points[points.len() - third..]);
    let run = high.0 - low.0;
    if run > 0.0 { (high.1 - low.1) / run } else { 0.0 }
}

/// Each machine's level in one part and figure; `None` of machines with less than half of the cells.
fn levels(each: &[Vec<f64>]) -> Vec<Option<f64>> {
    let cells = each.iter().map(Vec::len).max().unwrap_or(0);
    each.iter().map(|logs| (!logs.is_empty() && 2 * logs.len() >= cells).then(|| median(logs.clone()))).collect()
}

/// The distance of each machine's level from the median level; nothing if too few machines have one.
fn judged(figure: UnlikeFigure, part: Option<Access>, each: &[Vec<f64>]) -> Vec<Found> {
    let levels = levels(each);
    let known: Vec<f64> = levels.iter().copied().flatten().collect();
    if known.len() < LEAST_MACHINES {
        return Vec::new();
    }
    let usual = median(known.clone());
    let deviation = OF_DEVIATION * median(known.iter().map(|level| (level - usual).abs()).collect());
    let freedom = (EFFICIENCY * (known.len() - 1) as f64).max(1.0);
    let Ok(chances) = StudentsT::new(0.0, 1.0, freedom) else { return Vec::new() };
    let found = |(machine, level): (usize, &Option<f64>)| {
        let log = (*level)? - usual;
        let deviations = log.abs() / deviation.max(LEAST_DEVIATION);
        let chance = 2.0 * chances.cdf(-deviations);
        let own = &each[machine];
        Some(Found { machine, figure, part, log, reach: reach(own, usual), cells: own.len(), deviations, chance })
    };
    levels.iter().enumerate().filter_map(found).collect()
}

/// The 95% interval of the median of these logarithms less what is usual, by their order alone; `None` with fewer than six.
fn reach(logs: &[f64], usual: f64) -> Option<[f64; 2]> {
    let (rank, _) = ranks(logs.len())?;
    let mut sorted = logs.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some([sorted[rank - 1] - usual, sorted[sorted.len() - rank] - usual])
}

fn named(one: &Found, studies: &[(&str, &StudyDigest)], distances: &Distances) -> UnlikeMachine {
    let Found { machine, figure, part, log, deviations, chance, .. } = *one;
    let rate = |((figure, part), each): (&(UnlikeFigure, Option<Access>), &Vec<Vec<f64>>)| {
        let part = part.filter(|_| *figure == UnlikeFigure::Rate)?;
        let levels = levels(each);
        Some((part, (levels[machine]? - median(levels.iter().copied().flatten().collect())).exp()))
    };
    UnlikeMachine {
        name: studies[machine].0.to_string(),
        figure,
        part,
        of_others: log.exp(),
        deviations,
        chance,
        rates: distances.iter().filter_map(rate).collect(),
    }
}

#[cfg(test)]
mod tests {
    use halfpower_spec::{Cache, Direction, Pattern};
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::history::Measured;

    /// How a machine differs: its rate and its 99th percentile, as multiples of the others', in cells of these accesses.
    type Planted = fn(Access) -> (f64, f64);

    const ALIKE: Planted = |_| (1.0, 1.0);

    /// The sum of twelve uniform draws is nearly normal.
    fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
        (0..12).map(|_| random.random::<f64>()).sum::<f64>() - 6.0
    }

    /// A study of a machine whose level differs by 3% and whose cells by 4%; its percentiles follow its load.
    fn studied(random: &mut Xoshiro256PlusPlus, planted: Planted) -> StudyDigest {
        let own = 0.03 * normal(random);
        let mut cells = Vec::new();
        for (pattern, rw) in Pattern::ALL.iter().flat_map(|pattern| Direction::ALL.iter().map(|rw| (*pattern, *rw))) {
            let (rate, late) = planted(Access { pattern, rw });
            for (bs_bytes, iodepth) in [(4096, 1), (4096, 32), (65_536, 4), (1 << 20, 4)] {
                let log = own + 0.04 * normal(random);
                let value = 200.0 * log.exp() * rate;
                // The more a machine carries, the longer the slowest of a hundred waits.
                let ns = 1e6 * (2.0 * (value / 200.0).ln() + 0.05 * normal(random)).exp() * late;
                cells.push(CellDigest {
                    settings: CellSettings { pattern, rw, cache: Cache::Device, iodepth, bs_bytes, threads: 1 },
                    mbps: Measured { value, low: value, high: value },
                    latency_ns_p50: None,
                    latency_ns_p99: Some(ns),
                    charged_us: None,
                });
            }
        }
        StudyDigest {
            target: "/data".to_string(),
            identity: String::new(),
            started_unix_ms: 0,
            runs: 48,
            cells,
            commits: None,
            neighbours: crate::Neighbours::default(),
        }
    }

    fn fleet(machines: usize, seed: u64, planted: &[(usize, Planted)]) -> AlikeMachines {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let of = |machine: usize| planted.iter().find(|(at, _)| *at == machine).map_or(ALIKE, |(_, planted)| *planted);
        let digests: Vec<(String, StudyDigest)> =
            (0..machines).map(|machine| (format!("m{machine}"), studied(&mut random, of(machine)))).collect();
        let studies: Vec<(&str, &StudyDigest)> = digests.iter().map(|(name, digest)| (name.as_str(), digest)).collect();
        alike_machines(&studies)
    }

    #[test]
    fn a_slow_machine_among_a_thousand_is_found_and_no_other_one() {
        let everywhere: Planted = |_| (0.6, 1.0);
        let writes: Planted = |access| if access.rw == Direction::Write { (0.5, 1.0) } else { (1.0, 1.0) };
        let tail: Planted = |access| if access.pattern == Pattern::Random { (1.0, 3.0) } else { (1.0, 1.0) };
        let found = fleet(1000, 7, &[(17, everywhere), (400, writes), (901, tail)]);
        assert_eq!((found.machines, found.cells), (1000, 16), "{found:?}");
        let mut names: Vec<&str> = found.unlike.iter().map(|one| one.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["m17", "m400", "m901"], "{:?}", found.unlike);
        let of = |name: &str| found.unlike.iter().find(|one| one.name == name).unwrap();
        let slow = of("m17");
        assert_eq!(slow.figure, UnlikeFigure::Rate, "a slow machine's latency is that of its load: {slow:?}");
        assert!((slow.of_others / 0.6 - 1.0).abs() < 0.15 && slow.chance <= FALSE_ALARM, "{slow:?}");
        let writing = of("m400");
        assert!(writing.part.is_some_and(|part| part.rw == Direction::Write), "{writing:?}");
        let reads = Access { pattern: Pattern::Random, rw: Direction::Read };
        assert!((writing.rates[&reads] - 1.0).abs() < 0.15, "its reads are as fast: {writing:?}");
        let late = of("m901");
        assert_eq!((late.figure, late.part.map(|part| part.pattern)), (UnlikeFigure::Latency, Some(Pattern::Random)));
    }

    #[test]
    fn each_machine_has_its_levels_with_their_intervals_and_ten_are_the_most_typical() {
        let slow: Planted = |_| (0.6, 1.0);
        let found = fleet(200, 11, &[(17, slow)]);
        assert_eq!(found.all.len(), 200);
        assert!(found.all[0].name == "m17" && found.all[0].is_unlike, "the farthest is first: {:?}", found.all[0]);
        let of_all = found.all[0].levels[0];
        assert_eq!((of_all.figure, of_all.part, of_all.cells), (UnlikeFigure::Rate, None, 16));
        let (low, high) = of_all.low.zip(of_all.high).unwrap();
        assert!(low < of_all.of_others && of_all.of_others < high && high < 0.8, "{of_all:?}");
        assert!(of_all.is_worse() && of_all.deviations < -4.0, "{of_all:?}");
        let of_four = found.all[0].levels.iter().find(|level| level.part.is_some()).unwrap();
        assert!(of_four.cells == 4 && of_four.low.is_none(), "four cells have no interval: {of_four:?}");
        let typical = found.typical();
        assert!(typical.len() == 10 && typical.iter().all(|one| !one.is_unlike), "{typical:?}");
        let between = found.between();
        assert_eq!(between.len(), 200 - found.unlike.len() - 10);
        let farthest = typical.iter().filter_map(|one| one.deviations).fold(0.0, f64::max);
        assert!(between.iter().all(|one| one.deviations.is_none_or(|far| far >= farthest)), "{farthest}");
    }

    #[test]
    fn equal_machines_are_seldom_named_however_many_there_are() {
        for (machines, fleets) in [(8, 40), (30, 40), (300, 10)] {
            let alarms = (0..fleets).filter(|seed| !fleet(machines, 100 + seed, &[]).unlike.is_empty()).count();
            // A share of 5%, and three standard errors of so many trials.
            let most = 0.05 * fleets as f64 + 3.0 * (0.05 * 0.95 * fleets as f64).sqrt();
            assert!(alarms as f64 <= most, "{machines} machines: {alarms} of {fleets}");
        }
    }

    #[test]
    fn few_machines_and_small_differences_name_nobody() {
        let slow: Planted = |_| (0.3, 1.0);
        assert!(fleet(LEAST_MACHINES - 1, 1, &[(0, slow)]).unlike.is_empty());
        let little: Planted = |_| (0.97, 1.0);
        assert!(fleet(300, 1, &[(0, little)]).unlike.is_empty());
    }
}
