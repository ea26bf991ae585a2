//! What should a reader know before believing a number? Everything found enters, sentences leave; the findings
//! of one kind share a sentence, so that a bad study does not drown its report.

use record::{Environment, Record};
use spec::{Pass, Question};

use crate::cells::{Gathered, WITHIN};
use crate::ladder::narrowest_pap;
use crate::path::{Path, best, leading, settings_words};
use crate::witness::others_at_work;
use crate::{Advice, CellFinding, format};

/// Share of the depth asked for below which the depth axis says less than it seems.
const SHALLOW: f64 = 0.8;
/// Half width of the interval within one run, as a share of its mean, above which its cells are restless.
const RESTLESS: f64 = 0.2;
/// Share of a latency that the harness may be before it is said.
const HARNESS: f64 = 0.05;
/// How far below the charge of its own pass the soaker's loss may be before it is said.
const BELOW_CHARGED: f64 = 0.98;

/// What the warnings are drawn from.
pub(crate) struct Grounds<'a> {
    pub question: &'a Question,
    pub environment: &'a Environment,
    pub levels: &'a [record::Level],
    pub records: &'a [Record],
    pub gathered: &'a [Gathered],
    pub cells: &'a [CellFinding],
    pub paths: &'a [Path<'a>],
    pub advice: &'a [Advice],
    pub harness_ns_per_io: f64,
}

/// All warnings, what changed the study first.
pub(crate) fn warnings(grounds: &Grounds<'_>) -> Vec<String> {
    let mut all = grounds.environment.notes.clone();
    all.extend(errors(grounds));
    all.extend(short_transfers(grounds));
    all.extend(opened_cached(grounds));
    all.extend(above_pap(grounds));
    all.extend(faster_than_direct(grounds));
    all.extend(grounds.paths.iter().filter_map(shallow));
    all.extend(unsteady(grounds));
    all.extend(bursts(grounds));
    all.extend(others_at_work(grounds));
    all.extend(few_runs(grounds));
    all.extend(wide(grounds));
    all.extend(restless(grounds));
    all.extend(harness(grounds));
    all.extend(soaker_missing(grounds));
    all.extend(soaker_below(grounds));
    all.extend(mixed(grounds));
    all
}

/// A cell in words, such as `random direct read, 4 KiB, 32 deep`.
pub(crate) fn words(cell: &CellFinding) -> String {
    let path = crate::path::path_words(cell.pattern, cell.cache, cell.rw);
    format!("{path}, {}", settings_words(cell))
}

pub(crate) fn count(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{} {noun}s", format::thousands(count as f64)) }
}

fn errors(grounds: &Grounds<'_>) -> Option<String> {
    let failed: Vec<&CellFinding> = grounds.cells.iter().filter(|cell| cell.errors > 0).collect();
    let worst = failed.iter().max_by_key(|cell| cell.errors)?;
    let mut kinds: Vec<&str> =
        grounds.records.iter().flat_map(|record| record.errors.keys()).map(String::as_str).collect();
    kinds.sort_unstable();
    kinds.dedup();
    Some(format!(
        "Requests failed in {} ({}); most in {}: {}. Failed requests are not counted as I/O, and these cells \
         bear no conclusion.",
        count(failed.len(), "cell"),
        kinds.join(", "),
        words(worst),
        format::thousands(worst.errors as f64)
    ))
}

fn short_transfers(grounds: &Grounds<'_>) -> Option<String> {
    let short: Vec<&CellFinding> = grounds.cells.iter().filter(|cell| cell.short_transfers > 0).collect();
    let worst = short.iter().max_by_key(|cell| cell.short_transfers)?;
    Some(format!(
        "Requests moved fewer bytes than asked in {}; most in {}: {}. They count with the bytes they moved.",
        count(short.len(), "cell"),
        words(worst),
        format::thousands(worst.short_transfers as f64)
    ))
}

fn opened_cached(grounds: &Grounds<'_>) -> Option<String> {
    let buffered = grounds.gathered.iter().filter(|cell| !cell.finding.cache.direct());
    let opened: Vec<(f64, &Gathered)> =
        buffered.filter_map(|cell| Some((cell.opened_cached?, cell))).filter(|(share, _)| *share > 0.01).collect();
    let (share, worst) = opened.iter().max_by(|one, other| one.0.total_cmp(&other.0))?;
    Some(format!(
        "{} opened with bytes of the target already in the page cache; most in {}: {} of the span.",
        count(opened.len(), "buffered cell"),
        words(&worst.finding),
        format::percent(share.min(1.0))
    ))
}

fn above_pap(grounds: &Grounds<'_>) -> Option<String> {
    let pap = |cell: &CellFinding| narrowest_pap(grounds.levels, cell.rw);
    let above = grounds.cells.iter().filter(|cell| pap(cell).is_some_and(|pap| cell.cached && cell.mbps.value > pap));
    let above: Vec<&CellFinding> = above.collect();
    let highest = best(above.iter().copied())?;
    Some(format!(
        "{} above the {} that the path advertises, up to {} ({}): a cache answered, or the advertised figure is \
         not this path's; they are not used for any conclusion.",
        if above.len() == 1 { "1 cell is".into() } else { format!("{} are", count(above.len(), "cell")) },
        format::mbps(pap(highest)?),
        format::mbps(highest.mbps.value),
        words(highest)
    ))
}

fn faster_than_direct(grounds: &Grounds<'_>) -> Option<String> {
    let answered = |cell: &&CellFinding| cell.cached && !cell.cache.direct();
    let unexplained =
        |cell: &&CellFinding| narrowest_pap(grounds.levels, cell.rw).is_none_or(|pap| cell.mbps.value <= pap);
    let cells: Vec<&CellFinding> = grounds.cells.iter().filter(answered).filter(unexplained).collect();
    let highest = best(cells.iter().copied())?;
    Some(format!(
        "{} faster than the device can be believed to be, or began with cached bytes, up to {} ({}): the page \
         cache answered; not used for any conclusion.",
        if cells.len() == 1 { "1 buffered cell is".into() } else { format!("{} buffered cells are", cells.len()) },
        format::mbps(highest.mbps.value),
        words(highest)
    ))
}

fn shallow(path: &Path<'_>) -> Option<String> {
    let share = |cell: &CellFinding| cell.achieved_depth / f64::from(cell.total_depth().max(1));
    let deep: Vec<&CellFinding> = path.usable().filter(|cell| cell.total_depth() > 1).collect();
    let below: Vec<&CellFinding> = deep.iter().copied().filter(|cell| share(cell) < SHALLOW).collect();
    let worst = below.iter().copied().reduce(|low, next| if share(next) < share(low) { next } else { low })?;
    Some(format!(
        "{} of {} {} cells deeper than 1 kept less than {} of the depth asked for; least at {}: {:.1} in flight.",
        below.len(),
        deep.len(),
        path.words(),
        format::percent(SHALLOW),
        settings_words(worst),
        worst.achieved_depth
    ))
}

fn unsteady(grounds: &Grounds<'_>) -> Option<String> {
    let unsteady: Vec<&CellFinding> = grounds.cells.iter().filter(|cell| cell.usable() && !cell.steady).collect();
    let worst = best(unsteady.iter().copied())?;
    Some(format!(
        "{} of {} not steady, and never advised; the fastest of them is {}: {}.",
        unsteady.len(),
        if grounds.cells.len() == 1 {
            "1 cell is".into()
        } else {
            format!("{} are", count(grounds.cells.len(), "cell"))
        },
        words(worst),
        worst.unsteady_why.as_deref().unwrap_or("its rate changed")
    ))
}

fn bursts(grounds: &Grounds<'_>) -> Option<String> {
    let fall = |cell: &CellFinding| cell.burst_mbps.unwrap_or(0.0) / cell.sustained_mbps.unwrap_or(f64::MAX);
    let cells: Vec<&CellFinding> = grounds.cells.iter().filter(|c| c.usable() && c.burst_mbps.is_some()).collect();
    let worst = cells.iter().copied().max_by(|one, other| fall(one).total_cmp(&fall(other)))?;
    Some(format!(
        "{} began faster than it went on, as where a cache fills up or a credit is spent; most in {}: {} at first, \
         {} sustained.",
        if cells.len() == 1 { "1 cell".into() } else { format!("Each of {}", count(cells.len(), "cell")) },
        words(worst),
        format::mbps(worst.burst_mbps?),
        format::mbps(worst.sustained_mbps?)
    ))
}

fn restless(grounds: &Grounds<'_>) -> Option<String> {
    let deciding = deciding(grounds);
    let reach = |cell: &CellFinding| cell.within_run_reach.unwrap_or(0.0);
    let over: Vec<&CellFinding> = deciding.iter().copied().filter(|cell| reach(cell) > RESTLESS).collect();
    let worst = over.iter().copied().max_by(|one, other| reach(one).total_cmp(&reach(other)))?;
    Some(format!(
        "A single run leaves more than ±{} open in {} of {} that decide, by its own five parts; most in {}: ±{}. \
         Longer runs, so a larger --budget, would help.",
        format::percent(RESTLESS),
        over.len(),
        count(deciding.len(), "cell"),
        words(worst),
        format::percent(reach(worst))
    ))
}

fn few_runs(grounds: &Grounds<'_>) -> Option<String> {
    let wanted = grounds.question.repeats as usize;
    let few = grounds.cells.iter().filter(|cell| cell.runs < wanted).count();
    (few > 0).then(|| {
        format!(
            "{few} of {} have fewer than {wanted} runs, because the budget or the study ended; one run alone has no \
             interval.",
            count(grounds.cells.len(), "cell")
        )
    })
}

/// The best cell of each path and the advised ones.
fn deciding<'a>(grounds: &Grounds<'a>) -> Vec<&'a CellFinding> {
    let advised = |cell: &CellFinding| {
        grounds.advice.iter().any(|advice| {
            let set = &advice.settings;
            (advice.pattern, advice.rw, set.cache, set.iodepth, set.threads, set.bs.0, set.engine)
                == (cell.pattern, cell.rw, cell.cache, cell.iodepth, cell.threads, cell.bs_bytes, cell.engine)
        })
    };
    let is_best = |cell: &CellFinding| {
        grounds.paths.iter().any(|path| leading(path.usable()).is_some_and(|best| std::ptr::eq(best, cell)))
    };
    grounds.cells.iter().filter(|cell| cell.usable() && (is_best(cell) || advised(cell))).collect()
}

fn wide(grounds: &Grounds<'_>) -> Option<String> {
    let deciding = deciding(grounds);
    let wide: Vec<&CellFinding> = deciding.iter().copied().filter(|cell| cell.mbps.relative_reach() > WITHIN).collect();
    let worst = wide.iter().max_by(|one, other| one.mbps.relative_reach().total_cmp(&other.mbps.relative_reach()))?;
    Some(format!(
        "The 95% interval is wider than ±5% in {} of {} that decide, where the budget ended first; widest in {}: {} \
         ±{}.",
        wide.len(),
        count(deciding.len(), "cell"),
        words(worst),
        format::mbps(worst.mbps.value),
        format::percent(worst.mbps.relative_reach())
    ))
}

fn harness(grounds: &Grounds<'_>) -> Option<String> {
    let share = |cell: &CellFinding| {
        let latency_ns = cell.latency_us.mean * 1e3;
        if latency_ns > 0.0 { grounds.harness_ns_per_io / latency_ns } else { 0.0 }
    };
    let over: Vec<&CellFinding> = grounds.cells.iter().filter(|cell| share(cell) > HARNESS).collect();
    let worst = over.iter().copied().max_by(|one, other| share(one).total_cmp(&share(other)))?;
    Some(format!(
        "halfpower's own {} a request are more than 5% of the latency in {}; most in {}: {}.",
        format::time_us(grounds.harness_ns_per_io / 1e3),
        count(over.len(), "cell"),
        words(worst),
        format::percent(share(worst))
    ))
}

fn soaker_missing(grounds: &Grounds<'_>) -> Option<String> {
    let soaked = grounds.records.iter().any(|r| r.run.pass == Pass::Soaker && r.cpu.soaker.is_some());
    (!grounds.cells.is_empty() && !soaked).then(|| {
        "No run beside the soaker: the cost is known from below alone, without interrupts and kernel threads that \
         nobody is charged for."
            .to_string()
    })
}

fn soaker_below(grounds: &Grounds<'_>) -> Option<String> {
    let is_below = |cell: &&CellFinding| {
        let charged_us = cell.soaker_us.zip(cell.unseen_us).map(|(soaker, unseen)| (soaker, soaker - unseen));
        charged_us.is_some_and(|(soaker, charged)| soaker < BELOW_CHARGED * charged)
    };
    let soaked = grounds.cells.iter().filter(|cell| cell.usable() && cell.unseen_us.is_some());
    let below: Vec<&CellFinding> = soaked.clone().filter(is_below).collect();
    let mut paths: Vec<String> =
        below.iter().map(|cell| crate::path::path_words(cell.pattern, cell.cache, cell.rw)).collect();
    paths.dedup();
    (!below.is_empty()).then(|| {
        format!(
            "The soaker lost less than the process was charged in {} of {} ({}): the machine was not idle when its \
             baseline was taken, or the runs are short; its bound of cost is held at the charged one there.",
            below.len(),
            count(soaked.count(), "cell"),
            paths.join(", ")
        )
    })
}

fn mixed(grounds: &Grounds<'_>) -> Option<String> {
    let mixed = grounds.records.iter().filter(|r| r.run.workload.rw.direction().is_none()).count();
    (mixed > 0).then(|| format!("{} that both read and write are in the file, but on no curve.", count(mixed, "run")))
}
