//! Says a sentence to whoever started the program.

/// As `eprintln!`, but where nobody listens any more (a closed pipe) the sentence is lost and the program goes on.
macro_rules! tell {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}

pub(crate) use tell;
