//! Are the papers' machines at hand? `halfpower systems`, and studies and runs on them with the real binary.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn run(folder: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_halfpower"));
    command.current_dir(folder).args(words).stdin(Stdio::null()).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn complaint(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn every_shipped_system_is_listed_with_what_it_is_and_can_be_printed() {
    let folder = folder();
    let list = said(&run(folder.path(), &["systems"]));
    for system in model::systems() {
        let line = list.lines().find(|line| line.split_whitespace().next() == Some(system.name)).expect(system.name);
        assert!(line.ends_with(system.about()) && !system.about().is_empty(), "{line}");
        assert_eq!(said(&run(folder.path(), &["systems", system.name])), system.text);
    }
    let unknown = complaint(&run(folder.path(), &["systems", "win95"]));
    assert!(unknown.contains("win95") && unknown.contains("halfpower systems"), "{unknown}");
}

#[test]
fn the_reproduction_is_printed_row_by_row_with_its_counts() {
    let table = said(&run(folder().path(), &["systems", "--reproduce"]));
    let reproduction = model::reproduce::reproduce().unwrap();
    let rows: Vec<&str> = table.lines().skip(1).take_while(|line| !line.is_empty()).collect();
    let answered: Vec<_> = reproduction.rows.iter().filter(|row| row.ours.is_some()).collect();
    assert_eq!(rows.len(), answered.len());
    for (line, row) in rows.iter().zip(answered) {
        assert!(line.starts_with(&row.figure.id), "{line}");
        assert!(line.contains(row.mechanism) && !row.mechanism.is_empty(), "{line}");
        assert!(line.contains(&format!("{} {}", row.figure.value, row.figure.unit)), "{line}");
    }
    let within = reproduction.count(model::reproduce::Verdict::Within10);
    assert!(table.contains(&format!("{within} predicted within 10%")), "no summary");
}
