//! Does the house keep its rules? Read off the sources themselves.

use std::fs;
use std::path::{Path, PathBuf};

/// Lines of a file, and of a function, above which it is more than one thing.
const FILE_LINES: usize = 450;
const FUNCTION_LINES: usize = 60;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                files(&path, ending, found);
            }
        } else if name.ends_with(ending) {
            found.push(path);
        }
    }
}

fn sources() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    files(&root().join("crates"), ".rs", &mut found);
    assert!(found.len() > 50, "the sources are not where this test looks");
    found.into_iter().map(|path| (path.clone(), fs::read_to_string(path).unwrap())).collect()
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string()
}

fn complain(rule: &str, complaints: &[String]) {
    assert!(complaints.is_empty(), "{rule}:\n{}", complaints.join("\n"));
}

#[test]
fn every_file_opens_with_what_it_is_for() {
    let silent: Vec<String> =
        sources().iter().filter(|(_, text)| !text.starts_with("//! ")).map(|(path, _)| shown(path)).collect();
    complain("a file opens with the question that it answers (//! ...)", &silent);
}

#[test]
fn files_and_functions_stay_one_thing() {
    let mut complaints = Vec::new();
    for (path, text) in sources() {
        let lines: Vec<&str> = text.lines().collect();
        if lines.len() > FILE_LINES {
            complaints.push(format!("{}: {} lines", shown(&path), lines.len()));
        }
        for (start, line) in lines.iter().enumerate() {
            let Some(indent) = function_indent(line) else { continue };
            let end = format!("{}}}", " ".repeat(indent));
            let length = lines[start..]
                .iter()
                .position(|line| *line == end || line.trim_end().ends_with(';') && *line == lines[start]);
            if let Some(length) = length.filter(|length| *length >= FUNCTION_LINES) {
                complaints.push(format!("{}:{}: {} lines: {}", shown(&path), start + 1, length + 1, line.trim()));
            }
        }
    }
    complain("what is longer is more than one thing", &complaints);
}

/// How far a line is indented that begins a function.
fn function_indent(line: &str) -> Option<usize> {
    let code = line.trim_start();
    let words: Vec<&str> = code.split_whitespace().take(4).collect();
    let begins = words.iter().position(|word| *word == "fn").is_some_and(|at| {
        words[..at].iter().all(|word| word.starts_with("pub") || ["const", "async", "unsafe"].contains(word))
    });
    begins.then_some(line.len() - code.len())
}

#[test]
fn unsafe_stays_in_os() {
    let word = concat!("un", "safe");
    let mut complaints = Vec::new();
    for (path, text) in sources() {
        let shown = shown(&path);
        if shown.starts_with("crates/os/") {
            continue;
        }
        let code = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
        let outside = code.filter(|(_, line)| {
            line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|token| token == word) && !line.contains('"')
        });
        complaints.extend(outside.map(|(number, _)| format!("{shown}:{}", number + 1)));
    }
    complain("unsafe code belongs behind a safe wrapper in crates/os", &complaints);
}

#[test]
fn no_module_is_a_drawer_for_everything() {
    let drawers = ["util", "utils", "common", "helper", "helpers", "manager", "misc"];
    let found: Vec<String> = sources()
        .iter()
        .filter(|(path, _)| drawers.contains(&path.file_stem().unwrap().to_string_lossy().as_ref()))
        .map(|(path, _)| shown(path))
        .collect();
    complain("a file is named after what it holds", &found);
}

#[test]
fn nothing_is_left_to_be_done_later() {
    let marks = [
        concat!("TO", "DO"),
        concat!("FIX", "ME"),
        concat!("XX", "X"),
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
    ];
    let mut complaints = Vec::new();
    for (path, text) in sources() {
        let marked = text.lines().enumerate().filter(|(_, line)| marks.iter().any(|mark| line.contains(mark)));
        complaints.extend(marked.map(|(number, line)| format!("{}:{}: {}", shown(&path), number + 1, line.trim())));
    }
    complain("what is missing is said in an issue, not in the code", &complaints);
}

/// Which crates a crate may stand on, as ARCHITECTURE.md draws it; a crate may skip levels, never turn back.
const ARROWS: [(&str, &[&str]); 11] = [
    ("spec", &[]),
    ("record", &["spec"]),
    ("os", &[]),
    ("model", &["spec"]),
    ("engine", &["os", "model", "spec"]),
    ("probe", &["record", "spec", "os"]),
    ("measure", &["engine", "os", "model", "probe", "record", "spec"]),
    ("analyse", &["record", "model", "spec"]),
    ("study", &["measure", "record", "analyse", "spec"]),
    ("report", &["analyse", "record", "spec"]),
    ("cli", &["spec", "record", "measure", "study", "analyse", "report", "probe", "os", "model"]),
];

#[test]
fn dependencies_flow_one_way() {
    let crates: Vec<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    for (name, allowed) in ARROWS {
        let manifest = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap();
        let dependencies = dependencies.split("\n[").next().unwrap();
        for line in dependencies.lines() {
            let dependency = line.split(['=', '.', ' ']).next().unwrap();
            assert!(
                !crates.contains(&dependency) || allowed.contains(&dependency),
                "{name} must not depend on {dependency}: ARCHITECTURE.md draws no such arrow"
            );
        }
    }
}

#[test]
fn every_dependency_says_why_it_is_there() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let section = manifest.split("[workspace.dependencies]").nth(1).unwrap().split("\n[").next().unwrap();
    let mut reasoned = false;
    for line in section.lines() {
        match line.chars().next() {
            None => reasoned = false,
            Some('#') => reasoned = true,
            Some(_) => assert!(reasoned || line.contains("path ="), "no sentence above `{line}` says why it is there"),
        }
    }
}
