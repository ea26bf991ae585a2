//! Checks the table of issuing's effect and cost in the terminal, on the page and in JSON.

use halfpower_analyse::{StoppedBy, Use};
use halfpower_experiments::{IssuingChange, IssuingPart, RatioFinding, RatioVerdict, StudyFindings};
use halfpower_report::{Style, terminal_full};
use halfpower_spec::{Cache, Direction, EngineName, IoMem, Pattern};

use crate::sample::{full, interval};
use crate::screens::quiet_study;
use crate::text::assert_golden;

fn change(change: IssuingPart, with_iops: f64, verdict: RatioVerdict, with_us: (f64, Option<f64>)) -> IssuingChange {
    let mbps = |iops: f64| interval(iops * 4096.0 / 1e6, 3.0);
    IssuingChange {
        change,
        pattern: Pattern::Random,
        rw: Direction::Read,
        engine: EngineName::IoUring,
        iodepth: 32,
        bs_bytes: 4096,
        times: Some(RatioFinding { interval: interval(with_iops / 60_000.0, 0.03), verdict }),
        without_mbps: mbps(60_000.0),
        with_mbps: mbps(with_iops),
        without_iops: interval(60_000.0, 700.0),
        with_iops: interval(with_iops, 700.0),
        without_us: (6.1, Some(9.4)),
        with_us,
        without_segments: None,
        with_segments: None,
        threads: 1,
    }
}

fn study() -> StudyFindings {
    let small = [
        change(IssuingPart::HugePages, 60_600.0, RatioVerdict::Unclear, (6.0, Some(9.2))),
        change(IssuingPart::Batch(8), 57_000.0, RatioVerdict::Less, (4.7, Some(7.9))),
        change(IssuingPart::Batch(0), 55_200.0, RatioVerdict::SingleRuns, (4.6, None)),
    ];
    let large = IssuingChange {
        bs_bytes: 1 << 20,
        iodepth: 8,
        pattern: Pattern::Sequential,
        with_mbps: interval(2400.0, 50.0),
        without_mbps: interval(1200.0, 50.0),
        without_segments: Some(213.4),
        with_segments: Some(1.0),
        ..change(IssuingPart::HugePages, 120_000.0, RatioVerdict::More, (40.0, Some(55.0)))
    };
    StudyFindings { issuing: small.into_iter().chain([large]).collect(), ..full().into() }
}

fn printed(width: usize) -> String {
    let mut out = Vec::new();
    terminal_full(&study(), &Style { width, colour: false }, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    let from = text.find("WHAT ISSUING").unwrap_or_else(|| panic!("no table:\n{text}"));
    text[from..].split("\n\n").next().unwrap().to_string() + "\n"
}

#[test]
fn the_terminal_has_the_table() {
    assert_golden("issuing-100.txt", &printed(100));
    assert_golden("issuing-80.txt", &printed(80));
    for width in [40, 60, 120] {
        printed(width);
    }
}

#[test]
fn the_page_and_the_json_have_the_same_rows() {
    let mut out = Vec::new();
    halfpower_report::html(&study(), &[], "halfpower study", &mut out).unwrap();
    let page = String::from_utf8(out).unwrap();
    assert!(page.contains("What issuing costs and brings") && page.contains("Random direct read, 4 KiB, 32 deep"));
    assert!(page.contains("all in one call") && page.contains("-8% (one run)"));
    let mut out = Vec::new();
    halfpower_report::json(&study(), &mut out).unwrap();
    let reported: serde_json::Value = serde_json::from_slice(&out).unwrap();
    let rows = reported["issuing"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[1]["change"], serde_json::json!({ "batch": 8 }));
    assert_eq!(rows[1]["with_us"], serde_json::json!([4.7, 7.9]));
    let none: StudyFindings = full().into();
    let mut out = Vec::new();
    halfpower_report::html(&none, &[], "halfpower study", &mut out).unwrap();
    assert!(!String::from_utf8(out).unwrap().contains("What issuing costs"));
}

#[test]
fn what_a_use_is_advised_has_no_row_of_its_own() {
    let mut study = StudyFindings { issuing: study().issuing, ..quiet_study().0 };
    let told = |study: &StudyFindings| {
        let mut out = Vec::new();
        halfpower_report::html(study, &[], "halfpower study", &mut out).unwrap();
        let page = String::from_utf8(out).unwrap();
        let text = first_screen(study);
        let mut json = Vec::new();
        halfpower_report::json(study, &mut json).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
        (text, page, json["verdict"][2].as_str().unwrap().to_string())
    };
    let (text, page, verdict) = told(&study);
    assert!(text.contains("buffers of direct reads huge pages (--iomem huge) 2,400 MB/s instead of 1,200"), "{text}");
    assert!(page.contains("Buffers of direct reads") && !verdict.contains("huge"), "{verdict}");
    let uses = &mut study.findings.summary.what_to_set.uses;
    let copy = uses.iter_mut().find(|one| one.of == Use::BulkRead).expect("copies are advised");
    copy.iomem = Some(IoMem::Huge);
    copy.cell.cache = Cache::Device;
    let (text, page, verdict) = told(&study);
    assert!(
        text.contains("copy, reading direct in huge pages, ") && !text.contains("buffers of direct reads"),
        "{text}"
    );
    assert!(
        page.contains("<span>--iomem huge</span>") && page.contains("iomem=mmaphuge"),
        "the commands to copy take them"
    );
    assert!(verdict.contains("for reads direct I/O in huge pages, "), "{verdict}");
}

fn screen(study: &StudyFindings, width: usize) -> String {
    let mut out = Vec::new();
    halfpower_report::terminal(study, None, &Style { width, colour: false }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn first_screen(study: &StudyFindings) -> String {
    screen(study, 120).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_result_that_does_not_fit_beside_its_setting_stands_below_it() {
    let study = StudyFindings { issuing: study().issuing, ..quiet_study().0 };
    let text = screen(&study, 80);
    let below = "huge pages (--iomem huge)\n                           2,400 MB/s instead of 1,200 MB/s\n";
    assert!(text.contains(below) && text.contains("1,626 MB/s \u{b1}2%\n"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_device_is_no_limit_where_it_gives_more_to_other_pages() {
    let mut study = study();
    let words = "reads the ordinary pages of their buffers: in huge pages (--iomem huge) 2,400 MB/s instead of 1,200 MB/s (sequential \
                 direct read, 1 MiB, 8 deep; each in 1 segment of memory instead of 213)";
    assert!(!first_screen(&study).contains(words), "a limit that is known otherwise stays");
    for stop in &mut study.findings.summary.stops {
        stop.bottleneck.stopped_by = StoppedBy::NoGainFromThreads { threads: 1, more_threads: 2, more_mbps: 1200.0 };
        stop.bottleneck.request_ceiling = None;
    }
    let text = first_screen(&study);
    assert!(text.contains(words), "{text}");
    assert_eq!(text.matches("in huge pages").count(), 1, "nothing is known of writes: {text}");
    for stop in &mut study.findings.summary.stops {
        stop.bottleneck.fastest.as_mut().unwrap().cell.cache = Cache::Both;
    }
    let text = first_screen(&study);
    let words = "reads the page cache, not the device: direct, in huge pages (--iomem huge) 2,400 MB/s instead";
    assert!(text.contains(words), "the device gives more to others: {text}");
    for stop in &mut study.findings.summary.stops {
        stop.bottleneck.fastest.as_mut().unwrap().mbps = 2300.0;
    }
    let text = first_screen(&study);
    let words = "more threads than 1 add nothing; direct, in huge pages (--iomem huge) 2,400 MB/s instead";
    assert!(text.contains(words), "buffers of direct requests are not what stops buffered ones: {text}");
}
