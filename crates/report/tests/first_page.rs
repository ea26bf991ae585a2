//! Checks the first screen of the page: it agrees with the terminal, fits on one screen, and its buttons work.

use halfpower_analyse::{HeadlineDoubt, Interval, ThreadLimit, ThreadScaling, ThreadStep, Warning};
use halfpower_experiments::commits::{CommitStop, CommitsAnswer};
use halfpower_experiments::{ExperimentAnswer, ExperimentSection, StudyFindings};
use halfpower_record::Record;
use halfpower_report::Style;
use halfpower_spec::Experiment;
use serde_json::Value;

use crate::chromium::Chromium;
use crate::sample_report::sample;
use crate::screens::quiet_study;

/// Height of the first screen, in pixels.
const SCREEN_PX: f64 = 900.0;
/// Height of a phone's screen, in pixels.
const PHONE_PX: f64 = 844.0;
/// Most that a rate at the end of the first chart's scale may reach beyond it: a third of the way to the next column.
const BESIDE_CHART_PX: f64 = 12.0;
/// Most pages of a print.
const PAGES: usize = 10;

fn page(study: &StudyFindings, records: &[Record]) -> String {
    let mut out = Vec::new();
    halfpower_report::html(study, records, "halfpower study", &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The text of the first screen, without markup.
fn answer(page: &str) -> String {
    let from = page.find("<section id=\"answer\">").unwrap();
    let part = &page[from..from + page[from..].find("<div class=\"below\">").unwrap()];
    let mut text = String::new();
    for piece in part.split('<') {
        let (tag, words) = piece.split_once('>').unwrap_or(("", piece));
        let inline =
            ["b", "/b", "span", "/span", "code", "/code"].iter().any(|name| tag.split(' ').next() == Some(name));
        text.push_str(if inline { "" } else { "\n" });
        text.push_str(words);
    }
    text.replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"")
}

/// The lines of one section of the terminal's screen.
fn section<'a>(screen: &'a str, heading: &str) -> Vec<&'a str> {
    let lines = screen.lines().skip_while(|line| !line.starts_with(heading)).skip(1);
    lines.take_while(|line| !line.is_empty()).collect()
}

/// Checks that the page has the state, the rates, the limits and the settings of `screen`.
pub fn assert_page_agrees(state: &str, study: &StudyFindings, screen: &str) {
    let text = answer(&page(study, &[]));
    let says = |words: &str| assert!(text.contains(words), "the page lacks {words:?}, which the terminal has:\n{text}");
    says(state);
    for line in section(screen, "WHAT STOPS IT") {
        says(line.trim_start().split_once("  ").unwrap().1.trim_start());
    }
    for line in section(screen, "HOW FAST") {
        let unit = ["IOPS", "MB/s"].iter().filter_map(|unit| line.find(unit).map(|at| (at, unit))).min();
        let Some((at, unit)) = unit else { continue };
        let figure = line[..at].trim_end().rsplit("  ").next().unwrap();
        says(&format!("{} {unit}", figure.trim()));
    }
    for line in section(screen, "WHAT TO SET").iter().filter(|line| line.matches("  ").count() > 1) {
        line.trim().split("  ").map(str::trim).filter(|part| !part.is_empty()).skip(1).for_each(says);
    }
    let known = ["0%)", "-2,"];
    assert!(!known.iter().any(|open| text.contains(open)), "{text}");
}

#[test]
fn doubts_and_threads_are_on_the_page_as_on_the_screen() {
    let (mut study, records) = quiet_study();
    let text = answer(&page(&study, &records));
    assert!(!text.contains("ay be a cache's") && !text.contains("Threads"), "{text}");
    study.findings.headline.iter_mut().for_each(|headline| headline.doubts = vec![HeadlineDoubt::GuestsHost]);
    let cell = study.headline[0].cell;
    let step = |threads: u32| ThreadStep { threads, mbps: Interval::exact(100.0), iops: 25_000.0, busy_share: 0.5 };
    let scaling = ThreadScaling { cell, steps: vec![step(cell.threads)], limit: ThreadLimit::Device };
    study.findings.threads.push(scaling);
    let text = answer(&page(&study, &records));
    assert!(text.contains("May be a cache's: the host of this virtual machine"), "{text}");
    assert!(text.contains("Threads") && text.contains("no more than 1 are needed for 25,000 IOPS"), "{text}");
}

#[test]
fn warnings_are_one_line_beside_the_state_and_a_cause_is_bold() {
    let (mut study, records) = quiet_study();
    study.findings.warnings.clear();
    assert!(answer(&page(&study, &records)).contains("Nothing stands against these figures."));
    study.findings.warnings = vec![Warning::MixedRuns { runs: 3 }];
    let text = answer(&page(&study, &records));
    assert!(text.contains("1 warning: 3 runs that read and write are on no curve"), "{text}");
    study.findings.warnings.insert(0, Warning::NoSoaker);
    let page = page(&study, &records);
    let text = answer(&page);
    assert!(text.contains("2 warnings, first: no run beside the soaker: the cost is known from below alone"), "{text}");
    assert!(!text.contains("on no curve"), "the others are below: {text}");
    let state = page.find("<strong>").zip(page.find("class=\"worst")).zip(page.find("class=\"tiles"));
    assert!(state.is_some_and(|((state, worst), tiles)| state < worst && worst < tiles), "{state:?}");
    assert!(page.contains("href=\"#trust\""), "it leads to the texts");
    assert!(page.contains("<dd><b>the device or the hypervisor</b><span>: about 1,"), "the cause is bold");
}

#[test]
fn what_stops_commits_is_told_where_it_is_known() {
    let (study, records) = quiet_study();
    let screens = |stop: CommitStop| {
        let found = CommitsAnswer { stops_alone: Some(stop), ..CommitsAnswer::default() };
        let mut study = many_experiments(study.clone());
        study.experiments.truncate(1);
        study.experiments[0].found = Some(ExperimentAnswer::Commits(found));
        let mut out = Vec::new();
        halfpower_report::terminal(&study, None, &Style { width: 80, colour: false }, &mut out).unwrap();
        (answer(&page(&study, &records)), String::from_utf8(out).unwrap())
    };
    let (text, screen) = screens(CommitStop::DeviceFlush { share: 0.8, write_share: None });
    assert!(screen.contains("  commits the device's flush: 80% of a commit\n"), "{screen}");
    assert!(text.contains("Commits\n\nthe device's flush: 80% of a commit"), "{text}");
    let (text, screen) = screens(CommitStop::Unknown);
    assert!(!screen.contains("commits unknown") && !text.contains("of a commit"), "{screen}");
}

/// Opens and clicks what a reader would, and posts the results.
const PROBE: &str = r##"<script>
const wait = setInterval(async () => {
  const root = document.documentElement;
  if (root.dataset.ready !== 'yes') return;
  clearInterval(wait);
  const settled = (ms = 200) => new Promise((resume) => setTimeout(resume, ms));
  await settled();
  const bottom = (what) => Math.max(0, ...[...document.querySelectorAll(what)].map((one) => one.getBoundingClientRect().bottom));
  const told = { drawn_at_first: Number(root.dataset.charts), overflow: root.scrollWidth - root.clientWidth,
    bottoms: Object.fromEntries(['.state', '.tiles', '.first-chart', '.stops', '.setting', '.worst']
      .map((what) => [what, bottom(what)])),
    state: document.querySelector('.state strong').textContent };
  const shown = () => [...document.querySelectorAll('.panel')].filter((one) => one.offsetParent).map((panel) => ({
    marks: [...panel.querySelectorAll('.marks')].filter((one) => getComputedStyle(one).display !== 'none').map((one) => one.querySelectorAll('.mark').length),
    ribbons: [...panel.querySelectorAll('.ribbon')].filter((one) => getComputedStyle(one).display !== 'none').map((one) => one.getAttribute('class').split('of-')[1]),
  }));
  told.first_panel = [...document.querySelectorAll('.panel')].filter((one) => one.offsetParent).map((one) => one.className).join();
  const rates = [...document.querySelectorAll('.panel .size')].filter((one) => one.offsetParent).map((one) => one.getBoundingClientRect());
  const stage = [...document.querySelectorAll('.panel .stage')].find((one) => one.offsetParent);
  const right = (one) => one.getBoundingClientRect().right;
  // A rate may stand at the very end of the scale.
  told.rates = { beyond: right(stage.querySelector('.plane')) + Math.max(...rates.map((one) => one.width)) / 2 - right(stage),
    apart: Math.min(...rates.slice(1).map((one, at) => one.left - rates[at].right)) };
  document.querySelector('.ways label[for=way-read]')?.click();
  told.chart = [shown()];
  document.querySelector('.panel-read .picks label')?.click();
  told.chart.push(shown());
  document.querySelector('.ways label[for=way-write]')?.click();
  told.chart.push(shown());
  const copied = [];
  Object.defineProperty(navigator, 'clipboard', { value: { writeText: async (text) => { copied.push(text); } }, configurable: true });
  // The button's label reverts after a while, so every label is recorded.
  const said = [];
  const first = document.querySelector('.setting button');
  if (first) new MutationObserver(() => said.push(first.textContent)).observe(first, { childList: true });
  for (const button of document.querySelectorAll('.setting button')) { button.click(); await settled(20); }
  told.copied = copied;
  told.said = said[0];
  const opened = [];
  for (const link of document.querySelectorAll('.contents a:not([href="#answer"])')) {
    document.querySelectorAll('details.fold').forEach((fold) => { fold.open = false; });
    link.click();
    await settled(30);
    opened.push([link.hash.slice(1), [...document.querySelectorAll('details.fold[open] > .inside')].map((one) => one.id).join()]);
  }
  told.opened = opened;
  document.querySelectorAll('details.fold').forEach((fold) => { fold.open = false; });
  location.hash = '#def-pap';
  await settled();
  told.of_address = [...document.querySelectorAll('details.fold[open] > .inside')].map((one) => one.id).join();
  document.querySelectorAll('details').forEach((fold) => { fold.open = true; });
  while (Number(root.dataset.charts) < document.querySelectorAll('.chart').length && root.dataset.errors === '0') await settled();
  told.overflow_open = root.scrollWidth - root.clientWidth;
  told.wide = [...document.querySelectorAll('.scroll')].filter((one) => one.scrollWidth > one.clientWidth).length;
  told.errors = `${root.dataset.errors} ${root.dataset.error ?? ''}`.trim();
  parent.postMessage(JSON.stringify(told), '*');
}, 50);
</script>"##;

fn look(chromium: &Chromium, page: &str, width: u32, dark: bool) -> Value {
    let reported = chromium.open(&page.replace("</body>", &format!("{PROBE}</body>")), width, dark);
    assert!(
        reported.console.is_empty() && reported.unexpected.is_empty(),
        "{:?} {:?}",
        reported.console,
        reported.unexpected
    );
    serde_json::from_str(&reported.message).unwrap()
}

/// Whether the rates below the first chart keep clear of what is beside it, and of each other.
fn assert_rates_are_clear(reported: &Value) {
    let [beyond, apart] = ["beyond", "apart"].map(|what| reported["rates"][what].as_f64().unwrap());
    assert!(beyond <= BESIDE_CHART_PX && apart >= 4.0, "{}", reported["rates"]);
}

#[test]
#[ignore = "gate: a browser draws the page"]
fn the_answer_lies_on_one_screen_and_its_buttons_work() {
    let Some(chromium) = Chromium::find() else { return };
    let (study, records) = quiet_study();
    let reported = look(&chromium, &page(&study, &records), 1400, false);
    assert_rates_are_clear(&reported);
    for (what, bottom) in reported["bottoms"].as_object().unwrap() {
        let bottom = bottom.as_f64().unwrap();
        assert!(bottom > 0.0 && bottom <= SCREEN_PX, "{what} ends at {bottom} px");
    }
    assert_eq!(
        (&reported["errors"], &reported["drawn_at_first"]),
        (&"0".into(), &0.into()),
        "no chart below is drawn yet"
    );
    assert_eq!(reported["first_panel"], "panel panel-knee-read", "latency against rate, random reads first");
    let chart = reported["chart"].as_array().unwrap();
    let marks = |at: usize| chart[at][0]["marks"].as_array().unwrap().len();
    let depth = |at: usize| chart[at][0]["ribbons"][0].as_str().unwrap().to_string();
    assert!(
        (0..3).all(|at| chart[at].as_array().unwrap().len() == 1 && marks(at) == 1),
        "one panel, one line: {chart:?}"
    );
    assert_eq!(depth(1), "read-1", "the first depth was chosen");
    assert!(depth(0) != depth(1) && depth(2).starts_with("write-"), "{chart:?}");
    let copied: Vec<&str> = reported["copied"].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect();
    assert!(copied.len() >= 2 && copied[0].starts_with("halfpower run ") && copied[1].starts_with("["), "{copied:?}");
    assert_eq!(reported["said"], "Copied");
}

#[test]
#[ignore = "gate: a browser draws the page"]
fn on_a_phone_what_to_set_ends_within_a_screen_and_a_half() {
    let Some(chromium) = Chromium::find() else { return };
    let (study, records) = quiet_study();
    let reported = look(&chromium, &page(&study, &records), 390, false);
    assert_rates_are_clear(&reported);
    let [tiles, settings, stops, chart] =
        [".tiles", ".setting", ".stops", ".first-chart"].map(|what| reported["bottoms"][what].as_f64().unwrap());
    assert!(tiles < settings && settings <= 1.5 * PHONE_PX, "what to set ends at {settings} px");
    assert!(settings < stops && stops < chart, "{reported}");
}

#[test]
#[ignore = "gate: a browser draws the page"]
fn links_and_addresses_open_their_sections_and_nothing_overflows() {
    let Some(chromium) = Chromium::find() else { return };
    let (findings, records) = sample();
    let page = page(&many_experiments(findings.into()), &records);
    for (width, dark) in [(1400, true), (390, false)] {
        let reported = look(&chromium, &page, width, dark);
        for pair in reported["opened"].as_array().unwrap() {
            assert_eq!(pair[0], pair[1], "a link opens its own section");
        }
        assert!(reported["opened"].as_array().unwrap().len() > 20, "{reported}");
        assert_eq!(reported["of_address"], "words");
        assert_eq!((&reported["overflow"], &reported["overflow_open"]), (&0.into(), &0.into()), "at {width} pixels");
        assert!(width > 390 || reported["wide"].as_u64().unwrap() > 0, "tables scroll, not the page");
    }
}

/// The study with twenty experiments that have long answers: no target admits more of them.
fn many_experiments(study: StudyFindings) -> StudyFindings {
    let section = |experiment: &Experiment| ExperimentSection {
        experiment: *experiment,
        asks: "What does it cost to do this rather than that, and where does it end?".into(),
        ran: true,
        found: None,
        answer: "It costs next to nothing below 64 KiB and a third above it, at every depth. ".repeat(4),
        short: None,
        details: Vec::new(),
        pictures: Vec::new(),
        notes: vec!["A part of it could not be measured here, since the device has one member.".into()],
        papers: "They saw the same on one disk, and twice that on four. ".repeat(3),
    };
    let walks = |one: &&Experiment| !matches!(one, Experiment::Sequential | Experiment::Random);
    StudyFindings { experiments: Experiment::ALL.iter().filter(walks).take(20).map(section).collect(), ..study }
}

#[test]
#[ignore = "gate: a browser draws the page"]
fn a_print_has_ten_pages_at_most() {
    let Some(chromium) = Chromium::find() else { return };
    let (findings, records) = sample();
    for study in [findings.clone().into(), many_experiments(findings.into())] {
        let pdf = chromium.print(&page(&study, &records));
        assert!(pdf.starts_with(b"%PDF"));
        let text = String::from_utf8_lossy(&pdf);
        let pages = text.matches("/Type /Page\n").count() + text.matches("/Type /Page ").count();
        assert!((3..=PAGES).contains(&pages), "{pages} pages");
    }
}
