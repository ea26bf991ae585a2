//! Are the charts drawn? Pages are opened in chromium, and the marks are counted against the cells.

mod chromium;
#[path = "../examples/sample_report.rs"]
mod sample_report;

use analyse::{CellFinding, Findings};
use record::{Machine, Record};
use sample_report::sample;
use serde_json::Value;

use chromium::Chromium;

/// Stands at the end of the page: waits until it is drawn, counts, and tells the page around it.
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
      chart: figure.dataset.chart, path: figure.dataset.path, points: count(figure, '.scatterlayer .points path'),
      bars: count(figure, '.errorbar path.yerror'), texts: count(figure, '.scatterlayer .text text'),
      fills: [...figure.querySelectorAll('.fills path')].filter((path) => path.getAttribute('d').length > 20).length,
      images: count(figure, '.heatmaplayer image'), shapes: count(figure, '.shapelayer path'),
      names: plot.data.map((trace) => trace.name ?? ''),
      filled: (plot.data[0].z ?? []).flat().filter((z) => z !== null).length,
      ticks: [...figure.querySelectorAll('.xtick text')].map((text) => text.textContent),
      too_wide: plot.querySelector('svg').getBoundingClientRect().right - figure.getBoundingClientRect().right,
    };
  });
  const first = document.querySelector('.chart .plot');
  let hover = '';
  if (first) {
    Plotly.Fx.hover(first, [{ curveNumber: 1, pointNumber: 0 }]);
    await settled();
    hover = first.querySelector('.hoverlayer')?.textContent ?? '';
  }
  const cells = document.getElementById('cells');
  if (cells) cells.open = true;
  await settled();
  const saved = [];
  URL.createObjectURL = (blob) => { saved.push(blob); return '#'; };
  document.querySelectorAll('[data-csv]').forEach((button) => button.click());
  const csv = await Promise.all(saved.map((blob) => blob.text()));
  document.querySelector('.depths button')?.click();
  await settled();
  parent.postMessage(JSON.stringify({
    errors: Number(root.dataset.errors), error: root.dataset.error ?? '', charts: Number(root.dataset.charts),
    figures, hover, csv,
    rows: document.querySelectorAll('#cells tbody tr').length, overflow: root.scrollWidth - root.clientWidth,
    width: innerWidth, ground: getComputedStyle(document.body).backgroundColor,
    without_a_depth: first ? first.querySelectorAll('.scatterlayer .points path').length : 0,
  }), '*');
}, 50);
</script>"#;

fn page(findings: &Findings, records: &[Record]) -> String {
    let mut out = Vec::new();
    report::html(findings, records, "halfpower study", &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Opens `page` in a frame of `width` pixels and gives what the probe counted.
fn look(chromium: &Chromium, page: &str, width: u32, dark: bool) -> Value {
    let probed = page.replace("</body>", &format!("{PROBE}</body>"));
    assert_ne!(probed, page, "the probe found its place");
    let told = chromium.open(&probed, width, dark);
    assert!(told.console.is_empty(), "{:?}", told.console);
    assert!(told.unexpected.is_empty(), "the page asked for {:?}", told.unexpected);
    serde_json::from_str(&told.message).unwrap()
}

/// Findings of a study that has not begun.
fn nothing() -> Findings {
    let (findings, _) = sample();
    Findings {
        machine: Machine::default(),
        filesystem: None,
        device: None,
        started_unix_ms: 0,
        runs: 0,
        seconds: 0.0,
        verdict: Vec::new(),
        levels: Vec::new(),
        curves: Vec::new(),
        limits: Vec::new(),
        cost: Vec::new(),
        advice: Vec::new(),
        warnings: Vec::new(),
        cells: Vec::new(),
        harness_ns_per_io: 0.0,
        ..findings
    }
}

fn key(cell: &CellFinding) -> String {
    format!("{} {} {}", cell.pattern, cell.cache, cell.rw)
}

/// The marks of one figure against the cells that it is to show.
fn marks_match(figure: &Value, findings: &Findings) {
    let path = figure["path"].as_str().unwrap();
    let cells: Vec<&CellFinding> = findings.cells.iter().filter(|cell| key(cell) == path).collect();
    let said = |name: &str| figure[name].as_u64().unwrap() as usize;
    let bracketed = findings.curves.iter().filter(|curve| curve.half_power_bracketed);
    let rings = bracketed.filter(|c| format!("{} {} {}", c.pattern, c.cache, c.rw) == path).count();
    match figure["chart"].as_str().unwrap() {
        "throughput" => {
            assert_eq!(
                said("points"),
                cells.len() + rings,
                "{path}: a mark for each cell, a ring for each bracketed half"
            );
            assert_eq!(said("bars"), cells.len(), "{path}");
            assert!(figure["ticks"].as_array().unwrap().iter().any(|tick| tick == "4 KiB"), "{figure}");
        }
        "heat" => {
            assert_eq!((said("filled"), said("texts"), said("images")), (cells.len(), cells.len(), 1), "{path}");
            let advised = findings.advice.iter().filter(|advice| {
                let settings = &advice.settings;
                path == format!("{} {} {}", advice.pattern, settings.cache, advice.rw)
            });
            assert_eq!(said("shapes"), advised.count(), "{path}: a box for each advice");
        }
        "latency" => {
            let names = figure["names"].as_array().unwrap();
            let traced = |cell: &&&CellFinding| {
                let size = spec::Bytes(cell.bs_bytes).to_string().replace("KiB", " KiB").replace("MiB", " MiB");
                names.iter().any(|name| name == size.as_str())
            };
            let expected = 2 * cells.iter().filter(traced).count();
            assert!(expected > 0 && said("points") == expected, "{path}: {figure}");
        }
        "cost" => {
            let soaked = cells.iter().filter(|cell| cell.soaker_us.is_some()).count();
            assert_eq!(said("points"), cells.len() + soaked, "{path}");
            assert_eq!(said("fills"), 1, "{path}: the band between the bounds");
        }
        other => panic!("no such chart: {other}"),
    }
}

#[test]
fn every_chart_draws_its_marks_at_any_width() {
    let Some(chromium) = Chromium::find() else { return };
    let (findings, records) = sample();
    let page = page(&findings, &records);
    for (width, dark) in [(1400, false), (390, true)] {
        let told = look(&chromium, &page, width, dark);
        assert_eq!((&told["errors"], told["error"].as_str()), (&Value::from(0), Some("")));
        assert_eq!(told["width"], width);
        assert_eq!(told["overflow"], 0, "the page scrolls sideways at {width} pixels");
        let figures = told["figures"].as_array().unwrap();
        assert_eq!(figures.len(), 4 * 6, "four kinds of chart for each of six paths");
        assert_eq!(told["charts"], figures.len());
        for figure in figures {
            marks_match(figure, &findings);
            assert!(figure["too_wide"].as_f64().unwrap() <= 0.0, "{figure} at {width}");
        }
        let ground = if dark { "rgb(20, 24, 27)" } else { "rgb(251, 251, 249)" };
        assert_eq!(told["ground"], ground);
    }
}

#[test]
fn hover_table_files_and_depths_show_the_right_cells() {
    let Some(chromium) = Chromium::find() else { return };
    let (findings, records) = sample();
    let told = look(&chromium, &page(&findings, &records), 1400, false);
    let hover = told["hover"].as_str().unwrap();
    let first = findings.cells.iter().find(|c| key(c) == "sequential device read" && c.iodepth == 1).unwrap();
    assert!(hover.contains("4 KiB, depth 1 ") && hover.contains(&format!("{:.1} MB/s", first.mbps.value)), "{hover}");
    assert_eq!(told["rows"], findings.cells.len());
    let lines = |file: usize| told["csv"][file].as_str().unwrap().lines().count();
    assert_eq!((lines(0), lines(1)), (findings.cells.len() + 1, records.len() + 1));
    let sequential = findings.cells.iter().filter(|c| key(c) == "sequential device read" && c.iodepth > 1).count();
    assert_eq!(told["without_a_depth"], sequential + 5, "depth 1 was switched off, five rings remain");
}

#[test]
fn a_page_of_nothing_and_of_one_idle_cell_has_no_error() {
    let Some(chromium) = Chromium::find() else { return };
    let told = look(&chromium, &page(&nothing(), &[]), 1400, false);
    assert_eq!((&told["errors"], &told["charts"]), (&Value::from(0), &Value::from(0)), "{told}");
    let mut idle = sample().0.cells.remove(0);
    idle.mbps = analyse::Interval { value: 0.0, low: 0.0, high: 0.0 };
    idle.charged_us = 0.0;
    let findings = Findings { cells: vec![idle], ..nothing() };
    let told = look(&chromium, &page(&findings, &[]), 390, false);
    assert_eq!((&told["errors"], &told["charts"]), (&Value::from(0), &Value::from(4)), "{told}");
}
