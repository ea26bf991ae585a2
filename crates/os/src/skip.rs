//! Reports that a test is skipped, or fails it if nothing may be left out.

/// Reports what is left out and why; fails if `HALFPOWER_NO_SKIP` is set.
pub(crate) fn skip(what: &str) {
    assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "may not be skipped: {what}");
    eprintln!("skipped: {what}");
}
