//! Prints the result of one run as a block of text, and names the known limit that it met.

mod far_end;

use std::io::{self, Write};

use halfpower_analyse::{MetLimit, Most, Sureness, cut_waves, median, met_limit};
use halfpower_record::{HostShare, LaneRole, Latency, Level, Record, Side, Tcp};
use halfpower_spec::format::{self, number, percent, size, thousands, time_us, two_digits};
use halfpower_spec::{Arrival, Direction, Issuing, Pass, Rw, Sealing, Way, Workload};

use crate::words::depth_search;
use crate::words::first_screen::reach as reach_of;
use crate::words::issuing::segments;
use crate::words::settings::pages;

/// Most processes that are listed one by one.
const HOSTS_TOLD: usize = 8;

/// The result of each process; of many, the slowest, the median and the fastest. `None` for a single process.
fn hosts(record: &Record) -> Option<String> {
    let mut rates: Vec<f64> = record.hosts.iter().map(HostShare::mbps).collect();
    let reported = |rates: &[f64]| rates.iter().map(|rate| number(*rate)).collect::<Vec<_>>().join(", ");
    let together = halfpower_record::overlap(&record.hosts)?;
    let each = if rates.len() <= HOSTS_TOLD {
        format!("{} MB/s", reported(&rates))
    } else {
        rates.sort_by(f64::total_cmp);
        let [slowest, fastest] = [rates[0], rates[rates.len() - 1]];
        format!("{} MB/s slowest, median, fastest", reported(&[slowest, median(rates), fastest]))
    };
    Some(format!("{} processes: {each}; together for {} of their windows", record.hosts.len(), percent(together)))
}

/// The way of issuing, such as `from ordinary pages, one request a call`.
fn issued(issuing: &Issuing) -> String {
    let pages = pages(issuing.iomem);
    match issuing.iodepth_batch {
        0 => format!("from {pages}, all requests that can go out in one call"),
        1 => format!("from {pages}, one request a call"),
        most => format!("from {pages}, up to {most} requests a call"),
    }
}

/// Prints the record as a block of a few lines; `percentiles` of latency come in addition to the usual ones.
///
/// # Errors
/// Those of `out`.
pub fn run_text(record: &Record, percentiles: &[f64], out: &mut dyn Write) -> io::Result<()> {
    let workload = &record.run.workload;
    let rw = match workload.rw {
        Rw::Mixed | Rw::Randmixed => format!("{} ({}% reads)", workload.rw, workload.rwmixread),
        rw => rw.to_string(),
    };
    let threads = if workload.threads == 1 { "1 thread".into() } else { format!("{} threads", workload.threads) };
    writeln!(
        out,
        "{rw}, {}, depth {}, {threads}, cache {}, engine {}",
        sizes(workload),
        workload.iodepth,
        workload.cache,
        record.engine
    )?;
    let lie =
        record.buffer_segments.map(|count| format!(", each in {} of memory", segments(count))).unwrap_or_default();
    workload.issuing.iter().try_for_each(|issuing| row(out, "issued", &(issued(issuing) + &lie)))?;
    let priority = workload.options.io_priority;
    priority.iter().try_for_each(|priority| row(out, "priority", &priority.to_string()))?;
    searched(record).iter().try_for_each(|words| row(out, "searched", words))?;
    row(out, "throughput", &throughput(record))?;
    waves(record).iter().try_for_each(|words| row(out, "waves", words))?;
    stopped(record).iter().try_for_each(|words| row(out, "STOPPED", words))?;
    ended(record).iter().try_for_each(|words| row(out, "ended", words))?;
    rate(record).iter().try_for_each(|words| row(out, "rate", words))?;
    let is_known = record.knows_latency();
    row(out, "latency", &if is_known { latency_words(&record.latency) } else { contradicted(record) })?;
    if is_known && !percentiles.is_empty() {
        row(out, "percentiles", &percentile_words(&record.latency, percentiles))?;
    }
    record.flushes().iter().try_for_each(|times| row(out, "flushes", &flushes(record, times, percentiles)))?;
    if workload.rw == Rw::Trimwrite {
        let sides = [("trims", record.trimmed()), ("writes", record.side(Direction::Write))];
        for (name, side) in sides {
            side.iter().try_for_each(|side| row(out, name, &side_words(side, is_known, percentiles)))?;
        }
    }
    if workload.rw.direction().is_none() {
        for (name, direction) in [("reads", Direction::Read), ("writes", Direction::Write)] {
            record
                .side(direction)
                .iter()
                .try_for_each(|side| row(out, name, &side_words(side, is_known, percentiles)))?;
        }
    }
    row(out, "depth", &depth(record))?;
    kept(record).iter().try_for_each(|words| row(out, "page cache", words))?;
    row(out, "processor", &processor(record))?;
    row(out, "machine", &machine(record))?;
    hosts(record).iter().try_for_each(|words| row(out, "hosts", words))?;
    far_end::rows(record).iter().try_for_each(|(name, words)| row(out, name, words))?;
    share_rows(record).iter().try_for_each(|(name, words)| row(out, name, words))?;
    row(out, "errors", &errors(record))?;
    if workload.options.verify {
        row(out, "verified", &verified(record))?;
    }
    match record.harness_ns_per_io > 0.0 {
        true => row(out, "harness", &harness(record)),
        false => Ok(()),
    }
}

/// How the depth of a run was found; `None` if it was given.
pub fn searched(record: &Record) -> Option<String> {
    record.depth_search.as_deref().map(|search| depth_search::found(search, record))
}

/// What stays in the page cache of a run whose pages are dropped after use; `None` for others, and if unknown.
fn kept(record: &Record) -> Option<String> {
    let held = record.cached_after_bytes.filter(|_| record.run.workload.options.uncached)?;
    let [held, moved] = [held, record.bytes].map(|bytes| size(bytes as f64));
    Some(format!("holds {held} of the target after the run, which moved {moved}"))
}

/// The block sizes, such as `64 KiB blocks`, or with drawn sizes `blocks of 4 KiB (60%), 64 KiB (40%)`.
fn sizes(workload: &Workload) -> String {
    if workload.options.file_operation.is_some() {
        return format!("files of {}", size(workload.bs.0 as f64));
    }
    let Some(sizes) = workload.options.bssplit else { return format!("{} blocks", size(workload.bs.0 as f64)) };
    let of = |rw| {
        let shares = sizes.of(rw).map(|(bytes, percent)| format!("{} ({percent}%)", size(bytes.0 as f64)));
        shares.collect::<Vec<_>>().join(", ")
    };
    let reads = of(Direction::Read);
    let writes = of(Direction::Write);
    match workload.rw.direction() {
        Some(rw) => format!("blocks of {}", of(rw)),
        None if reads == writes => format!("blocks of {reads}"),
        None => format!("reads of {reads}, writes of {writes}"),
    }
}

fn row(out: &mut dyn Write, name: &str, words: &str) -> io::Result<()> {
    writeln!(out, "  {name:<11} {words}")
}

fn throughput(record: &Record) -> String {
    if let Some(operation) = record.run.workload.options.file_operation {
        let rate = thousands(record.iops());
        let count = thousands(record.ios as f64);
        return format!("{rate} {operation} operations a second: {count} in {}", time_us(record.seconds() * 1e6));
    }
    let flush = match record.flush_ns {
        0 => String::new(),
        flush_ns => format!(", of it {} for the closing flush", time_us(flush_ns as f64 / 1e3)),
    };
    format!(
        "{} MB/s, {} IO/s: {} in {}{flush}",
        number(record.mbps()),
        thousands(record.iops()),
        size(record.bytes as f64),
        time_us(record.seconds() * 1e6)
    )
}

/// Share of a rate from which what it may be off by is told.
const WORTH_TELLING: f64 = 0.005;

/// The rate between the waves in which requests completed, where the window cut them; `None` elsewhere.
fn waves(record: &Record) -> Option<String> {
    let waves = cut_waves(record)?;
    let period = time_us(waves.period_ns as f64 / 1e3);
    let requests = waves.bytes / record.run.workload.bs.0.max(1) as f64;
    // Waves that are alike leave nothing open.
    let reach = waves.mbps_reach.filter(|share| *share >= WORTH_TELLING);
    let reach = reach.map_or(String::new(), |share| format!(" {}", reach_of(&Sureness::Within { share })));
    Some(format!(
        "{} MB/s{reach} from one to the next ({} requests each {period}): the window cut some of them",
        number(waves.mbps?),
        thousands(requests)
    ))
}

/// Says for how long the process was stopped within the run; `None` if it was not.
fn stopped(record: &Record) -> Option<String> {
    (record.stopped_ns > 0).then(|| {
        let ms = time_us(record.stopped_ns as f64 / 1e3);
        format!("halfpower or the machine was stopped for {ms} of it: rate and latencies tell of that; measure again")
    })
}

/// Why the run moved less or ended earlier than was asked for, if it did; else `None`.
fn ended(record: &Record) -> Option<String> {
    let Workload { bs, threads, options, .. } = record.run.workload;
    // With more bytes than the span, the run would have started over, so something else ended it.
    let processes = record.processes();
    let last_bytes = bs.0.saturating_mul(u64::from(threads)).saturating_mul(processes);
    let all = record.bytes <= record.span_bytes && record.bytes.saturating_add(last_bytes) > record.span_bytes;
    if let Some(each) = options.most_bytes(record.span_bytes / processes) {
        let lanes = record.lanes.iter().filter(|lane| lane.role == LaneRole::Own).count() as u64;
        let asked = each.saturating_mul(u64::from(threads).max(lanes)).saturating_mul(processes);
        let is_over = record.elapsed_ns >= record.run.runtime.0;
        let why = if is_over { "its time was over" } else { "each block came once, and none was left" };
        let moved = size(record.bytes as f64);
        return ((all || is_over) && record.bytes < asked)
            .then(|| format!("after {moved} of the {} that were asked: {why}", size(asked as f64)));
    }
    if let Some(state) = options.steady_state {
        let is_over = record.elapsed_ns >= record.run.runtime.0;
        let when = if is_over { "with its time, and was not steady before" } else { "before its time" };
        return Some(format!("{when} (--steady-state {state})"));
    }
    let is_early = (record.elapsed_ns as f64) < 0.9 * record.run.runtime.0 as f64;
    (all && is_early).then(|| {
        let asked = time_us(record.run.runtime.0 as f64 / 1e3);
        match options.file_operation {
            Some(_) => format!("before the {asked} that were asked, with the last file; --file-count takes more"),
            None => {
                format!(
                    "before the {asked} that were asked: each block came once, and none was left; --size takes more"
                )
            }
        }
    })
}

/// Compares the requested rate with the rate reached; `None` in a closed loop.
fn rate(record: &Record) -> Option<String> {
    let Arrival { iops, arrivals } = record.run.workload.rate?;
    let lanes = record.lanes.iter().filter(|lane| lane.role == LaneRole::Own).count().max(1) as f64;
    // Lanes of processes are joined one by one.
    let asked = iops as f64 * f64::from(record.run.workload.threads).max(lanes) * record.processes() as f64;
    let reached = record.iops() / asked;
    let overdue = thousands(record.overdue_ios as f64);
    let kept = record.overdue_ios <= asked_depth(record) && reached > 0.95;
    Some(if kept {
        format!("{} IO/s asked ({arrivals}), reached", thousands(asked))
    } else {
        format!(
            "NOT reached: {} IO/s asked ({arrivals}), {} of that came; {overdue} requests were due and not done at the end",
            thousands(asked),
            percent(reached)
        )
    })
}

fn percentile_words(latency: &Latency, percentiles: &[f64]) -> String {
    let at = |percent: &f64| format!("p{percent} {}", time_us(latency.quantile_ns(percent / 100.0) as f64 / 1e3));
    percentiles.iter().map(at).collect::<Vec<_>>().join(", ")
}

/// The flushes between requests: how many a second, and what they took.
fn flushes(record: &Record, times: &Latency, percentiles: &[f64]) -> String {
    let count = times.count();
    let rate = format!("{}, {} a second", thousands(count as f64), number(record.per_second(count)));
    let more =
        if percentiles.is_empty() { String::new() } else { format!(", {}", percentile_words(times, percentiles)) };
    format!("{rate}: {}{more}", latency_words(times))
}

/// Says that the latencies counted contradict the rate and the depth.
fn contradicted(record: &Record) -> String {
    let by_little_us = record.achieved_depth / record.iops() * 1e6;
    format!(
        "not known: the window is too short for its queue. The requests that completed took {} on average, but {} in \
         flight at this rate take {} (Little's law); measure for longer (--runtime)",
        time_us(record.latency.mean_ns() / 1e3),
        number(record.achieved_depth),
        time_us(by_little_us)
    )
}

/// One direction of a mixed workload.
fn side_words(side: &Side<'_>, is_known: bool, percentiles: &[f64]) -> String {
    let latency = match side.latency {
        Some(_) if !is_known => "latency is not known".to_string(),
        Some(latency) if latency.count() > 0 && !percentiles.is_empty() => {
            format!("{}, {}", latency_words(latency), percentile_words(latency, percentiles))
        }
        Some(latency) => latency_words(latency),
        None => "latency is not known apart".to_string(),
    };
    format!("{} MB/s, {} IO/s; {latency}", number(side.mbps()), thousands(side.iops()))
}

/// What was checked, if the run was verified.
fn verified(record: &Record) -> String {
    let unjudged = record.unjudged_reads.min(record.read_ios);
    let judged = record.read_ios - unjudged;
    let reads = match judged {
        0 => String::new(),
        count => format!("{} reads were checked against what was written", thousands(count as f64)),
    };
    let not_judged = match unjudged {
        0 => String::new(),
        count => format!("{} reads were NOT: their blocks were written meanwhile", thousands(count as f64)),
    };
    let writes = match record.ios - record.read_ios.min(record.ios) {
        0 => String::new(),
        count => format!("what {} writes left was read back and checked", thousands(count as f64)),
    };
    let what = [reads, not_judged, writes].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ");
    let wrong = match record.wrong_data() {
        0 => "no data were wrong".to_string(),
        count => format!("{} found WRONG data", thousands(count as f64)),
    };
    if what.is_empty() { "nothing: no request succeeded".to_string() } else { format!("{what}; {wrong}") }
}

fn latency_words(latency: &Latency) -> String {
    if latency.count() == 0 {
        return "no request succeeded".to_string();
    }
    let at = |quantile| time_us(latency.quantile_ns(quantile) as f64 / 1e3);
    format!(
        "min {}, p50 {}, p90 {}, p99 {}, p99.9 {}, max {}, mean {}",
        time_us(latency.min_ns() as f64 / 1e3),
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        time_us(latency.max_ns() as f64 / 1e3),
        time_us(latency.mean_ns() / 1e3)
    )
}

fn depth(record: &Record) -> String {
    format!("{} asked, {} achieved", asked_depth(record), number(record.achieved_depth))
}

/// Requests that all its processes were to keep outstanding.
fn asked_depth(record: &Record) -> u64 {
    u64::from(record.run.workload.total_depth()).saturating_mul(record.processes())
}

fn processor(record: &Record) -> String {
    let cpu = &record.cpu;
    let (Some(charged), Some(user), Some(system)) =
        (cpu.us_per_io(cpu.charged_ns()), cpu.us_per_io(cpu.user_ns), cpu.us_per_io(cpu.system_ns))
    else {
        return "no request to charge".to_string();
    };
    let soaker = match cpu.soaker.as_ref().and_then(|soaker| cpu.us_per_io(soaker.lost_ns)) {
        Some(soaker) => format!("; at most {} by the soaker", time_us(soaker)),
        None if record.run.pass == Pass::Soaker => "; the soaker has no account".to_string(),
        None => String::new(),
    };
    let lost = cpu.soaker.as_ref().and_then(|soaker| cpu.us_per_io(soaker.lost_ns));
    let crossed = match lost {
        Some(lost) if lost < charged => {
            ", which is below the bound from below: the idle machine was busier than the run's"
        }
        _ => "",
    };
    format!(
        "{} a request charged ({} user, {} system){soaker}{crossed}",
        time_us(charged),
        time_us(user),
        time_us(system)
    )
}

fn machine(record: &Record) -> String {
    let busy = time_us(record.cpu.machine_busy_ns() as f64 / 1e3);
    match record.cpu.machine.len() {
        0 => "not accounted".to_string(),
        1 => format!("busy {busy}, whoever it was"),
        processors => format!("busy {busy} over {processors} processors, whoever it was"),
    }
}

fn errors(record: &Record) -> String {
    let kinds: Vec<String> =
        record.errors.iter().map(|(kind, count)| format!("{kind} {}", thousands(*count as f64))).collect();
    let failed = match record.error_count() {
        0 => "none".to_string(),
        count => format!("{} ({})", thousands(count as f64), kinds.join(", ")),
    };
    let failed = match record.short_transfers {
        0 => failed,
        short => format!("{failed}; {} short transfers", thousands(short as f64)),
    };
    match record.resubmitted_ios {
        0 => failed,
        again => format!("{failed}; {} sent again after EAGAIN", thousands(again as f64)),
    }
}

fn harness(record: &Record) -> String {
    let own_us = record.harness_ns_per_io / 1e3;
    let share = match record.harness_ns_per_io / record.latency.mean_ns() {
        share if !share.is_finite() => String::new(),
        share if share < 0.001 => ", less than 0.1% of the mean latency".to_string(),
        share => format!(", {} of the mean latency", percent(share)),
    };
    let shown = if own_us < 0.001 { format!("{} ns", two_digits(own_us * 1e3)) } else { time_us(own_us) };
    format!("{shown} a request is halfpower's own{share}")
}

/// Prints the known limit of the path that stops the run, as a line below those of [`super::run_text`]; prints nothing
/// if no known limit stops it.
///
/// # Errors
/// Those of `out`.
pub fn limit_text(record: &Record, levels: &[Level], out: &mut dyn Write) -> io::Result<()> {
    match met_limit(levels, record) {
        Some(met) => row(out, "limit", &words(&met)),
        None => Ok(()),
    }
}

fn words(met: &MetLimit) -> String {
    let most = match met.most {
        Most::Mbps(mbps) => format::mbps(mbps),
        Most::Iops(iops) => format::iops(iops),
    };
    let MetLimit { level, share, source, .. } = met;
    format!("{level}: {} of the {most} that it lets through ({source})", format::percent(*share))
}

/// Rows with their names; empty without a far end and without a connection of halfpower's own client.
fn share_rows(record: &Record) -> Vec<(&'static str, String)> {
    let sealing = Some(record.run.workload.options.sealing).filter(|sealing| *sealing != Sealing::AsAsked);
    let rows = [
        ("way", way(record.run.workload.options.way).map(str::to_string)),
        ("messages", sealing.map(|sealing| sealing.to_string())),
        ("network", record.tcp.as_deref().map(|tcp| network(record, tcp))),
        ("our client", client(record)),
    ];
    let reported = |(name, words): (&'static str, Option<String>)| Some((name, words?));
    rows.into_iter().filter_map(reported).collect()
}

/// Which machine measured, and by which way.
fn way(way: Way) -> Option<&'static str> {
    match way {
        Way::Wire => None,
        Way::SameMachine => Some("through the share from the far end itself, whose machine all figures are of"),
        Way::Local => Some("past the share at the far end, whose machine all figures are of"),
    }
}

/// The connections, such as `1 connection, round trip 120 µs (least 45 µs), window 2.1 MiB, none sent again`.
fn network(record: &Record, tcp: &Tcp) -> String {
    let connections = if tcp.connections == 1 { "connection" } else { "connections" };
    let us = |ns: u64| time_us(ns as f64 / 1e3);
    let least =
        if tcp.least_round_trip_ns > 0 { format!(" (least {})", us(tcp.least_round_trip_ns)) } else { String::new() };
    let window = size(tcp.window_bytes(record.run.workload.rw.writes()) as f64);
    let again = match tcp.retransmitted_segments {
        0 => "nothing sent again".to_string(),
        _ => format!("{} of the segments sent again", percent(tcp.retransmitted_share())),
    };
    format!("{} {connections}, round trip {}{least}, window {window}, {again}", tcp.connections, us(tcp.round_trip_ns))
}

/// The share of the client's ceiling, such as `34% of the 3,200 MB/s that it does against a server in memory, over
/// loopback`. If the run exceeded the ceiling, other processes held the ceiling down when it was measured.
fn client(record: &Record) -> Option<String> {
    let mbps = record.client_mbps().filter(|mbps| *mbps > 0.0)?;
    if record.mbps() > mbps {
        return Some(format!("more than the {} MB/s that it did against a server in memory before", number(mbps)));
    }
    let share = percent(record.mbps() / mbps);
    Some(format!("{share} of the {} MB/s that it does against a server in memory, over loopback", number(mbps)))
}
