//! Checks that the charts are drawn: opens pages in chromium and compares the number of marks with the cells.

use crate::sample_report::sample;
use halfpower_analyse::{CellFinding, Curve, Findings, Interval, StudyState, Summary};
use halfpower_experiments::{Axis, ExperimentSection, Line, Picture, PictureKind, Point, StudyFindings};
use halfpower_record::{Machine, Record};
use halfpower_spec::Experiment;
use serde_json::Value;

use crate::chromium::Chromium;

/// Script at the end of the page: waits until the charts are drawn, counts marks, and posts the result to the frame.
const PROBE: &str = r#"<script>
const wait = setInterval(async () => {
  const root = document.documentElement;
  if (root.dataset.ready !== 'yes') return;
  clearInterval(wait);
  addEventListener('unhandledrejection', (event) => parent.postMessage(JSON.stringify({ broken: String(event.reason) }), '*'));
  const settled = () => new Promise((resume) => setTimeout(resume, 300));
  document.querySelectorAll('details.fold').forEach((fold) => { fold.open = true; });
  const charts = document.querySelectorAll('.chart').length;
  while (Number(root.dataset.charts) < charts && root.dataset.errors === '0') await settled();
  await settled();
  const count = (figure, what) => figure.querySelectorAll(what).length;
  const overlaps = (texts) => {
    const boxes = texts.filter((text) => text.textContent).map((text) => text.getBoundingClientRect());
    boxes.sort((one, other) => one.left - other.left);
    return boxes.filter((box, i) => i > 0 && box.left < boxes[i - 1].right).length;
  };
  const figures = [...document.querySelectorAll('.chart')].map((figure) => {
    const plot = figure.querySelector('.plot');
    const { data, layout } = Stage.view(plot).chart;
    const squares = [...figure.querySelectorAll('.map path')].map((path) => path.getAttribute('d').split('M').length - 1);
    return {
      chart: figure.dataset.chart, path: figure.dataset.path, points: count(figure, '.marks path'),
      named: layout.shapes.map((shape) => shape.name ?? ''),
      segments: layout.shapes.map((shape) => [shape.name ?? '', (shape.path ?? '').split('M').length - 1]),
      texts: count(figure, '.words text'), fills: count(figure, '.fills path'), shapes: count(figure, '.shapes path'),
      names: data.map((trace) => trace.name ?? ''),
      filled: squares.reduce((sum, some) => sum + some, 0),
      overlaps: overlaps([...figure.querySelectorAll('.xtick text')]),
      ticks: [...figure.querySelectorAll('.xtick text')].map((text) => text.textContent),
      too_wide: plot.querySelector('svg').getBoundingClientRect().right - figure.getBoundingClientRect().right,
    };
  });
  const first = document.querySelector('.chart .plot');
  const figure = first?.closest('figure');
  const said = {};
  if (first?.querySelector('.marks path')) {
    // Simulates a pointer: over the first mark of the first line, then pressed and released.
    first.scrollIntoView({ behavior: 'instant' });
    const place = first.querySelector('.marks path').getBoundingClientRect();
    const ground = first.querySelector('.ground-of-chart');
    const send = (name, x, y) => ground.dispatchEvent(new PointerEvent(name,
      { clientX: x, clientY: y, bubbles: true, view: window, pointerType: 'mouse' }));
    const middle = [place.x + place.width / 2, place.y + place.height / 2];
    send('pointermove', ...middle);
    said.hover = first.querySelector('.tip').textContent;
    ['pointerdown', 'pointerup', 'click'].forEach((name) => send(name, ...middle));
    said.pinned = [...figure.querySelectorAll('.pin')].map((pin) => pin.textContent);
    said.pinned_runs = figure.querySelectorAll('.pin tbody tr').length;
    figure.querySelector('.pin button')?.click();
    said.left_pinned = figure.querySelectorAll('.pin').length;
    const key = (name) => first.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true, cancelable: true }));
    ['ArrowRight', 'ArrowRight', 'Enter'].forEach(key);
    await settled();
    said.walked = figure.querySelector('.said').textContent;
    said.pinned_by_key = [...figure.querySelectorAll('.pin')].map((pin) => pin.textContent);
    const range = () => Stage.ranges(first).x.map((end) => Number(end.toFixed(6)));
    const whole = range();
    key('+');
    await settled();
    const near = range();
    key('0');
    await settled();
    said.zoom = { whole, near, again: range() };
    const { left, top } = ground.getBoundingClientRect();
    send('pointerdown', left + 150, top + 100);
    send('pointermove', left + 250, top + 110);
    send('pointerup', left + 300, top + 110);
    send('click', left + 300, top + 110);
    said.zoom.dragged = range();
    said.zoom.still_pinned = figure.querySelectorAll('.pin').length;
    send('dblclick', left + 300, top + 110);
    said.zoom.clicked_twice = range();
    const entry = () => document.querySelector('[data-chart="latency"] .legend button');
    const drawn = () => count(entry().closest('figure'), '.marks path');
    if (entry()) {
      const all = drawn();
      entry().click();
      said.legend = { all, without: drawn(), pressed: entry().getAttribute('aria-pressed') };
      entry().click();
      said.legend.again = drawn();
    }
    dispatchEvent(new Event('beforeprint'));
    await settled();
    said.print = { width: first.querySelector('svg').clientWidth, ink: Stage.view(first).chart.layout.look.ink };
    dispatchEvent(new Event('afterprint'));
    await settled();
    said.after_print = first.querySelector('svg').clientWidth - first.clientWidth;
  }
  const cells = document.getElementById('cells');
  if (cells) cells.open = true;
  await settled();
  const saved = [];
  URL.createObjectURL = (blob) => { saved.push(blob); return '#'; };
  document.querySelectorAll('[data-csv]').forEach((button) => button.click());
  const csv = await Promise.all(saved.map((blob) => blob.text()));
  const chosen = () => Stage.view(first).chart.data.filter((trace) => trace.meta?.chosen && trace.tells).map((trace) => trace.name);
  if (first) said.chosen = [chosen()];
  document.querySelector('.depths button')?.click();
  await settled();
  if (first) said.chosen.push(chosen());
  parent.postMessage(JSON.stringify({
    errors: Number(root.dataset.errors), error: root.dataset.error ?? '', charts: Number(root.dataset.charts),
    figures, said, csv,
    rows: document.querySelectorAll('#cells tbody tr').length, overflow: root.scrollWidth - root.clientWidth,
    width: innerWidth, ground: getComputedStyle(document.body).backgroundColor,
  }), '*');
}, 50);
</script>"#;

/// Runs axe-core on the page with a point pinned and a table open, and posts serious and critical violations.
const AXE_PROBE: &str = r#"<script>
const wait = setInterval(async () => {
  if (document.documentElement.dataset.ready !== 'yes') return;
  clearInterval(wait);
  const plot = document.querySelector('.chart .plot');
  for (const name of ['ArrowRight', 'Enter']) {
    plot.dispatchEvent(new KeyboardEvent('keydown', { key: name, bubbles: true, cancelable: true }));
  }
  document.querySelectorAll('details').forEach((details, i) => { details.open = i % 3 === 0; });
  await new Promise((resume) => setTimeout(resume, 300));
  const found = await axe.run(document, { resultTypes: ['violations', 'passes'] });
  const violations = found.violations.filter((one) => ['serious', 'critical'].includes(one.impact))
    .map((one) => ({ id: one.id, help: one.help, nodes: one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 300)} ${node.failureSummary}`) }));
  parent.postMessage(JSON.stringify({ violations, passes: found.passes.length }), '*');
}, 50);
</script>"#;

fn page(findings: &Findings, records: &[Record]) -> String {
    study_page(&findings.clone().into(), records)
}

fn study_page(findings: &StudyFindings, records: &[Record]) -> String {
    let mut out = Vec::new();
    halfpower_report::html(findings, records, "halfpower study", &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Opens `page` in a frame of `width` pixels and returns what the probe counted.
fn look(chromium: &Chromium, page: &str, width: u32, dark: bool) -> Value {
    let probed = page.replace("</body>", &format!("{PROBE}</body>"));
    assert_ne!(probed, page, "the probe found its place");
    let reported = chromium.open(&probed, width, dark);
    assert!(reported.console.is_empty(), "{:?}", reported.console);
    assert!(reported.unexpected.is_empty(), "the page asked for {:?}", reported.unexpected);
    let reported: Value = serde_json::from_str(&reported.message).unwrap();
    assert!(reported["broken"].is_null(), "{reported}");
    reported
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

fn key(cell: &CellFinding) -> String {
    format!("{} {} {}", cell.pattern, cell.cache, cell.rw)
}

fn curve_key(curve: &Curve) -> String {
    format!("{} {} {}", curve.pattern, curve.cache, curve.rw)
}

/// Checks the marks of a chart of throughput.
fn throughput_matches(figure: &Value, findings: &Findings, cells: &[&CellFinding]) {
    let path = figure["path"].as_str().unwrap();
    let said = |name: &str| figure[name].as_u64().unwrap() as usize;
    let curves: Vec<&Curve> = findings.curves.iter().filter(|curve| curve_key(curve) == path).collect();
    let rings = said("points") - cells.len();
    assert!(rings <= 1, "{path}: a mark for each cell, and a ring on the chosen line alone");
    assert_eq!(said("fills"), 1, "{path}: a ribbon on the chosen line alone");
    let has_rule = curves.iter().any(|curve| curve.rap_over_pap.is_some());
    assert_eq!(named(figure, "PAP"), usize::from(has_rule), "{path}: a rule where a peak bounds it");
    assert!(figure["ticks"].as_array().unwrap().iter().any(|tick| tick == "4 KiB"), "{figure}");
}

/// Compares the marks of one figure with the cells that it must show.
fn marks_match(figure: &Value, findings: &Findings) {
    let path = figure["path"].as_str().unwrap();
    let cells: Vec<&CellFinding> = findings.cells.iter().filter(|cell| key(cell) == path).collect();
    let said = |name: &str| figure[name].as_u64().unwrap() as usize;
    match figure["chart"].as_str().unwrap() {
        "throughput" => throughput_matches(figure, findings, &cells),
        "heat" => {
            assert_eq!((said("filled"), said("texts")), (cells.len(), cells.len()), "{path}");
            let advised = findings.advice.iter().filter(|advice| {
                let settings = &advice.settings;
                path == format!("{} {} {}", advice.pattern, settings.cache, advice.rw)
            });
            assert_eq!(named(figure, "advised"), advised.count(), "{path}: a box for each advice");
            let unsteady = cells.iter().filter(|cell| !cell.steady).count();
            assert_eq!(named(figure, "not steady"), unsteady, "{path}: what is not steady is hatched");
            for (name, level) in [("contour 50", 0.5), ("contour 95", 0.95)] {
                assert_eq!(segments(figure, name), crossings(&cells, level), "{path}: {name}");
            }
            assert_eq!(said("shapes"), figure["named"].as_array().unwrap().len(), "{path}: every shape is drawn");
        }
        "latency" => {
            let names = figure["names"].as_array().unwrap();
            let traced = |cell: &&&CellFinding| {
                let size =
                    halfpower_spec::Bytes(cell.bs_bytes).to_string().replace("KiB", " KiB").replace("MiB", " MiB");
                names.iter().any(|name| name == size.as_str())
            };
            let knees = names.iter().filter(|name| *name == "knee").count();
            let expected = 2 * cells.iter().filter(traced).count() + knees;
            assert!(expected > 0 && said("points") == expected, "{path}: {figure}");
            assert!(knees >= 1, "{path}: lines through three depths have a knee");
        }
        "cost" => {
            let soaked = cells.iter().filter(|cell| cell.soaker_us.is_some()).count();
            assert_eq!(said("points"), cells.len() + soaked, "{path}");
            assert_eq!(said("fills"), 1, "{path}: the band between the bounds");
        }
        "percentiles" => {
            let rows = findings.summary.how_fast.iter().filter(|row| row.cell.rw.word() == path).count();
            assert_eq!(figure["names"].as_array().unwrap().len(), rows, "{path}: a curve for each row of the answer");
        }
        "gigabyte" => {
            assert_eq!(said("points"), findings.cells.len(), "a mark for each cell of every path");
        }
        "series" => {
            let cell = &findings.cells[path.parse::<usize>().unwrap()];
            assert!(!cell.steady);
            assert_eq!(said("points"), cell.series_mbps.len(), "a mark for each step");
            assert_eq!(named(figure, "trimmed"), usize::from(cell.trimmed_share > 0.0));
            assert_eq!(named(figure, "burst"), usize::from(cell.burst_mbps.is_some()));
        }
        other => panic!("no such chart: {other}"),
    }
}

/// Number of a chart's shapes with this name.
fn named(figure: &Value, name: &str) -> usize {
    figure["named"].as_array().unwrap().iter().filter(|other| *other == name).count()
}

/// Number of strokes of the shape with this name.
fn segments(figure: &Value, name: &str) -> u64 {
    let all = figure["segments"].as_array().unwrap().iter();
    all.filter(|shape| shape[0] == name).map(|shape| shape[1].as_u64().unwrap()).sum()
}

/// Pairs of neighbours along the map's rows and columns, with nothing unmeasured between them, of which exactly one reaches
/// `level` of the best. The sample has every doubling of block size and depth somewhere.
fn crossings(cells: &[&CellFinding], level: f64) -> u64 {
    let best = cells.iter().map(|cell| cell.mbps.value).fold(0.0, f64::max);
    let mut by_row: Vec<(u32, u64, bool)> =
        cells.iter().map(|c| (c.iodepth, c.bs_bytes, c.mbps.value / best >= level)).collect();
    by_row.sort_unstable();
    let mut by_column: Vec<(u64, u32, bool)> = by_row.iter().map(|(depth, bs, above)| (*bs, *depth, *above)).collect();
    by_column.sort_unstable();
    let side_by_side = |one: u64, other: u64| other == 2 * one;
    let rows = by_row
        .windows(2)
        .filter(|pair| pair[0].0 == pair[1].0 && side_by_side(pair[0].1, pair[1].1) && pair[0].2 != pair[1].2);
    let columns = by_column.windows(2).filter(|pair| {
        pair[0].0 == pair[1].0 && side_by_side(pair[0].1.into(), pair[1].1.into()) && pair[0].2 != pair[1].2
    });
    (rows.count() + columns.count()) as u64
}

#[test]
#[ignore = "gate: a browser draws the page"]
fn every_chart_draws_its_marks_at_any_width() {
    let Some(chromium) = Chromium::find() else { return };
    let (findings, records) = sample();
    let page = page(&findings, &records);
    for (width, dark) in [(1400, false), (390, true)] {
        let reported = look(&chromium, &page, width, dark);
        assert_eq!((&reported["errors"], reported["error"].as_str()), (&Value::from(0), Some("")));
        assert_eq!(reported["width"], width);
        assert_eq!(reported["overflow"], 0, "the page scrolls sideways at {width} pixels");
        let figures = reported["figures"].as_array().unwrap();
        let unsteady = findings.cells.iter().filter(|cell| !cell.steady).count();
        assert!(unsteady > 0);
        assert_eq!(figures.len(), 4 * 6 + 3 + unsteady, "four kinds for each of six paths, three for all, one a flag");
        assert_eq!(reported["charts"], figures.len());
        for figure in figures {
            marks_match(figure, &findings);
            assert!(figure["too_wide"].as_f64().unwrap() <= 0.0, "{figure} at {width}");
            assert_eq!(figure["overlaps"], 0, "words along the axis: {figure} at {width}");
        }
        let ground = if dark { "rgb(20, 24, 27)" } else { "rgb(251, 251, 249)" };
        assert_eq!(reported["ground"], ground);
    }
}

/// A picture over time: many points close together, then two at the ends of the last phase.
fn over_time() -> Picture {
    let point = |ms: f64| Point::at(ms, format!("{ms:.1} ms"), Interval::exact(3_000.0 + ms));
    let line = |name: &str, points: Vec<Point>| Line { name: name.into(), points };
    let taken = (0..12).map(|step| point(5.4 + 10.4 * f64::from(step))).collect();
    let flushed = vec![point(120.0), point(376.0)];
    let lines = vec![line("the cache takes it", taken), line("the closing flush", flushed)];
    let x = Axis::even("Time since the first request");
    let y = Axis::even("Taken from the application, MB/s");
    Picture { title: "A buffered write over time".into(), kind: PictureKind::Lines, x, y, lines }
}

#[test]
#[ignore = "gate: a browser draws the page"]
fn the_words_along_a_picture_do_not_overlap() {
    let Some(chromium) = Chromium::find() else { return };
    let experiment = Experiment::Buffered;
    let ran = true;
    let [asks, answer, papers] = ["What?", "That.", "Nothing."].map(String::from);
    let pictures = vec![over_time()];
    let section = ExperimentSection {
        experiment,
        asks,
        ran,
        found: None,
        answer,
        short: None,
        details: Vec::new(),
        pictures,
        notes: Vec::new(),
        papers,
    };
    let findings = StudyFindings { experiments: vec![section], ..sample().0.into() };
    for width in [1400, 390] {
        let reported = look(&chromium, &study_page(&findings, &[]), width, false);
        let figure =
            reported["figures"].as_array().unwrap().iter().find(|figure| figure["chart"] == "picture").unwrap();
        assert_eq!(
            (&figure["points"], &figure["overlaps"]),
            (&Value::from(14), &Value::from(0)),
            "{figure} at {width}"
        );
        let ticks = figure["ticks"].as_array().unwrap();
        assert!(ticks.len() > 1 && ticks[0] == "5.4 ms", "{figure}");
    }
}

#[test]
#[ignore = "gate: a browser draws the page"]
fn hover_table_files_and_depths_show_the_right_cells() {
    let Some(chromium) = Chromium::find() else { return };
    let (findings, records) = sample();
    let reported = look(&chromium, &page(&findings, &records), 1400, false);
    let said = &reported["said"];
    let first = findings.cells.iter().find(|c| key(c) == "sequential device read" && c.iodepth == 1).unwrap();
    let is_of_first = |text: &Value| {
        let text = text.as_str().unwrap();
        assert!(text.contains("4 KiB, depth 1 ") && text.contains(&format!("{:.1} MB/s", first.mbps.value)), "{text}");
    };
    is_of_first(&said["hover"]);
    assert_eq!(said["pinned"].as_array().unwrap().len(), 1, "a click pins: {said}");
    is_of_first(&said["pinned"][0]);
    assert_eq!(said["pinned_runs"], 3, "its runs stand below it");
    assert_eq!(said["left_pinned"], 0, "its button takes it away");
    assert_eq!(reported["rows"], findings.cells.len());
    let lines = |file: usize| reported["csv"][file].as_str().unwrap().lines().count();
    assert_eq!((lines(0), lines(1)), (findings.cells.len() + 1, records.len() + 1));
    let chosen = &said["chosen"];
    assert!(chosen[0].as_array().unwrap().len() == 1 && chosen[0][0] != "depth 1", "{chosen}");
    assert_eq!(chosen[1], serde_json::json!(["depth 1"]), "the reader's depth has the ribbon");
}

#[test]
#[ignore = "gate: a browser draws the page"]
fn the_keyboard_walks_pins_and_zooms() {
    let Some(chromium) = Chromium::find() else { return };
    let (findings, records) = sample();
    let said = &look(&chromium, &page(&findings, &records), 1400, false)["said"];
    assert!(said["walked"].as_str().unwrap().starts_with("8 KiB, depth 1 "), "{said}");
    let pinned = said["pinned_by_key"].as_array().unwrap();
    assert!(pinned.len() == 1 && pinned[0].as_str().unwrap().contains("8 KiB, depth 1 "), "{said}");
    let ends = |name: &str| said["zoom"][name].as_array().unwrap().iter().map(|e| e.as_f64().unwrap()).collect();
    let (whole, near): (Vec<f64>, Vec<f64>) = (ends("whole"), ends("near"));
    assert!(near[0] > whole[0] && near[1] < whole[1], "{said}");
    assert_eq!(said["zoom"]["again"], said["zoom"]["whole"]);
    let dragged: Vec<f64> = ends("dragged");
    assert!(dragged[0] > whole[0] && dragged[1] < whole[1], "{said}");
    assert_eq!(said["zoom"]["still_pinned"], 1, "a drag pins nothing");
    assert_eq!(said["zoom"]["clicked_twice"], said["zoom"]["whole"]);
}

#[test]
#[ignore = "gate: a browser draws the page"]
fn the_legend_takes_a_line_away_and_brings_it_back() {
    let Some(chromium) = Chromium::find() else { return };
    let (findings, records) = sample();
    let legend = &look(&chromium, &page(&findings, &records), 1400, false)["said"]["legend"];
    assert!(legend["without"].as_u64() < legend["all"].as_u64() && legend["pressed"] == "false", "{legend}");
    assert_eq!(legend["again"], legend["all"]);
}

#[test]
#[ignore = "gate: a browser draws the page"]
fn print_is_light_and_two_charts_wide_whatever_the_window_was() {
    let Some(chromium) = Chromium::find() else { return };
    let (findings, records) = sample();
    let said = &look(&chromium, &page(&findings, &records), 1400, true)["said"];
    assert_eq!((&said["print"]["width"], &said["print"]["ink"]), (&Value::from(300), &Value::from("#1a1f24")));
    assert_eq!(said["after_print"], 0, "and the window is as it was");
}

#[test]
#[ignore = "gate: a browser draws the page"]
fn axe_finds_nothing_serious() {
    let Some(chromium) = Chromium::find() else { return };
    let Some(axe) = std::env::var_os("HALFPOWER_AXE") else {
        assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "HALFPOWER_AXE does not name axe-core's axe.min.js");
        eprintln!("skipped: axe-core did not look at the page, HALFPOWER_AXE does not name its axe.min.js");
        return;
    };
    let axe = std::fs::read_to_string(axe).unwrap();
    let (findings, records) = sample();
    let page = page(&findings, &records);
    for (width, dark) in [(1400, false), (390, true)] {
        let probed = page.replace("</body>", &format!("<script>{axe}</script>{AXE_PROBE}</body>"));
        let reported = chromium.open(&probed, width, dark);
        let answer: Value = serde_json::from_str(&reported.message).unwrap();
        assert!(answer["passes"].as_u64().unwrap() > 10, "{answer}");
        let serious = answer["violations"].as_array().unwrap();
        assert!(serious.is_empty(), "at {width} pixels: {serious:#?}");
    }
}

#[test]
#[ignore = "gate: a browser draws the page"]
fn a_page_of_nothing_and_of_one_idle_cell_has_no_error() {
    let Some(chromium) = Chromium::find() else { return };
    let reported = look(&chromium, &page(&nothing(), &[]), 1400, false);
    assert_eq!((&reported["errors"], &reported["charts"]), (&Value::from(0), &Value::from(0)), "{reported}");
    let mut idle = sample().0.cells.remove(0);
    idle.mbps = halfpower_analyse::Interval { value: 0.0, low: 0.0, high: 0.0 };
    idle.charged_us = Some(0.0);
    let findings = Findings { cells: vec![idle], ..nothing() };
    let reported = look(&chromium, &page(&findings, &[]), 390, false);
    assert_eq!((&reported["errors"], &reported["charts"]), (&Value::from(0), &Value::from(1)), "{reported}");
}
