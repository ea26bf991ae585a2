//! Says how two targets compare that were measured in turns.

use halfpower_analyse::{CellSettings, Duet, DuetCell, DuetDoubt, DuetFigure};
use halfpower_record::{Ratio, TrialVerdict};
use halfpower_spec::format::{iops, mbps};
use halfpower_spec::{Workload, WorkloadOptions};

use super::compare::joined;
use super::doctor::figure;
use super::settings::{cache_beside_direct, capitalised, count, short_pattern, size_and_depth};

/// Ratio from which a rate is so many times another one, and not so many percent more.
const TIMES: f64 = 2.0;
/// Cells that are named, and not counted.
const FEW: usize = 3;
/// An interval that reaches so many times up or down tells nothing: too few pairs.
const BOUNDLESS: f64 = 10.0;
/// Requests below this size are counted by their number.
const BY_BYTES: f64 = 65_536.0;

/// The answer: what differs, what does not, and what is not decided.
pub(crate) fn verdict(duet: &Duet) -> Vec<String> {
    let of = |verdict: TrialVerdict| -> Vec<&DuetCell> {
        duet.cells.iter().filter(|cell| cell.decided == verdict).collect()
    };
    let faster = of(TrialVerdict::Faster);
    let slower = of(TrialVerdict::Slower);
    let same = of(TrialVerdict::Same);
    let open: Vec<&DuetCell> = duet.cells.iter().filter(|cell| !cell.decided.is_decided()).collect();
    let said = [differs(&faster, &slower), no_difference(&same, duet.cells.len())];
    said.into_iter().flatten().chain(not_decided(&open)).collect()
}

/// Such as `B is 12% (10 to 14) faster at random reads, 4 KiB, 1 deep.`
fn differs(faster: &[&DuetCell], slower: &[&DuetCell]) -> Option<String> {
    let part = |cells: &[&DuetCell]| {
        let of_cell = |cell: &&DuetCell| Some(format!("{} at {}", by(ratio(cell)?), name(&cell.workload)));
        let said: Vec<String> = cells.iter().filter_map(of_cell).collect();
        (!said.is_empty()).then(|| joined(&said))
    };
    let parts: Vec<String> = [part(faster), part(slower)].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("B is {}.", parts.join("; and ")))
}

fn no_difference(same: &[&DuetCell], of: usize) -> Option<String> {
    match same {
        [] => None,
        [one] if of == 1 => Some(format!("No difference: B is within ±2% of A at {}.", name(&one.workload))),
        all if all.len() == of => Some(format!("No difference: B is within ±2% of A in all {of} cells.")),
        some => Some(format!("No difference (within ±2%) at {}.", names(some))),
    }
}

/// A sentence for each reason: the cells, with what was seen of few, and what to do.
fn not_decided(open: &[&DuetCell]) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<&DuetCell>)> = Vec::new();
    for cell in open {
        let reason = why(cell);
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, cells)) => cells.push(cell),
            None => reasons.push((reason, vec![cell])),
        }
    }
    let of_cell = |cell: &&DuetCell| {
        let seen = ratio(cell).map_or(String::new(), |ratio| format!(", B {}", change(ratio)));
        format!("{}{seen}", name(&cell.workload))
    };
    let said = |(reason, cells): (String, Vec<&DuetCell>)| {
        let cells = match cells.len() {
            few if few <= FEW => cells.iter().map(of_cell).collect::<Vec<_>>().join("; "),
            many => count(many, "cell"),
        };
        format!("Not decided: {cells}. {}.", capitalised(&reason))
    };
    reasons.into_iter().map(said).collect()
}

/// Why the pairs of a cell do not tell, and what to do.
fn why(cell: &DuetCell) -> String {
    match &cell.doubt {
        Some(DuetDoubt::Disturbed) => {
            let share = cell.others_share.map_or(String::new(), |share| format!(", {}% of its bytes", figure(share)));
            format!("others used the disk{share}: try again when they are done")
        }
        Some(DuetDoubt::Noise) => {
            "the pairs differ more than the targets: --slice 1s, or fewer cells (--cell), may tell".to_string()
        }
        Some(DuetDoubt::Failed { what }) => what.clone(),
        Some(DuetDoubt::TimeOver) | None => "the time was over: give a larger --budget".to_string(),
    }
}

/// What limits the statement: slices, time, and how often it is wrong.
pub(crate) fn basis(duet: &Duet) -> String {
    format!(
        "Slices of {} s in turns (A B, B A), {:.0} s in all. The intervals of all cells hold together in 95% of comparisons, \
         however often they were looked at.",
        duet.slice_s, duet.seconds
    )
}

/// What was left out, and why.
pub(crate) fn left_out(duet: &Duet) -> Vec<String> {
    duet.left_out.iter().map(|one| format!("{}: {}", capitalised(&name(&one.workload)), one.why)).collect()
}

fn ratio(cell: &DuetCell) -> Option<Ratio> {
    cell.mbps?.ratio
}

/// Such as `12% (10 to 14) faster`.
fn by(ratio: Ratio) -> String {
    let Ratio { value, low, high } = ratio;
    if value >= TIMES {
        return format!("{value:.1} times ({low:.1} to {high:.1}) as fast");
    }
    let [percent, from, to] = if value > 1.0 { [value, low, high] } else { [value, high, low] };
    let word = if value > 1.0 { "faster" } else { "slower" };
    let share = |ratio: f64| figure((ratio - 1.0).abs());
    format!("{}% ({} to {}) {word}", share(percent), share(from), share(to))
}

/// Such as `+12% (+10 to +14)`; of too few pairs there is no interval that tells anything.
pub(crate) fn change(ratio: Ratio) -> String {
    let signed = |ratio: f64| {
        let text = figure(ratio - 1.0);
        if ratio >= 1.0 { format!("+{text}") } else { text }
    };
    if ratio.high >= BOUNDLESS * ratio.value || ratio.low * BOUNDLESS <= ratio.value {
        return format!("{}% (too few pairs)", signed(ratio.value));
    }
    format!("{}% ({} to {})", signed(ratio.value), signed(ratio.low), signed(ratio.high))
}

/// The outcome of a cell in its row, such as `same, -0.3% (-1.1 to +0.6)`.
pub(crate) fn outcome(cell: &DuetCell) -> String {
    let seen = ratio(cell).map(change);
    let word = match cell.decided {
        TrialVerdict::Faster | TrialVerdict::Slower => None,
        TrialVerdict::Same => Some("same"),
        TrialVerdict::NotDecided | TrialVerdict::NotTried => Some("not decided"),
    };
    word.map(str::to_string).into_iter().chain(seen).collect::<Vec<_>>().join(", ")
}

/// A rate in the unit that suits its requests.
pub(crate) fn rate(rate_mbps: f64, workload: &Workload) -> String {
    let bytes = workload.mean_bytes();
    if bytes < BY_BYTES { iops(rate_mbps * 1e6 / bytes) } else { mbps(rate_mbps) }
}

/// The rates of a cell on both targets; empty without a pair.
pub(crate) fn rates(cell: &DuetCell) -> [String; 2] {
    let of =
        |of: fn(&DuetFigure) -> f64| cell.mbps.as_ref().map_or(String::new(), |mbps| rate(of(mbps), &cell.workload));
    [of(|figure| figure.a), of(|figure| figure.b)]
}

/// A cell, such as `random read, 4 KiB, 32 deep`; the words of `run` where it is more than that.
pub(crate) fn name(workload: &Workload) -> String {
    let is_plain = workload.rate.is_none() && workload.options == WorkloadOptions::default() && !workload.rw.trims();
    let settings = CellSettings::of_workload(workload).filter(|_| is_plain);
    let Some(settings) = settings else { return workload.to_string() };
    let beside = cache_beside_direct(workload.cache).map_or(String::new(), |word| format!(" {word}"));
    let pattern = short_pattern(settings.pattern);
    format!("{pattern} {}{beside}, {}", settings.rw, size_and_depth(&settings))
}

fn names(cells: &[&DuetCell]) -> String {
    match cells.len() {
        few if few <= FEW => joined(&cells.iter().map(|cell| name(&cell.workload)).collect::<Vec<_>>()),
        many => count(many, "cell"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_told_as_people_say_it() {
        let of = |value, low, high| by(Ratio { value, low, high });
        assert_eq!(of(1.12, 1.1, 1.14), "12% (10 to 14) faster");
        assert_eq!(of(0.9, 0.85, 0.95), "10% (5.0 to 15) slower");
        assert_eq!(of(2.44, 2.2, 2.6), "2.4 times (2.2 to 2.6) as fast");
        assert_eq!(change(Ratio { value: 0.997, low: 0.989, high: 1.006 }), "-0.3% (-1.1 to +0.6)");
        assert_eq!(change(Ratio { value: 0.986, low: 1e-6, high: 472_798.0 }), "-1.4% (too few pairs)");
    }

    #[test]
    fn a_cell_is_named_as_on_a_first_screen() {
        use halfpower_spec::{Bytes, Cache, Rw};
        let plain = Workload { rw: Rw::Randread, bs: Bytes(4096), iodepth: 32, ..Workload::default() };
        assert_eq!(name(&plain), "random read, 4 KiB, 32 deep");
        assert_eq!(
            name(&Workload { rw: Rw::Write, cache: Cache::Both, ..plain }),
            "seq. write buffered, 4 KiB, 32 deep"
        );
        let durable = WorkloadOptions { fdatasync: 1, ..WorkloadOptions::default() };
        assert!(name(&Workload { options: durable, ..plain }).contains("--fdatasync 1"));
        assert_eq!(rate(40.96, &plain), "10,000 IOPS");
        assert_eq!(rate(250.0, &Workload { bs: Bytes(1 << 20), ..plain }), "250 MB/s");
    }
}
