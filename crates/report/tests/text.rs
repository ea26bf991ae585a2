//! Is what people read on the terminal what the findings and the record say, on one screen?
//!
//! `HALFPOWER_GOLDEN=write cargo test -p halfpower-report` writes the golden texts anew, to be looked at.

mod sample;

use std::path::Path;

use analyse::Findings;
use record::{Cpu, Soaker};
use report::{Style, run_text, terminal};
use sample::{empty, full, level, record};

fn printed(findings: &Findings, width: usize, colour: bool) -> String {
    let mut out = Vec::new();
    terminal(findings, &Style { width, colour }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("HALFPOWER_GOLDEN").is_some_and(|word| word == "write") {
        std::fs::write(&path, text).unwrap();
    }
    let golden = std::fs::read_to_string(&path).unwrap();
    assert!(text == golden, "{name} is not what it was; now:\n{text}");
}

#[test]
fn a_whole_study_is_one_screen() {
    let text = printed(&full(), 100, false);
    assert_golden("full.txt", &text);
    assert!(text.lines().count() <= 40, "{} lines", text.lines().count());
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
    findings.bottleneck.next = "unknown: no other limit is known".into();
    findings.curves.iter_mut().for_each(|curve| (curve.n_half_bytes, curve.rap_over_pap) = (None, None));
    let text = printed(&findings, 100, false);
    assert_golden("unknown.txt", &text);
    assert!(text.contains("unknown  (1,800 MB/s)") && !text.contains("Next"), "{text}");
}

#[test]
fn too_much_for_a_screen_gives_way_and_is_counted() {
    let mut findings = full();
    findings.warnings = (0..30).map(|number| format!("Warning {number}.")).collect();
    findings.levels = (0..30).map(|number| level(&format!("level {number}"), None, None)).collect();
    findings.advice = (0..10).flat_map(|_| full().advice).collect();
    for width in [40, 80, 100, 200] {
        let text = printed(&findings, width, false);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width, "{widest} columns of {width}:\n{text}");
        assert!(width < 80 || text.lines().count() <= 40, "{} lines:\n{text}", text.lines().count());
        assert!(text.starts_with("/data: 216 runs") && text.contains("What to set"), "{text}");
        assert!(text.contains("... and 29 more warnings"), "{text}");
    }
}

#[test]
fn a_long_target_leaves_room_for_the_rest_of_the_headline() {
    let findings = Findings { target: format!("sim:{}", "fixed=80us,".repeat(20)), ..full() };
    let text = printed(&findings, 100, false);
    assert!(text.starts_with("sim:fixed=80us,") && text.lines().next().unwrap().contains("...: 216 runs"), "{text}");
}

#[test]
fn colour_only_where_it_is_wanted() {
    let (plain, coloured) = (printed(&full(), 100, false), printed(&full(), 100, true));
    assert!(!plain.contains('\x1b'));
    assert!(coloured.contains("\x1b[33m> link"), "{coloured}");
    assert_eq!(coloured.replace("\x1b[1m", "").replace("\x1b[33m", "").replace("\x1b[0m", ""), plain);
}

#[test]
fn a_run_is_a_block_of_lines() {
    let text_of = |record| {
        let mut out = Vec::new();
        run_text(&record, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let mut record = record();
    assert_golden("run.txt", &text_of(record.clone()));
    record.errors = [("EIO".to_string(), 2000), ("ENOSPC".to_string(), 1)].into();
    record.short_transfers = 5;
    record.flush_ns = 50_000_000;
    record.cpu = Cpu { soaker: Some(Soaker { lost_ns: 9_000_000, baseline_share: 1.0 }), ..record.cpu };
    assert_golden("run_troubled.txt", &text_of(record.clone()));
    (record.ios, record.bytes, record.latency) = (0, 0, record::Latency::default());
    assert_golden("run_failed.txt", &text_of(record));
}
