//! Reads diskspd's XML.

use halfpower_record::CpuTimes;

use super::profile::Span;
use super::tree::{Element, parsed};
use super::{Amount, Latencies, Listed, Measured, Row, Shares, SpanOfFile, take};
use crate::foreign_run::{FileError, Found};

pub(crate) fn read(file: &str, text: &str) -> Result<Found, FileError> {
    // Warnings on the same stream may precede the results; their line ends are kept, so that line numbers stay right.
    let start = text.find("<Results").unwrap_or(0);
    let lines = text[..start].matches('\n').count();
    let end = text.rfind("</Results>").map_or(text.len(), |at| at + "</Results>".len());
    let xml = format!("{}{}", "\n".repeat(lines), &text[start..end.max(start)]);
    let document = parsed(&xml)?;
    let root = Element::root(&document);
    if root.name() != "Results" {
        let name = root.name();
        return Err(root.trouble(format!("<{name}> is not what diskspd writes, <Results>; name another file")));
    }
    let system = root.child("System");
    let version = system.and_then(|system| system.child("Tool")).and_then(|tool| tool.text("Version"));
    let host = system.and_then(|system| system.text("ComputerName")).filter(|name| !name.is_empty());
    let date = system.and_then(|system| system.text("RunTime"));
    let mut found = Found { version, date: date.clone(), host, records: Vec::new(), left_out: Vec::new() };
    let profile = root.child("Profile").ok_or_else(|| root.trouble("there is no <Profile>, which has the settings"))?;
    let asked: Vec<Element<'_>> =
        profile.child("TimeSpans").map_or_else(Vec::new, |spans| spans.children("TimeSpan").collect());
    for (number, measured) in root.children("TimeSpan").enumerate() {
        let Some(asked) = asked.get(number) else {
            return Err(measured.trouble("this <TimeSpan> has no settings in the <Profile>"));
        };
        let place = SpanOfFile { file, number: number + 1, date: date.as_deref() };
        let span = Span::of(asked)?;
        match measured.text("Error") {
            Some(error) => found.left_out.push(format!("time span {}: {}", place.number, error.trim_end_matches('.'))),
            None => take(&place, &span, &of(&measured)?, &mut found)?,
        }
    }
    Ok(found)
}

/// What a time span gave.
fn of(measured: &Element<'_>) -> Result<Measured, FileError> {
    let mut rows = Vec::new();
    for thread in measured.children("Thread") {
        for target in thread.children("Target") {
            rows.push(Row {
                path: target.text("Path").unwrap_or_default(),
                size: Some(target.whole("FileSize")?),
                read: Amount { bytes: target.whole("ReadBytes")?, ios: target.whole("ReadCount")? },
                write: Amount { bytes: target.whole("WriteBytes")?, ios: target.whole("WriteCount")? },
            });
        }
    }
    let elapsed_ns = measured.scaled("TestTimeSeconds", 1e9)?;
    let latencies = latencies(measured)?;
    Ok(Measured { line: measured.line(), elapsed_ns, rows, latencies, machine: processors(measured, elapsed_ns)? })
}

/// Time of each processor by kind, from its shares.
fn processors(measured: &Element<'_>, elapsed_ns: u64) -> Result<Vec<CpuTimes>, FileError> {
    let Some(utilization) = measured.child("CpuUtilization") else { return Ok(Vec::new()) };
    let shares = |cpu: Element<'_>| {
        let user = cpu.number("UserPercent")?;
        let kernel = cpu.number("KernelPercent")?;
        let idle = cpu.number("IdlePercent")?;
        Ok(Shares { user, kernel, idle }.times(elapsed_ns))
    };
    utilization.children("CPU").map(shares).collect()
}

/// The latencies of a time span; `None` if latency was not measured.
fn latencies(measured: &Element<'_>) -> Result<Option<Latencies>, FileError> {
    let Some(latency) = measured.child("Latency") else { return Ok(None) };
    let percentiles = latency.children("Bucket").map(|bucket| bucket.number("Percentile")).collect::<Result<_, _>>()?;
    let listed = |mean: &'static str, name: &'static str| {
        let mut listed = Listed::default();
        if latency.child(mean).is_some() {
            listed.mean_ns = latency.number(mean)? * 1e6;
        }
        for bucket in latency.children("Bucket").filter(|bucket| bucket.child(name).is_some()) {
            listed.buckets.push((bucket.number("Percentile")?, bucket.scaled(name, 1e6)?));
        }
        Ok(listed)
    };
    Ok(Some(Latencies {
        percentiles,
        read: listed("AverageReadMilliseconds", "ReadMilliseconds")?,
        write: listed("AverageWriteMilliseconds", "WriteMilliseconds")?,
        total: listed("AverageTotalMilliseconds", "TotalMilliseconds")?,
    }))
}
