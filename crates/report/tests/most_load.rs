//! Checks that the most load under a latency stands on the first screen of terminal, page and JSON where it was asked for.

use halfpower_analyse::Interval;
use halfpower_experiments::load::{BesideWrites, LoadAnswer, LoadPoint, LoadRow, LoadVerdict, MostLoad, RateVerdict};
use halfpower_experiments::{ExperimentAnswer, ExperimentSection, NOT_RUN_YET, StudyFindings};
use halfpower_report::{Now, Style, html, json, live_frame, terminal};
use halfpower_spec::{Decides, Experiment, LatencyBound, Nanos, Percentile, Rw};
use serde_json::Value;

use crate::screens::quiet_study;

const BOUND: LatencyBound = LatencyBound { percentile: Percentile::P99, most: Nanos(1_000_000) };

fn most(bs_bytes: u64, verdict: LoadVerdict) -> MostLoad {
    let beside = |write_percent: u8, ns: f64| BesideWrites {
        write_percent,
        iops: 20_600,
        latency_ns: Interval::exact(ns),
        keeps_up: true,
    };
    let is_knee = verdict == LoadVerdict::Knee;
    MostLoad {
        rw: Rw::Randread,
        bs_bytes,
        verdict,
        unknown: None,
        iops: is_knee.then_some(Interval { value: 41_200.0, low: 39_500.0, high: 42_800.0 }),
        decided: is_knee,
        takes_iops: 50_000.0,
        at: Some(LoadPoint { iops: 20_600, latency_ns: Interval::exact(400_000.0) }),
        beside_writes: if is_knee { vec![beside(0, 4e5), beside(10, 6e5)] } else { Vec::new() },
        began_faster: false,
    }
}

fn row(asked_iops: u64, latency_ns: f64, write_percent: u8, keeps_up: bool) -> LoadRow {
    LoadRow {
        rw: Rw::Randread,
        bs_bytes: 4096,
        write_percent,
        asked_iops,
        iops: asked_iops as f64,
        latency_ns: Interval::exact(latency_ns),
        latency_ns_p50: 90_000,
        latency_ns_p99: latency_ns as u64,
        latency_ns_p999: 2 * latency_ns as u64,
        keeps_up,
        verdict: RateVerdict::Undecided,
        runs: 3,
    }
}

/// The study with a section on the most load; with notes alone if nothing was measured.
fn asked(found: Vec<MostLoad>, notes: &[&str]) -> StudyFindings {
    let (mut study, _) = quiet_study();
    let answer = ExperimentAnswer::Load(LoadAnswer { bound: BOUND, found });
    let ran = notes.is_empty();
    study.experiments.push(ExperimentSection {
        experiment: Experiment::Load,
        asks: "How many?".into(),
        ran,
        found: ran.then_some(answer),
        answer: "The answer of its section.".into(),
        short: None,
        details: Vec::new(),
        pictures: Vec::new(),
        notes: notes.iter().map(ToString::to_string).collect(),
        papers: String::new(),
    });
    study.rows.load.load = vec![
        row(20_600, 4e5, 0, true),
        row(39_500, 9e5, 0, true),
        row(42_800, 1.2e6, 0, true),
        row(60_000, 9e7, 0, false),
        row(20_600, 6e5, 10, true),
    ];
    study.latency_bound = Some(BOUND);
    study
}

fn knee() -> StudyFindings {
    asked(vec![most(4096, LoadVerdict::Knee), most(65_536, LoadVerdict::NeverBelow)], &[])
}

fn screen(study: &StudyFindings, width: usize) -> String {
    let mut out = Vec::new();
    terminal(study, None, &Style { width, colour: false }, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn the_terminal_begins_with_what_was_asked_for() {
    let text = screen(&knee(), 120);
    let expected = "MOST LOAD
  random read 4 KiB    p99 below 1.0 ms up to 41,200 a second \u{b1}4%; 400 µs at half of it
    beside writes      p99 of reads, 20,600 a second in all: 400 µs alone, 600 µs with 10% of writes
  random read 64 KiB   p99 never below 1.0 ms: 400 µs already at 20,600 a second
";
    assert!(text.contains(expected), "{text}");
    assert!(text.find("MOST LOAD") < text.find("HOW FAST") && !text.contains("The answer of its section"), "{text}");
    let narrow = screen(&knee(), 60);
    assert!(narrow.contains("  random read 4 KiB: p99 below 1.0 ms up to 41,200 a second"), "{narrow}");
    assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
    assert!(!screen(&quiet_study().0, 80).contains("MOST LOAD"));
}

#[test]
fn what_could_not_be_measured_has_its_reason_and_while_it_measures_it_is_not_known_yet() {
    let text = screen(&asked(Vec::new(), &["Blocks of 1,000 B are no multiple of 512 B."]), 80);
    assert!(text.contains("  p99 below 1.0 ms   not known: Blocks of 1,000 B are no multiple"), "{text}");
    let later = asked(Vec::new(), &[NOT_RUN_YET]);
    assert!(screen(&later, 80).contains("not known: The time ended before it"));
    let now = Now { share: 0.3, counts: "30%", current: "now", best: "", decides: Decides::Leaders, has_key: false };
    let frame = live_frame(Some(&later), &now, &Style { width: 80, colour: false }, 60).join("\n");
    assert!(frame.contains("  p99 below 1.0 ms   not known yet") && !frame.contains("time ended"), "{frame}");
}

#[test]
fn json_has_its_figures_and_lines_only_where_it_was_asked_for() {
    let of = |study: &StudyFindings| -> Value {
        let mut out = Vec::new();
        json(study, &mut out).unwrap();
        serde_json::from_slice(&out).unwrap()
    };
    let value = &of(&knee())["most_load"];
    assert_eq!((&value["found"][0]["verdict"], &value["bound"]["percentile"]), (&"knee".into(), &"p99".into()));
    assert_eq!(
        value["text"][0],
        "random read 4 KiB: p99 below 1.0 ms up to 41,200 a second \u{b1}4%; 400 µs at half of it"
    );
    assert!(of(&quiet_study().0).get("most_load").is_none());
    let unknown = of(&asked(Vec::new(), &["Blocks are too odd."]));
    assert_eq!(unknown["most_load"]["text"][0], "p99 below 1.0 ms: not known: Blocks are too odd.");
}

#[test]
fn the_page_tells_it_first_and_its_curve_is_the_first_chart() {
    let written = |study: &StudyFindings| {
        let mut out = Vec::new();
        html(study, &[], "halfpower study", &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let page = written(&knee());
    let line = page.find("p99 below 1.0 ms up to 41,200 a second \u{b1}4%").unwrap();
    assert!(line < page.find("class=\"tiles rates\"").unwrap(), "the line stands above the tiles");
    assert!(page.contains("name=\"way\" id=\"way-load-randread-4096\" checked"), "its curve is shown first");
    let from = page.find("class=\"panel panel-load-randread-4096\"").unwrap();
    let panel = &page[from..page.find("class=\"panel panel-knee-read\"").unwrap()];
    assert_eq!(panel.matches("<i class=\"mark").count(), 3, "a mark for each rate that the target keeps up with");
    assert!(panel.contains("p99 below 1.0 ms") && panel.contains("up to 41,200 a second"), "{panel}");
    assert!(panel.contains("class=\"ribbon\"") && panel.contains("42,800 a second: p99 1.2 ms"), "{panel}");
    let alone = StudyFindings { walked: false, ..knee() };
    let page = written(&alone);
    let first = &page[..page.find("<div class=\"below\">").unwrap()];
    assert!(first.contains("id=\"way-load-randread-4096\" checked") && first.contains("41,200 a second"), "alone too");
    assert!(!first.contains("The answer of its section"), "it is told once");
    assert!(!written(&quiet_study().0).contains("way-load"));
}
