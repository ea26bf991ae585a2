//! Says what `durability` asks, what it found and what the papers saw; draws cache settings, writes per flush, and the
//! device's write cache.

use halfpower_analyse::{ExperimentCell, Interval};
use halfpower_spec::{Cache, DurableBy, FlushCall, InOrder, Switch, Workload};
use halfpower_spec::{cache_word, format};

use super::analysis::{
    AtomicWrites, DurabilityAnswer, DurableAtOnce, DurableMeans, DurableWrites, FlushTime, Rows, SharedFlush,
    WithoutWriteCache, Writes, syncs_ns,
};
use crate::answer::{ShortAnswer, Told};
use crate::data::ExperimentData;
use crate::picture::{Axis, Line, Picture, PictureKind, Point};
use crate::words::{NOT_DECIDED, each_sentence, sentence, share, size, times};

pub(crate) const QUESTION: &str =
    "What does it cost to have writes on the medium before they are done, and how many can share that cost?";
pub(crate) const PAPERS: &str = "Both studies switched the disk's write cache (WCE): with it, buffered sequential writes about doubled in \
    1998, and unbuffered ones reached the disk's speed from 8 KB on, which without it took 128 KB for half of \
    it; in 2000 an Atlas without it stayed at 10 MB/s of 22, since each write waited for the platter. Today \
    the cache stays on and a program asks for durability where it needs it, by O_DSYNC or fdatasync, which \
    flush that cache: the wait is the same, and so is the cure, to let many writes share one.";

/// Ratio of a flush's largest to smallest median above which both are reported.
const WIDE: f64 = 1.5;

pub(crate) fn answer(found: &DurabilityAnswer) -> Told {
    let short = found.one_at_a_time.first().map(|one| short(one, &found.sharing));
    Told::of(short, details(found), "No durable write could be set beside a plain one.")
}

/// How much slower durable writes are, and how many must share a flush to get half of the plain rate.
fn short(one: &DurableWrites, sharing: &[SharedFlush]) -> ShortAnswer {
    let slower = &one.times_slower;
    let [low, high] = [slower.interval.low, slower.interval.high].map(format::factor);
    let (figure, apart) = match slower {
        _ if slower.is_undecided() => (NOT_DECIDED.to_string(), format!(" ({low} to {high} times apart)")),
        _ if slower.is_more() || !slower.is_known() && slower.interval.value > 1.0 => {
            (format!("{} times slower", format::factor(slower.interval.value)), String::new())
        }
        _ if slower.is_alike() => ("as fast".to_string(), String::new()),
        _ => ("no slower that these runs show".to_string(), String::new()),
    };
    let half = sharing.iter().find(|shared| shared.is_half && shared.cache == one.plain_cache);
    let half = half.map_or(String::new(), |shared| format!("; half of that from {} a flush on", shared.writes));
    let [rate, plain] = [one.iops, one.plain_iops].map(format::iops);
    let writes = format!("{} writes of {}, durable one by one", cache_word(one.plain_cache), size(one.bs_bytes));
    ShortAnswer::new(figure, sentence(&format!("{writes}, reach {rate}, plain ones {plain}{apart}{half}")))
}

fn details(found: &DurabilityAnswer) -> Vec<String> {
    let clauses = [
        one_at_a_time(&found.one_at_a_time),
        found.at_once.as_ref().map(at_once),
        sharing(&found.sharing, found.flush.as_ref()),
        means(&found.means),
        without_write_cache(&found.without_write_cache),
        atomic(&found.atomic),
    ];
    each_sentence(clauses)
}

fn one_at_a_time(found: &[DurableWrites]) -> Option<String> {
    let clause = |one: &DurableWrites| {
        let word = cache_word(one.plain_cache);
        let slower = &one.times_slower;
        let [rate, plain] = [one.iops, one.plain_iops].map(format::iops);
        match slower {
            _ if slower.is_more() || !slower.is_known() && slower.interval.value > 1.0 => {
                format!("{word}, {} slower than plain ones ({rate} against {plain})", times(slower))
            }
            _ if slower.is_alike() => format!("{word}, as fast as plain ones ({rate})"),
            _ => format!("{word}, no slower that these runs could tell ({rate} against {plain})"),
        }
    };
    let clauses: Vec<String> = found.iter().map(clause).collect();
    let size = size(found.first()?.bs_bytes);
    Some(format!("writes of {size} that are durable one by one are, {}", clauses.join("; ")))
}

fn at_once(found: &DurableAtOnce) -> String {
    let depth = found.iodepth;
    let gain = &found.times;
    match gain.is_more() || !gain.is_known() {
        true => format!("{depth} at once are {} as fast", times(gain)),
        false => format!("{depth} at once bring nothing that these runs show"),
    }
}

fn sharing(found: &[SharedFlush], flush: Option<&FlushTime>) -> Option<String> {
    let clause = |one: &SharedFlush| {
        let word = cache_word(one.cache);
        let writes = one.writes;
        let share = share(&one.of_plain);
        match (one.is_half, one.of_plain.is_known()) {
            (true, _) => format!("{word} ones get at least half of the plain rate from {writes} a flush on: {share}"),
            (false, true) => {
                format!("{word} ones do not surely get half of the plain rate even with {writes} a flush: {share}")
            }
            (false, false) => format!("{word} ones get {share} of the plain rate with {writes} a flush"),
        }
    };
    let clauses: Vec<String> = found.iter().map(clause).collect();
    let flush = flush.map_or(String::new(), flush_time);
    (!clauses.is_empty()).then(|| format!("with fdatasync, {}{flush}", clauses.join("; ")))
}

fn flush_time(found: &FlushTime) -> String {
    let FlushTime { ns_p50, ns_p99, ns_p50_least, ns_p50_most } = *found;
    let [median, late, least, most] = [ns_p50, ns_p99, ns_p50_least, ns_p50_most].map(format::time_ns);
    let range = match ns_p50_most > WIDE * ns_p50_least {
        true => format!(" ({least} to {most} in the runs)"),
        false => String::new(),
    };
    format!("; a flush of a single write takes {median} in the median{range}, one in a hundred {late} or more")
}

/// A call or flag as programs write it: `O_DSYNC`, `fdatasync`.
fn name_of(flush_by: Option<FlushCall>, durable_by: Option<DurableBy>) -> String {
    let flag = durable_by.map(|flag| flag.word().to_uppercase());
    flush_by.map(|call| call.word().to_string()).or(flag).unwrap_or_default()
}

/// Times until a write is durable, by means; `sync_file_range` comes last, because it promises nothing.
fn means(found: &[DurableMeans]) -> Option<String> {
    let size = size(found.first()?.bs_bytes);
    let of_cache = |cache: Cache| {
        let these = found.iter().filter(move |one| one.plain_cache == cache);
        let (ranges, durable): (Vec<&DurableMeans>, Vec<&DurableMeans>) =
            these.partition(|one| one.flush_by == Some(FlushCall::SyncFileRange));
        let each =
            |one: &&DurableMeans| format!("{} {}", name_of(one.flush_by, one.durable_by), format::time_ns(one.ns_each));
        let durable: Vec<String> = durable.iter().map(each).collect();
        let range = ranges.first().map(|one| format!(" ({}, which promises nothing)", each(one)));
        (!durable.is_empty())
            .then(|| format!("{}, {}{}", cache_word(cache), durable.join(", "), range.unwrap_or_default()))
    };
    let clauses: Vec<String> = [Cache::Device, Cache::Both].into_iter().filter_map(of_cache).collect();
    Some(format!("each durable write of {size} takes, {}", clauses.join("; ")))
}

fn without_write_cache(found: &[WithoutWriteCache]) -> Option<String> {
    let clause = |one: &WithoutWriteCache| {
        let kept = match &one.of_cached {
            ratio if ratio.is_less() || !ratio.is_known() => share(ratio),
            _ => "as much, as far as these runs tell".to_string(),
        };
        format!("{} writes of {} get {kept}", cache_word(one.cache), size(one.bs_bytes))
    };
    let clauses: Vec<String> = found.iter().map(clause).collect();
    (!clauses.is_empty()).then(|| format!("without the device's write cache, {}", clauses.join(", ")))
}

fn atomic(found: &[AtomicWrites]) -> Option<String> {
    let size = size(found.first()?.bs_bytes);
    let clause = |one: &AtomicWrites| format!("{}, {}", cache_word(one.cache), share(&one.of_plain));
    let clauses: Vec<String> = found.iter().map(clause).collect();
    Some(format!("atomic writes of {size} (--atomic) get, {} of the rate of those that are not", clauses.join("; ")))
}

pub(crate) fn pictures(data: &ExperimentData, _: &Rows) -> Vec<Picture> {
    let writes = Drawn(Writes::of(data));
    let all = [writes.settings(), writes.by_interval(), writes.flushes(), writes.by_means(), writes.switched()];
    all.into_iter().flatten().collect()
}

/// The writes that are drawn.
struct Drawn<'a>(Writes<'a>);

impl Drawn<'_> {
    /// The four cache settings at depth 1.
    fn settings(&self) -> Option<Picture> {
        let usual = |cell: &&&ExperimentCell| cell.workload.options.is_default() && cell.workload.iodepth == 1;
        self.bars("The four cache settings, one write at a time", "Cache setting", &usual, &|workload| {
            format!("{} ({})", workload.cache, workload.cache.sqlio_letter())
        })
    }

    /// One write at a time, by what makes it durable; `None` if only the usual means were measured.
    fn by_means(&self) -> Option<Picture> {
        let is_usual = |workload: &Workload| {
            workload.options.flush_by == FlushCall::Fdatasync && workload.options.durable_by == DurableBy::Odsync
        };
        if self.0.cells.iter().all(|cell| is_usual(&cell.workload)) {
            return None;
        }
        let least = self.0.cells.first()?.workload.bs;
        let is_durable = |cell: &&&ExperimentCell| {
            let Workload { bs, iodepth, cache, options, .. } = cell.workload;
            let is_one = bs == least && iodepth == 1 && options.write_cache.is_none() && !options.atomic;
            is_one && (options.fdatasync == 1 || cache.durable())
        };
        self.bars(
            "One durable write at a time, by what makes it durable",
            "Writes and means",
            &is_durable,
            &|workload| {
                let by_call = workload.options.fdatasync > 0;
                let name = match by_call {
                    true => name_of(Some(workload.options.flush_by), None),
                    false => name_of(None, Some(workload.options.durable_by)),
                };
                let plain = if workload.cache.direct() { Cache::Device } else { Cache::Both };
                format!("{}, {name}", cache_word(plain))
            },
        )
    }

    fn switched(&self) -> Option<Picture> {
        let switched = |cell: &&&ExperimentCell| cell.workload.options.write_cache.is_some();
        self.bars("The device's write cache on and off", "Writes and write cache", &switched, &|workload| {
            let write_cache = workload.options.write_cache.map_or("", Switch::word);
            format!("{}, {write_cache}", cache_word(workload.cache))
        })
    }

    /// Bars, one colour per block size.
    fn bars(
        &self,
        title: &str,
        across: &str,
        shown: &dyn Fn(&&&ExperimentCell) -> bool,
        label: &dyn Fn(&Workload) -> String,
    ) -> Option<Picture> {
        let cells: Vec<&ExperimentCell> = self.0.cells.iter().filter(|cell| shown(cell)).copied().collect();
        let mut sizes: Vec<u64> = cells.iter().map(|cell| cell.workload.bs.0).collect();
        sizes.dedup();
        let line = |bytes: &u64| {
            let mut same: Vec<&ExperimentCell> =
                cells.iter().filter(|cell| cell.workload.bs.0 == *bytes).copied().collect();
            same.order_by_key(|cell| (cell.workload.cache, cell.workload.options.write_cache));
            let point = |cell: &&ExperimentCell| Point::named(label(&cell.workload), cell.finding.mbps);
            Line { name: format::size(*bytes as f64), points: same.iter().map(point).collect() }
        };
        let lines: Vec<Line> = sizes.iter().map(line).collect();
        let x = Axis::even(across);
        let y = Axis::log("MB/s");
        (!lines.is_empty()).then(|| Picture { title: title.to_string(), kind: PictureKind::Bars, x, y, lines })
    }

    fn by_interval(&self) -> Option<Picture> {
        let value = |cell: &ExperimentCell| Some(cell.finding.mbps);
        self.lines("Writes with fdatasync after every so many", Axis::log("MB/s"), &value)
    }

    fn flushes(&self) -> Option<Picture> {
        let median = |cell: &ExperimentCell| {
            let us = |ns: Vec<f64>| ns.iter().map(|ns| ns / 1e3).collect::<Vec<f64>>();
            syncs_ns(cell, 0.5).map(|runs| Interval::of_means(&us(runs)))
        };
        self.lines("Median time of an fdatasync", Axis::log("µs"), &median)
    }

    fn lines(&self, title: &str, y: Axis, value: &dyn Fn(&ExperimentCell) -> Option<Interval>) -> Option<Picture> {
        let line = |cache: Cache| {
            let mut cells = self.0.flushed(cache);
            cells.order_by_key(|cell| cell.workload.options.fdatasync);
            let point = |cell: &&ExperimentCell| {
                let writes = cell.workload.options.fdatasync;
                Some(Point::at(writes.into(), writes.to_string(), value(cell)?))
            };
            let points: Vec<Point> = cells.iter().filter_map(point).collect();
            (!points.is_empty()).then(|| Line { name: cache_word(cache).to_string(), points })
        };
        let lines: Vec<Line> = [Cache::Device, Cache::Both].into_iter().filter_map(line).collect();
        let x = Axis::log("Writes for each fdatasync");
        (!lines.is_empty()).then(|| Picture { title: title.to_string(), kind: PictureKind::Lines, x, y, lines })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ratio::RatioFinding;

    #[test]
    fn how_much_slower_is_not_decided_where_runs_differ_too_much() {
        let interval = Interval { value: 25.0, low: 6.2, high: 98.0 };
        let one = DurableWrites {
            bs_bytes: 4096,
            plain_cache: Cache::Device,
            iops: 100.0,
            plain_iops: 2500.0,
            times_slower: RatioFinding::of(interval, true),
        };
        let ShortAnswer { figure, sentence } = short(&one, &[]);
        assert_eq!(figure, "not decided");
        let told = "Direct writes of 4 KiB, durable one by one, reach 100 IOPS, plain ones 2,500 IOPS (6.20 to 98 times apart).";
        assert_eq!(sentence, told);
        let all = one_at_a_time(&[one]).unwrap();
        assert!(all.contains("direct, not decided, 6.20 to 98 times slower than plain ones"), "{all}");
    }
}
