//! Prints a record as diskspd's XML.

use std::fmt::Display;
use std::io::{self, Write};

use halfpower_record::{CpuTimes, LaneRecord, LaneRole, Latency, Record};
use halfpower_spec::{Direction, EngineName, Pattern, RandomDistribution, UtcTime, Workload};

use super::layout::{priority, random_percent, threads as threads_of_all};
use super::options::Shown;
use crate::Measured;

/// Writes elements, one per line, indented by depth.
struct Elements<'a> {
    out: &'a mut dyn Write,
    depth: usize,
}

impl Elements<'_> {
    fn leaf(&mut self, name: &str, content: impl Display) -> io::Result<()> {
        let content = content.to_string().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        writeln!(self.out, "{}<{name}>{content}</{name}>", "  ".repeat(self.depth))
    }

    fn leaves(&mut self, leaves: &[(&str, &dyn Display)]) -> io::Result<()> {
        leaves.iter().try_for_each(|(name, content)| self.leaf(name, content))
    }

    fn within(&mut self, name: &str, inner: impl FnOnce(&mut Self) -> io::Result<()>) -> io::Result<()> {
        writeln!(self.out, "{}<{name}>", "  ".repeat(self.depth))?;
        self.depth += 1;
        inner(self)?;
        self.depth -= 1;
        writeln!(self.out, "{}</{name}>", "  ".repeat(self.depth))
    }
}

/// Prints one run.
pub(super) fn print(shown: &Shown, measured: &Measured<'_>, out: &mut dyn Write) -> io::Result<()> {
    let record = &measured.record;
    let mut xml = Elements { out, depth: 0 };
    xml.within("Results", |xml| {
        xml.within("System", |xml| {
            let machine = &measured.environment.machine;
            xml.leaf("ComputerName", machine.hostname.as_deref().unwrap_or_default())?;
            let version = concat!("halfpower ", env!("CARGO_PKG_VERSION"));
            xml.within("Tool", |xml| xml.leaf("Version", version))?;
            let time = UtcTime::of_unix_s(record.started_unix_ms / 1000).to_string().replace('-', "/");
            xml.leaf("RunTime", format!("{time} GMT"))
        })?;
        xml.within("Profile", |xml| profile(shown, measured, xml))?;
        xml.within("TimeSpan", |xml| {
            xml.leaves(&[
                ("TestTimeSeconds", &format!("{:.2}", record.seconds())),
                ("ThreadCount", &threads_of_all(measured)),
                ("RequestCount", &0),
                ("ProcCount", &record.cpu.machine.len()),
            ])?;
            xml.within("CpuUtilization", |xml| processors(record, xml))?;
            if shown.latency {
                xml.within("Latency", |xml| latencies(record, xml))?;
            }
            threads(measured, xml)
        })
    })
}

fn profile(shown: &Shown, measured: &Measured<'_>, xml: &mut Elements<'_>) -> io::Result<()> {
    let run = &measured.record.run;
    xml.leaves(&[("Progress", &0), ("ResultFormat", &"xml"), ("Verbose", &false)])?;
    xml.within("TimeSpans", |xml| {
        xml.within("TimeSpan", |xml| {
            xml.leaves(&[
                ("MeasureLatency", &shown.latency),
                ("Duration", &run.runtime.seconds()),
                ("Warmup", &shown.warm_up_s),
                ("Cooldown", &shown.cool_down_s),
                ("RandSeed", &run.seed),
            ])?;
            xml.within("Targets", |xml| {
                for file in &measured.run.files {
                    xml.within("Target", |xml| {
                        xml.leaf("Path", file.display())?;
                        target(&run.workload, xml)
                    })?;
                }
                Ok(())
            })
        })
    })
}

/// What a target is asked for; options that are not in use are left out, as in diskspd's profiles.
fn target(workload: &Workload, xml: &mut Elements<'_>) -> io::Result<()> {
    let options = &workload.options;
    let writes_percent = match workload.rw.direction() {
        Some(Direction::Read) => 0,
        Some(Direction::Write) => 100,
        None => 100 - workload.rwmixread,
    };
    xml.leaves(&[
        ("BlockSize", &workload.bs.0),
        ("BaseFileOffset", &options.region.map_or(0, |region| region.from.0)),
        ("DisableOSCache", &workload.cache.direct()),
        ("WriteThrough", &workload.cache.durable()),
    ])?;
    if let Some(region) = options.region {
        xml.leaf("MaxFileSize", region.from.0.saturating_add(region.bytes.0))?;
    }
    order(workload, xml)?;
    if options.thinktime.0 > 0 {
        xml.leaf("ThinkTime", options.thinktime.0.div_ceil(1_000_000))?;
        xml.leaf("BurstSize", options.thinktime_blocks)?;
    }
    if let Some(arrival) = workload.rate {
        let bytes_a_ms = arrival.iops as f64 * workload.mean_bytes() / 1000.0;
        xml.leaf("Throughput", bytes_a_ms.round().max(1.0))?;
    }
    xml.leaves(&[
        ("RequestCount", &workload.iodepth),
        ("WriteRatio", &writes_percent),
        ("ThreadsPerFile", &workload.threads),
        ("IOPriority", &priority(workload)),
    ])
}

/// The order of offsets, and how they are reached.
fn order(workload: &Workload, xml: &mut Elements<'_>) -> io::Result<()> {
    let options = &workload.options;
    if workload.rw.pattern() == Pattern::Random {
        xml.leaf("Random", workload.alignment().0)?;
        let percent = random_percent(options.jump);
        if percent < 100 {
            xml.leaf("RandomRatio", percent)?;
        }
    } else {
        xml.leaf("StrideSize", options.stride.0.max(workload.bs.0))?;
    }
    if options.random_distribution != RandomDistribution::Even {
        xml.leaf("Distribution", options.random_distribution)?;
    }
    let is_mapped = workload.engine == EngineName::Mmap;
    let flags =
        [("Backwards", options.backwards), ("ParallelAsyncIO", options.same_blocks), ("MemoryMappedIo", is_mapped)];
    flags.iter().filter(|(_, is_on)| *is_on).try_for_each(|(name, is_on)| xml.leaf(name, is_on))
}

fn processors(record: &Record, xml: &mut Elements<'_>) -> io::Result<()> {
    let mut sum = CpuTimes::default();
    for (place, cpu) in record.cpu.machine.iter().enumerate() {
        xml.within("CPU", |xml| {
            xml.leaves(&[("Group", &0), ("Id", &cpu.number_at(place))])?;
            shares(cpu, xml)
        })?;
        sum.user_ns += cpu.user_ns;
        sum.system_ns += cpu.system_ns + cpu.irq_ns + cpu.softirq_ns;
        sum.steal_ns += cpu.steal_ns;
        sum.idle_ns += cpu.idle_ns;
    }
    xml.within("Average", |xml| shares(&sum, xml))
}

fn shares(cpu: &CpuTimes, xml: &mut Elements<'_>) -> io::Result<()> {
    let whole_ns = (cpu.busy_ns() + cpu.steal_ns + cpu.idle_ns).max(1) as f64;
    let percent = |ns: u64| format!("{:.2}", 100.0 * ns as f64 / whole_ns);
    xml.leaves(&[
        ("UsagePercent", &percent(cpu.busy_ns())),
        ("UserPercent", &percent(cpu.user_ns)),
        ("KernelPercent", &percent(cpu.busy_ns() - cpu.user_ns)),
        ("IdlePercent", &percent(cpu.idle_ns)),
    ])
}

/// diskspd's percentiles, one per bucket: every whole percent, then the nines.
fn percentiles() -> impl Iterator<Item = f64> {
    (0..100).map(f64::from).chain([99.9, 99.99, 99.999, 99.9999, 99.999_99, 99.999_999, 99.999_999_9, 100.0])
}

fn latencies(record: &Record, xml: &mut Elements<'_>) -> io::Result<()> {
    let side = |direction| record.side(direction).and_then(|side| side.latency).filter(|latency| latency.count() > 0);
    let sides = [("Read", side(Direction::Read)), ("Write", side(Direction::Write)), ("Total", Some(&record.latency))];
    let ms = |ns: f64| format!("{:.3}", ns / 1e6);
    for (name, latency) in sides {
        let Some(latency) = latency else { continue };
        let deviation = if name == "Total" { "LatencyStdev".to_string() } else { format!("{name}LatencyStdev") };
        xml.leaf(&format!("Average{name}Milliseconds"), ms(latency.mean_ns()))?;
        xml.leaf(&deviation, ms(latency.deviation_ns()))?;
    }
    let at = |latency: &Latency, percent: f64| match percent {
        0.0 => latency.min_ns(),
        percent => latency.quantile_ns(percent / 100.0),
    };
    for percent in percentiles() {
        xml.within("Bucket", |xml| {
            xml.leaf("Percentile", percent)?;
            for (name, latency) in sides {
                if let Some(latency) = latency {
                    xml.leaf(&format!("{name}Milliseconds"), ms(at(latency, percent) as f64))?;
                }
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn threads(measured: &Measured<'_>, xml: &mut Elements<'_>) -> io::Result<()> {
    let record = &measured.record;
    let files = &measured.run.files;
    let lanes: Vec<&LaneRecord> = record.lanes.iter().filter(|lane| lane.role == LaneRole::Own).collect();
    for (thread, lane) in lanes.iter().enumerate() {
        let reads = lane.reads.unwrap_or_default();
        let writes = lane.writes.unwrap_or_default();
        let file = files.get(thread * files.len() / lanes.len()).map(|file| file.display().to_string());
        let ms = |ns: f64| format!("{:.3}", ns / 1e6);
        xml.within("Thread", |xml| {
            xml.leaf("Id", thread)?;
            xml.within("Target", |xml| {
                xml.leaves(&[
                    ("Path", &file.unwrap_or_default()),
                    ("BytesCount", &lane.bytes),
                    ("FileSize", &record.span_bytes),
                    ("IOCount", &lane.ios),
                    ("ReadBytes", &reads.bytes),
                    ("ReadCount", &reads.ios),
                    ("WriteBytes", &writes.bytes),
                    ("WriteCount", &writes.ios),
                    ("AverageReadLatencyMilliseconds", &ms(reads.latency_ns_mean)),
                    ("ReadLatencyStdev", &ms(reads.latency_ns_deviation)),
                    ("AverageWriteLatencyMilliseconds", &ms(writes.latency_ns_mean)),
                    ("WriteLatencyStdev", &ms(writes.latency_ns_deviation)),
                ])
            })
        })?;
    }
    Ok(())
}
