//! Checks what studies, comparisons and `probe` show of the checks of settings, on machines that are laid out with faults.

use halfpower_doctor::{CHECKS, Place, diagnose};
use halfpower_experiments::{StudyFindings, analyse};
use halfpower_probe::probe;
use halfpower_record::{Capabilities, Environment, Record, TargetKind};
use halfpower_report::{Style, compare_json, compare_text, environment_text, html, json, terminal, terminal_full};
use halfpower_spec::{Bytes, Cache, Question};
use serde_json::Value;

use crate::built::{disk, study};
use crate::machines::SHAPES;
use crate::parts::usual;
use crate::tree::Tree;

/// A laptop whose NVMe drive has half of its lanes, and other faults; or its healthy twin.
fn laptop(faulty: bool, change: impl Fn(&Tree)) -> Environment {
    let shape = SHAPES.iter().find(|shape| shape.name == "laptop with NVMe").expect("a shape of that name");
    let tree = Tree::bare_metal();
    usual(&tree);
    let target = (shape.build)(&tree, faulty);
    change(&tree);
    let capabilities = Capabilities {
        kind: TargetKind::Folder,
        span: Bytes(1 << 30),
        members: 1,
        direct_unit: Some(Bytes(512)),
        ..Capabilities::default()
    };
    let diagnoses = vec![diagnose(&Place::of(&tree.root(), &target))];
    Environment { capabilities, diagnoses, ..probe(&tree.root(), &target) }
}

fn question() -> Question {
    Question {
        bs: [4, 64, 1024].map(|kib| Bytes(kib << 10)).into(),
        iodepth: vec![1, 4, 32],
        cache: vec![Cache::Device],
        ..Question::about("/srv/data")
    }
}

/// Records of a drive behind a link that lets this much through.
fn records(link: &str) -> Vec<Record> {
    study(&disk(&format!("fixed=20us,rate=1GB/s,disks=8,shared={link}")), &question())
}

fn of_link(environment: &Environment, link: &str) -> StudyFindings {
    analyse(&question(), environment, &records(link))
}

/// A study of the faulty laptop, at 96% of what its link advertises.
fn faulty() -> StudyFindings {
    of_link(&laptop(true, |tree| tree.remove("dev/nvme0n1.id-ns")), "3800MB/s")
}

const STYLE: Style = Style { width: 100, colour: false };

fn words(out: &[u8]) -> String {
    String::from_utf8_lossy(out).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn screen(study: &StudyFindings) -> String {
    let mut out = Vec::new();
    terminal(study, None, &STYLE, &mut out).unwrap();
    words(&out)
}

fn full(study: &StudyFindings) -> String {
    let mut out = Vec::new();
    terminal_full(study, &STYLE, &mut out).unwrap();
    words(&out)
}

fn page(study: &StudyFindings) -> String {
    let mut out = Vec::new();
    html(study, &[], "halfpower study", &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

fn document(study: &StudyFindings) -> Value {
    let mut out = Vec::new();
    json(study, &mut out).unwrap();
    serde_json::from_slice(&out).unwrap()
}

const SLOW_LINK: &str = "0000:01:00.0: PCIe link runs at 16 GT/s x2; both ends can do 16 GT/s x4";

#[test]
fn a_stop_is_named_by_the_check_that_explains_it() {
    let study = faulty();
    let shown = screen(&study);
    assert!(shown.contains(&format!("that it advertises; {SLOW_LINK}")), "{shown}");
    let found = document(&study);
    for stop in found["stops"].as_array().unwrap() {
        assert_eq!(stop["explained"]["code"], "pcie-link", "{stop}");
    }
    let verdict = found["verdict"][1].as_str().unwrap();
    assert!(verdict.ends_with(&format!(" A check of settings explains it: {SLOW_LINK}.")), "{verdict}");
    let healthy = screen(&of_link(&laptop(false, |_| {}), "7600MB/s"));
    assert!(!healthy.contains("PCIe link runs") && !healthy.contains("halfpower doctor"), "{healthy}");
}

#[test]
fn a_stop_elsewhere_is_not_explained() {
    // The link is narrow, but the drive is slower still.
    let study = of_link(&laptop(true, |_| {}), "1500MB/s");
    assert!(study.summary.stops.iter().all(|stop| stop.explained.is_none()), "{:?}", study.summary.stops);
    let named: Vec<&str> = study.summary.what_to_set.to_change.iter().map(|one| one.code.as_str()).collect();
    assert!(named.contains(&"pcie-link"), "it is still worth a change: {named:?}");
}

#[test]
fn what_to_set_names_three_settings_and_where_the_others_are() {
    let study = faulty();
    let set = &study.summary.what_to_set;
    assert_eq!((set.to_change.len(), set.to_change[0].code.as_str()), (3, "pcie-link"));
    assert!(set.more_to_change > 0 && set.to_change[0].explains.len() == 2, "{set:?}");
    assert!(set.to_change.iter().all(|one| one.code != "read-ahead"), "direct requests do not read ahead: {set:?}");
    let shown = screen(&study);
    let link = format!("{SLOW_LINK} (costs up to half of what the link carries) -> reseat the device");
    assert!(shown.contains(&link), "{shown}");
    let more = format!("{} more: halfpower doctor /srv/data", set.more_to_change);
    assert!(shown.contains(&more) && page(&study).contains(&more), "{shown}");
}

#[test]
fn the_page_and_the_full_report_list_what_was_found_and_count_the_unread() {
    let study = faulty();
    let page = page(&study);
    let from = page.find("<section class=\"inside\" id=\"checks\">").expect("a section");
    let section = &page[from..from + page[from..].find("</section>").unwrap()];
    for code in ["pcie-link", "scheduler", "temperature", "read-ahead"] {
        assert!(section.contains(&format!("<small>{code}</small>")), "{code}: {section}");
    }
    assert!(section.contains("reseat the device") && section.contains("nvme-format: "), "{section}");
    let full = full(&study);
    assert!(full.contains("WHAT THE CHECKS OF SETTINGS FOUND") && full.contains(SLOW_LINK), "{full}");
    assert!(full.contains("could not read all that they need"), "{full}");
    let before = &document(&study)["checks"]["before"];
    assert_eq!(before[0]["checks"].as_array().unwrap().len(), CHECKS.len());
}

#[test]
fn what_changes_during_a_study_is_said() {
    let before = laptop(false, |_| {});
    let after = laptop(false, |tree| tree.file(SCHEDULER, "none [bfq]\n"));
    let study = of_link(&before, "7600MB/s").checked_again(&after.diagnoses);
    let shown = full(&study);
    assert!(shown.contains("changed: nvme0n1: scheduler bfq"), "{shown}");
    assert!(shown.contains("after the runs alone (scheduler)"), "{shown}");
    assert_eq!(document(&study)["checks"]["changed"][0]["change"], "appeared");
    let same = of_link(&before, "7600MB/s").checked_again(&before.diagnoses);
    assert!(same.checks.as_ref().unwrap().after.is_empty());
}

#[test]
fn a_study_of_an_earlier_release_says_nothing_of_settings() {
    let environment = Environment { diagnoses: Vec::new(), ..laptop(true, |_| {}) };
    let study = of_link(&environment, "3800MB/s").checked_again(&[]);
    assert_eq!(document(&study)["checks"], Value::Null);
    assert!(!screen(&study).contains("halfpower doctor") && !page(&study).contains("id=\"checks\""));
    assert!(!full(&study).contains("CHECKS OF SETTINGS"));
}

/// The scheduler of the laptop's drive.
const SCHEDULER: &str = "sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/nvme/nvme0/nvme0n1/queue/scheduler";

/// Compares two studies; as words, and as JSON.
fn compared([a, b]: [(&Environment, &str); 2]) -> (String, Value) {
    let made = [a, b].map(|(environment, link)| (of_link(environment, link), records(link)));
    let question = question();
    let study = |at: usize, environment| halfpower_analyse::StudyRecords {
        name: ["before", "after"][at],
        question: &question,
        environment,
        findings: &made[at].0,
        records: &made[at].1,
    };
    let comparisons = halfpower_analyse::compare_all(&study(0, a.0), &[study(1, b.0)]);
    let mut text = Vec::new();
    compare_text(&comparisons, &STYLE, &mut text).unwrap();
    let mut document = Vec::new();
    compare_json(&comparisons, &mut document).unwrap();
    (words(&text), serde_json::from_slice(&document).unwrap())
}

#[test]
fn settings_that_differ_come_first_where_figures_differ() {
    let healthy = laptop(false, |_| {});
    let (text, document) = compared([(&healthy, "7600MB/s"), (&laptop(true, |_| {}), "3800MB/s")]);
    let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("no {what} in {text}"));
    assert!(at("Settings that differ") < at("Throughput, MB/s"), "{text}");
    let differ = document["checks"]["differ"].as_array().unwrap();
    let link = differ.iter().find(|one| one["code"] == "pcie-link").unwrap();
    assert_eq!((&link["change"], &link["a"]), (&"appeared".into(), &Value::Null));
    assert_eq!(differ[0]["b"]["severity"], "bad", "the most severe first");
}

#[test]
fn one_check_that_differs_is_named_with_its_study() {
    let healthy = laptop(false, |_| {});
    let other = laptop(false, |tree| tree.file(SCHEDULER, "none [bfq]\n"));
    let (text, document) = compared([(&healthy, "7600MB/s"), (&other, "7600MB/s")]);
    assert_eq!(document["checks"]["differ"].as_array().unwrap().len(), 1, "{document}");
    assert!(text.contains("nvme0n1: scheduler bfq") && text.contains("in B alone (scheduler)"), "{text}");
    let (text, document) = compared([(&other, "7600MB/s"), (&healthy, "7600MB/s")]);
    assert_eq!(document["checks"]["differ"][0]["change"], "gone");
    assert!(text.contains("in A alone (scheduler)"), "{text}");
}

#[test]
fn nothing_is_said_to_differ_where_one_study_has_no_checks() {
    let earlier = Environment { diagnoses: Vec::new(), ..laptop(false, |_| {}) };
    let (text, document) = compared([(&earlier, "7600MB/s"), (&laptop(true, |_| {}), "3800MB/s")]);
    assert_eq!((&document["checks"]["in_a"], &document["checks"]["in_b"]), (&false.into(), &true.into()));
    assert!(text.contains("B alone has what checks of settings found"), "{text}");
    let (_, document) = compared([(&earlier, "7600MB/s"), (&earlier, "7600MB/s")]);
    assert_eq!(document["checks"], Value::Null);
}

#[test]
fn probe_shows_findings_below_their_level() {
    let mut out = Vec::new();
    environment_text(&laptop(true, |_| {}), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let below = |level: &str| {
        let at = lines.iter().position(|line| line.trim_start().starts_with(level)).expect("the level");
        let marked = lines[at + 1..].iter().take_while(|line| line.starts_with("    ! "));
        marked.copied().collect::<Vec<_>>().join("\n")
    };
    assert!(below("PCIe link").contains(SLOW_LINK), "{text}");
    assert!(below("device").contains("nvme0n1: scheduler bfq"), "{text}");
    assert!(!text.contains("processors sleep"), "notes are left to doctor: {text}");
    assert!(text.contains("how it is changed: halfpower doctor /home/me"), "{text}");
    let healthy = laptop(false, |_| {});
    let mut out = Vec::new();
    environment_text(&healthy, &mut out).unwrap();
    assert!(!String::from_utf8(out).unwrap().contains('!'));
    assert!(serde_json::to_value(&healthy).unwrap()["diagnoses"][0]["checks"].is_array());
}
