//! Runs the library on the words of the command line.

use std::ffi::OsString;
use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    halfpower::carry_out(&words)
}
