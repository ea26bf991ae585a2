//! Checks that the page is safe, small and self-contained, by looking at the text of rendered findings.

use crate::sample_report::sample;
use halfpower_analyse::{
    Attribution, CellSettings, Findings, Interval, LevelId, LevelSource, StudyState, Summary, Unsteady, UnsteadyReason,
    Warning,
};
use halfpower_record::{Machine, Record};
use halfpower_spec::Direction;

/// Largest page in bytes.
const MOST_BYTES: usize = 600_000;

fn page(findings: &Findings, records: &[Record]) -> String {
    let mut out = Vec::new();
    halfpower_report::html(&findings.clone().into(), records, "halfpower study '/srv/<b>'", &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The content of the script element with this id.
fn embedded<'a>(page: &'a str, id: &str) -> &'a str {
    let start = page.find(&format!("<script id=\"{id}\"")).unwrap();
    let start = start + page[start..].find('>').unwrap() + 1;
    &page[start..start + page[start..].find("</script>").unwrap()]
}

/// Findings of a study without runs.
fn nothing() -> Findings {
    let (findings, _) = sample();
    Findings {
        machine: Machine::default(),
        filesystem: None,
        device: None,
        started_unix_ms: 0,
        runs: 0,
        seconds: 0.0,
        summary: Summary { state: StudyState::Unfinished { share: 0.0 }, ..Summary::default() },
        headline: Vec::new(),
        levels: Vec::new(),
        curves: Vec::new(),
        limits: Vec::new(),
        cost: Vec::new(),
        advice: Vec::new(),
        warnings: Vec::new(),
        cells: Vec::new(),
        harness_ns_per_io: Some(0.0),
        imported: vec![],
        beside: vec![],
        ..findings
    }
}

#[test]
fn no_name_or_sentence_becomes_markup() {
    let (mut findings, records) = sample();
    let hostile = "</script><script>alert('x')</script><img src=x onerror=alert(1)>\"'&<!--";
    findings.target = format!("/srv/{hostile}");
    findings.warnings.push(Warning::Environment { note: hostile.to_string() });
    findings.levels[0].id = LevelId::named(hostile, None);
    findings.levels[0].source = LevelSource::Environment(hostile.to_string());
    findings.bottleneck.level = Some(LevelId::named(hostile, None));
    findings.machine.cpu_model = hostile.to_string();
    findings.device.as_mut().unwrap().model = Some(hostile.to_string());
    let page = page(&findings, &records);
    for raw in ["<script>alert", "<img", "<!--", "/srv/<b>"] {
        assert!(!page.contains(raw), "{raw} got through");
    }
    assert_eq!(page.matches("<script").count(), 2, "data and the page's own");
    assert!(page.contains("&lt;img src=x onerror"));
    let data: serde_json::Value = serde_json::from_str(embedded(&page, "data")).unwrap();
    assert_eq!(data["findings"]["target"], findings.target.as_str());
    assert!(!embedded(&page, "data").contains('<'));
}

#[test]
fn the_page_stays_below_its_limit() {
    let (findings, records) = sample();
    assert!(page(&findings, &records).len() < MOST_BYTES);
    let many: Vec<Record> = records.iter().cycle().take(records.len() * 20).cloned().collect();
    let page = page(&findings, &many);
    assert!(page.len() < MOST_BYTES, "{} bytes", page.len());
    let data: serde_json::Value = serde_json::from_str(embedded(&page, "data")).unwrap();
    let left_out = many.len() - data["runs"]["rows"].as_array().unwrap().len();
    assert!(left_out > 0 && page.contains(&format!("The last {left_out} runs found no room")));
}

#[test]
fn a_page_of_every_cell_there_can_be_stays_below_its_limit() {
    let (mut findings, records) = sample();
    let one = findings.cells[0].clone();
    findings.cells.clear();
    for pattern in halfpower_spec::Pattern::ALL {
        for (rw, cache) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            for (depth, power) in (0..6).flat_map(|depth| (12..=20).map(move |power| (depth, power))) {
                findings.cells.push(halfpower_analyse::CellFinding {
                    settings: CellSettings {
                        pattern: *pattern,
                        rw: halfpower_spec::Direction::ALL[rw],
                        cache: [halfpower_spec::Cache::Device, halfpower_spec::Cache::Both][cache],
                        iodepth: 1 << depth,
                        bs_bytes: 1 << power,
                        threads: 1,
                    },
                    steady: false,
                    unsteady: Some(Unsteady {
                        objection: UnsteadyReason::LevelChanged { from_mbps: 1234.0, to_mbps: 567.0, after_s: 0.15 },
                        unsteady_runs: 3,
                        runs: 3,
                    }),
                    series_mbps: (0..3000).map(|step| f64::from(step) * 0.123).collect(),
                    run_mbps: vec![1_234.567; 30],
                    run_charged_us: vec![12.345; 30],
                    ..one.clone()
                });
            }
        }
    }
    assert_eq!(findings.cells.len(), 8 * 9 * 6);
    let many: Vec<Record> = records.iter().cycle().take(20_000).cloned().collect();
    let page = page(&findings, &many);
    assert!(page.len() < MOST_BYTES, "{} bytes", page.len());
}

#[test]
fn the_embedded_data_are_the_findings_and_the_runs() {
    let (findings, records) = sample();
    let data: serde_json::Value = serde_json::from_str(embedded(&page(&findings, &records), "data")).unwrap();
    let place = |of: &serde_json::Value, name: &str| of["columns"].as_array().unwrap().iter().position(|c| c == name);
    let cells = &data["findings"]["cells"];
    let rows = cells["rows"].as_array().unwrap();
    assert_eq!(rows.len(), findings.cells.len());
    for (row, cell) in rows.iter().zip(&findings.cells) {
        let mbps = row[place(cells, "mbps value").unwrap()].as_f64().unwrap();
        assert!((mbps / cell.mbps.value - 1.0).abs() < 1e-5);
        assert_eq!(row[place(cells, "bs_bytes").unwrap()], cell.bs_bytes);
        assert_eq!(row[place(cells, "latency_ns p99").unwrap()].as_u64(), cell.latency_ns.p99);
    }
    let column = |name: &str| place(&data["runs"], name).unwrap();
    let rows = data["runs"]["rows"].as_array().unwrap();
    assert_eq!(rows.len(), records.len());
    for (row, record) in rows.iter().zip(&records) {
        assert_eq!(row[column("bytes")], record.bytes);
        assert_eq!(row[column("rw")], record.run.workload.rw.word());
    }
}

#[test]
fn nothing_in_the_page_points_outside_it() {
    let (findings, records) = sample();
    let page = page(&findings, &records);
    for attribute in ["src=\"", "href=\"", "action=\"", "url("] {
        for (place, _) in page.match_indices(attribute) {
            let end = &page[place + attribute.len()..];
            assert!(end.starts_with('#') || end.starts_with("data:"), "{attribute}{}", &end[..40]);
        }
    }
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("@import"));
    assert!(page.contains("default-src 'none'"));
}

#[test]
fn every_link_within_the_page_leads_somewhere() {
    let (findings, records) = sample();
    for page in [page(&findings, &records), page(&nothing(), &[])] {
        for (place, _) in page.match_indices("href=\"#") {
            let id = page[place + 7..].split('"').next().unwrap();
            assert!(page.contains(&format!("id=\"{id}\"")), "#{id} is not there");
        }
    }
}

#[test]
fn a_study_without_records_still_makes_a_page() {
    let page = page(&nothing(), &[]);
    assert!(page.contains("UNFINISHED 0%") && page.contains("No run is finished yet"));
    let text = page.split("<script").next().unwrap();
    assert!(!text.contains("<figure") && !text.contains("id=\"path\"") && !text.contains("NaN"));
}

#[test]
fn what_lies_far_above_the_scale_is_cut_off_and_named() {
    let (mut findings, records) = sample();
    let fastest = findings.summary.how_fast.iter().rev().find(|row| row.cell.rw == Direction::Read).unwrap().cell;
    let place = findings.cells.iter().position(|cell| {
        cell.settings.path() == fastest.path() && cell.iodepth == fastest.iodepth && cell.bs_bytes == 4096
    });
    let ground = |page: &str| {
        let from = page.find("class=\"panel panel-read\"").unwrap();
        let from = from + page[from..].find("<div class=\"ground\"").unwrap();
        page[from..from + page[from..].find("<div class=\"plane\"").unwrap()].to_string()
    };
    let before = page(&findings, &records);
    let cell = &mut findings.cells[place.unwrap()];
    cell.mbps = Interval { value: 61_661.0, low: 61_661.0, high: 61_661.0 };
    (cell.cached, cell.run_mbps) = (true, vec![61_661.0]);
    let after = page(&findings, &records);
    assert!(after.contains("above the scale: 61,661 MB/s at 4 KiB"), "it is named");
    assert!(after.contains("class=\"mark clipped open\"") && !before.contains("class=\"mark clipped"));
    assert_eq!(ground(&before), ground(&after), "and the scale stays");
}

#[test]
fn the_first_chart_is_latency_against_rate_and_names_half_power_and_the_peak() {
    let (findings, records) = sample();
    let page = page(&findings, &records);
    let first =
        &page[page.find("<figure class=\"first-chart\"").unwrap()..page.find("class=\"panel panel-read\"").unwrap()];
    assert!(
        first.contains("<input class=\"way shut\" type=\"radio\" name=\"way\" id=\"way-knee-read\" checked"),
        "{first}"
    );
    let chart = &first[first.find("class=\"panel panel-knee-read\"").unwrap()..];
    let chart = &chart[..chart.find("panel-knee-write").unwrap_or(chart.len())];
    let row = findings.summary.how_fast.iter().find(|row| row.cell.pattern == halfpower_spec::Pattern::Random).unwrap();
    let depths = findings
        .cells
        .iter()
        .filter(|cell| cell.settings.path() == row.cell.path() && cell.bs_bytes == row.cell.bs_bytes && cell.usable());
    assert_eq!(chart.matches("<i class=\"mark").count(), depths.count(), "a mark for each depth");
    assert_eq!(chart.matches("knee\" style").count(), 1, "{chart}");
    assert!(chart.contains("half power: ") && chart.contains("PAP ") && chart.contains(" deep: "), "{chart}");
}

#[test]
fn a_single_run_is_hollow_and_joins_nothing() {
    let (mut findings, records) = sample();
    let lines = |page: &str| page.matches("<polyline class=\"line line-read-1\"").count();
    let hollow = |page: &str| page.matches("<i class=\"mark open\"").count();
    let before = page(&findings, &records);
    let fastest = findings.summary.how_fast.iter().rev().find(|row| row.cell.rw == Direction::Read).unwrap().cell;
    let middle = findings
        .cells
        .iter_mut()
        .find(|cell| cell.settings.path() == fastest.path() && cell.iodepth == 1 && cell.bs_bytes == 1 << 16);
    let cell = middle.unwrap();
    (cell.runs, cell.run_mbps) = (1, vec![cell.mbps.value]);
    let after = page(&findings, &records);
    assert_eq!((lines(&before), lines(&after)), (1, 2), "the line is parted at it");
    assert!(hollow(&after) > hollow(&before));
}

#[test]
fn a_figure_that_its_interval_leaves_open_is_not_shown() {
    let (mut findings, records) = sample();
    findings.cost[0].fixed_us = Interval { value: 12.3, low: -2_840.0, high: 6_860.0 };
    let page = page(&findings, &records);
    let table = &page[page.find("<caption>What it costs the processor").unwrap()..];
    let table = &table[..table.find("</table>").unwrap()];
    assert!(table.contains("not known") && !table.contains("2,840") && !table.contains("6,860"), "{table}");
}

#[test]
fn every_section_is_folded_and_in_the_contents() {
    let (findings, records) = sample();
    let page = page(&findings, &records);
    let contents = &page[page.find("<nav class=\"contents\"").unwrap()..];
    let contents = &contents[..contents.find("</nav>").unwrap()];
    let ids: Vec<&str> =
        page.split("<section class=\"inside\" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    for wanted in
        ["throughput", "heat", "latency", "cost", "path", "advice", "trust", "tables", "measured", "raw", "words"]
    {
        assert!(ids.contains(&wanted), "{wanted} is no section: {ids:?}");
    }
    assert!(ids.iter().all(|id| contents.contains(&format!("href=\"#{id}\""))), "{contents}");
    assert!(
        !page.contains("<details class=\"fold\" open") && page.matches("<details class=\"fold").count() == ids.len()
    );
    assert_eq!(
        page.matches("<div class=\"scroll\"").count(),
        page.matches("<caption>").count(),
        "one frame for each table"
    );
}

#[test]
fn each_level_shows_both_figures_and_unknown_is_said() {
    let (findings, records) = sample();
    let page = page(&findings, &records);
    let from = page.find("<ol class=\"ladder\"").unwrap();
    let ladder = &page[from..from + page[from..].find("</ol>").unwrap()];
    assert_eq!(ladder.matches("<svg").count(), findings.levels.len());
    assert_eq!(ladder.matches("class=\"narrowest\"").count(), 1);
    let known = findings.levels.iter().filter(|level| level.pap_mbps.is_some()).count();
    assert_eq!(ladder.matches("class=\"half\"").count(), known);
    assert_eq!(ladder.matches("<span class=\"unknown\">unknown").count(), findings.levels.len() - known);
    assert!(ladder.contains("1,970 (<b>1,730</b>) MB/s"));
    let figure = &page[page.find("<ol class=\"figure-one\"").unwrap()..from];
    assert!(figure.contains("<b>PCIe link</b><span>1,970 (1,730)</span><small>the narrowest</small>"), "{figure}");
    assert!(figure.contains("<b>Media</b><span>unknown (1,730)</span>"), "{figure}");
}

#[test]
fn the_page_says_where_the_processors_time_went() {
    let (mut findings, records) = sample();
    let cell = findings.cells[0].clone();
    findings.cells[0].unseen_us = Some(3.25);
    findings.attribution = vec![Attribution {
        path: cell.path(),
        charged_cores: 0.31,
        elsewhere_cores: 0.07,
        irq_cores: 0.02,
        softirq_cores: 0.05,
        unattributed_cores: None,
        soaker_cores: None,
        cells: 4,
    }];
    let page = page(&findings, &records);
    let table = &page[page.find("Where the processors' time went").expect("no such table")..];
    let table = &table[..table.find("</table>").unwrap()];
    for wanted in ["0.31", "0.07", "0.02", "0.05", "3.25", "from 4 cells"] {
        assert!(table.contains(wanted), "{wanted} is missing in {table}");
    }
}
