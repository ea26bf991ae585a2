//! Prints messages to standard error.

use std::io::Write;

/// Like `eprintln!` for a message of one line, which it escapes: a name in it drives no terminal and begins no line. If
/// standard error is closed, the message is lost and the program goes on.
macro_rules! tell {
    ($($words:tt)*) => {
        $crate::tell::line(&format!($($words)*))
    };
}

/// Prints a message of one line.
pub(crate) fn line(message: &str) {
    let _ = writeln!(std::io::stderr(), "{}", halfpower_spec::escaped(message));
}

pub(crate) use tell;
