//! How do other programs get the findings? As one JSON object, with the names that [`Findings`] documents.

use std::io::{self, Write};

use analyse::Findings;

/// Writes the findings, indented, with a line end after the last brace. A number that is none becomes `null`.
///
/// # Errors
/// Those of `out`.
pub fn json(findings: &Findings, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, findings)?;
    writeln!(out)
}
