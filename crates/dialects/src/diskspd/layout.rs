//! Prints a record as diskspd's text.

use std::io::{self, Write};

use halfpower_record::{CpuTimes, LaneRecord, LaneRole, LaneSide, Latency, Record};
use halfpower_spec::{Cache, Direction, Jump, Pattern, RandomDistribution, UtcTime, Workload};

use super::options::Shown;
use crate::Measured;

/// Their names and shares of all requests; minimum and maximum are printed around them.
pub(super) const PERCENTILES: [(&str, f64); 13] = [
    ("25th", 0.25),
    ("50th", 0.5),
    ("75th", 0.75),
    ("90th", 0.9),
    ("95th", 0.95),
    ("99th", 0.99),
    ("3-nines", 0.999),
    ("4-nines", 0.999_9),
    ("5-nines", 0.999_99),
    ("6-nines", 0.999_999),
    ("7-nines", 0.999_999_9),
    ("8-nines", 0.999_999_99),
    ("9-nines", 0.999_999_999),
];

const MIB: f64 = 1_048_576.0;

/// Prints one run.
pub(super) fn print(shown: &Shown, measured: &Measured<'_>, out: &mut dyn Write) -> io::Result<()> {
    let record = &measured.record;
    writeln!(out, "\nCommand Line: diskspd {}", shown.line)?;
    input(shown, measured, out)?;
    writeln!(out, "System information:\n")?;
    writeln!(out, "\tcomputer name: {}", measured.environment.machine.hostname.as_deref().unwrap_or("unknown"))?;
    writeln!(
        out,
        "\tstart time: {} UTC\n",
        UtcTime::of_unix_s(record.started_unix_ms / 1000).to_string().replace('-', "/")
    )?;
    writeln!(out, "Results for timespan 1:")?;
    writeln!(out, "{}\n", "*".repeat(79))?;
    writeln!(out, "actual test time:\t{:.2}s", record.seconds())?;
    writeln!(out, "thread count:\t\t{}", threads(measured))?;
    writeln!(out, "proc count:\t\t{}\n", record.cpu.machine.len())?;
    processors(record, out)?;
    for (heading, direction) in
        [("Total IO", None), ("Read IO", Some(Direction::Read)), ("Write IO", Some(Direction::Write))]
    {
        table(shown, measured, (heading, direction), out)?;
    }
    if shown.latency { distribution(record, out) } else { Ok(()) }
}

fn input(shown: &Shown, measured: &Measured<'_>, out: &mut dyn Write) -> io::Result<()> {
    let run = &measured.record.run;
    let workload = &run.workload;
    let options = &workload.options;
    let burst = if options.thinktime.0 > 0 { options.thinktime_blocks } else { 0 };
    let class = ["very low", "low", "normal"][priority(workload) - 1];
    writeln!(out, "\nInput parameters:\n\n\ttimespan:   1\n\t-------------")?;
    writeln!(out, "\tduration: {}s", run.runtime.seconds())?;
    writeln!(out, "\twarm up time: {}s", shown.warm_up_s)?;
    writeln!(out, "\tcool down time: {}s", shown.cool_down_s)?;
    if shown.latency {
        writeln!(out, "\tmeasuring latency")?;
    }
    writeln!(out, "\trandom seed: {}", run.seed)?;
    for file in &measured.run.files {
        writeln!(out, "\tpath: '{}'", file.display())?;
        writeln!(out, "\t\tthink time: {}ms\n\t\tburst size: {burst}", options.thinktime.0 as f64 / 1e6)?;
        for line in caching(workload.cache) {
            writeln!(out, "\t\t{line}")?;
        }
        match workload.rw.direction() {
            Some(Direction::Read) => writeln!(out, "\t\tperforming read test")?,
            Some(Direction::Write) => writeln!(out, "\t\tperforming write test")?,
            None => {
                let reads = workload.rwmixread;
                writeln!(out, "\t\tperforming mix test (read/write ratio: {reads}/{})", 100 - reads)?;
            }
        }
        writeln!(out, "\t\tblock size: {}", size(workload.bs.0))?;
        for line in order(workload) {
            writeln!(out, "\t\t{line}")?;
        }
        writeln!(out, "\t\tnumber of outstanding I/O operations per thread: {}", workload.iodepth)?;
        if let Some(region) = options.region {
            writeln!(out, "\t\tbase file offset: {}", region.from.0)?;
            writeln!(out, "\t\tmax file size: {}", region.from.0.saturating_add(region.bytes.0))?;
        }
        writeln!(out, "\t\tthreads per file: {}", workload.threads)?;
        if let Some(arrival) = workload.rate {
            let rate = arrival.iops as f64 * workload.bs.0 as f64 / 1000.0;
            writeln!(out, "\t\tthroughput rate-limited to {rate:.0} bytes/ms")?;
        }
        writeln!(out, "\t\tusing the engine {} of halfpower {}", measured.record.engine, env!("CARGO_PKG_VERSION"))?;
        writeln!(out, "\t\tIO priority: {class}\n")?;
    }
    Ok(())
}

/// The order of offsets, a line each for what is said of it.
fn order(workload: &Workload) -> Vec<String> {
    let options = &workload.options;
    let alignment = size(workload.alignment().0);
    let mut lines = Vec::new();
    if options.same_blocks {
        lines.push("using parallel async I/O".to_string());
    }
    match (workload.rw.pattern(), random_percent(options.jump)) {
        (Pattern::Random, 100) => lines.push(format!("using random I/O (alignment: {alignment})")),
        (Pattern::Random, percent) => {
            let share = format!("{percent}% random");
            lines.push(format!("using mixed random/sequential I/O ({share}) (alignment/stride: {alignment})"));
        }
        (Pattern::Sequential, _) => {
            let sign = if options.backwards { "-" } else { "" };
            let stride = size(options.stride.0.max(workload.bs.0));
            lines.push(format!("using sequential I/O (stride: {sign}{stride})"));
        }
        (Pattern::Unknown, _) => {}
    }
    if options.random_distribution != RandomDistribution::Even {
        lines.push(format!("IO Distribution: {}", options.random_distribution));
    }
    lines
}

/// Threads of all targets.
pub(super) fn threads(measured: &Measured<'_>) -> usize {
    measured.record.run.workload.threads as usize * measured.run.files.len().max(1)
}

/// The share of a random run's requests that jump, in whole percent.
pub(super) fn random_percent(jump: Jump) -> u32 {
    match jump {
        Jump::Every(requests) => (100 / requests.max(1)).max(1),
        Jump::Share(percent) => percent,
    }
}

/// diskspd's number of the I/O priority: 1, very low, 2, low, or 3, normal.
pub(super) fn priority(workload: &Workload) -> usize {
    match workload.options.io_priority.map(|priority| (priority.class(), priority.level())) {
        Some((3, _)) => 1,
        Some((2, 7)) => 2,
        _ => 3,
    }
}

fn caching(cache: Cache) -> &'static [&'static str] {
    match cache {
        Cache::Both => &["using software cache", "using hardware write cache, writethrough off"],
        Cache::Os => &["using software cache", "hardware write cache disabled, writethrough on"],
        Cache::Device => &["software cache disabled", "using hardware write cache, writethrough off"],
        Cache::None => &["software cache disabled", "hardware write cache disabled, writethrough on"],
    }
}

/// A size in the largest unit that fits, with two decimals where it is no whole number of these.
fn size(bytes: u64) -> String {
    let unit = [(40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")].into_iter().find(|(shift, _)| bytes >> shift > 0);
    match unit {
        Some((shift, name)) if bytes.is_multiple_of(1 << shift) => format!("{}{name}", bytes >> shift),
        Some((shift, name)) => format!("{:.2}{name}", bytes as f64 / (1_u64 << shift) as f64),
        None => bytes.to_string(),
    }
}

/// Prints shares of each processor's time; kernel time is everything except user, idle and steal time.
fn processors(record: &Record, out: &mut dyn Write) -> io::Result<()> {
    let line = "-".repeat(43);
    writeln!(out, "CPU |  Usage |  User  |  Kernel |  Idle\n{line}")?;
    let shares = |cpu: &CpuTimes| {
        let whole_ns = (cpu.busy_ns() + cpu.steal_ns + cpu.idle_ns).max(1) as f64;
        let percent = |ns: u64| 100.0 * ns as f64 / whole_ns;
        [percent(cpu.busy_ns()), percent(cpu.user_ns), percent(cpu.busy_ns() - cpu.user_ns), percent(cpu.idle_ns)]
    };
    let mut sum = [0.0; 4];
    for (place, cpu) in record.cpu.machine.iter().enumerate() {
        let number = cpu.number_at(place);
        let [usage, user, kernel, idle] = shares(cpu);
        writeln!(out, "{number:4}|{usage:7.2}%|{user:7.2}%|{kernel:8.2}%|{idle:7.2}%")?;
        sum.iter_mut().zip([usage, user, kernel, idle]).for_each(|(sum, share)| *sum += share);
    }
    let [usage, user, kernel, idle] = sum.map(|share| share / record.cpu.machine.len().max(1) as f64);
    writeln!(out, "{line}\navg.|{usage:7.2}%|{user:7.2}%|{kernel:8.2}%|{idle:7.2}%\n")
}

/// Figures of one direction of a lane, or of both.
fn figures(lane: &LaneRecord, direction: Option<Direction>) -> LaneSide {
    let reads = lane.reads.unwrap_or_default();
    let writes = lane.writes.unwrap_or_default();
    match direction {
        Some(Direction::Read) => reads,
        Some(Direction::Write) => writes,
        None => together(reads, writes),
    }
}

/// Combines two sets of latencies: the weighted mean, and the deviation from it.
fn together(a: LaneSide, b: LaneSide) -> LaneSide {
    let ios = a.ios + b.ios;
    let weighted = |of: &dyn Fn(&LaneSide) -> f64| (of(&a) * a.ios as f64 + of(&b) * b.ios as f64) / ios.max(1) as f64;
    let mean = weighted(&|side| side.latency_ns_mean);
    let squares = weighted(&|side| side.latency_ns_deviation.powi(2) + (side.latency_ns_mean - mean).powi(2));
    LaneSide { ios, bytes: a.bytes + b.bytes, latency_ns_mean: mean, latency_ns_deviation: squares.sqrt() }
}

fn table(
    shown: &Shown,
    measured: &Measured<'_>,
    (heading, direction): (&str, Option<Direction>),
    out: &mut dyn Write,
) -> io::Result<()> {
    let record = &measured.record;
    let deviation_head = if shown.interval_ms.is_some() { " IopsStdDev |" } else { "" };
    let latency_head = if shown.latency { "  AvgLat  | LatStdDev |" } else { "" };
    let line = "-".repeat(77 + deviation_head.len() + latency_head.len());
    writeln!(out, "{heading}")?;
    writeln!(
        out,
        "thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |{deviation_head}{latency_head}  file\n{line}"
    )?;
    // The series is of all threads and both directions.
    let is_all = direction.is_none() || record.run.workload.rw.direction() == direction;
    let of_all = shown.interval_ms.filter(|_| is_all).and_then(|ms| iops_deviation(record, ms));
    let deviation = |of: Option<f64>| match shown.interval_ms {
        None => String::new(),
        Some(_) => format!(" {:>10} |", of.map_or("N/A".to_string(), |of| format!("{of:.2}"))),
    };
    let columns = |side: &LaneSide, of: Option<f64>| {
        let seconds = record.seconds().max(1e-9);
        let latency = match shown.latency {
            true => format!(" {:8.3} | {:9.3} |", side.latency_ns_mean / 1e6, side.latency_ns_deviation / 1e6),
            false => String::new(),
        };
        let rate = side.bytes as f64 / MIB / seconds;
        let iops = side.ios as f64 / seconds;
        let deviation = deviation(of);
        format!("{:16} | {:12} | {rate:10.2} | {iops:10.2} |{deviation}{latency}", side.bytes, side.ios)
    };
    let files = &measured.run.files;
    let lanes: Vec<&LaneRecord> = record.lanes.iter().filter(|lane| lane.role == LaneRole::Own).collect();
    let mut sum = LaneSide::default();
    for (thread, lane) in lanes.iter().enumerate() {
        let side = figures(lane, direction);
        let file = files.get(thread * files.len() / lanes.len()).map(|file| file.display().to_string());
        let bytes = size(record.span_bytes);
        writeln!(out, "{thread:6} | {} {} ({bytes})", columns(&side, None), file.unwrap_or_default())?;
        sum = together(sum, side);
    }
    writeln!(out, "{line}\ntotal:   {}\n", columns(&sum, of_all))
}

/// The standard deviation of the I/Os a second in intervals of so many milliseconds; `None` with fewer than two.
fn iops_deviation(record: &Record, interval_ms: u32) -> Option<f64> {
    let step_ns = record.series.step_ns.max(1);
    let steps = (u64::from(interval_ms) * 1_000_000 / step_ns).max(1);
    let seconds = (steps * step_ns) as f64 / 1e9;
    let bytes_each = record.bytes as f64 / record.ios.max(1) as f64;
    let intervals = record.series.bytes.chunks_exact(steps as usize);
    let iops: Vec<f64> =
        intervals.map(|steps| steps.iter().sum::<u64>() as f64 / bytes_each.max(1.0) / seconds).collect();
    let count = iops.len() as f64;
    let mean = iops.iter().sum::<f64>() / count;
    let squares = iops.iter().map(|iops| (iops - mean).powi(2)).sum::<f64>();
    (iops.len() > 1).then(|| (squares / count).sqrt())
}

fn distribution(record: &Record, out: &mut dyn Write) -> io::Result<()> {
    let side = |direction| record.side(direction).and_then(|side| side.latency).filter(|latency| latency.count() > 0);
    let read = side(Direction::Read);
    let write = side(Direction::Write);
    let shown = |latency: Option<&Latency>, of: &dyn Fn(&Latency) -> u64| match latency {
        Some(latency) => format!("{:.3}", of(latency) as f64 / 1e6),
        None => "N/A".to_string(),
    };
    writeln!(out, "\ntotal:\n  %-ile |  Read (ms) | Write (ms) | Total (ms)\n{}", "-".repeat(46))?;
    let mut row = |name: &str, of: &dyn Fn(&Latency) -> u64| {
        let total = shown(Some(&record.latency).filter(|latency| latency.count() > 0), of);
        writeln!(out, "{name:>7} | {:>10} | {:>10} | {total:>10}", shown(read, of), shown(write, of))
    };
    row("min", &Latency::min_ns)?;
    for (name, quantile) in PERCENTILES {
        row(name, &|latency| latency.quantile_ns(quantile))?;
    }
    row("max", &Latency::max_ns)
}
