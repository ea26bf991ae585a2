//! Keeps the operations of an application in a file that asks them again.

use anyhow::{Result, bail};
use halfpower_record::output::{Destination, Form};
use halfpower_record::{Captured, Watched, write_capture};
use halfpower_spec::format::thousands;
use halfpower_spec::shell_operand;

use crate::commands::{are_one, destination, refuse_beside_json};
use crate::watch_args::WatchArgs;

/// The operations, and the file that keeps them.
pub(super) struct Recorded {
    pub destination: Destination,
    pub captured: Captured,
}

/// The file of `--record`, checked before anything is watched or started; `None` if nothing is to be kept.
///
/// # Errors
/// A sentence that says why nothing can be kept, or not there.
pub(super) fn destination_of(args: &WatchArgs) -> Result<Option<Destination>> {
    let Some(path) = &args.record else { return Ok(None) };
    if args.output.iter().any(|output| are_one(output, path)) {
        bail!("--record {}: -o names the same file; name another", path.display());
    }
    let destination = destination(path, Form::Capture, args.force)?.apart_from(args.study.as_deref())?;
    refuse_beside_json(args.json, [&destination])?;
    if let Err(error) = halfpower_os::trace::available() {
        bail!(
            "--record: {error}; `strace -f -ttt -T -o app.strace COMMAND` keeps what a command asks without that, for \
             `halfpower import app.strace -o app.halfpower`"
        );
    }
    Ok(Some(destination))
}

impl Recorded {
    /// Writes the file.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self) -> Result<()> {
        self.destination.write(|out| -> Result<()> { Ok(write_capture(&self.captured, out)?) })
    }

    /// What was kept, and what it is good for.
    pub fn sentence(&self, watched: &Watched) -> String {
        let captured = &self.captured;
        let path = self.destination.path();
        let seen = format!("{} s of {}", seconds(captured.span_ns()), seconds(watched.span_ns));
        if captured.operations.is_empty() {
            return format!(
                "Kept in {}: nothing, as no operation on a file was seen from its beginning to its end in {seen}{}",
                path.display(),
                left_out(captured.left_out)
            );
        }
        format!(
            "Kept in {}: {} of {} on {}, {seen}{}; ask them again with `halfpower run --workload {} FOLDER`",
            path.display(),
            counted(captured.operations.len() as u64, "operation"),
            counted(captured.lanes.into(), "lane"),
            counted(captured.files.len() as u64, "file"),
            left_out(captured.left_out),
            shell_operand(path)
        )
    }
}

fn counted(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(count as f64), if count == 1 { "" } else { "s" })
}

/// A time in seconds, with a digit after the point where that says something.
fn seconds(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    if seconds >= 9.95 { format!("{seconds:.0}") } else { format!("{seconds:.1}") }
}

fn left_out(count: u64) -> String {
    match count {
        0 => String::new(),
        _ => format!(
            " ({} left out: too many, cut by lost events, or on no file that is known)",
            thousands(count as f64)
        ),
    }
}

#[cfg(test)]
mod tests {
    use halfpower_record::{CapturedFile, CapturedOperation, OperationKind};

    use super::*;

    fn sentence(captured: Captured) -> String {
        let folder = tempfile::tempdir().unwrap();
        let named = folder.path().join("my app.halfpower");
        let destination = Destination::new(&named, Form::Capture, false).unwrap();
        let watched = Watched { span_ns: 60_000_000_000, ..Watched::default() };
        let said = Recorded { destination, captured }.sentence(&watched);
        said.replace(&folder.path().display().to_string(), "HERE")
    }

    #[test]
    fn what_was_kept_and_what_to_do_with_it_is_one_line() {
        let operation = CapturedOperation {
            slice: 0,
            lane: 0,
            at_ns: 5,
            took_ns: 5,
            kind: OperationKind::Read,
            file: 0,
            offset: 0,
            bytes: 4096,
            cached: false,
        };
        let captured = Captured {
            slices: vec![8_100_000_000],
            files: vec![CapturedFile { bytes: 4096, ..CapturedFile::default() }],
            lanes: 4,
            operations: vec![operation; 12_345],
            ..Captured::default()
        };
        assert_eq!(
            sentence(captured.clone()),
            "Kept in HERE/my app.halfpower: 12,345 operations of 4 lanes on 1 file, 8.1 s of 60; ask them again with \
             `halfpower run --workload 'HERE/my app.halfpower' FOLDER`"
        );
        let cut = sentence(Captured { left_out: 1200, ..captured.clone() });
        assert!(cut.contains("8.1 s of 60 (1,200 left out: too many, "), "{cut}");
        let idle = sentence(Captured { operations: Vec::new(), lanes: 0, files: Vec::new(), ..captured });
        assert!(idle.contains("nothing, as no operation") && !idle.contains("--workload"), "{idle}");
    }
}
