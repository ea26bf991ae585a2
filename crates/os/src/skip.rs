//! Says that a test is skipped, or fails it where nothing may be left out.

/// Says what is left out and why; a failure where `HALFPOWER_NO_SKIP` is set.
pub(crate) fn skip(what: &str) {
    assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "may not be skipped: {what}");
    eprintln!("skipped: {what}");
}
