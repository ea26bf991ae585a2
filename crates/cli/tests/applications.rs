//! Checks studies for applications: on simulated disks whose flush is known, with built-in profiles and those of others.

use std::fs;
use std::path::Path;

use halfpower_spec::{PROFILES, is_unseen};
use serde_json::Value;

use crate::program::{folder, run};

/// A write of 2 KiB takes 202 us, and a flush what the test says.
const DISK: &str = "sim:fixed=200us,rate=1GB/s,disks=4";

/// A queue that needs p99 of a message below 5 ms.
const PROFILE: &str = r#"about = "a queue <script>alert(1)</script>"

[[shape]]
name = "message"
run = "--rw write --bs 4k --iodepth 1 --fdatasync 1"
stands_for = "a message <b>that</b> is durable"

[[need]]
what = "p99 of a message"
figure = "message.p99_us / 1000"
below = 5
unit = "ms"
source = "javascript:alert(1)"

[[setting]]
name = "batch"
value = "message.mean_us / 100"
least = 1
most = 1000
unit = "messages"
line = "batch_size = {}"
source = "https://example.org"
"#;

/// What a command of these words prints on both streams, and whether it succeeded.
fn said(folder: &Path, line: &str) -> (bool, String) {
    let output = run(folder, &line.split(' ').collect::<Vec<_>>());
    let text = [output.stdout, output.stderr].map(|out| String::from_utf8(out).unwrap()).concat();
    assert!(!text.chars().any(|c| is_unseen(c) && c != '\n' && c != '\t'), "{text:?}");
    (output.status.success(), text)
}

fn printed(folder: &Path, line: &str) -> String {
    let (is_done, text) = said(folder, line);
    assert!(is_done, "{line}: {text}");
    text
}

/// The findings of a study of these words, which end in `--json`.
fn findings(folder: &Path, line: &str) -> Value {
    let output = run(folder, &line.split(' ').collect::<Vec<_>>());
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The answer of the only experiment.
fn found(findings: &Value) -> &Value {
    assert_eq!(findings["experiments"].as_array().map(Vec::len), Some(1), "{findings}");
    &findings["experiments"][0]["found"]
}

fn verdicts(findings: &Value) -> Vec<&str> {
    found(findings)["needs"].as_array().unwrap().iter().map(|need| need["verdict"].as_str().unwrap()).collect()
}

#[test]
fn a_disk_with_a_fast_flush_passes_for_etcd() {
    let here = folder();
    let study = format!("study {DISK},flush=1ms --for etcd --budget 60s --output s.halfpower");
    let first = printed(here.path(), &study);
    assert!(first.contains("FOR etcd: the log and the store"), "{first}");
    let passed = first.lines().filter(|line| line.starts_with("  PASS         ")).count();
    assert_eq!((passed, first.matches("FAIL").count()), (7, 0), "{first}");
    assert!(first.contains("\n  heartbeat-interval: 100\n      from log.flush_p99_us 1,000"), "{first}");
    assert!(first.contains("\n  election-timeout: 1000\n") && !first.contains("EXPERIMENTS"), "{first}");
    let in_one_line = first.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(in_one_line.contains("log: p99 ") && in_one_line.contains(" beside store_batch"), "{first}");
    let report: Value = findings(here.path(), "report s.halfpower --json");
    assert_eq!(verdicts(&report), ["pass"; 7]);
    let log = &report["application"][0];
    let commits = log["per_second"]["value"].as_f64().unwrap();
    let truth = 1.0 / (200e-6 + 2048.0 / 1e9 + 1e-3);
    assert!((commits / truth - 1.0).abs() < 0.03 && log["shape"] == "log", "{log}");
    let page = fs::read_to_string(here.path().join("s.html")).unwrap();
    assert!(page.contains("What etcd needs") && page.contains("heartbeat-interval: 100"), "the page lacks it");
    assert!(page.contains("--for etcd"), "the command that asks the same");
    // The same command only reports.
    assert!(printed(here.path(), &study).contains("was finished on"));
}

#[test]
fn a_disk_with_a_slow_flush_fails_for_etcd() {
    let here = folder();
    let study = format!("study {DISK},flush=20ms --for etcd --json");
    let findings = findings(here.path(), &study);
    // A flush of 20 ms, and 16 writes before one of 20 ms; 49.5 a second; a stream of 128 KiB needs no flush.
    assert_eq!(verdicts(&findings), ["fail", "pass", "fail", "fail", "pass", "fail", "fail"], "{}", found(&findings));
    let heartbeat = &found(&findings)["settings"][0];
    assert_eq!(heartbeat["line"], "heartbeat-interval: 200", "{heartbeat}");
}

#[test]
fn what_one_run_shows_is_not_decided_and_what_no_run_shows_is_refused() {
    let here = folder();
    fs::write(here.path().join("mine.toml"), PROFILE).unwrap();
    let line = format!("study {DISK},flush=1ms --for mine.toml --runtime 800ms --budget 1s --repeats 1 --json");
    let once = findings(here.path(), &line);
    assert_eq!(verdicts(&once), ["not-decided"], "{once}");
    assert_eq!(found(&once)["needs"][0]["doubts"][0]["code"], "single-run", "{once}");
    // A disk whose flush nobody knows cannot tell of commits.
    let (is_done, text) = said(here.path(), &format!("study {DISK} --for mine.toml --budget 5s --output n.halfpower"));
    assert!(!is_done && text.split_whitespace().collect::<Vec<_>>().join(" ").contains("add flush=1ms"), "{text}");
}

#[test]
fn a_verdict_follows_from_the_interval_whatever_the_noise() {
    let here = folder();
    let mut runs = 0;
    for seed in 1..4 {
        let line = format!(
            "study {DISK},flush=10ms,noise=8%,seed={seed} --for etcd --budget 60s --json --output {seed}.halfpower"
        );
        let findings = findings(here.path(), &line);
        let need = &found(&findings)["needs"][0];
        let [low, high] = ["low", "high"].map(|end| need["measured"][end].as_f64().unwrap());
        let truth = if high < 10.0 {
            "pass"
        } else if low >= 10.0 {
            "fail"
        } else {
            "not-decided"
        };
        assert!(need["verdict"] == truth && low < high, "{need}");
        runs += findings["application"][0]["runs"].as_u64().unwrap();
    }
    assert!(runs > 9, "{runs} runs of three studies: a figure near its bound gets more than the fewest");
}

#[test]
fn a_credit_that_the_first_run_spends_refuses_the_advice() {
    let here = folder();
    let text = PROFILE.replace("--rw write --bs 4k --iodepth 1 --fdatasync 1", "--rw read --bs 64k --iodepth 8");
    fs::write(here.path().join("mine.toml"), text).unwrap();
    let disk = "sim:fixed=80us,rate=2GB/s,disks=4,shared=50MB/s,credit=4GiB";
    let line = format!("study {disk} --for mine.toml --runtime 1s --budget 30s --json");
    let findings = findings(here.path(), &line);
    assert_eq!((verdicts(&findings), found(&findings)["settings"][0]["line"].as_str()), (vec!["refused"], None));
    let code = found(&findings)["needs"][0]["doubts"][0]["code"].as_str();
    assert!(matches!(code, Some("credit" | "runs-differ")), "{}", found(&findings));
}

#[test]
fn every_built_in_profile_runs_on_a_simulated_disk_and_says_all_its_lines() {
    let here = folder();
    for (name, _) in PROFILES {
        let line = format!("study {DISK},flush=1ms --for {name} --budget 20s --json --output {name}.halfpower");
        let findings = findings(here.path(), &line);
        assert!(!verdicts(&findings).contains(&"refused"), "{name}: {}", found(&findings));
        for setting in found(&findings)["settings"].as_array().unwrap() {
            assert!(setting["line"].is_string(), "{name}: {setting}");
            assert!(!setting["rests_on"].as_array().unwrap().is_empty(), "{name}: {setting}");
        }
    }
}

#[test]
fn a_study_keeps_its_profile_and_goes_on_with_it_alone() {
    let here = folder();
    let mine = here.path().join("mine.toml");
    fs::write(&mine, PROFILE).unwrap();
    let with = |command: &str| format!("{command} {DISK},flush=1ms --for mine.toml --budget 20s --output s.halfpower");
    // A plan makes the file without a record; the study then goes on with it.
    assert!(printed(here.path(), &with("plan")).contains("--fdatasync 1"));
    assert!(printed(here.path(), &with("study")).contains("FOR mine: a queue"));
    fs::write(&mine, PROFILE.replace("below = 5", "below = 1")).unwrap();
    let (is_done, refusal) = said(here.path(), &with("study"));
    assert!(!is_done && refusal.contains("the application is mine.toml ("), "{refusal}");
    fs::remove_file(&mine).unwrap();
    let report = printed(here.path(), "report s.halfpower");
    assert!(report.contains("  PASS         p99 of a message: ") && report.contains("  batch_size = 12"), "{report}");
}

#[test]
fn a_profile_of_anybody_is_escaped_and_bounded() {
    let here = folder();
    let mine = here.path().join("mine.toml");
    fs::write(&mine, PROFILE).unwrap();
    let study = format!("study {DISK},flush=1ms --for mine.toml --budget 10s --output s.halfpower");
    printed(here.path(), &study);
    let page = fs::read_to_string(here.path().join("s.html")).unwrap();
    assert!(page.contains("a queue &lt;script&gt;") || !page.contains("a queue <script>"), "the page runs it");
    assert!(!page.contains("<b>that</b>") && !page.contains("href=\"javascript:"), "the page shows it as its own");
    for (from, to, what) in [
        ("batch_size = {}", "batch_size = {}\\nrm -rf /", "line 21: "),
        ("p99 of a message", "p99 \\u001b[31m of a message", "line 9: "),
        ("below = 5", "below = \"5\"", "line 11: "),
        ("message.mean_us / 100", "message.mean_ms", "line 17: "),
        ("message.mean_us / 100", &"(".repeat(5000), "line 17: "),
        ("--fdatasync 1", "--write-cache off", "line 5: "),
        ("--iodepth 1", "--iodepth 99999999", "line 5: "),
    ] {
        fs::write(&mine, PROFILE.replacen(from, to, 1)).unwrap();
        let (is_done, text) = said(here.path(), &study);
        assert!(!is_done && text.contains(what) && text.lines().count() == 1, "{from} -> {to}: {text}");
    }
}

#[test]
fn profiles_are_listed_and_what_is_none_is_said() {
    let here = folder();
    let list = printed(here.path(), "study --for list");
    assert!(PROFILES.iter().all(|(name, _)| list.lines().any(|line| line.starts_with(name))), "{list}");
    let (is_done, text) = said(here.path(), "study sim: --for oracle");
    assert!(!is_done && text.contains("--for oracle: there is no profile") && text.contains("postgres"), "{text}");
    let (is_done, text) = said(here.path(), "study sim: --for none.toml");
    assert!(!is_done && text.contains("none.toml: the profile cannot be read"), "{text}");
    let (is_done, text) = said(here.path(), "study sim: --experiments application");
    assert!(!is_done && text.contains("name the application with --for"), "{text}");
    let names: Vec<String> =
        fs::read_dir(here.path()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().all(|name| name == ".data"), "{names:?}");
}
