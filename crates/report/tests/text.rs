//! Checks that the terminal output agrees with the findings and the record.
//!
//! `HALFPOWER_GOLDEN=write cargo test -p halfpower-report` writes new golden texts for review.

use std::path::Path;

use crate::sample::{empty, full, level, record, warning};
use halfpower_analyse::Findings;
use halfpower_record::{Cpu, Environment, Record, Series, Soaker};
use halfpower_report::{Style, run_json, run_text, terminal_full};
use halfpower_spec::{FileOperation, Nanos};

fn printed(findings: &Findings, width: usize, colour: bool) -> String {
    let mut out = Vec::new();
    terminal_full(&findings.clone().into(), &Style { width, colour }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("HALFPOWER_GOLDEN").is_some_and(|word| word == "write") {
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    assert!(text == golden, "{name} is not what it was; now:\n{text}");
}

#[test]
fn everything_about_a_study_fits_the_width() {
    let text = printed(&full(), 100, false);
    assert_golden("full.txt", &text);
    assert!(text.lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn a_study_without_runs_says_so() {
    assert_golden("empty.txt", &printed(&empty(), 100, false));
}

#[test]
fn a_peak_that_nobody_advertises_is_unknown() {
    let mut findings = Findings { levels: vec![level("device", None, Some(1800.0))], ..full() };
    findings.levels[0].narrowest = true;
    findings.bottleneck.next = None;
    findings.curves.iter_mut().for_each(|curve| (curve.n_half_bytes, curve.rap_over_pap) = (None, None));
    let text = printed(&findings, 100, false);
    assert_golden("unknown.txt", &text);
    assert!(text.contains("unknown  (1,800 MB/s)") && !text.contains("Next"), "{text}");
}

#[test]
fn nothing_is_wider_than_the_terminal() {
    let mut findings = full();
    findings.warnings = (0..30).map(|number| warning(format!("Warning {number}."))).collect();
    findings.advice = (0..10).flat_map(|_| full().advice).collect();
    for width in [40, 80, 100, 200] {
        let text = printed(&findings, width, false);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width, "{widest} columns of {width}:\n{text}");
        assert!(text.starts_with("/data") && text.contains("Warning 29."), "{text}");
    }
}

/// The rows of bars in the chart's first panel, from the top, and the row of sizes below them.
fn first_panel(text: &str) -> (Vec<Vec<String>>, Vec<String>) {
    let mut lines = text.lines().skip_while(|line| !line.contains('▕'));
    let panel = |line: &str| line.split('▕').nth(1).map(|bars| bars.chars().collect::<Vec<char>>());
    let mut rows = Vec::new();
    while let Some(bars) = lines.clone().next().and_then(panel) {
        rows.push(bars.chunks(4).map(|bar| bar.iter().collect::<String>().trim().to_string()).collect());
        lines.next();
    }
    let sizes = lines.next().unwrap().split_whitespace().skip(1).map(str::to_string).collect();
    (rows, sizes)
}

#[test]
fn a_bar_at_half_power_fills_half_of_the_rows() {
    let (rows, sizes) = first_panel(&printed(&full(), 100, false));
    assert_eq!(rows.len(), 4);
    assert_eq!(sizes[..9], ["4", "8", "16", "32", "64", "128", "256", "512", "1M"]);
    let row = |from_top: usize| rows[from_top][..9].iter().map(|bar| bar == "███").collect::<Vec<bool>>();
    // 4, 8, 16, 32 and 64 KiB give 256, 481, 858, 1,413 and 1,800 of 1,800 MB/s: half from 32 KiB.
    let from = |first: usize| (0..9).map(|place| place >= first).collect::<Vec<bool>>();
    assert_eq!(row(2), from(3), "the row of half power is full from 32 KiB on");
    assert_eq!(row(0), from(4), "the peak is reached from 64 KiB on");
    let mut findings = full();
    findings.cells.retain(|cell| cell.bs_bytes != 16_384 || cell.cache != halfpower_spec::Cache::Device);
    let (rows, _) = first_panel(&printed(&findings, 100, false));
    assert_eq!(rows[3][2], "·", "what was not measured has no bar");
}

#[test]
fn what_a_cache_answered_is_not_in_the_chart() {
    let mut findings = full();
    let direct = |cell: &&mut halfpower_analyse::CellFinding| {
        cell.cache == halfpower_spec::Cache::Device && cell.bs_bytes == 1 << 20
    };
    findings.cells.iter_mut().filter(direct).for_each(|cell| {
        cell.cached = true;
        cell.mbps.value = 90_000.0;
    });
    let text = printed(&findings, 100, false);
    assert!(!text.contains("90,000▕") && text.contains("1,800▕"), "{text}");
}

#[test]
fn a_long_target_leaves_room_for_the_rest_of_the_headline() {
    let findings = Findings { target: format!("sim:{}", "fixed=80us,".repeat(20)), ..full() };
    let text = printed(&findings, 100, false);
    let first = text.lines().next().unwrap();
    assert!(first.starts_with("sim:fixed=80us,") && first.contains("216 runs") && first.ends_with("QUIET"), "{text}");
}

#[test]
fn colour_only_where_it_is_wanted() {
    let plain = printed(&full(), 100, false);
    let coloured = printed(&full(), 100, true);
    assert!(!plain.contains('\x1b'));
    assert!(coloured.contains("\x1b[33m> link"), "{coloured}");
    let bare =
        ["\x1b[1m", "\x1b[33m", "\x1b[36m", "\x1b[0m"].iter().fold(coloured, |text, code| text.replace(code, ""));
    assert_eq!(bare, plain);
}

#[test]
fn a_run_is_a_block_of_lines() {
    let text_of = |record| {
        let mut out = Vec::new();
        run_text(&record, &[], &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let mut record = record();
    assert_golden("run.txt", &text_of(record.clone()));
    record.errors = [("EIO".to_string(), 2000), ("ENOSPC".to_string(), 1)].into();
    record.short_transfers = 5;
    record.flush_ns = 50_000_000;
    record.cpu = Cpu { soaker: Some(Soaker { lost_ns: 9_000_000, baseline_share: 1.0 }), ..record.cpu };
    assert_golden("run_troubled.txt", &text_of(record.clone()));
    (record.ios, record.bytes, record.latency) = (0, 0, halfpower_record::Latency::default());
    assert_golden("run_failed.txt", &text_of(record));
}

#[test]
fn a_run_whose_window_cut_waves_tells_the_rate_between_them() {
    let behind_slices = |cut: u64, own_pauses: bool| {
        let mut record = record();
        // Ten slices a second let 500 requests of 4 KiB pass each.
        let requests = |step: u64| if step == 0 { 500 - cut } else { 500 * u64::from(step.is_multiple_of(10)) };
        record.series = Series { step_ns: 10_000_000, bytes: (0..100).map(|step| requests(step) * 4096).collect() };
        (record.ios, record.elapsed_ns) = ((0..100).map(requests).sum(), 1_000_000_000);
        (record.read_ios, record.bytes) = (record.ios, record.ios * 4096);
        record.run.workload.options.thinktime = Nanos(if own_pauses { 100_000_000 } else { 0 });
        let mut out = Vec::new();
        run_text(&record, &[], &mut out).unwrap();
        let json = run_json_of(&record);
        (String::from_utf8(out).unwrap(), json["waves"]["mbps"].as_f64())
    };
    let (text, mbps) = behind_slices(400, false);
    assert!(
        text.contains("throughput  18.8 MB/s")
            && text.contains("waves       20.5 MB/s from one to the next (500 requests each 100 ms)"),
        "{text}"
    );
    assert!(mbps.is_some_and(|mbps| (mbps - 20.48).abs() < 0.01), "{mbps:?}");
    for (cut, own_pauses) in [(0, false), (400, true)] {
        let (text, mbps) = behind_slices(cut, own_pauses);
        assert!(!text.contains("waves") && mbps.is_none(), "{text}");
    }
}

fn run_json_of(record: &Record) -> serde_json::Value {
    let mut out = Vec::new();
    run_json(record, &Environment::default(), &[], &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn a_run_of_operations_on_files_tells_of_files_and_of_no_megabytes() {
    let mut record = record();
    record.run.workload.options.file_operation = Some(FileOperation::Create);
    let mut out = Vec::new();
    run_text(&record, &[], &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.lines().next().unwrap().contains("files of "), "{text}");
    let throughput = text.lines().find(|line| line.trim_start().starts_with("throughput")).unwrap();
    assert!(throughput.contains("create operations a second") && !throughput.contains("MB/s"), "{text}");
}

#[test]
fn a_run_tells_the_priority_of_its_requests() {
    let text_of = |priority: Option<&str>| {
        let mut record = record();
        record.run.workload.options.io_priority = priority.and_then(|text| text.parse().ok());
        let mut out = Vec::new();
        run_text(&record, &[], &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let shown = text_of(Some("best-effort:7"));
    assert!(shown.lines().any(|line| line.trim() == "priority    best-effort:7"), "{shown}");
    assert!(!text_of(None).contains("priority"));
}

#[test]
fn a_run_whose_pages_are_dropped_tells_what_stayed() {
    let text_of = |uncached| {
        let mut record = record();
        record.run.workload.options.uncached = uncached;
        (record.bytes, record.cached_after_bytes) = (64 << 20, Some(16 << 20));
        let mut out = Vec::new();
        run_text(&record, &[], &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let told = "page cache  holds 16 MiB of the target after the run, which moved 64 MiB";
    assert!(text_of(true).contains(told), "{}", text_of(true));
    assert!(!text_of(false).contains("page cache  holds"), "{}", text_of(false));
}
