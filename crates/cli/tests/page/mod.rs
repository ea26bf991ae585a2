//! Compares an experiment's section of the page with the file in `golden/`; `HALFPOWER_BLESS=1` writes the files anew.

use std::path::{Path, PathBuf};

/// The section of one experiment, one tag per line.
fn section(page: &str, experiment: &str) -> String {
    let begin = page.find(&format!("<section class=\"inside\" id=\"{experiment}\">")).expect("no such section");
    let end = begin + page[begin..].find("</section>").unwrap() + "</section>".len();
    page[begin..end]
        .replace('<', "\n<")
        .replace('>', ">\n")
        .lines()
        .filter(|line| !line.is_empty())
        .fold(String::new(), |text, line| text + line + "\n")
}

/// Compares the section of one experiment with the golden file `name`.
pub fn golden(page: &str, experiment: &str, name: &str) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.txt"));
    let found = section(page, experiment);
    if std::env::var_os("HALFPOWER_BLESS").is_some() {
        std::fs::write(&path, &found).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, kept, "{}: look at it, and bless it with HALFPOWER_BLESS=1 if it is right", path.display());
}
