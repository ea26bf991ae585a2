//! Runs `halfpower doctor` on this machine, and checks `docs/doctor.md`.

use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::program::{as_user, folder, for_other_users, is_root, run};

fn output(words: &[&str]) -> Output {
    run(folder().path(), &[&["doctor"], words].concat())
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn document(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn the_page_lists_every_check_as_the_program_has_it() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/doctor.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, _) = page.split_once("## Checks\n").expect("the checks have a heading");
    let expected = format!("{before}## Checks\n\n{}", halfpower_doctor::as_markdown());
    if std::env::var_os("HALFPOWER_BLESS").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    assert!(
        page.trim_end() == expected.trim_end(),
        "write docs/doctor.md again: HALFPOWER_BLESS=1 cargo test -p halfpower --test behaviour doctor"
    );
}

#[test]
fn the_page_names_the_checks_that_may_explain_a_stop() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/doctor.md")).unwrap();
    let (_, rest) = page.split_once("## In a study\n").expect("the study has a heading");
    let (told, _) = rest.split_once("\n## ").expect("another heading follows");
    let seen = document(&output(&["--json"]));
    let checks = seen["places"][0]["checks"].as_array().unwrap();
    let limiting: Vec<&str> = checks
        .iter()
        .filter(|check| check["limits_part"] == true)
        .map(|check| check["code"].as_str().unwrap())
        .collect();
    assert!(!limiting.is_empty());
    for code in limiting {
        assert!(told.split([' ', ',', '\n']).any(|word| word == code), "docs/doctor.md does not name {code}: {told}");
    }
}

#[test]
fn the_page_lists_every_setting_that_can_be_tried() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/doctor.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (_, tries) = page.split_once("## Tries\n").expect("tries have a chapter");
    let (tries, _) = tries.split_once("## Checks\n").expect("it stands before the checks");
    for row in halfpower_doctor::TRIES {
        for name in row.also.iter().chain([&row.code]) {
            assert!(tries.contains(&format!("`{name}`")), "docs/doctor.md, Tries: {name} is missing");
        }
    }
}

#[test]
fn every_check_has_a_result_and_the_screen_counts_them() {
    let seen = document(&output(&["--json"]));
    assert_eq!(seen["schema"], 1);
    let checks = seen["places"][0]["checks"].as_array().unwrap();
    assert_eq!(checks.len(), halfpower_doctor::CHECKS.len());
    let looked = checks.iter().filter(|check| check["state"] != "not_applicable").count();
    let severe = |finding: &&Value| finding["severity"] != "note";
    let found: usize =
        checks.iter().map(|check| check["findings"].as_array().unwrap().iter().filter(severe).count()).sum();
    let shown = text(&output(&[]));
    let counted = format!("{looked} checks, {found} finding{}", if found == 1 { "" } else { "s" });
    assert!(shown.contains(&counted), "{counted}: {shown}");
    assert!(shown.contains("halfpower doctor --all"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
}

#[test]
fn all_names_every_check() {
    let seen = document(&output(&["--json"]));
    let shown = text(&output(&["--all"]));
    for check in seen["places"][0]["checks"].as_array().unwrap() {
        let code = check["code"].as_str().unwrap();
        let named = shown.split([',', ':', '(', ')', '\n', ' ']).any(|word| word == code);
        assert!(named, "{code}: {shown}");
    }
}

#[test]
fn markdown_is_a_table() {
    let all = text(&output(&["--markdown", "--all"]));
    assert!(all.contains("#### Found nothing\n\n- ") && !all.contains("All: halfpower doctor"), "{all}");
    let shown = text(&output(&["--markdown"]));
    assert!(shown.starts_with("### "), "{shown}");
    let rows: Vec<&str> = shown.lines().filter(|line| line.starts_with("| ")).collect();
    assert!(rows.iter().all(|row| row.replace("\\\\|", "").matches('|').count() == 8), "{shown}");
}

#[test]
fn a_severity_decides_about_the_exit_code() {
    let seen = document(&output(&["--json"]));
    let all: Vec<Value> = seen["places"][0]["checks"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|check| check["findings"].as_array().unwrap().clone())
        .collect();
    for (severity, at_least) in [("note", &["note", "warn", "bad"][..]), ("warn", &["warn", "bad"]), ("bad", &["bad"])]
    {
        let holds = all.iter().any(|one| at_least.contains(&one["severity"].as_str().unwrap()));
        let output = output(&["--json", "--fail-if", severity]);
        assert_eq!(output.status.code(), Some(i32::from(holds)), "{severity}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(said.starts_with(&format!("halfpower: --fail-if {severity}: ")), holds, "{said}");
        document(&output);
    }
    assert_eq!(output(&["--fail-if", "terrible"]).status.code(), Some(2));
}

#[test]
fn several_places_are_looked_at_and_others_are_refused() {
    let both = document(&output(&["each:.,/", "--json"]));
    assert_eq!(both["places"].as_array().unwrap().len(), 2);
    for (target, why) in [
        ("/nowhere", "/nowhere: name an existing folder, file or device"),
        ("sim:win2k-atlas10k", "doctor looks at settings of this machine"),
        ("smb://server/share", "doctor looks at settings of this machine"),
    ] {
        let output = output(&[target]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn trying_settings_takes_root_and_known_names() {
    for (words, why) in [
        (&["--try=scheduler,barrier"][..], "this is no setting to try"),
        (&["--budget", "5s"], "--try"),
        (&["--try", "scheduler"], "write --try=scheduler"),
    ] {
        let refused = output(words);
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(2) && (said.contains(why) || !is_root()), "{said}");
    }
    let refused = if is_root() {
        let (_copy, program) = for_other_users();
        as_user(&program, 65534, &["doctor", "/", "--try"])
    } else {
        output(&["--try"])
    };
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0), "{said}");
    assert!(said.starts_with("halfpower: --try switches settings of the kernel") && said.contains("as root"), "{said}");
}

#[test]
fn it_needs_no_root() {
    if !is_root() {
        // All tests run as another user already.
        return;
    }
    let (_copy, program) = for_other_users();
    let seen = |user: u32| {
        let output = as_user(&program, user, &["doctor", "/", "--json"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        document(&output)
    };
    let codes = |seen: &Value| {
        seen["places"][0]["checks"].as_array().unwrap().iter().map(|check| check["code"].clone()).collect::<Vec<_>>()
    };
    let other = seen(65534);
    assert_eq!(codes(&other), codes(&seen(0)));
    // What root alone may read is not fine for others.
    for check in other["places"][0]["checks"].as_array().unwrap() {
        assert!(check["needs_root"] != true || check["state"] == "unread" || check["state"] == "found", "{check}");
    }
}
