//! Checks that a comparison recognises equal and different systems.

use std::path::Path;
use std::process::Output;
use std::sync::atomic::AtomicBool;

use halfpower_analyse::{Comparison, Condition, Findings, MeasuredCeilings, Note, check_conditions};
use halfpower_measure::{SimulatedTarget, TargetBackend};
use halfpower_record::Record;
use halfpower_report::Style;
use halfpower_spec::{Cache, Direction, Nanos, Pattern, Question, SimulatedDisk};
use halfpower_study::{Observation, Planner, Step};
use serde_json::Value;
use tempfile::TempDir;

use crate::program::{command, folder, run};

/// A study in memory.
struct Measured {
    question: Question,
    environment: halfpower_record::Environment,
    findings: Findings,
    records: Vec<Record>,
}

/// A whole simulated study of twenty seconds of virtual time.
fn study(constants: &str) -> Measured {
    study_for(20, constants)
}

fn study_for(seconds: u64, constants: &str) -> Measured {
    let question = Question {
        cache: vec![Cache::Device],
        budget: Nanos(seconds * 1_000_000_000),
        ..Question::about(format!("sim:{constants}"))
    };
    let mut backend = SimulatedTarget::new(SimulatedDisk::from_constants(constants).unwrap());
    let mut planner = Planner::new(&question);
    let mut records = Vec::new();
    while let Step::Run(run) = planner.next() {
        let record = halfpower_measure::measure(&mut backend, &run, &AtomicBool::new(false)).unwrap();
        planner.observe(&Observation::from(&record));
        records.push(record);
    }
    let findings = halfpower_analyse::analyse(&question, backend.environment(), &records, &MeasuredCeilings::default());
    let environment = backend.environment().clone();
    Measured { question, environment, findings, records }
}

impl Measured {
    fn called<'a>(&'a self, name: &'a str) -> halfpower_analyse::StudyRecords<'a> {
        halfpower_analyse::StudyRecords {
            name,
            question: &self.question,
            environment: &self.environment,
            findings: &self.findings,
            records: &self.records,
        }
    }
}

fn compare(a: &Measured, b: &Measured) -> Comparison {
    halfpower_analyse::compare(&a.called("a"), &b.called("b")).unwrap()
}

/// A disk that varies by 3% from run to run; different seeds stand for different days.
fn same_disk(seed: usize) -> String {
    format!("fixed=80us,rate=500MB/s,disks=4,shared=1200MB/s,noise=3%,seed={seed}")
}

/// The same with every rate a tenth lower.
fn slower_disk(seed: usize) -> String {
    format!("fixed=88.889us,rate=450MB/s,disks=4,shared=1080MB/s,noise=3%,seed={seed}")
}

/// Conditions of one command, which no change at all does not fulfil: dozens of tests.
const LINE: [&str; 4] = ["bs=4k p99 > 0%", "bs=4k iops < 0%", "random read iops < 0%", "all throughput < 0%"];

/// Whether any condition of the line holds.
fn fulfils(line: &[&str], comparison: &Comparison) -> bool {
    let line: Vec<Condition> = line.iter().map(|text| text.parse().unwrap()).collect();
    check_conditions(&line, std::slice::from_ref(comparison))[0].iter().any(|finding| finding.holds)
}

/// What is found in some pairs of studies.
#[derive(Debug, Default)]
struct Rates {
    /// Pairs of one system that are called different.
    mistaken: usize,
    /// Pairs of one system that fulfil a condition of [`LINE`].
    alarmed: usize,
    /// Pairs of a system and a slower one that are called slower, and fulfil a condition of [`LINE`].
    found: usize,
}

fn rates(pairs: usize) -> Rates {
    let mut rates = Rates::default();
    for pair in 0..pairs {
        let a = study(&same_disk(1000 + 2 * pair));
        let same = compare(&a, &study(&same_disk(1001 + 2 * pair)));
        rates.mistaken += usize::from(same.different);
        rates.alarmed += usize::from(fulfils(&LINE, &same));
        let slower = compare(&a, &study(&slower_disk(1001 + 2 * pair)));
        let is_called_slower = slower.different && slower.paths.iter().any(|path| path.throughput_mbps.percent < 0.0);
        rates.found += usize::from(is_called_slower && fulfils(&LINE, &slower));
    }
    rates
}

/// Of twenty pairs, 5% is one; more than three alarms have a chance of 1.6%.
#[test]
fn of_twenty_pairs_equal_ones_are_equal_and_a_tenth_less_is_found() {
    let Rates { mistaken, alarmed, found } = rates(20);
    assert!(mistaken <= 1, "{mistaken} of 20 pairs of one system are called different");
    assert!(alarmed <= 3, "{alarmed} of 20 pairs of one system fulfil a line of conditions");
    assert!(found >= 19, "{found} of 20 slower systems are found");
}

/// 88 us instead of 80: a latency that is felt at 4 KiB, and on average over all sizes is less than 5%.
#[test]
fn verdict_table_and_conditions_say_the_same_of_a_small_certain_change() {
    let disk = |fixed: &str, seed: u32| {
        // Long enough to run most cells more than once: without that, chance is not known.
        study_for(200, &format!("fixed={fixed},rate=500MB/s,disks=4,shared=1200MB/s,noise=3%,seed={seed}"))
    };
    let mut comparison = compare(&disk("80us", 1), &disk("88us", 2));
    let of_reads = |one: &Comparison| {
        let is = |path: &&halfpower_analyse::PathComparison| {
            (path.path.pattern, path.path.rw) == (Pattern::Random, Direction::Read)
        };
        one.paths.iter().find(is).unwrap().throughput_mbps
    };
    let change = of_reads(&comparison);
    assert!(change.percent < -1.0 && change.is_certain_but_small(), "{change:?}");
    assert!(fulfils(&["random read throughput < -1%"], &comparison) && fulfils(&["bs=4k iops < -5%"], &comparison));
    assert!(!fulfils(&["random read throughput < -5%"], &comparison));

    let line: Vec<Condition> = vec!["random read throughput < -1%".parse().unwrap()];
    comparison.fail_if = check_conditions(&line, std::slice::from_ref(&comparison)).remove(0);
    let mut out = Vec::new();
    let style = Style { width: 120, colour: false };
    halfpower_report::compare_full(std::slice::from_ref(&comparison), &style, &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    let percent = format!("{:+.1}%", change.percent);
    assert!(words.contains("Certain, but below the threshold of 5%: throughput of "), "{out}");
    assert!(words.contains(&format!("random direct reads ({percent})")), "{out}");
    assert!(words.contains("B is slower ") && words.contains(" common cells differ, typically "), "{out}");
    assert!(!words.contains("o difference in throughput is certain") && !words.contains("most of all"), "{out}");
    let row = out.lines().find(|line| line.starts_with("  random direct read ")).unwrap();
    assert!(row.contains(&percent) && row.contains(" <"), "{out}");
    assert!(words.contains("`random read throughput < -1%` holds"), "{out}");
    assert!(words.contains("1 figure was tested: equal systems fulfil any condition by chance in at most 5%"), "{out}");
}

#[test]
fn the_typical_cell_is_the_one_in_the_middle() {
    let comparison = compare(&study(&same_disk(1)), &study(&slower_disk(2)));
    let size = |cell: &halfpower_analyse::CellComparison| {
        let change = cell.leading().unwrap();
        (change.b / change.a).ln().abs()
    };
    let mut sizes: Vec<f64> = comparison.cells.iter().filter(|cell| cell.different()).map(size).collect();
    sizes.sort_by(f64::total_cmp);
    assert!(sizes.len() > 2, "{} cells differ", sizes.len());
    assert_eq!(size(comparison.typical().unwrap()), sizes[(sizes.len() - 1) / 2]);
}

#[test]
fn a_certain_difference_has_to_be_of_use_too() {
    let steady = |share: f64| study(&format!("fixed={}ns,rate={}MB/s", 80_000.0 / share, 500.0 * share));
    let a = steady(1.0);
    for (share, different) in [(0.98, false), (0.92, true), (1.03, false), (1.08, true)] {
        let comparison = compare(&a, &steady(share));
        assert_eq!(comparison.different, different, "{share}: {:?}", comparison.outcome);
        let change = comparison.paths[0].throughput_mbps.percent;
        assert!((change - 100.0 * (share - 1.0)).abs() < 0.1, "{share}: {change}%");
    }
}

fn said(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

/// Study files in a folder: `a`, `b` (another day of the same disk), `slow` and `other` (different settings).
fn files(names: &[&str]) -> TempDir {
    const GRID: [&str; 4] = ["--bs", "4KiB,32KiB,1MiB", "--iodepth", "1,4,16"];
    const OTHER_GRID: [&str; 4] = ["--bs", "8KiB", "--iodepth", "3"];
    let folder = folder();
    for name in names {
        let (disk, grid) = match *name {
            "a" => (same_disk(1), GRID),
            "b" => (same_disk(2), GRID),
            "slow" => (slower_disk(3), GRID),
            _ => (same_disk(4), OTHER_GRID),
        };
        let target = format!("sim:{disk}");
        let words = [["study", &target, "--budget", "30s", "--output", name].as_slice(), &grid].concat();
        let output = run(folder.path(), &words);
        assert!(output.status.success(), "{}", said(&output).1);
    }
    folder
}

#[test]
fn conditions_decide_the_exit_code_and_say_which() {
    let folder = files(&["a", "b", "slow"]);
    let compare = |b: &str, conditions: &[&str]| {
        let flags: Vec<&str> = conditions.iter().flat_map(|condition| ["--fail-if", condition]).collect();
        let output = run(folder.path(), &[&["compare", "a", b], flags.as_slice()].concat());
        (output.status.code(), said(&output))
    };
    let (code, (out, err)) = compare("b", &["all throughput < -5%", "read cost > 5%"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.contains("No difference") && out.contains("`read cost > 5%` does not hold"), "{out}");
    assert!(out.lines().count() <= 41, "more than a screen:\n{out}");
    let (code, (out, err)) = compare("slow", &["all throughput < -5%", "read cost > 5%"]);
    assert_eq!(code, Some(1));
    assert!(out.starts_with("A  a: ") && out.contains("B is slower on every path"), "{out}");
    assert!(err.contains("`all throughput < -5%` holds: throughput of ") && !err.contains("cost"), "{err}");
    assert!(compare("slow", &[]).0 == Some(0), "a difference alone is no failure");
    let (code, (out, _)) = compare("a", &["all peak < 0%", "all peak > 0%"]);
    assert!(code == Some(0) && out.contains("No difference: both studies hold the same records"), "{out}");
}

#[test]
fn the_json_has_the_keys_that_the_method_page_documents() {
    let folder = files(&["a", "slow"]);
    let words = ["compare", "a", "slow", "--json", "--html", "page.html", "--price", "534,209", "--fail-if", "peak<0%"];
    let output = run(folder.path(), &words);
    assert_eq!(output.status.code(), Some(1));
    let reported: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((reported["different"].as_bool(), reported["a"]["name"].as_str()), (Some(true), Some("a")));
    let cell = reported["cells"].as_array().unwrap().iter().find(|cell| cell["mbps"]["p"].is_number()).unwrap();
    for key in ["a", "b", "percent", "low_percent", "high_percent", "p"] {
        assert!(cell["mbps"][key].is_number(), "{key}: {cell}");
    }
    assert!(reported["price"]["a"]["one_deep"]["maps"].is_number(), "{}", reported["price"]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let method = std::fs::read_to_string(root.join("docs/method/compare.md")).unwrap();
    let mut keys = Vec::new();
    for list in ["practical", "paths", "half_power", "cost", "price", "cells", "fail_if"] {
        keys.push(list.to_string());
        collect(&reported[list], &mut keys);
    }
    keys.extend(reported.as_object().unwrap().keys().cloned());
    let missing: Vec<&String> = keys.iter().filter(|key| !method.contains(&format!("`{key}`"))).collect();
    assert!(missing.is_empty(), "docs/method/compare.md does not explain {missing:?}");
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.len() < 600_000 && page.contains("B is slower"), "{} bytes", page.len());
}

/// Collects the keys of all nested objects.
fn collect(value: &Value, keys: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().take(1).for_each(|item| collect(item, keys)),
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            keys.push(key.clone());
            collect(value, keys);
        }),
        _ => {}
    }
}

#[test]
fn more_studies_stand_beside_one_baseline() {
    let folder = files(&["a", "b", "slow"]);
    let compare = |words: &[&str]| run(folder.path(), &[&["compare", "disk=a", "again=b", "old=slow"], words].concat());
    let (out, err) = said(&compare(&[]));
    assert!(out.starts_with("A  disk: ") && out.contains("\nC  old: ") && err.is_empty(), "{out}{err}");
    assert!(out.contains("B: No difference") && out.contains("C is slower on every path"), "{out}");
    let rows = |letter: &str| out.lines().filter(|line| line.starts_with(&format!("  {letter} "))).count();
    assert!(rows("B again") >= 2 && rows("B again") == rows("C old"), "a row a path and study:\n{out}");
    assert!(out.lines().filter(|line| line.starts_with("  ")).all(|line| !line.ends_with("...")), "{out}");

    let reported: Value = serde_json::from_slice(&compare(&["--json"]).stdout).unwrap();
    let comparisons = reported["comparisons"].as_array().unwrap();
    let letters: Vec<_> = comparisons.iter().map(|one| (&one["a"]["letter"], &one["b"]["letter"])).collect();
    assert_eq!(letters, [(&Value::from("A"), &Value::from("B")), (&Value::from("A"), &Value::from("C"))]);
    assert_eq!((&comparisons[0]["different"], &comparisons[1]["different"]), (&Value::from(false), &Value::from(true)));

    let words = ["--fail-if", "all throughput < -5%", "--html", "page.html", "--price", "9,8,7"];
    let output = compare(&words);
    let (out, err) = said(&output);
    assert!(output.status.code() == Some(1) && err.contains("holds for old: "), "{err}");
    assert!(out.contains("does not hold for B") && out.contains("A and C do not have"), "{out}");
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    for word in ["<b>A: disk</b>, the baseline", "C differs from A", "C over A", "A, B and C do not have", "C old"] {
        assert!(page.contains(word), "the page does not say `{word}`");
    }
}

/// Each table has the same number of cells in every row, and an alignment row below its heading.
#[test]
fn markdown_has_whole_tables() {
    let folder = files(&["a", "slow"]);
    let (out, _) = said(&run(folder.path(), &["compare", "a", "slow", "--markdown", "--fail-if", "all peak < -90%"]));
    let bars = |line: &str| line.matches('|').count();
    let tables: Vec<Vec<&str>> = out
        .split("\n\n")
        .map(|block| block.lines().filter(|line| line.starts_with('|')).collect())
        .filter(|table: &Vec<&str>| !table.is_empty())
        .collect();
    assert!(tables.len() >= 4, "{out}");
    for table in tables {
        assert!(table[1].chars().all(|c| "|-: ".contains(c)) && table.len() > 2, "{table:?}");
        assert!(table.iter().all(|row| bars(row) == bars(table[0])), "{table:?}");
    }
    assert!(out.contains("### Conditions") && out.contains("`all peak < -90%` does not hold"), "{out}");
    assert!(!out.contains("..."), "nothing is cut:\n{out}");
}

/// Rows of the table of throughput in a comparison of two studies.
fn rows_of_throughput(out: &str) -> Vec<&str> {
    let rows = out.lines().skip_while(|line| !line.starts_with("Throughput, MB/s")).skip(1);
    rows.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("  ... ")).collect()
}

#[test]
fn what_goes_into_a_pipe_has_its_intervals_and_obeys_columns() {
    let folder = files(&["a", "slow"]);
    let (out, _) = said(&run(folder.path(), &["compare", "a", "slow"]));
    let rows = rows_of_throughput(&out);
    assert!(rows.len() > 1 && rows.iter().all(|row| row.matches('\u{b1}').count() == 2), "mean and peak: {out}");
    for columns in [60, 80, 100] {
        let mut command = command(folder.path(), &["compare", "a", "slow"]);
        let (out, _) = said(&command.env("COLUMNS", columns.to_string()).output().unwrap());
        let widest = out.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= columns && widest > columns / 2, "{widest} of {columns} columns: {out}");
        let rows = rows_of_throughput(&out);
        let whole = |row: &&str| row.contains('\u{b1}') && !row.ends_with("...");
        assert!(rows.len() > 1 && rows.iter().all(whole), "{columns} columns: {out}");
    }
    for nonsense in ["0", "wide", ""] {
        let mut command = command(folder.path(), &["compare", "a", "slow"]);
        let again = said(&command.env("COLUMNS", nonsense).output().unwrap()).0;
        assert_eq!(again, out, "COLUMNS={nonsense}");
    }
}

#[test]
fn in_full_there_is_every_cell_with_its_interval() {
    let folder = files(&["a", "b", "slow"]);
    let reported: Value =
        serde_json::from_slice(&run(folder.path(), &["compare", "a", "slow", "--json"]).stdout).unwrap();
    let cells = reported["cells"].as_array().unwrap().len();
    let (out, err) = said(&run(folder.path(), &["compare", "a", "slow", "--full"]));
    let rows = out.lines().skip_while(|line| !line.starts_with("All common cells")).skip(1);
    let rows: Vec<&str> = rows.take_while(|line| !line.is_empty()).collect();
    assert!(cells > 10 && rows.len() == cells && err.is_empty(), "{cells} cells: {out}{err}");
    let intervals = rows.iter().filter(|row| row.matches('\u{b1}').count() == 3).count();
    assert!(intervals > 0, "throughput, p99 and cost: {out}");
    assert!(!out.contains("  ... and "), "nothing is left out: {out}");
    let (out, _) = said(&run(folder.path(), &["compare", "a", "b", "slow", "--full"]));
    assert_eq!(out.matches("All common cells").count(), 2, "{out}");
    assert_eq!(run(folder.path(), &["compare", "a", "b", "--full", "--json"]).status.code(), Some(2));
}

/// The examples of help and pages see a regression of latency, which `peak` does not.
#[test]
fn help_and_pages_teach_iops_and_p99() {
    let folder = folder();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let help = |words: &[&str]| said(&run(folder.path(), words)).0;
    let page = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let texts = [help(&["--help"]), help(&["compare", "--help"]), page("README.md"), page("docs/method/compare.md")];
    for text in &texts {
        let examples: Vec<&str> =
            text.split("--fail-if '").skip(1).map(|rest| rest.split('\'').next().unwrap()).collect();
        assert!(!examples.is_empty(), "no example: {text}");
        for example in examples {
            assert!(example.parse::<Condition>().is_ok() && !example.contains("peak"), "{example}");
        }
    }
    assert!(texts[1].contains(" p99 > +10%'") && texts[1].contains("iops < -5%'"), "{}", texts[1]);
}

#[test]
fn a_baseline_is_kept_under_a_name_and_replaced_by_force_alone() {
    let folder = files(&["a", "slow"]);
    let data = folder.path().join("data");
    let compare = |words: &[&str]| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_halfpower"));
        let command = command.arg("compare").args(words).env("XDG_DATA_HOME", &data);
        command.current_dir(folder.path()).output().unwrap()
    };
    let kept = compare(&["a", "--save", "main"]);
    assert!(kept.status.success() && said(&kept).1.contains("kept as the baseline `main`"), "{}", said(&kept).1);
    std::fs::remove_file(folder.path().join("a")).unwrap();
    let (out, err) = said(&compare(&["--baseline", "main", "slow"]));
    assert!(out.starts_with("A  main: ") && out.contains("B is slower"), "{out}{err}");

    let path = data.join("halfpower/baselines/main.halfpower");
    let before = std::fs::read(&path).unwrap();
    let again = compare(&["slow", "--save", "main"]);
    assert!(again.status.code() == Some(2) && said(&again).1.contains("there is a baseline `main` already"));
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert!(said(&compare(&["--baseline", "mian", "slow"])).1.contains("there are: main"));
    let unpriced = compare(&["--baseline", "main", "slow", "--save", "after", "--price", "1,2,3"]);
    assert!(unpriced.status.code() == Some(2) && !data.join("halfpower/baselines/after.halfpower").exists());
    let both = compare(&["--baseline", "main", "slow", "--save", "after"]);
    assert!(said(&both).0.contains("B is slower") && data.join("halfpower/baselines/after.halfpower").exists());

    let replacing = ["--baseline", "main", "slow", "--save", "main", "--force"];
    let failing = compare(&[&replacing[..], &["--fail-if", "all throughput < -5%"]].concat());
    assert!(failing.status.code() == Some(1) && said(&failing).1.contains("the baseline `main` stays"));
    assert_eq!(std::fs::read(&path).unwrap(), before, "the next comparison sees the regression too");
    let replaced = compare(&replacing);
    assert!(replaced.status.success() && said(&replaced).0.contains("B is slower"), "{}", said(&replaced).1);
    let (out, _) = said(&compare(&["--baseline", "main", "slow"]));
    assert!(out.contains("both studies hold the same records"), "{out}");
    let foreign = data.join("halfpower/baselines/notes.halfpower");
    std::fs::write(&foreign, "of somebody else").unwrap();
    let refused = compare(&["slow", "--save", "notes", "--force"]);
    assert!(refused.status.code() == Some(2) && said(&refused).1.contains("is not a study file"));
    assert_eq!(std::fs::read(&foreign).unwrap(), b"of somebody else");
    let mut names: Vec<_> =
        std::fs::read_dir(path.parent().unwrap()).unwrap().map(|one| one.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["after.halfpower", "main.halfpower", "notes.halfpower"], "and nothing is left beside them");
}

#[test]
fn a_difference_that_may_be_others_use_is_not_claimed() {
    let others = |study: &mut Measured| {
        study.findings.cells.iter_mut().for_each(|cell| cell.noise.foreign_share = Some(0.02));
    };
    let quick = study(&same_disk(1));
    let mut slow = study(&slower_disk(2));
    assert!(compare(&quick, &slow).different);
    others(&mut slow);
    let beside = compare(&quick, &slow);
    assert!(
        !beside.cells.iter().any(|cell| cell.mbps.different || cell.latency_ns_p99.is_some_and(|p99| p99.different))
    );
    assert!(beside.paths.iter().all(|path| !path.throughput_mbps.different && !path.peak_mbps.different));
    let reported = beside.notes.iter().any(|note| matches!(note, Note::OthersUsedTheDisk { cells } if *cells > 0));
    assert!(reported, "{:?}", beside.notes);
    // Other load slowed the baseline, so the slow study seems less slow than it is.
    let mut quick = quick;
    slow.findings.cells.iter_mut().for_each(|cell| cell.noise.foreign_share = None);
    others(&mut quick);
    assert!(compare(&quick, &slow).cells.iter().any(|cell| cell.mbps.different));
}

#[test]
fn conditions_bound_figures_of_cells_too() {
    let folder = files(&["a", "slow"]);
    let holds = |condition: &str| {
        let output = run(folder.path(), &["compare", "a", "slow", "--fail-if", condition]);
        (output.status.code(), said(&output).1)
    };
    let text = run(folder.path(), &["compare", "a", "slow", "--json"]).stdout;
    let reported: Value = serde_json::from_slice(&text).unwrap();
    let is = |cell: &&Value| {
        cell["bs_bytes"] == 4096 && cell["iodepth"] == 16 && cell["pattern"] == "random" && cell["rw"] == "read"
    };
    let cell = reported["cells"].as_array().unwrap().iter().find(is).unwrap();
    let iops = cell["mbps"]["b"].as_f64().unwrap() * 1e6 / 4096.0;
    let above = (iops * 1.3).round();
    let below = (iops * 0.7).round();
    let (code, err) = holds(&format!("random read bs=4k iodepth=16 iops < {above}"));
    assert!(code == Some(1) && err.contains("iops of random") && err.contains(" IOPS to "), "{err}");
    assert_eq!(holds(&format!("random read bs=4k iodepth=16 iops < {below}")).0, Some(0));
    assert_eq!(holds("random read iodepth=16 p50 > 1ns").0, Some(1));
    assert_eq!(holds("random read bs=4k p99 > +10s").0, Some(0));
}

/// Tables 9 and 10 of the study of 2000, from the experiment `price` alone.
#[test]
fn two_studies_of_price_are_compared_by_price() {
    let folder = folder();
    let here = folder.path();
    for (name, price) in [("win2k-atlas10k", "534"), ("win2k-fireball", "209")] {
        let target = format!("sim:{name}");
        let words = ["study", &target, "--experiments", "price", "--price", price, "--budget", "10m", "--output", name];
        assert!(run(here, &words).status.success());
    }
    let words = ["compare", "win2k-atlas10k", "win2k-fireball", "--price", "534,209"];
    let reported: Value =
        serde_json::from_slice(&run(here, &[&words[..], &["--json", "--html", "page.html"]].concat()).stdout).unwrap();
    assert_eq!((reported["different"].as_bool(), reported["cells"].as_array().map(Vec::len)), (Some(false), Some(0)));
    let one_deep = |study: &str| reported["price"][study]["one_deep"]["kaps_per_price"].as_f64().unwrap();
    assert!((one_deep("a") / 0.197 - 1.0).abs() < 0.05 && (one_deep("b") / 0.316 - 1.0).abs() < 0.05, "{reported}");
    assert_eq!(reported["price"]["missing"].as_array().map(Vec::len), Some(0), "{}", reported["price"]);
    let text = said(&run(here, &words)).0.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("have no cell in common. Prices are.") && text.contains("KAPS"), "{text}");
    assert!(std::fs::read_to_string(here.join("page.html")).unwrap().contains("KAPS"));
    let without = run(here, &words[..3]);
    assert!(without.status.code() == Some(2) && said(&without).1.contains("no comparable cell in common"));
}

#[test]
fn bad_input_gets_one_clear_sentence() {
    let folder = files(&["a", "b", "other"]);
    std::fs::write(folder.path().join("text"), "no study file").unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["a", "nowhere"], "nowhere"),
        (&["text", "a"], "not a study file"),
        (&["a", "other"], "no comparable cell in common"),
        (&["a", "b", "--html", "a"], "is a study file"),
        (&["a", "b", "--fail-if", "read pek < -5%"], "character 6"),
        (&["a", "b", "--fail-if", "read peak < -5"], "character 13: a change such as -5%, or a figure such as 500MB/s"),
        (&["a", "b", "--fail-if", "p99 > 5ms"], "name bs= or iodepth="),
        (&["a"], "--baseline NAME"),
        (&["a", "b", "other"], "a and other have no comparable cell"),
        (&["a", "b", "--markdown", "--json"], "--json"),
        (&["a", "b", "--save", "main"], "name the one to keep"),
        (&["a", "--save", "../main"], "no name for a baseline"),
        (&["a", "--save", "main", "--fail-if", "peak < -5%"], "--fail-if: one study alone is compared with nothing"),
        (&["a", "--save", "main", "--json"], "add --baseline NAME, or leave --json out"),
        (&["a", "--save", "main", "--price", "534,209"], "leave --price out"),
        (&["a", "--baseline", "main"], "there is no baseline `main`, and no other"),
        (&["a", "b", "--fail-if", "os peak < -5%"], "no cell in common that the condition names"),
        (&["a", "b", "--price", "534"], "1 prices, and 2 studies"),
        (&["a", "b", "--price", "534,-1"], "character 5"),
    ];
    let before = std::fs::read(folder.path().join("a")).unwrap();
    for (words, expected) in cases {
        let output = run(folder.path(), &[&["compare"], *words].concat());
        let (out, err) = said(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {err}");
        assert!(err.contains(expected) && out.is_empty() && !err.contains("panicked"), "{words:?}: {err}");
    }
    assert_eq!(std::fs::read(folder.path().join("a")).unwrap(), before);
}

/// Tests for the laboratory.
mod lab {
    use super::*;

    /// `HALFPOWER_PAIRS=1000 cargo test -p halfpower --test behaviour pairs -- --ignored --nocapture`: the figures of
    /// `docs/method/validation.md`.
    #[test]
    #[ignore = "lab: three studies for each of many pairs"]
    fn of_many_pairs() {
        let pairs = std::env::var("HALFPOWER_PAIRS").map_or(200, |pairs| pairs.parse().unwrap());
        let Rates { mistaken, alarmed, found } = rates(pairs);
        println!(
            "of {pairs} pairs of one system {mistaken} are called different, and {alarmed} fulfil a line of conditions; \
             of {pairs} slower ones {found} are found"
        );
        assert!(20 * mistaken <= pairs && 20 * alarmed <= pairs && 20 * found >= 19 * pairs);
    }
}

/// The machines of the folder `fleet`, of which m7 alone is unlike the others.
fn alike_for_programs_and_on_a_page(folder: &Path) {
    let output = run(folder, &["compare", "fleet", "--json", "--html", "fleet.html", "--fail-if", "unlike"]);
    let (out, err) = said(&output);
    assert!(output.status.code() == Some(1), "{err}");
    assert!(err.contains("`unlike` holds for 1 of 12 machines: fleet/m7.halfpower"), "{err}");
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(found["machines"], 12);
    assert_eq!(found["unlike"][0]["name"], "fleet/m7.halfpower");
    assert_eq!(found["all"].as_array().map(Vec::len), Some(12));
    assert_eq!(found["all"][0]["levels"][0]["figure"], "rate");
    assert!(found["all"][0]["levels"][0]["of_others"].as_f64().is_some_and(|of| of < 0.9), "{found}");
    let page = std::fs::read_to_string(folder.join("fleet.html")).unwrap();
    for machine in 0..12 {
        assert!(page.contains(&format!("fleet/m{machine}.halfpower")), "{machine}");
    }
    assert!(page.contains("of the others' rate") && !page.contains("<script"), "{}", page.len());
    // Without the slow one nobody is unlike, and the condition does not hold.
    std::fs::rename(folder.join("fleet/m7.halfpower"), folder.join("m7")).unwrap();
    let output = run(folder, &["compare", "fleet", "--html", "fleet.html", "--fail-if", "unlike"]);
    assert!(output.status.success(), "{}", said(&output).1);
    std::fs::rename(folder.join("m7"), folder.join("fleet/m7.halfpower")).unwrap();
}

/// Twelve alike disks, of which one needs twice the time for each request.
#[test]
fn of_a_folder_of_alike_machines_the_slow_one_is_named_and_no_other() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("fleet")).unwrap();
    for machine in 0..12 {
        let fixed = if machine == 7 { 160 } else { 80 };
        let target = format!("sim:fixed={fixed}us,rate=500MB/s,noise=2%,seed={}", machine + 1);
        let file = format!("fleet/m{machine}.halfpower");
        let words = ["study", &target, "--experiments", "random", "--rw", "read", "--budget", "10s", "--output", &file];
        assert!(run(folder.path(), &words).status.success(), "{target}");
    }
    let output = run(folder.path(), &["compare", "fleet"]);
    let (out, err) = said(&output);
    assert!(output.status.success() && out.contains("one is unlike the others"), "{out} {err}");
    let (unlike, typical) = out.split_once("THE MOST TYPICAL").unwrap();
    assert!(unlike.contains("m7.halfpower: ") && unlike.contains("RATE AS A SHARE OF THE OTHERS'"), "{out}");
    let others = |text: &str| (0..12).filter(|one| *one != 7 && text.contains(&format!("m{one}.halfpower"))).count();
    assert!(others(unlike) == 0 && others(typical) == 10 && !typical.contains("m7.halfpower"), "{out}");
    alike_for_programs_and_on_a_page(folder.path());
    for refused in [&["--markdown"][..], &["--full"], &["--fail-if", "random read iops < -5%"]] {
        let output = run(folder.path(), &[&["compare", "fleet"][..], refused].concat());
        let (_, err) = said(&output);
        assert!(output.status.code() == Some(2) && err.contains("name study files instead"), "{refused:?}: {err}");
    }
    let output = run(folder.path(), &["compare", "fleet/m0.halfpower", "fleet/m1.halfpower", "--fail-if", "unlike"]);
    let (_, err) = said(&output);
    assert!(output.status.code() == Some(2) && err.contains("name a folder"), "{err}");
    std::fs::remove_file(folder.path().join("fleet/m0.halfpower")).unwrap();
    for machine in 8..12 {
        std::fs::remove_file(folder.path().join(format!("fleet/m{machine}.halfpower"))).unwrap();
    }
    let (_, err) = said(&run(folder.path(), &["compare", "fleet"]));
    assert!(err.contains("7 studies could be read"), "{err}");
}
