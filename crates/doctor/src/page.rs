//! Writes the page of all checks.

use crate::CHECKS;

/// All checks as Markdown, for `docs/doctor.md`: one section each.
pub fn as_markdown() -> String {
    let mut text = format!("{} checks, from the application down to the disks.\n", CHECKS.len());
    for check in CHECKS {
        let reads: Vec<String> = check.reads.iter().map(|file| code(file)).collect();
        text += &format!("\n### {}\n\n{}.\n\n", check.code, check.title);
        text += &format!("- reads: {}\n", reads.join("; "));
        text += &format!("- applies to: {}\n", check.applies);
        text += &format!("- costs: {}\n", check.costs);
        text += &format!("- change: {}\n", check.change);
        text += &format!("- source: {}\n", check.source);
    }
    text
}

/// A path as code, without the words behind it.
fn code(file: &str) -> String {
    match file.split_once(' ') {
        None => format!("`{file}`"),
        Some((path, words)) if path.starts_with('/') => format!("`{path}` {words}"),
        Some(_) => file.replace('*', "\\*"),
    }
}
