//! Tells of what could not be put in order when a share was let go, where no caller is left to return it to.

use std::io::Write;

use halfpower_spec::escaped;

/// Prints a line to standard error. What a server said in it drives no terminal.
pub(crate) fn tell(message: &str) {
    let _ = writeln!(std::io::stderr(), "{}", escaped(message));
}
