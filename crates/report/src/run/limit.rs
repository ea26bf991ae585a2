//! Names the known limit that a run met.

use std::io::{self, Write};

use halfpower_analyse::{MetLimit, Most, met_limit};
use halfpower_record::{Level, Record};
use halfpower_spec::format;

use super::row;

/// Prints the known limit of the path that stops the run, as a line below those of [`super::run_text`]; prints nothing
/// if no known limit stops it.
///
/// # Errors
/// Those of `out`.
pub fn limit_text(record: &Record, levels: &[Level], out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    match met_limit(levels, record) {
        Some(met) => row(out, "limit", &words(&met)),
        None => Ok(()),
    }
}

fn words(met: &MetLimit) -> String {
    let most = match met.most {
        Most::Mbps(mbps) => format::mbps(mbps),
        Most::Iops(iops) => format::iops(iops),
    };
    let MetLimit { level, share, source, .. } = met;
    format!("{level}: {} of the {most} that it lets through ({source})", format::percent(*share))
}
