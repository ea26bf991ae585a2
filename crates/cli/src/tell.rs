//! Prints a message to standard error.

/// Like `eprintln!`, but if standard error is closed, the message is lost and the program goes on.
macro_rules! tell {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}

pub(crate) use tell;
