//! Checks that `docs/reproduction.md` quotes the program's output.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A row of a table of reports.
#[derive(Debug)]
struct Row {
    quotes: Vec<String>,
    commands: Vec<String>,
}

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reproduction.md");
    std::fs::read_to_string(path).unwrap()
}

fn columns(line: &str) -> Vec<&str> {
    line.trim_matches('|').split('|').map(str::trim).collect()
}

/// The first command of each letter.
fn commands(page: &str) -> BTreeMap<String, Vec<String>> {
    let lines = page.lines().filter(|line| line.starts_with("| ") && line.contains("| `halfpower study "));
    let command = |line: &str| {
        let columns = columns(line);
        let words = columns[1].split('`').nth(1).unwrap().split(' ').skip(1).map(str::to_string);
        (columns[0].to_string(), words.collect())
    };
    lines.map(command).collect()
}

/// The rows that quote the program, from all tables of reports.
fn rows(page: &str) -> Vec<Row> {
    let lines = page.lines().filter(|line| line.starts_with("| ")).map(columns);
    let rows = lines.filter(|columns| columns.len() == 5).map(|columns| Row {
        quotes: columns[2].split('"').skip(1).step_by(2).map(str::to_string).collect(),
        commands: columns[3].split(", ").map(str::to_string).collect(),
    });
    rows.filter(|row| !row.quotes.is_empty()).collect()
}

/// Collects all nested strings.
fn strings(value: &Value, text: &mut String) {
    match value {
        Value::String(string) => *text += &format!("{string}\n"),
        Value::Array(items) => items.iter().for_each(|item| strings(item, text)),
        Value::Object(members) => members.values().for_each(|value| strings(value, text)),
        _ => {}
    }
}

/// Output of a command, and the text of its findings.
fn said(words: &[String]) -> String {
    let folder = TempDir::new().unwrap();
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_halfpower"));
        let output = command.current_dir(folder.path()).args(words).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let printed = run(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let mut text = printed.split_whitespace().collect::<Vec<_>>().join(" ");
    strings(&serde_json::from_str(&run(&["report", "study.halfpower", "--json"])).unwrap(), &mut text);
    text
}

#[test]
#[ignore = "gate: studies of all machines with all experiments"]
fn what_the_page_quotes_is_what_the_program_says() {
    let page = page();
    let commands = commands(&page);
    let rows = rows(&page);
    assert!(rows.len() >= 20 && commands.len() >= 6, "{} rows, {} commands", rows.len(), commands.len());
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    let mut missing = Vec::new();
    for Row { quotes, commands: letters } in &rows {
        for letter in letters.iter().filter(|letter| commands.contains_key(*letter)) {
            texts.entry(letter).or_insert_with(|| said(&commands[letter]));
        }
        let has = |quote: &String| {
            letters.iter().any(|letter| texts.get(letter.as_str()).is_some_and(|text| text.contains(quote)))
        };
        missing.extend(quotes.iter().filter(|quote| !has(quote)).map(|quote| format!("{letters:?}: {quote}")));
    }
    assert!(
        missing.is_empty(),
        "the page quotes what the program does not say; run the commands and mend it: {missing:#?}"
    );
}
