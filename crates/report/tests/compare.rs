//! Checks that a comparison is shown correctly: the text line by line, and the page by the marks that chromium draws.

use crate::sample_report::sample;
use halfpower_analyse::{
    CellComparison, CellFinding, Comparison, ConditionCase, ConditionFinding, ConditionLimit, Findings, Interval,
    Quantity, StudyRecords,
};
use halfpower_record::Record;
use halfpower_report::Style;
use halfpower_spec::{Pattern, Question};
use serde_json::Value;

use crate::chromium::Chromium;

/// Script at the end of the page: waits until the charts are drawn, counts marks, and posts the result to the frame.
const PROBE: &str = r#"<script>
const wait = setInterval(async () => {
  const root = document.documentElement;
  if (root.dataset.ready !== 'yes') return;
  clearInterval(wait);
  const settled = () => new Promise((resume) => setTimeout(resume, 300));
  await settled();
  const count = (figure, what) => figure.querySelectorAll(what).length;
  const figures = [...document.querySelectorAll('.chart')].map((figure) => {
    const plot = figure.querySelector('.plot');
    return {
      chart: figure.dataset.chart, path: figure.dataset.path, points: count(figure, '.marks path'),
      texts: count(figure, '.words text'), lines: count(figure, '.lines path'), shapes: count(figure, '.shapes path'),
      filled: [...figure.querySelectorAll('.map path')].reduce((sum, path) => sum + path.getAttribute('d').split('M').length - 1, 0),
      too_wide: plot.querySelector('svg').getBoundingClientRect().right - figure.getBoundingClientRect().right,
    };
  });
  const first = document.querySelector('.chart .plot');
  Stage.show(first, 0);
  const hover = first.querySelector('.tip').textContent;
  parent.postMessage(JSON.stringify({
    errors: Number(root.dataset.errors), error: root.dataset.error ?? '', charts: Number(root.dataset.charts), figures, hover,
    depths: [...document.querySelectorAll('.depths button')].map((button) => Number(button.textContent.trim())),
    overflow: root.scrollWidth - root.clientWidth, ground: getComputedStyle(document.body).backgroundColor,
  }), '*');
}, 50);
</script>"#;

/// The sample study, and a variant with 10% less throughput, a slower processor and no small random requests.
fn studies() -> [(Findings, Vec<Record>); 2] {
    let (mut findings, records) = sample();
    findings.machine.cpu_mhz = Some(3600.0);
    let mut slower = findings.clone();
    slower.cells.retain(|cell| cell.pattern == Pattern::Sequential || cell.bs_bytes > 8192);
    slower.machine.cpu_mhz = Some(2400.0);
    for cell in &mut slower.cells {
        let Interval { value, low, high } = cell.mbps;
        cell.mbps = Interval { value: value * 0.9, low: low * 0.9, high: high * 0.9 };
        cell.run_mbps.iter_mut().for_each(|mbps| *mbps *= 0.9);
    }
    [(findings, records.clone()), (slower, records[1..].to_vec())]
}

fn compared([a, b]: &[(Findings, Vec<Record>); 2]) -> Comparison {
    let named = [("before.halfpower", a), ("after.halfpower", b)];
    compared_with_the_first(&named).remove(0)
}

/// Compares each further study with the first.
fn compared_with_the_first(studies: &[(&'static str, &(Findings, Vec<Record>))]) -> Vec<Comparison> {
    let question = Question::about("/srv/sample data");
    let study = |name: &'static str, (findings, records): &'static (Findings, Vec<Record>)| StudyRecords {
        name,
        question: Box::leak(Box::new(question.clone())),
        environment: Box::leak(Box::default()),
        findings,
        records,
    };
    let leaked =
        |one: &(Findings, Vec<Record>)| -> &'static (Findings, Vec<Record>) { Box::leak(Box::new(one.clone())) };
    let studies: Vec<StudyRecords<'_>> = studies.iter().map(|(name, one)| study(name, leaked(one))).collect();
    halfpower_analyse::compare_all(&studies[0], &studies[1..])
}

fn text(comparison: &Comparison, width: usize) -> String {
    let mut out = Vec::new();
    halfpower_report::compare_text(std::slice::from_ref(comparison), &Style { width, colour: false }, &mut out)
        .unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_comparison_fits_one_screen_and_says_the_answer_first() {
    let comparison = compared(&studies());
    let shown = text(&comparison, 110);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines.len() <= 41, "{} lines:\n{shown}", lines.len());
    assert!(lines[0].starts_with("A  before.halfpower: ") && lines[1].starts_with("B  after.halfpower: "), "{shown}");
    assert!(lines[3].starts_with("B is slower on every path: throughput -10.0%"), "{shown}");
    assert!(shown.contains("  sequential direct read") && shown.contains("kilocycles"), "{shown}");
    for width in [40, 80, 200] {
        let widest = text(&comparison, width).lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width.min(120), "{widest} characters at {width}");
    }
}

#[test]
fn a_narrow_screen_loses_columns_and_never_half_an_interval() {
    let comparison = compared(&studies());
    for width in [60, 80, 120] {
        let shown = text(&comparison, width);
        let cut: Vec<&str> = shown.lines().skip(2).filter(|line| line.ends_with("...")).collect();
        assert!(cut.is_empty(), "at {width}: {cut:#?}");
    }
}

#[test]
fn what_the_conditions_alone_find_certain_is_the_first_sentence() {
    let mut comparison = compared(&studies());
    let path = comparison.paths[0].path;
    let mut change = comparison.paths[0].throughput_mbps;
    change.certain = false;
    let case = ConditionCase {
        quantity: Quantity::Throughput,
        path,
        iodepth: None,
        bs_bytes: None,
        change,
        p: Some(0.01),
        fulfilled: true,
        holds: true,
    };
    let doubted = ConditionCase { p: Some(0.3), holds: false, ..case.clone() };
    let condition = "all throughput < -3%".to_string();
    let limit = ConditionLimit::Percent(-3.0);
    comparison.fail_if = vec![ConditionFinding { condition, limit, holds: true, tests: 4, cases: vec![case, doubted] }];
    let shown = text(&comparison, 120);
    let first = shown.lines().nth(3).unwrap();
    assert!(
        first.starts_with("Certain as the conditions ask: throughput of ") && first.contains("(-10.0%)"),
        "{shown}"
    );
    assert!(shown.contains("not certain: throughput of ") && shown.contains("; chance may do that"), "{shown}");
    assert!(shown.contains("4 figures were tested together: equal systems fulfil any condition by chance"), "{shown}");
}

#[test]
fn cycles_put_two_processors_on_one_scale() {
    let comparison = compared(&studies());
    let path = &comparison.paths[0];
    let us = path.charged_us.unwrap();
    let cycles = path.charged_kilocycles.unwrap();
    assert_eq!(comparison.a.cpu_mhz.zip(comparison.b.cpu_mhz), Some((3600.0, 2400.0)));
    assert!((cycles[0] / us.a - 3.6).abs() < 1e-9 && (cycles[1] / us.b - 2.4).abs() < 1e-9, "{cycles:?}");
}

/// The page of the sample study, an identical copy, and the slower variant.
fn page_of_three() -> (Vec<Comparison>, String) {
    let [first, slower] = studies();
    let mut comparisons = compared_with_the_first(&[("disk", &first), ("again", &first), ("old <disk>", &slower)]);
    // Simulates a study in which one doubling of the depth was not measured.
    comparisons.iter_mut().for_each(|one| one.cells.retain(|cell| cell.settings.iodepth != 4));
    let findings =
        [&first.0, &first.0, &slower.0].map(|findings| halfpower_experiments::StudyFindings::from(findings.clone()));
    let mut page = Vec::new();
    halfpower_report::compare_html(&comparisons, &findings.each_ref(), &mut page).unwrap();
    (comparisons, String::from_utf8(page).unwrap())
}

#[test]
fn a_page_of_several_studies_holds_each_against_the_baseline() {
    let (comparisons, page) = page_of_three();
    let text = page[page.find("<main>").unwrap()..page.find("<footer>").unwrap()].to_string();
    assert!(text.contains("Changes are from A, the baseline") && text.contains("<b>A: disk</b>, the baseline"));
    assert!(text.contains(">C differs from A, the baseline.</p>"), "the answer stands first");
    assert!(text.contains("C is slower on every path: throughput -10.0%") && !text.contains("old <disk>"));
    let paths = comparisons[0].paths.len();
    for kind in ["beside", "means"] {
        assert_eq!(text.matches(&format!("data-chart=\"{kind}\"")).count(), paths, "{kind}");
    }
    // Each path has one row per study; the tables of cells have all studies' figures in one row.
    let table = |caption: &str| {
        let from = text.find(&format!("<caption>{caption}</caption>")).unwrap();
        &text[from..from + text[from..].find("</table>").unwrap()]
    };
    let rows = table("Paths: mean changes over common cells, and peaks");
    assert_eq!(rows.matches("<th scope=\"row\">B again</th>").count(), paths);
    assert_eq!(rows.matches("<th scope=\"row\">C old &lt;disk&gt;</th>").count(), comparisons[1].paths.len());
    for caption in ["Throughput, MB/s", "p99 latency, µs", "Processor time a request, µs"] {
        let table = table(caption);
        assert_eq!(table.matches("<th scope=\"row\">").count(), comparisons[0].cells.len(), "{caption}");
        assert_eq!(table.matches("class=\"group\"").count(), paths, "{caption}");
    }
    let different = comparisons.iter().flat_map(|one| &one.cells).filter(|cell| cell.mbps.different).count();
    assert!(different > 0 && table("Throughput, MB/s").matches(" *</span>").count() == different);
    let unknown = comparisons[0].cells.len() - comparisons[1].cells.len();
    assert!(unknown > 0, "C lacks some cells");
    assert_eq!(table("Throughput, MB/s").matches("<td class=\"number\">\u{2013}</td>").count(), 2 * unknown);
}

fn key(pattern: impl std::fmt::Display, cache: impl std::fmt::Display, rw: impl std::fmt::Display) -> String {
    format!("{pattern} {cache} {rw}")
}

/// Compares the marks of one figure with the cells that it must show.
fn marks_match(figure: &Value, comparison: &Comparison, findings: [&Findings; 2]) {
    let path = figure["path"].as_str().unwrap();
    let said = |name: &str| figure[name].as_u64().unwrap() as usize;
    let of_cell = |cell: &&CellComparison| key(cell.settings.pattern, cell.settings.cache, cell.settings.rw) == path;
    let common: Vec<&CellComparison> = comparison.cells.iter().filter(of_cell).collect();
    let different = |of: fn(&CellComparison) -> bool| common.iter().filter(|cell| of(cell)).count();
    match figure["chart"].as_str().unwrap() {
        "overlay" => {
            let mut depths: Vec<u32> = common.iter().map(|cell| cell.settings.iodepth).collect();
            depths.sort_unstable();
            depths.dedup();
            let three = [depths[0], depths[(depths.len() - 1) / 2], depths[depths.len() - 1]];
            let own =
                |cell: &&CellFinding| key(cell.pattern, cell.cache, cell.rw) == path && three.contains(&cell.iodepth);
            let cells: usize = findings.iter().map(|study| study.cells.iter().filter(own).count()).sum();
            assert_eq!(said("points"), cells, "{path}: a mark for each cell of each study at three depths");
        }
        "change" => {
            assert_eq!((said("filled"), said("texts")), (common.len(), common.len()), "{path}");
            assert_eq!(said("shapes"), different(|cell| cell.mbps.different), "{path}: a box for each difference");
        }
        "tail" => {
            assert_eq!(said("filled"), common.len(), "{path}");
            assert_eq!(
                said("shapes"),
                different(|cell| cell.latency_ns_p99.is_some_and(|change| change.different)),
                "{path}"
            );
        }
        "costs" => assert_eq!(said("points"), 2 * common.len(), "{path}"),
        other => panic!("no such chart: {other}"),
    }
}

/// The note says that a question mark is beside what others may have caused: on the page, too.
#[test]
fn a_change_that_others_may_have_caused_has_its_mark_on_the_page() {
    let studies = studies();
    let [in_a, in_b] = [0, 1].map(|at: usize| halfpower_experiments::StudyFindings::from(studies[at].0.clone()));
    let mut comparison = compared(&studies);
    for cell in &mut comparison.cells {
        (cell.mbps.certain, cell.mbps.different, cell.mbps.others_used_the_disk) = (false, false, true);
    }
    let mut page = Vec::new();
    halfpower_report::compare_html(std::slice::from_ref(&comparison), &[&in_a, &in_b], &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(page.contains("% ?</span>"), "no mark among the common cells");
}

#[test]
#[ignore = "gate: a browser draws the page"]
fn both_studies_are_drawn_at_any_width_light_and_dark() {
    let Some(chromium) = Chromium::find() else { return };
    let studies = studies();
    let findings = [&studies[0].0, &studies[1].0];
    let comparison = compared(&studies);
    let mut page = Vec::new();
    let [in_a, in_b] = findings.map(|findings| halfpower_experiments::StudyFindings::from(findings.clone()));
    halfpower_report::compare_html(std::slice::from_ref(&comparison), &[&in_a, &in_b], &mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    assert!(page.len() < 600_000, "{} bytes", page.len());
    let probed = page.replace("</body>", &format!("{PROBE}</body>"));
    for (width, dark) in [(1400, false), (390, true)] {
        let reported = drawn(&chromium, &probed, width, dark);
        let figures = reported["figures"].as_array().unwrap();
        assert_eq!((figures.len(), &reported["charts"]), (4 * comparison.paths.len(), &Value::from(figures.len())));
        for figure in figures {
            marks_match(figure, &comparison, findings);
            assert!(figure["too_wide"].as_f64().unwrap() <= 0.0, "{figure} at {width}");
        }
        let hover = reported["hover"].as_str().unwrap();
        assert!(hover.contains("4 KiB, depth 1") && hover.contains("\u{2212}10.0%"), "{hover}");
        assert_eq!(reported["ground"], if dark { "rgb(20, 24, 27)" } else { "rgb(251, 251, 249)" });
    }
}

/// What the probe in a page reports that is drawn without an error and does not scroll sideways.
fn drawn(chromium: &Chromium, probed: &str, width: u32, dark: bool) -> Value {
    let page = chromium.open(probed, width, dark);
    assert!(page.console.is_empty() && page.unexpected.is_empty(), "{:?} {:?}", page.console, page.unexpected);
    let reported: Value = serde_json::from_str(&page.message).unwrap();
    assert_eq!((&reported["errors"], reported["error"].as_str()), (&Value::from(0), Some("")));
    assert_eq!(reported["overflow"], 0, "the page scrolls sideways at {width} pixels");
    reported
}

/// With three studies, every chart of throughput has a line per study, and each study beside the baseline has three
/// marks.
#[test]
#[ignore = "gate: a browser draws the page"]
fn several_studies_are_drawn_at_any_width_light_and_dark() {
    let Some(chromium) = Chromium::find() else { return };
    let (comparisons, page) = page_of_three();
    assert!(page.len() < 600_000, "{} bytes", page.len());
    let probed = page.replace("</body>", &format!("{PROBE}</body>"));
    for (width, dark) in [(1400, true), (390, false)] {
        let reported = drawn(&chromium, &probed, width, dark);
        let figures = reported["figures"].as_array().unwrap();
        assert_eq!((figures.len(), &reported["charts"]), (2 * comparisons[0].paths.len(), &Value::from(figures.len())));
        for figure in figures {
            let points = figure["points"].as_u64().unwrap() as usize;
            let own = |one: &&Comparison| {
                one.paths
                    .iter()
                    .any(|one| key(one.path.pattern, one.path.cache, one.path.rw) == figure["path"].as_str().unwrap())
            };
            let studies = comparisons.iter().filter(own).count();
            match figure["chart"].as_str().unwrap() {
                "means" => assert_eq!(points, 3 * studies, "{figure}"),
                _ => assert!(points >= 3 && figure["lines"] == 3, "{figure}: a line a study"),
            }
            assert!(figure["too_wide"].as_f64().unwrap() <= 0.0, "{figure} at {width}");
        }
        assert_eq!(
            reported["depths"],
            serde_json::json!([1, 2, 8, 16, 32]),
            "a button for each depth that was measured"
        );
        let hover = reported["hover"].as_str().unwrap();
        assert!(hover.contains("A disk") && hover.contains("MB/s"), "{hover}");
    }
}
