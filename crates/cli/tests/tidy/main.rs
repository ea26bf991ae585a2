//! Checks the sources against the project's rules of style and structure.

mod circles;
mod licences;
mod modules;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Most lines of a file, and of a function.
const FILE_LINES: usize = 800;
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
fn every_file_opens_with_what_it_does() {
    let first_sentence_asks = |text: &str| {
        let paragraph = text.lines().map_while(|line| line.strip_prefix("//! ")).collect::<Vec<_>>().join(" ");
        let end = paragraph.find(". ").unwrap_or(paragraph.len());
        paragraph[..end].contains("? ") || paragraph[..end].ends_with('?')
    };
    let silent: Vec<String> = sources()
        .iter()
        .filter(|(_, text)| !text.starts_with("//! ") || first_sentence_asks(text))
        .map(|(path, _)| shown(path))
        .collect();
    complain("a file opens with a sentence that says what it does (//! ...), not with a question", &silent);
}

#[test]
fn every_test_that_is_left_out_says_who_runs_it() {
    let ignored = concat!("#[ign", "ore");
    let mut complaints = Vec::new();
    for (path, text) in sources() {
        // A module `lab` is a folder of that name, or stands in the file with what it holds indented.
        let in_folder = path.components().any(|part| part.as_os_str() == "lab");
        let mut in_module = false;
        for line in text.lines() {
            match line.trim_start() {
                "mod lab {" => in_module = true,
                _ if line == "}" => in_module = false,
                code if code.starts_with(ignored) => {
                    let in_lab = in_folder || in_module;
                    if !code.contains(if in_lab { "= \"lab: " } else { "= \"gate: " }) {
                        complaints.push(format!("{}: {line}", shown(&path)));
                    }
                }
                _ => {}
            }
        }
    }
    let rule = "what measures is ignored as `lab: reason` in a module `lab`; what takes long or other programs, as `gate: reason`";
    complain(rule, &complaints);
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
            let length = length.map(|length| length - longest_table(&lines[start..start + length], indent));
            if let Some(length) = length.filter(|length| *length >= FUNCTION_LINES) {
                complaints.push(format!("{}:{}: {} lines: {}", shown(&path), start + 1, length + 1, line.trim()));
            }
        }
    }
    complain("what is longer is more than one thing", &complaints);
}

/// Lines within the longest `match` or literal at a function's top level; such a table may be longer.
fn longest_table(function: &[&str], indent: usize) -> usize {
    let inner = " ".repeat(indent + 4);
    let own_level = |line: &str| line.starts_with(&inner) && !line[inner.len()..].starts_with(' ');
    let opens = |line: &str| {
        let last = line.trim_end_matches(" {").rsplit([' ', '(']).next().unwrap_or_default();
        let is_branch = ["if ", "for ", "while ", "else"].iter().any(|word| line.trim_start().starts_with(word));
        let names_type = last.rsplit("::").next().is_some_and(|name| name.starts_with(char::is_uppercase));
        line.ends_with('[') || line.ends_with('{') && (line.contains("match ") || names_type && !is_branch)
    };
    let spans = function.iter().enumerate().filter(|(_, line)| own_level(line) && opens(line)).map(|(at, _)| {
        function[at + 1..]
            .iter()
            .position(|line| own_level(line) || line.len() < inner.len() && !line.is_empty())
            .unwrap_or(0)
    });
    spans.max().unwrap_or(0)
}

#[test]
fn a_match_and_a_literal_may_be_long_and_a_row_of_steps_may_not() {
    let function = |head: &str, tail: &str| {
        let mut lines = vec!["fn long() {", head];
        lines.extend(std::iter::repeat_n("        line,", 100));
        lines.extend([tail, "}"]);
        longest_table(&lines, 0)
    };
    assert_eq!(function("    match word {", "    }"), 100);
    assert_eq!(function("    let all = spec::Words {", "    };"), 100);
    assert_eq!(function("    let all = [", "    ];"), 100);
    assert_eq!(function("    for word in words {", "    }"), 0);
    assert_eq!(function("    if word == OTHER {", "    }"), 0);
}

/// Indent of a line that begins a function; `None` for other lines.
fn function_indent(line: &str) -> Option<usize> {
    let code = line.trim_start();
    let words: Vec<&str> = code.split_whitespace().take(4).collect();
    let begins = words.iter().position(|word| *word == "fn").is_some_and(|at| {
        words[..at].iter().all(|word| word.starts_with("pub") || ["const", "async", "unsafe"].contains(word))
    });
    begins.then_some(line.len() - code.len())
}

/// If a crate declares its test programs, cargo finds no others, so every test file must belong to one.
#[test]
fn every_file_of_tests_is_part_of_a_test_program() {
    let mut complaints = Vec::new();
    for (path, _) in sources() {
        let folder = path.parent().unwrap();
        let program = fs::read_to_string(folder.join("main.rs")).unwrap_or_default();
        if !folder.ends_with("tests") || program.is_empty() {
            continue;
        }
        let manifest = fs::read_to_string(folder.join("../Cargo.toml")).unwrap();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if name != "main" && !program.contains(&format!("mod {name};")) && !manifest.contains(&format!("\"{name}\"")) {
            complaints.push(shown(&path));
        }
    }
    complain("tests/main.rs names each file of tests, or Cargo.toml as a program of its own", &complaints);
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

/// The crates that each crate may depend on, as in ARCHITECTURE.md; a crate may skip levels but never depend upwards.
const ARROWS: [(&str, &[&str]); 22] = [
    ("schema", &[]),
    ("spec", &["schema"]),
    ("lab", &[]),
    ("os", &[]),
    ("record", &["spec", "os"]),
    ("dialects", &["spec", "record"]),
    ("model", &["spec"]),
    ("share", &["spec"]),
    ("engine", &["os", "model", "share", "spec"]),
    ("probe", &["record", "spec", "os"]),
    ("doctor", &["probe", "record", "spec", "os"]),
    ("witness", &["os", "probe", "record", "spec"]),
    ("watch", &["os", "probe", "record", "spec", "witness"]),
    ("replay", &["model", "os", "record", "spec"]),
    ("measure", &["engine", "os", "model", "probe", "record", "share", "spec", "witness"]),
    ("hosts", &["measure", "record", "spec", "witness"]),
    ("analyse", &["record", "model", "spec"]),
    ("experiments", &["analyse", "record", "spec"]),
    ("study", &["measure", "record", "analyse", "experiments", "spec"]),
    ("report", &["analyse", "dialects", "experiments", "record", "model", "spec"]),
    (
        "fuzz",
        &[
            "spec",
            "record",
            "dialects",
            "doctor",
            "model",
            "measure",
            "probe",
            "witness",
            "experiments",
            "report",
            "os",
            "cli",
        ],
    ),
    (
        "cli",
        &[
            "spec",
            "dialects",
            "record",
            "measure",
            "hosts",
            "study",
            "analyse",
            "experiments",
            "report",
            "probe",
            "doctor",
            "witness",
            "watch",
            "replay",
            "os",
            "model",
            "share",
        ],
    ),
];

#[test]
fn dependencies_flow_one_way() {
    let crates: Vec<&str> = ARROWS.iter().map(|(name, _)| *name).collect();
    for (name, allowed) in ARROWS {
        let manifest = fs::read_to_string(root().join("crates").join(name).join("Cargo.toml")).unwrap();
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or_default();
        let dependencies = dependencies.split("\n[").next().unwrap();
        for line in dependencies.lines() {
            let dependency = match line.split(['=', '.', ' ']).next().unwrap() {
                "halfpower" => "cli",
                other => other.strip_prefix("halfpower-").unwrap_or_default(),
            };
            assert!(
                !crates.contains(&dependency) || allowed.contains(&dependency),
                "{name} must not depend on {dependency}: ARCHITECTURE.md draws no such arrow"
            );
        }
    }
}

/// Crates that must have no import cycles; the test prints the cycles of others, for `--nocapture`.
const WITHOUT_CIRCLES: [&str; 18] = [
    "doctor",
    "hosts",
    "share",
    "analyse",
    "cli",
    "dialects",
    "engine",
    "experiments",
    "witness",
    "measure",
    "model",
    "os",
    "probe",
    "record",
    "report",
    "spec",
    "watch",
    "replay",
];

#[test]
fn no_modules_import_each_other_in_a_circle() {
    let mut complaints = Vec::new();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let source = entry.unwrap().path().join("src");
        let library = source.join("lib.rs");
        let arrows = circles::arrows(&if library.exists() { library } else { source.join("main.rs") });
        let mut found = Vec::new();
        for circle in circles::circles(&arrows) {
            found.push(format!("{}: {} files", shown(&source), circle.len()));
            found.extend(arrows_within(&arrows, &circle));
        }
        let name = source.parent().unwrap().file_name().unwrap().to_str().unwrap();
        if WITHOUT_CIRCLES.contains(&name) {
            complaints.extend(found);
        } else {
            println!("{}", found.join("\n"));
        }
    }
    complain("of modules that import each other, one holds what belongs in a third", &complaints);
}

/// The arrows among the files of a cycle, one per line.
fn arrows_within(arrows: &circles::Arrows, circle: &BTreeSet<PathBuf>) -> Vec<String> {
    let mut lines = Vec::new();
    for from in circle {
        for (to, path) in arrows[from].iter().filter(|(to, _)| circle.contains(*to)) {
            lines.push(format!("  {} -> {} by {path}", shown(from), shown(to)));
        }
    }
    lines
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
