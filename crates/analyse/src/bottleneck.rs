//! What stops the path from going faster, and how is that known? Levels, paths and their regimes enter, the
//! narrowest level leaves, with the measurement that says so and what would stop it next.
//!
//! In this order: an advertised peak that the best result all but reaches; a processor that is full; a ceiling
//! that was seen and that nothing advertises; a device that does no more side by side; else the time of each
//! request, so that more depth would still help.

use record::Level;
use spec::EngineName;

use crate::experiments::scaling::SHARED_PATH;
use crate::half_power::depth_line;
use crate::ladder::{is_of_the_host, ladder, limit_mbps, medium};
use crate::path::{Path, leading, settings_words};
use crate::regime::{Regime, Regimes};
use crate::{Bottleneck, CellFinding, Interval, LevelFinding, format};

/// Share of an advertised peak from which on the level that advertises it is the limit.
pub(crate) const AT_PEAK: f64 = 0.9;
/// Share of the processors a run can use from which on they are the limit.
const FULL: f64 = 0.9;
/// Share of a ceiling that was seen from which on a cell stands on it.
const AT_CEILING: f64 = 0.95;
/// Share of such a ceiling above which a cell is not stopped by it, whatever other cells are.
const ABOVE_CEILING: f64 = 1.1;
/// Gain from more depth that is none.
const NO_GAIN: f64 = 0.03;
/// Share of a core below which its saturation cannot be told from what was charged.
const TELLING_SHARE: f64 = 0.02;
/// Name of a limit that shows in the results alone.
const UNNAMED: &str = "unnamed ceiling";

/// What the judgement looks at.
pub(crate) struct Evidence<'a> {
    pub levels: &'a [Level],
    pub cells: &'a [CellFinding],
    pub paths: &'a [(Path<'a>, Regimes<'a>)],
    /// Processors of the machine; 0 where that is not known.
    pub cpus: u32,
    /// Whether a hypervisor or container stands between the machine and its devices.
    pub virtualised: bool,
}

/// The judgement: the ladder with the narrowest level marked, why it is that one, and the same in one sentence.
pub(crate) struct Judgement {
    pub ladder: Vec<LevelFinding>,
    pub bottleneck: Bottleneck,
    pub sentence: String,
}

/// One level that could be the limit: its name, why it is, and its place in the ladder where it has none yet.
struct Verdict {
    level: String,
    why: String,
    /// What stops it and how that is known, for whoever reads one sentence: to stand after a colon, without its stop.
    short: String,
    /// What would show that it is something else, likewise.
    falsified_by: String,
}

/// What stops the path.
pub(crate) fn judge(evidence: &Evidence<'_>) -> Judgement {
    let mut ladder = ladder(evidence.levels, evidence.cells);
    let Some((path, regimes, cell)) = evidence.best() else {
        let is_shared = |level: &&Level| level.name == SHARED_PATH && level.attainable.is_none();
        if let Some(shared) = evidence.levels.iter().find(is_shared) {
            return at_shared_path(ladder, shared);
        }
        let why = nothing_to_judge(evidence.cells);
        let sentence = format!("What stops it is not known. {why}");
        let bottleneck =
            Bottleneck { level: "unknown".into(), why, next: "unknown".into(), falsified_by: String::new() };
        return Judgement { ladder, bottleneck, sentence };
    };
    let verdict = at_advertised_peak(evidence, path, cell)
        .or_else(|| at_full_processor(evidence, path, cell))
        .or_else(|| at_unnamed_ceiling(evidence, path, regimes, cell))
        .or_else(|| at_full_device(path, regimes, cell))
        .unwrap_or_else(|| at_latency(path, regimes, cell));
    let verdict = match verdict.level.as_str() {
        // What the device is called where the path's parts have names of their own.
        "device" => Verdict { level: medium(evidence.levels, path.rw), ..verdict },
        _ => verdict,
    };
    let next = next(evidence, regimes, cell, &verdict.level);
    mark(&mut ladder, &verdict.level, cell);
    let sentence = format!("What stops it: {}.", verdict.short);
    let Verdict { level, why, falsified_by, .. } = verdict;
    let why = why + &small_requests(evidence);
    Judgement { ladder, bottleneck: Bottleneck { level, why, next, falsified_by }, sentence }
}

/// What stops members side by side, where nothing else was measured.
fn at_shared_path(mut ladder: Vec<LevelFinding>, shared: &Level) -> Judgement {
    let level = shared.full_name();
    ladder.iter_mut().filter(|known| known.level == level).for_each(|known| known.narrowest = true);
    let sentence = format!("What stops it: the {level}, {}.", shared.source);
    let why = format!("Members side by side do not add up any more: {}.", shared.source);
    let next = "the members themselves, each at what it gives alone".to_string();
    let falsified_by = "more from another number of members with the path as it is".to_string();
    Judgement { ladder, bottleneck: Bottleneck { level, why, next, falsified_by }, sentence }
}

impl<'a> Evidence<'a> {
    /// The best usable cell of all, with its path.
    fn best(&self) -> Option<(&Path<'a>, &Regimes<'a>, &CellFinding)> {
        let of_path = |(path, regimes): &'a (Path<'a>, Regimes<'a>)| Some((path, regimes, leading(path.usable())?));
        let paths = self.paths.iter().filter_map(of_path);
        paths.reduce(|best, next| {
            let rank = |cell: &CellFinding| (cell.steady, cell.mbps.value);
            if rank(next.2) > rank(best.2) { next } else { best }
        })
    }
}

fn nothing_to_judge(cells: &[CellFinding]) -> String {
    let why = if cells.is_empty() {
        "no cell has a run yet"
    } else if cells.iter().any(|cell| cell.cached) {
        "every result came out of a cache or with errors, so nothing says how fast the path itself is"
    } else {
        "no run moved bytes without errors"
    };
    format!("Nothing can be said: {why}.")
}

/// `sequential direct reads reach 1,835 MB/s (1 MiB, 32 deep)`, to begin a sentence with.
fn reach(path: &Path<'_>, cell: &CellFinding) -> String {
    let words = format!("{}s reach {} ({})", path.words(), format::mbps(cell.mbps.value), settings_words(cell));
    words[..1].to_uppercase() + &words[1..]
}

fn at_advertised_peak(evidence: &Evidence<'_>, path: &Path<'_>, cell: &CellFinding) -> Option<Verdict> {
    let of_path = evidence.levels.iter().filter(|level| !is_of_the_host(level));
    let rates = of_path.clone().filter_map(|level| Some((level, limit_mbps(level, path.rw)?)));
    let narrowest = rates.reduce(|low, next| if next.1 < low.1 { next } else { low });
    if let Some((level, limit)) = narrowest.filter(|(_, limit)| cell.mbps.value >= AT_PEAK * limit) {
        let (name, mbps, share) = (level.full_name(), format::mbps(limit), format::percent(cell.mbps.value / limit));
        let (why, short) = match level.attainable {
            // A part with a name of its own; which way the bytes go has been said.
            Some(_) => (
                format!("{share} of the {mbps} that get through {} at best ({})", level.name, level.source),
                format!("{}, through which {mbps} get at best; {share} of that was reached", level.name),
            ),
            None => {
                let gives = if level.name == SHARED_PATH { "has been seen to give" } else { "advertises" };
                (
                    format!("{share} of the {mbps} that the {name} {gives} ({})", level.source),
                    format!("the {name}, which {gives} {mbps}; {share} of that was reached"),
                )
            }
        };
        let falsified_by = wider(&mbps, &name);
        return Some(Verdict { level: name, why: format!("{}: {why}.", reach(path, cell)), short, falsified_by });
    }
    let requests = |level: &&Level| {
        let holds = level.direction.is_none_or(|direction| direction == path.rw);
        level.pap_iops.is_some_and(|pap| holds && pap > 0.0 && cell.iops >= AT_PEAK * pap)
    };
    let level = of_path.into_iter().find(requests)?;
    let pap = level.pap_iops?;
    let share = format::percent(cell.iops / pap);
    let why = format!(
        "{} with {}: {share} of the {} that the {} admits ({}).",
        reach(path, cell),
        format::iops(cell.iops),
        format::iops(pap),
        level.full_name(),
        level.source
    );
    let short = format!("the {}, which admits {}; {share} of that was reached", level.full_name(), format::iops(pap));
    let falsified_by = wider(&format::iops(pap), &level.full_name());
    Some(Verdict { level: level.full_name(), why, short, falsified_by })
}

/// What would show that a level with a known limit is not what stops the path.
fn wider(limit: &str, level: &str) -> String {
    format!("a run above {limit} that no cache answered, or the same rate once the {level} lets more through")
}

/// Processors that the run's requests can be issued from.
fn usable_cpus(cell: &CellFinding, cpus: u32) -> f64 {
    let issuing = if cell.engine == EngineName::Pool { cell.total_depth() } else { cell.threads };
    let known = if cpus == 0 { issuing } else { issuing.min(cpus) };
    f64::from(known.max(1))
}

fn at_full_processor(evidence: &Evidence<'_>, path: &Path<'_>, cell: &CellFinding) -> Option<Verdict> {
    let usable = usable_cpus(cell, evidence.cpus);
    let machine = cell.soaker_us.map(|us| us * cell.iops / 1e6);
    let (share, of) = if cell.core_share >= FULL * usable {
        (cell.core_share / usable, format!("the {} that its threads can use", processors(usable)))
    } else {
        let cpus = f64::from(evidence.cpus);
        let busy = machine.filter(|busy| evidence.cpus > 0 && *busy >= FULL * cpus)?;
        (busy / cpus, format!("the machine's {}, by what the soaker lost", processors(cpus)))
    };
    let why = format!("{} and keep {} busy {}.", reach(path, cell), of, format::percent(share.min(1.0)));
    let short = format!("the processor; the fastest run keeps {of} busy {}", format::percent(share.min(1.0)));
    let falsified_by = "the same rate with more processors, or with an engine that takes less of them for each request";
    Some(Verdict { level: "processor".to_string(), why, short, falsified_by: falsified_by.to_string() })
}

fn processors(count: f64) -> String {
    if count == 1.0 { "one processor".to_string() } else { format!("{count:.0} processors") }
}

/// A ceiling that the cells agree on. Where the best cell lies well above it, it is not what stops that cell.
fn at_unnamed_ceiling(
    evidence: &Evidence<'_>,
    path: &Path<'_>,
    regimes: &Regimes<'_>,
    cell: &CellFinding,
) -> Option<Verdict> {
    let rate_mbps = |cell: &CellFinding| cell.mbps.value;
    let rate_iops = |cell: &CellFinding| 1e6 / cell.time_per_request_us();
    let stands = |ceiling: &Interval, rate: f64| rate >= AT_CEILING * ceiling.value;
    let is_stopped = |ceiling: &Interval, rate: f64| stands(ceiling, rate) && rate <= ABOVE_CEILING * ceiling.value;
    let bytes = regimes.ceiling_mbps.filter(|ceiling| is_stopped(ceiling, rate_mbps(cell)));
    let requests = regimes.ceiling_iops.filter(|ceiling| is_stopped(ceiling, rate_iops(cell)));
    let on = |regime, of: &dyn Fn(&CellFinding) -> f64, ceiling: &Interval| -> Vec<&CellFinding> {
        let bound = regimes.cells.iter().filter(|(_, bound)| *bound == regime);
        bound.map(|(cell, _)| *cell).filter(|cell| stands(ceiling, of(cell))).collect()
    };
    let (ceiling, past, on) = match (bytes, requests) {
        (Some(ceiling), _) => {
            let on = on(Regime::Bandwidth, &rate_mbps, &ceiling);
            (format::mbps(ceiling.value), "neither larger blocks nor more depth get past", on)
        }
        (None, Some(ceiling)) => {
            let on = on(Regime::Requests, &rate_iops, &ceiling);
            (format::iops(ceiling.value), "neither smaller blocks nor more depth get past", on)
        }
        (None, None) => return None,
    };
    let low = on.iter().map(|cell| (cell.iodepth, cell.bs_bytes)).min()?;
    let whose =
        if evidence.virtualised { "the device or the hypervisor before it" } else { "the device or its controller" };
    let short =
        format!("a ceiling near {ceiling} that {past}; nothing in the path advertises such a limit, so it is {whose}");
    let why = format!(
        "A ceiling near {ceiling} that {past}: {} cells of {}s stand on it, from {} at {} deep on. Nothing in the path \
         advertises such a limit, so it is {whose}.",
        on.len(),
        path.words(),
        format::size(low.1 as f64),
        low.0
    );
    let falsified_by = format!(
        "a run well above {ceiling} by other sizes or depths, or a ceiling elsewhere from the same settings on another day"
    );
    Some(Verdict { level: UNNAMED.to_string(), why, short, falsified_by })
}

/// More depth brings no more, at the best cell's block size: the device, by its own number of requests side by
/// side where the cells agree on one.
fn at_full_device(path: &Path<'_>, regimes: &Regimes<'_>, cell: &CellFinding) -> Option<Verdict> {
    let side_by_side = regimes.parallelism.filter(|most| f64::from(cell.total_depth()) >= AT_CEILING * most);
    let why = match side_by_side {
        Some(most) => {
            let most = if most < 1.1 {
                "one request at a time".to_string()
            } else {
                format!("about {} requests side by side", format::two_digits(most))
            };
            // What was seen of larger blocks counts more than what the line promises of them.
            let is_largest = path.usable().all(|other| other.bs_bytes <= cell.bs_bytes);
            let larger = device_mbps(regimes).filter(|mbps| is_largest && *mbps > cell.mbps.value);
            let larger = larger.map_or(String::new(), |mbps| {
                format!("; larger blocks alone could bring it to {}", format::mbps(mbps))
            });
            format!("the device serves {most}, and more depth only waits{larger}")
        }
        None => {
            let [before, after] = around(path, cell);
            let (fewer, more) = match (before, after) {
                (_, Some(deeper)) => (cell, deeper),
                (Some(shallower), None) if gain(shallower, cell) < NO_GAIN => (shallower, cell),
                _ => return None,
            };
            format!(
                "more depth than {} brings no more ({} at {} deep), so the device is as busy as it can be",
                fewer.iodepth,
                format::mbps(more.mbps.value),
                more.iodepth
            )
        }
    };
    let short =
        format!("the device; {}", why.strip_prefix("the device ").map_or(why.clone(), |rest| format!("it {rest}")));
    let falsified_by = format!(
        "more from {} deep, or two such devices side by side that give no more than one (a path that they share)",
        2 * cell.iodepth
    );
    let why = format!("{}; {why}.", reach(path, cell));
    Some(Verdict { level: "device".to_string(), why, short, falsified_by })
}

fn at_latency(path: &Path<'_>, regimes: &Regimes<'_>, cell: &CellFinding) -> Verdict {
    let line = regimes.line.or(depth_line(regimes, cell.iodepth));
    let parts = line.map_or(String::new(), |line| {
        let per_kib = format::time_us(line.slope * 1024.0);
        format!(" (at {} deep {} and {per_kib} a KiB)", regimes.base_depth, format::time_us(line.intercept))
    });
    let more = match around(path, cell) {
        [Some(before), _] => format!(
            "from {} to {} deep throughput still rose by {}, so more depth may help",
            before.iodepth,
            cell.iodepth,
            format::percent(gain(before, cell))
        ),
        _ => "no other depth was measured beside it, so more depth may help".to_string(),
    };
    let why = format!(
        "{}, limited by the time that each request takes{parts}: no advertised peak is near, no processor full, and \
         {more}.",
        reach(path, cell)
    );
    let short = format!("the time that the device takes for each request; {more}");
    let falsified_by = format!("no more from {} deep", 2 * cell.iodepth);
    Verdict { level: "device".to_string(), why, short, falsified_by }
}

/// The usable cells next to `cell` in depth, at its block size and threads: the shallower and the deeper.
fn around<'a>(path: &'a Path<'_>, cell: &CellFinding) -> [Option<&'a CellFinding>; 2] {
    let alike: Vec<&CellFinding> =
        path.usable().filter(|other| (other.bs_bytes, other.threads) == (cell.bs_bytes, cell.threads)).collect();
    let shallower = alike.iter().copied().filter(|other| other.iodepth < cell.iodepth);
    let deeper = alike.iter().copied().filter(|other| other.iodepth > cell.iodepth);
    [shallower.max_by_key(|other| other.iodepth), deeper.min_by_key(|other| other.iodepth)]
}

fn gain(before: &CellFinding, after: &CellFinding) -> f64 {
    after.mbps.value / before.mbps.value - 1.0
}

/// Throughput of very large blocks with as many requests side by side as there can be, in MB/s.
fn device_mbps(regimes: &Regimes<'_>) -> Option<f64> {
    let line = regimes.line.filter(|line| line.slope > 0.0)?;
    let side_by_side = regimes.parallelism? / f64::from(regimes.base_depth.max(1));
    Some(side_by_side / line.slope).filter(|mbps| mbps.is_finite())
}

/// The lowest of the limits that the best result has not met.
fn next(evidence: &Evidence<'_>, regimes: &Regimes<'_>, cell: &CellFinding, narrowest: &str) -> String {
    let of_level = |level: &Level| {
        let how = if level.attainable.is_some() { "by what gets through it" } else { "by its advertised peak" };
        Some((level.full_name(), limit_mbps(level, cell.rw)?, how))
    };
    // Direct transfers pass none of the host's levels.
    let on_the_way = evidence.levels.iter().filter(|level| !(cell.cache.direct() && is_of_the_host(level)));
    let advertised = on_the_way.filter_map(of_level);
    let cores = usable_cpus(cell, evidence.cpus);
    let full = (cell.core_share >= TELLING_SHARE).then(|| cell.mbps.value * cores / cell.core_share);
    let processor = full.map(|mbps| ("processor".to_string(), mbps, "where the charged time fills it"));
    let device = device_mbps(regimes).map(|mbps| ("device".to_string(), mbps, "by its rate on large blocks"));
    advertised
        .chain(processor)
        .chain(device)
        .filter(|(name, mbps, _)| name != narrowest && mbps.is_finite() && *mbps > cell.mbps.value)
        .reduce(|low, next| if next.1 < low.1 { next } else { low })
        .map_or("unknown: no other limit is known".to_string(), |(name, mbps, how)| {
            format!("{name}, at {} {how}", format::mbps(mbps))
        })
}

/// A sentence more where requests a second have a limit of their own.
fn small_requests(evidence: &Evidence<'_>) -> String {
    let ceilings = evidence.paths.iter().filter_map(|(path, regimes)| Some((path, regimes.ceiling_iops?.value)));
    let lowest = ceilings.reduce(|low, next| if next.1 < low.1 { next } else { low });
    lowest.map_or(String::new(), |(path, iops)| {
        format!(" Small requests meet another limit: {} ({}s).", format::iops(iops), path.words())
    })
}

/// Marks the level, adding it at its place where the environment has none of that name.
fn mark(ladder: &mut Vec<LevelFinding>, name: &str, best: &CellFinding) {
    let found = |ladder: &[LevelFinding]| ladder.iter().position(|level| level.level == name);
    let place = found(ladder).unwrap_or_else(|| {
        let place = match name {
            "processor" => 0,
            UNNAMED => ladder.iter().position(|level| level.level == "device").unwrap_or(ladder.len()),
            _ => ladder.len(),
        };
        let source = match name {
            UNNAMED => "seen in the results; nothing advertises it",
            _ => "no advertised figure is known",
        };
        let (level, source) = (name.to_string(), source.to_string());
        let rap_mbps = Some(best.mbps.value);
        ladder.insert(place, LevelFinding { level, pap_mbps: None, rap_mbps, source, narrowest: false });
        place
    });
    ladder[place].narrowest = true;
}
