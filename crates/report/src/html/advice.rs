//! Shows the advice as cards, each with settings to copy: halfpower's flags and an fio job.

use std::fmt::Write;

use halfpower_analyse::{Advice, CellFinding, Findings, StudyState};
use halfpower_spec::format::{precise_time_us, whole_percent};
use halfpower_spec::{EngineName, Pattern, Workload, is_unseen};
use maud::{Markup, html};

use crate::html::fold::Fold;
use crate::html::format::{UNKNOWN, copied_target, heading, is_a_path, mbps, number, run_operand};
use crate::html::settings::settings;
use crate::words;

/// The section with one card per piece of advice; `None` without advice.
pub fn advice(findings: &Findings, span_bytes: Option<u64>) -> Option<Fold> {
    if findings.advice.is_empty() {
        return None;
    }
    let (shown, lone): (Vec<&Advice>, Vec<&Advice>) =
        findings.advice.iter().partition(|one| is_repeated(one, findings));
    let body = html! {
        p.lead { "The cheapest settings within 5% of the peak of each path, with texts to copy." }
        div.cards { @for advice in shown { (card(advice, findings, span_bytes)) } }
        @for advice in lone { p.lead { "None for " (advice.pattern) " " (advice.rw) "s: the study is noisy, and the cell that it would name has a single run." } }
    };
    Some(Fold::new("advice", "Settings in full", "halfpower, fio, the kernel, databases", body))
}

/// Whether the advice rests on enough runs: in a noisy study, more than one.
fn is_repeated(advice: &Advice, findings: &Findings) -> bool {
    let set = &advice.settings;
    let is_its = |cell: &&CellFinding| {
        (cell.pattern, cell.rw, cell.cache, cell.iodepth, cell.bs_bytes, cell.threads)
            == (advice.pattern, advice.rw, set.cache, set.iodepth, set.bs.0, set.threads)
    };
    let is_noisy = matches!(findings.summary.state, StudyState::Noisy { .. });
    !is_noisy || findings.cells.iter().find(is_its).is_none_or(|cell| cell.run_mbps.len() > 1)
}

fn card(advice: &Advice, findings: &Findings, span_bytes: Option<u64>) -> Markup {
    let title = heading(&format!("{} {}", advice.pattern, advice.rw));
    html! {
        article.card {
            h3 { (title) }
            p { (words::advice::sentence(advice)) }
            dl.figures {
                div { dt { "Throughput" } dd { (mbps(advice.mbps)) } }
                div { dt { "Of the best" } dd { (whole_percent(advice.share_of_peak)) } }
                div { dt { "p99 latency" } dd { (advice.latency_ns_p99.map_or(UNKNOWN.to_string(), |ns| precise_time_us(ns as f64 / 1e3))) } }
                div { dt { "Processor" } dd { (advice.cpu_ms_per_mb.map_or(UNKNOWN.to_string(), |ms| format!("{} ms/MB", number(ms)))) } }
            }
            (to_copy("halfpower", &format!("halfpower run {} {}", run_operand(findings), advice.settings)))
            @if let Some(job) = copied_target(findings).and_then(|target| fio_job(&advice.settings, target, span_bytes)) {
                details { summary { "fio, the same as a job" } (to_copy("fio job", &job)) }
            }
            @for setting in settings(advice, findings) {
                details { summary { (setting.program) } (to_copy(setting.program, &setting.text)) }
            }
        }
    }
}

/// A text with a copy button.
pub fn to_copy(what: &str, text: &str) -> Markup {
    html! {
        div.copy {
            div.bar { span { (what) } button type="button" aria-label={ "Copy: " (what) } { "Copy" } }
            pre tabindex="0" { code { @for piece in pieces(text) { span { (piece) } } } }
        }
    }
}

/// Splits a command before each flag, so that a narrow screen does not break inside a flag; other text stays whole.
pub(crate) fn pieces(text: &str) -> Vec<&str> {
    let mut cuts: Vec<usize> = text.match_indices(" --").map(|(place, _)| place + 1).collect();
    if text.contains('\n') {
        cuts.clear();
    }
    cuts.insert(0, 0);
    cuts.push(text.len());
    cuts.windows(2).map(|ends| &text[ends[0]..ends[1]]).collect()
}

/// fio's engine, its depth and its number of jobs for this way of issuing; `None` if fio has no such engine.
fn fio_engine(settings: &Workload) -> Option<(&'static str, u32, u32)> {
    match settings.engine {
        EngineName::Auto
        | EngineName::IoUring
        | EngineName::Plain
        | EngineName::Sqpoll
        | EngineName::Iopoll
        | EngineName::Hybrid => Some(("io_uring", settings.iodepth, settings.threads)),
        EngineName::Libaio => Some(("libaio", settings.iodepth, settings.threads)),
        EngineName::Mmap => Some(("mmap", 1, settings.threads)),
        EngineName::Sync => Some(("psync", 1, settings.threads)),
        EngineName::Pool => Some(("psync", 1, settings.total_depth())),
        EngineName::Smb
        | EngineName::Nfs
        | EngineName::S3
        // fio's io_uring_cmd takes the name of the generic device, which the settings do not hold.
        | EngineName::Commands
        | EngineName::PolledCommands
        | EngineName::Null
        | EngineName::Simulated
        | EngineName::Memory
        | EngineName::Unknown => None,
    }
}

/// The settings as an fio job; `None` if fio does not support the target.
pub(crate) fn fio_job(settings: &Workload, target: &str, span_bytes: Option<u64>) -> Option<String> {
    // A line break in a path would begin a new setting, and fio has no quoting for it. What is not seen is not copied.
    if !is_a_path(target) || target.contains(is_unseen) {
        return None;
    }
    let (engine, iodepth, numjobs) = fio_engine(settings)?;
    let device = target.starts_with("/dev/");
    // fio separates the names of several files with a colon.
    let target = target.replace(':', "\\:");
    let place = match (device, settings.rw.writes()) {
        (true, true) => format!("; writes over the device\nfilename={target}"),
        (true, false) => format!("filename={target}"),
        (false, _) => format!("; for a file instead of a folder: filename=\ndirectory={target}"),
    };
    let mut job = format!("[{}]\n{place}\n", settings.rw);
    // In a folder each job has a file of its own, and sequential jobs of a device would all begin at its first byte.
    let parts = if device && settings.rw.pattern() != Pattern::Sequential { 1 } else { numjobs.max(1) };
    if let Some(bytes) = span_bytes.filter(|bytes| *bytes > 0) {
        let blocks = bytes / u64::from(parts) / settings.bs.0.max(1);
        let part = if parts == 1 { bytes } else { blocks.max(1) * settings.bs.0 };
        let _ = writeln!(job, "size={part}");
        if device && parts > 1 {
            let _ = writeln!(job, "offset_increment={part}");
        }
    }
    let _ = writeln!(job, "ioengine={engine}\nrw={}\nbs={}\niodepth={iodepth}", settings.rw, settings.bs.0);
    let _ = writeln!(job, "numjobs={numjobs}\ndirect={}", u8::from(settings.cache.direct()));
    for (key, value) in settings.issuing.iter().flat_map(halfpower_dialects::fio::fio_issuing) {
        let _ = writeln!(job, "{key}={value}");
    }
    if settings.cache.durable() && settings.rw.writes() {
        job.push_str("sync=dsync\n");
    }
    job.push_str("time_based=1\nruntime=30\ngroup_reporting=1");
    Some(job)
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower_analyse::{CellSettings, FastestCell};
    use halfpower_spec::{Bytes, Cache, Direction, Rw};

    fn advised(engine: EngineName, rw: Rw, cache: Cache) -> Advice {
        Advice {
            rw: rw.direction().unwrap_or(Direction::Read),
            pattern: Pattern::Random,
            settings: Workload { engine, rw, cache, bs: Bytes(8192), iodepth: 4, threads: 2, ..Workload::default() },
            mbps: 100.0,
            share_of_peak: 1.0,
            cpu_ms_per_mb: Some(0.1),
            latency_ns_p99: Some(100_000),
            best: FastestCell {
                cell: CellSettings {
                    pattern: Pattern::Random,
                    rw: rw.direction().unwrap_or(Direction::Read),
                    cache,
                    iodepth: 4,
                    bs_bytes: 8192,
                    threads: 2,
                },
                mbps: 100.0,
            },
            is_best: true,
        }
    }

    #[test]
    fn an_fio_job_has_the_same_settings() {
        let advice = advised(EngineName::Pool, Rw::Randwrite, Cache::None);
        let job = fio_job(&advice.settings, "/data", Some(1 << 20)).unwrap();
        for line in ["rw=randwrite", "bs=8192", "ioengine=psync", "iodepth=1", "numjobs=8", "direct=1", "sync=dsync"] {
            assert!(job.lines().any(|l| l == line), "{line} in\n{job}");
        }
        let advice = advised(EngineName::IoUring, Rw::Randread, Cache::Both);
        let job = fio_job(&advice.settings, "/data", None).unwrap();
        for line in ["iodepth=4", "numjobs=2", "direct=0", "directory=/data"] {
            assert!(job.lines().any(|l| l == line), "{line} in\n{job}");
        }
        assert!(!job.contains("sync="));
    }

    /// Eight jobs use as many bytes as the study did, and not eight times as many.
    #[test]
    fn the_jobs_of_fio_share_the_bytes_of_the_study() {
        let job = |rw, target| {
            let job = fio_job(&advised(EngineName::Pool, rw, Cache::Device).settings, target, Some(1 << 20)).unwrap();
            let of_bytes = |line: &&str| line.starts_with("size") || line.starts_with("offset");
            job.lines().filter(of_bytes).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(job(Rw::Randread, "/data"), "size=131072");
        assert_eq!(job(Rw::Randread, "/dev/sdx"), "size=1048576");
        assert_eq!(job(Rw::Read, "/dev/sdx"), "size=131072 offset_increment=131072");
    }

    #[test]
    fn a_job_that_writes_over_a_device_says_so() {
        let advice = advised(EngineName::IoUring, Rw::Randwrite, Cache::Device);
        assert!(fio_job(&advice.settings, "/dev/sdx", None).unwrap().contains("; writes over"));
    }

    #[test]
    fn what_fio_cannot_run_has_no_job() {
        assert!(fio_job(&advised(EngineName::Simulated, Rw::Read, Cache::Device).settings, "sim:", None).is_none());
        assert!(fio_job(&advised(EngineName::Auto, Rw::Read, Cache::Device).settings, "sim:", None).is_none());
        for target in ["/a\nrw=write", "/a\u{1b}[2J", "/a\u{202e}b"] {
            assert!(fio_job(&advised(EngineName::Auto, Rw::Read, Cache::Device).settings, target, None).is_none());
        }
    }
}
