//! Writes the rows of the first screen: rates, what stops each direction, what to set.

use halfpower_analyse::{
    BesideRow, Bottleneck, CellRate, CellSettings, DirectionStop, Findings, HalfPowerSize, Headline, HeadlineDoubt,
    Interval, NoUse, StopTest, StoppedBy, Sureness, ThreadLimit, ThreadScaling, ThreadStep, Use, UseAdvice,
};
use halfpower_experiments::commits::{CommitRates, CommitRow, CommitStop};
use halfpower_experiments::{ExperimentAnswer, ExperimentSection, IssuingChange, MUCH, StudyFindings};
use halfpower_record::Unknown;
use halfpower_spec::{Bytes, Direction, cache_word, format};

use super::checks::explained;
use super::doubt::{about, in_doubt};
use super::settings::{cache_beside_direct, pattern_word, short_pattern};
use super::stop_brief::StopBrief;
use super::stops::{self, side_by_side};
use super::{issuing, settings};

/// A path for the first column: `random read`, `seq. write buffered`.
pub(crate) fn row_name(cell: &CellSettings) -> String {
    named(short_pattern(cell.pattern), cell)
}

/// The same where there is room: `sequential write buffered`.
pub(crate) fn whole_row_name(cell: &CellSettings) -> String {
    named(pattern_word(cell.pattern), cell)
}

fn named(pattern: &str, cell: &CellSettings) -> String {
    let cache = cache_beside_direct(cell.cache).map_or(String::new(), |cache| format!(" {cache}"));
    format!("{pattern} {}{cache}", cell.rw)
}

/// A depth: `32 deep`, or with four threads `4 x 32 deep`.
pub(crate) fn depth(cell: &CellSettings) -> String {
    depth_of(cell.threads, cell.iodepth)
}

/// The same for so many threads of this depth.
pub(crate) fn depth_of(threads: u32, iodepth: u32) -> String {
    let threads = if threads > 1 { format!("{threads} x ") } else { String::new() };
    format!("{threads}{iodepth} deep")
}

/// The number of threads that fill the device: `4 fill the device: 4,900,000 IOPS, one gives 1,380,000 (random read, 4
/// KiB)`.
pub(crate) fn threads(scaling: &ThreadScaling) -> String {
    let enough = scaling.steps.iter().find(|step| step.threads == scaling.cell.threads);
    let (Some(enough), Some(one)) = (enough, scaling.steps.first()) else { return String::new() };
    let of = format!(
        "{}, {}, {} deep",
        row_name(&scaling.cell),
        format::size(scaling.cell.bs_bytes as f64),
        scaling.cell.iodepth
    );
    let reached = format::iops(enough.iops);
    let given = |step: &ThreadStep| match step.threads {
        1 => format!("one gives {}", format::iops(step.iops)),
        some => format!("{some} give {}", format::iops(step.iops)),
    };
    let count = enough.threads;
    let reported = match scaling.limit {
        ThreadLimit::Device if count == one.threads => format!("no more than {count} are needed for {reached}"),
        ThreadLimit::Device => format!("{count} until the device is the limit: {reached}; {}", given(one)),
        ThreadLimit::Processors => format!("{count} fill all processors: {reached}; {}", given(one)),
        ThreadLimit::Unknown => format!("{count} reach {reached}, and more were not tried; {}", given(one)),
    };
    format!("{reported} ({of})")
}

/// Commits of one writer and of many; `None` if they were not measured.
pub(crate) fn commit_rates(study: &StudyFindings) -> Option<CommitRates> {
    let rates = |section: &ExperimentSection| match &section.found {
        Some(ExperimentAnswer::Commits(answer)) => Some(answer.rates),
        _ => None,
    };
    study.experiments.iter().find_map(rates)
}

/// Writers at once: `1 at a time`, `16 together`.
pub(crate) fn writers(count: u32) -> String {
    if count == 1 { "1 at a time".to_string() } else { format!("{count} together") }
}

/// Commits in a sentence without a full stop: `8 KiB, 1 at a time 5,669 a second ±2% (p50 176 µs, p99 240 µs); 16 together
/// 41,200 a second ±3% (p50 390 µs, p99 710 µs)`; `None` if they were not measured.
pub(crate) fn commits(study: &StudyFindings) -> Option<String> {
    let CommitRates { alone, together } = commit_rates(study)?;
    let rows: Vec<CommitRow> = [alone, together].into_iter().flatten().collect();
    let size = format::size(rows.first()?.bs_bytes as f64);
    let reported = |row: &CommitRow| {
        let sureness = Sureness::of(&row.per_second, row.runs, None);
        let [p50, p99] = [row.commit_ns_p50, row.commit_ns_p99].map(|ns| format::time_ns(ns as f64));
        let rate = match sureness.is_known() {
            true => format!("{} a second {}", format::number(row.per_second.value), reach(&sureness)),
            false => "not known".to_string(),
        };
        format!("{} {rate} (p50 {p50}, p99 {p99})", writers(row.writers))
    };
    let reported: Vec<String> = rows.iter().map(reported).collect();
    Some(format!("{size}, {}", reported.join("; ")))
}

/// Says that nothing can confirm where the bytes of requests came from; `None` if something can.
pub(crate) fn witness(headline: &[Headline]) -> Option<String> {
    let has = |of: HeadlineDoubt| headline.iter().any(|one| one.doubts.contains(&of));
    if has(HeadlineDoubt::NoWitness) {
        return Some("may be a cache's: no counter of a device confirms these bytes".to_string());
    }
    let guest = "may be a cache's: the host of this virtual machine may hold what the disk seems to give";
    has(HeadlineDoubt::GuestsHost).then(|| guest.to_string())
}

/// The name of a run outside the cells, such as `random mixed, rate_iops=500` or `random read, --bssplit
/// 4KiB/60:64KiB/40`.
pub(crate) fn beside_name(row: &BesideRow) -> String {
    let pattern = short_pattern(row.workload.rw.pattern());
    let direction = row.workload.rw.direction().map_or("mixed".to_string(), |direction| direction.to_string());
    let settings = if row.settings.is_empty() { String::new() } else { format!(", {}", row.settings.join(", ")) };
    let options = match row.workload.options.to_string().trim_start() {
        "" => String::new(),
        flags => format!(", {flags}"),
    };
    format!("{pattern} {direction}{settings}{options}")
}

/// The block size of such a run; `-` if it is not known.
pub(crate) fn beside_size(row: &BesideRow) -> String {
    if row.unknown.contains(&Unknown::BlockSize) { "-".to_string() } else { format::size(row.workload.bs.0 as f64) }
}

/// As [`depth`]; `-` if it is not known.
pub(crate) fn beside_depth(row: &BesideRow) -> String {
    if row.unknown.contains(&Unknown::Depth) {
        return "-".to_string();
    }
    depth_of(row.workload.threads, row.workload.iodepth)
}

/// The split of a mixed load: `12,000 reads, 5,000 writes`.
pub(crate) fn beside_split(row: &BesideRow) -> String {
    let reported =
        |[read, write]: [f64; 2]| format!("{} reads, {} writes", format::thousands(read), format::thousands(write));
    row.iops_apart.map_or(String::new(), reported)
}

/// The uncertainty of a rate, to follow it: `±4%`, or `±?` for a single run; empty if the rate is not known.
pub(crate) fn reach(sureness: &Sureness) -> String {
    match sureness {
        // Sessions that differ much have such an interval.
        Sureness::Within { share } if *share >= 1.0 => "\u{b1}>99%".to_string(),
        // A narrower interval would be luck.
        Sureness::Within { share } => format!("\u{b1}{:.0}%", (100.0 * share).max(1.0)),
        Sureness::SingleRun => "\u{b1}?".to_string(),
        Sureness::Unknown { .. } => String::new(),
    }
}

/// The uncertainty of a latency, to follow it: `±4%`, or where it is larger than the latency itself, between what that lies:
/// `(310 µs to 9.1 ms)`; empty where it is not known.
pub(crate) fn latency_reach(interval: Option<Interval>) -> String {
    let Some(interval) = interval else { return String::new() };
    match interval.relative_reach() {
        share if share < 1.0 => format!("\u{b1}{:.0}%", (100.0 * share).max(1.0)),
        _ if interval.low > 0.0 => format!("({} to {})", format::time_ns(interval.low), format::time_ns(interval.high)),
        _ => format!("(up to {})", format::time_ns(interval.high)),
    }
}

/// Why rates of these findings have no latency, without a full stop.
pub(crate) fn no_latency(findings: &Findings) -> &'static str {
    match findings.imported[..] {
        [] => "latency not known: the windows are too short for so deep a queue at this rate (Little's law)",
        [..] => "latency not known: the results of the other tool do not tell it",
    }
}

/// What stands in place of rates where there are none, without a full stop.
pub(crate) fn no_rates(study: &StudyFindings) -> &'static str {
    match (&study.cells[..], &study.beside[..]) {
        ([], [_, ..]) => "no run is of one cell; all stand beside the cells",
        _ => "no run moved bytes without errors and without a cache",
    }
}

/// Ratio of the 99th percentile to the median from which both are not of the same source.
const FAR_ABOVE: u64 = 4;

/// Says what the latencies of reads mean where read-ahead had fetched most bytes.
pub(crate) fn read_ahead(cell: &CellSettings, rate: &CellRate) -> String {
    let latencies = rate.latency_ns_p50.zip(rate.latency_ns_p99);
    let whose = match latencies.is_some_and(|(p50, p99)| p99 < p50.saturating_mul(FAR_ABOVE)) {
        true => "fetched the bytes in time, so p50 and p99 are memory's and not the device's",
        false => "fetched most bytes, so p50 is memory's and p99 the device's",
    };
    format!("{}: read-ahead had {whose}", whole_row_name(cell))
}

/// The slowest and the fastest run behind a rate, ` (678 to 2,800 MB/s)`; empty where there is none.
pub(crate) fn runs_between(rate: &CellRate) -> String {
    if rate.runs < 2 {
        return String::new();
    }
    format!(" ({} to {} MB/s)", format::number(rate.least_mbps), format::number(rate.most_mbps))
}

/// Says that a figure is not known, what `runs` lie between, and how much more time it needs.
pub(crate) fn not_known(runs: &str, more_seconds: Option<f64>) -> String {
    match more_seconds {
        Some(seconds) => format!("not known: its runs differ too much{runs}; needs about {} more", about(seconds)),
        None => format!("not known: its runs differ too much{runs}"),
    }
}

/// What stops a direction, in a line or two without a full stop.
pub(crate) fn stop(stop: &DirectionStop, found: &[IssuingChange]) -> StopBrief {
    let reported = match &stop.doubt {
        Some(doubt) => in_doubt(doubt).brief,
        None => {
            let known = known_of(stop, found).and(&explained(stop.explained.as_ref()));
            known.and(&small_requests(&stop.bottleneck))
        }
    };
    match &stop.test {
        Some(test) => reported.and(&format!(". Test: {}", test_flags(test))),
        None => reported,
    }
}

/// What stops a direction if it is known. If direct requests from other pages are faster, the pages are the limit, not
/// the device.
fn known_of(stop: &DirectionStop, found: &[IssuingChange]) -> StopBrief {
    let bottleneck = &stop.bottleneck;
    let known = stops::words(bottleneck).brief;
    let pages = issuing::other_pages(found, stop.rw).filter(|_| bottleneck.stopped_by.is_known_from_cells_alone());
    match (pages, bottleneck.fastest) {
        (None, _) if matches!(bottleneck.stopped_by, StoppedBy::Ceiling { .. }) => known.and(", whatever is set"),
        (None, _) => known,
        (Some(pages), Some(fastest)) if fastest.cell.cache.direct() => StopBrief::of_pages(pages.own, &pages.reported),
        (Some(pages), Some(fastest)) if pages.mbps >= MUCH * fastest.mbps => StopBrief::of_page_cache(&pages.reported),
        (Some(pages), _) => known.and(&format!("; direct, {}", pages.reported)),
    }
}

/// What stops the commits of a single writer, or of many; `None` if that is not known.
pub(crate) fn commit_stop(study: &StudyFindings) -> Option<StopBrief> {
    let found = |section: &ExperimentSection| match &section.found {
        Some(ExperimentAnswer::Commits(answer)) => answer.stops_alone.or(answer.stops_together),
        _ => None,
    };
    let stop = study.experiments.iter().find_map(found).filter(|stop| *stop != CommitStop::Unknown)?;
    Some(stops::of_commits(&stop))
}

/// The flags of a study that would test it.
pub(crate) fn test_flags(test: &StopTest) -> String {
    match test {
        StopTest::LargerSpan { size_bytes } => format!("--size {} --budget 10m", Bytes(*size_bytes)),
        StopTest::Deeper { iodepth } => format!("--iodepth 1..{}", iodepth.next_power_of_two()),
    }
}

fn small_requests(bottleneck: &Bottleneck) -> String {
    bottleneck
        .request_ceiling
        .map_or(String::new(), |ceiling| format!("; small requests end at {}", format::iops(ceiling.iops)))
}

/// Why no use is advised, without a full stop.
pub(crate) fn no_advice(findings: &Findings) -> &'static str {
    match findings.summary.what_to_set.no_use {
        Some(NoUse::NotMeasured) => {
            "no advice for databases or copies: neither direct random reads nor requests in order of 64 KiB or more were measured"
        }
        Some(NoUse::SingleRuns) => {
            "no advice: single runs of a noisy study say too little; repeat when idle, or with a larger --budget"
        }
        _ if !findings.imported.is_empty() => "no advice: no block size has three depths measured",
        _ => {
            "no advice: no block size has three depths measured; ask for more (--iodepth 1..32), or where they were asked for, \
             for a larger --budget"
        }
    }
}

/// Whether requests went to a file server, where `direct` bypasses no cache of this machine.
pub(crate) fn is_of_a_share(findings: &Findings) -> bool {
    findings.cells.iter().any(|cell| cell.engine.is_of_a_share())
}

/// Advice as three columns: use, settings, result. If the rate is not known, the third column gives the basis of the
/// depth.
pub(crate) fn advice(advice: &UseAdvice, is_share: bool) -> [String; 3] {
    let cell = &advice.cell;
    let bs = format::size(cell.bs_bytes as f64);
    // No cache of this machine lies before a share.
    let cache = if is_share { cache_beside_direct(cell.cache) } else { Some(cache_word(cell.cache)) };
    let pages = advice.iomem.map_or(String::new(), |iomem| format!(" in {}", settings::pages(iomem)));
    let way = cache.map_or(String::new(), |cache| format!("{cache}{pages}, "));
    let (of, settings) = match advice.of {
        Use::Database => (format!("databases, {bs}"), format!("{way}{}", depth(cell))),
        Use::BulkRead => ("copy, reading".to_string(), format!("{way}{bs}, {}", depth(cell))),
        Use::BulkWrite => ("copy, writing".to_string(), format!("{way}{bs}, {}", depth(cell))),
    };
    let measured = advice.measured.map(|rate| {
        let within = |gave: String| format!("{gave} {}", reach(&rate.sureness));
        match advice.of {
            Use::Database => {
                let p99 = rate.latency_ns_p99.map(|ns| format!(", p99 {}", format::time_ns(ns as f64)));
                // If the depth comes from the number of parallel requests, the best cell may be a lucky run.
                let gives = match advice.side_by_side {
                    None => format!("{} of the best", format::percent(rate.share_of_best.min(1.0))),
                    Some(_) => within(format::iops(rate.iops)),
                };
                format!("{gives}{}", p99.unwrap_or_default())
            }
            _ => {
                let cost = rate.cpu_s_per_gb.map(|seconds| format!(", {} s CPU/GB", format::two_digits(seconds)));
                format!("{}{}", within(format::mbps(rate.mbps)), cost.unwrap_or_default())
            }
        }
    });
    let knee = || advice.side_by_side.map(side_by_side);
    [of, settings, measured.or_else(knee).unwrap_or_else(|| "rate not known".to_string())]
}

/// Advice on the pages of direct buffers, by direction, as the columns of [`advice`]; empty where they change little, and
/// where the advice for a use has them.
pub(crate) fn pages(study: &StudyFindings) -> Vec<[String; 3]> {
    let is_told =
        |rw: Direction| study.summary.what_to_set.uses.iter().any(|one| one.cell.rw == rw && one.iomem.is_some());
    let of = |rw: Direction| {
        let pages = issuing::other_pages(&study.issuing, rw).filter(|_| !is_told(rw))?;
        Some([format!("buffers of direct {rw}s"), pages.other.to_string(), pages.change])
    };
    Direction::ALL.iter().filter_map(|rw| of(*rw)).collect()
}

/// Advice that experiments add, as the columns of [`advice`].
pub(crate) fn of_experiments(study: &StudyFindings) -> Vec<[String; 3]> {
    full_stripes(study).into_iter().chain(near_processors(study)).collect()
}

/// The first answer of a study's experiments that is of this kind.
fn answer_of<T>(study: &StudyFindings, of: impl Fn(&ExperimentAnswer) -> Option<&T>) -> Option<&T> {
    study.experiments.iter().filter_map(|section| section.found.as_ref()).find_map(of)
}

/// Advice on the memory node of an application; `None` where the device's own brings nothing sure.
fn near_processors(study: &StudyFindings) -> Option<[String; 3]> {
    let found = answer_of(study, |answer| match answer {
        ExperimentAnswer::Processors(found) => Some(found),
        _ => None,
    })?;
    let (node, near) = found.better_node()?;
    let brings = match &near.charge {
        Some(charge) if near.rate.is_alike() => {
            format!("{} times the processor time of another node", format::factor(charge.interval.value))
        }
        _ => format!("{} times the rate of another node", format::factor(near.rate.interval.value)),
    };
    Some(["processors".to_string(), format!("numactl --cpunodebind={node} --membind={node} COMMAND"), brings])
}

/// Advice on the size of writes to an array with parity; `None` where full stripes bring nothing sure.
fn full_stripes(study: &StudyFindings) -> Option<[String; 3]> {
    let found = answer_of(study, |answer| match answer {
        ExperimentAnswer::Stripes(found) => Some(found),
        _ => None,
    })?;
    let deepest = found.deepest()?;
    let ratio = deepest.over_chunk.filter(|ratio| ratio.is_more() && !ratio.is_alike() && !ratio.is_undecided())?;
    let [full, chunk] = [found.full_bytes, found.chunk_bytes].map(|bytes| format::size(bytes as f64));
    let begin = match found.first_byte {
        0 => "at multiples of it".to_string(),
        byte => format!("at multiples of it from byte {byte} on"),
    };
    let brings =
        format!("{} times the bytes of {chunk}, {} deep", format::factor(ratio.interval.value), deepest.iodepth);
    Some([format!("writes to {}", found.array), format!("{full}, {begin}"), brings])
}

/// Half power and its path: `half the peak from 16 KiB at 16 deep, 512 KiB at 1 deep (random direct read)`; `None` if
/// it is not known.
pub(crate) fn half_power(sizes: &[HalfPowerSize]) -> Option<String> {
    let one = |size: &HalfPowerSize| {
        let or_less = if size.bracketed { "" } else { " or less" };
        format!("{}{or_less} at {} deep", format::size(size.bs_bytes as f64), size.iodepth)
    };
    let reported: Vec<String> = sizes.iter().map(one).collect();
    let path = settings::path(sizes.first()?.path);
    Some(format!("half the peak from {} ({path})", reported.join(", ")))
}

#[cfg(test)]
mod tests {
    use halfpower_spec::{Cache, IoMem, Pattern};

    use super::*;

    #[test]
    fn on_a_share_no_cache_of_this_machine_is_passed() {
        let reported = |cache, is_share| {
            let pattern = Pattern::Sequential;
            let rw = halfpower_spec::Direction::Write;
            let cell = CellSettings { pattern, rw, cache, iodepth: 8, bs_bytes: 1 << 20, threads: 1 };
            let [_, settings, _] = advice(
                &UseAdvice { of: Use::BulkWrite, cell, iomem: None, measured: None, side_by_side: None },
                is_share,
            );
            settings
        };
        assert_eq!(reported(Cache::Device, true), "1 MiB, 8 deep");
        assert_eq!(reported(Cache::None, true), "durable, 1 MiB, 8 deep");
        assert_eq!(reported(Cache::Device, false), "direct, 1 MiB, 8 deep");
    }

    #[test]
    fn the_memory_of_buffers_follows_how_the_cache_is_passed() {
        let pattern = Pattern::Sequential;
        let rw = Direction::Read;
        let cell = CellSettings { pattern, rw, cache: Cache::Device, iodepth: 8, bs_bytes: 1 << 20, threads: 1 };
        let iomem = Some(IoMem::Huge);
        let advised = UseAdvice { of: Use::BulkRead, cell, iomem, measured: None, side_by_side: None };
        let [_, settings, _] = advice(&advised, false);
        assert_eq!(settings, "direct in huge pages, 1 MiB, 8 deep");
    }

    #[test]
    fn a_latency_that_is_hardly_known_is_followed_by_what_it_lies_between() {
        let reach = |low: f64, high: f64| latency_reach(Some(Interval { value: 1e6, low, high }));
        assert_eq!(reach(0.9e6, 1.1e6), "\u{b1}10%");
        assert_eq!(reach(0.4e6, 9e6), "(400 \u{b5}s to 9.0 ms)");
        assert_eq!(reach(-1e6, 9e6), "(up to 9.0 ms)");
        assert_eq!(latency_reach(None), "");
    }

    #[test]
    fn latencies_that_read_ahead_made_are_told_as_such() {
        let cell = CellSettings {
            pattern: Pattern::Sequential,
            rw: Direction::Read,
            cache: Cache::Both,
            iodepth: 1,
            bs_bytes: 16 << 10,
            threads: 1,
        };
        let told = |p99_us: u64| {
            let rate = CellRate {
                mbps: Interval::exact(3000.0),
                iops: Interval::exact(183_000.0),
                sureness: Sureness::Within { share: 0.01 },
                latency_ns_p50: Some(5_000),
                latency_ns_p99: Some(p99_us * 1000),
                latency_ns_p50_interval: None,
                latency_ns_p99_interval: None,
                read_ahead: true,
                runs: 3,
                least_mbps: 990.0,
                most_mbps: 1010.0,
                steady: true,
            };
            read_ahead(&cell, &rate)
        };
        assert!(told(90).ends_with("so p50 is memory's and p99 the device's"), "{}", told(90));
        assert!(told(6).ends_with("so p50 and p99 are memory's and not the device's"), "{}", told(6));
    }

    #[test]
    fn spans_and_sureness_are_short() {
        assert_eq!(reach(&Sureness::Within { share: 0.0371 }), "\u{b1}4%");
        assert_eq!(reach(&Sureness::Unknown { more_seconds: None }), "");
        assert_eq!(not_known("", Some(480.0)), "not known: its runs differ too much; needs about 8 min more");
        assert_eq!(not_known(" (678 to 2,800 MB/s)", None), "not known: its runs differ too much (678 to 2,800 MB/s)");
    }

    #[test]
    fn half_power_is_said_at_each_depth() {
        let at = |iodepth, bs_bytes, bracketed| HalfPowerSize {
            path: halfpower_analyse::PathSettings {
                pattern: Pattern::Random,
                rw: halfpower_spec::Direction::Read,
                cache: Cache::Device,
            },
            iodepth,
            bs_bytes,
            bracketed,
        };
        let sizes = [at(16, 16 << 10, true), at(1, 512 << 10, false)];
        let text = "half the peak from 16 KiB at 16 deep, 512 KiB or less at 1 deep (random direct read)";
        assert_eq!(half_power(&sizes).as_deref(), Some(text));
        assert_eq!(half_power(&[]), None);
    }
}
