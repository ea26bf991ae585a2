//! Tests that the lines of halfpower on its own pages are lines that it takes, and that tests which they name are there.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;

use crate::args::CommandLine;
use crate::replay_args::ReplayArgs;

/// What follows so many spaces on a line says what it does.
const BEFORE_WORDS: &str = "    ";

/// The pages: the first one, and all in the folder of pages and the folders in it.
fn pages(root: &Path) -> Vec<PathBuf> {
    let mut pages = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

/// The lines of halfpower that a page has in its blocks of code.
fn lines(page: &str) -> Vec<String> {
    let mut is_code = false;
    let mut lines = Vec::new();
    // A line that goes on in the next one, which is indented.
    let joined = page.replace("\\\n    ", "").replace("\\\n", "");
    for line in joined.lines() {
        is_code ^= line.starts_with("```");
        let line = line.strip_prefix("$ ").unwrap_or(line);
        if is_code && line.starts_with("halfpower ") {
            let line = line.split(BEFORE_WORDS).next().unwrap_or_default();
            lines.push(line.split(" # ").next().unwrap_or_default().to_string());
        }
    }
    lines
}

/// The words of a line, of which single quotes hold some together.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for c in line.trim().chars() {
        match c {
            '\'' => is_quoted = !is_quoted,
            c if c.is_whitespace() && !is_quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a word stands for the reader's own, such as `FILE`, `[TARGET]` or `...`, or names a model that is not here.
fn is_the_readers(word: &str) -> bool {
    let stands_for_it = word.chars().all(|c| c.is_ascii_uppercase() || "[].".contains(c));
    stands_for_it || word.starts_with("sim:") && word.contains(".toml")
}

#[test]
fn lines_on_pages_are_taken() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut taken = 0;
    let mut all_refused = Vec::new();
    for page in pages(&root) {
        for line in lines(&fs::read_to_string(&page).unwrap()) {
            let words = words(&line);
            let of_run: Vec<_> = words.iter().skip(2).map(std::ffi::OsString::from).collect();
            let is_run = words.get(1).is_some_and(|command| command == "run");
            if words.iter().any(|word| is_the_readers(word)) || is_run && halfpower_dialects::fio::speaks(&of_run) {
                continue;
            }
            let refused = match is_run && crate::commands::replay::is_meant(&of_run) {
                true => ReplayArgs::try_parse_from(words.iter().skip(1)).err(),
                false => CommandLine::try_parse_from(&words).err(),
            };
            taken += 1;
            all_refused.extend(refused.map(|why| format!("{}: {line}: {why}", page.display())));
        }
    }
    assert!(all_refused.is_empty(), "{}", all_refused.join("\n"));
    assert!(taken > 40, "{taken} lines were found");
}

/// The package of a line of `cargo test` in an indented block of code, and the words that name its tests.
fn tests_of(line: &str) -> Option<(&str, Vec<&str>)> {
    let (_, words) = line.strip_prefix("    ")?.split_once("cargo test ")?;
    let mut words = words.split_whitespace();
    let mut package = None;
    let mut names = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "-p" => package = words.next(),
            "--test" | "--features" => {
                words.next();
            }
            word if word.starts_with('-') => {}
            word => names.push(word),
        }
    }
    Some((package?, names))
}

/// Whether a file of a crate, or a function in one, has a name that holds this word.
fn is_named(folder: &Path, word: &str) -> bool {
    let is_function = |line: &str| {
        let name = line.trim_start().strip_prefix("fn ").and_then(|rest| rest.split('(').next());
        name.is_some_and(|name| name.contains(word))
    };
    let mut folders = vec![folder.join("src"), folder.join("tests")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.file_stem().is_some_and(|name| name.to_string_lossy().contains(word))
                || fs::read_to_string(&path).is_ok_and(|text| text.lines().any(is_function))
            {
                return true;
            }
        }
    }
    false
}

#[test]
fn tests_that_pages_name_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut named = 0;
    for page in pages(&root) {
        let text = fs::read_to_string(&page).unwrap();
        for (package, names) in text.lines().filter_map(tests_of) {
            let folder = root.join("crates").join(package.strip_prefix("halfpower-").unwrap_or("cli"));
            for name in names {
                named += 1;
                assert!(is_named(&folder, name), "{}: {package} has no test {name}", page.display());
            }
        }
    }
    assert!(named > 4, "{named} tests were named");
}
