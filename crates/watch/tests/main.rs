//! Checks watches of processes, laid out in a folder or running.

mod laid_out;
mod live;

/// Reports what is left out and why; fails if `HALFPOWER_NO_SKIP` is set.
fn skip(what: &str) {
    assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "may not be skipped: {what}");
    eprintln!("skipped: {what}");
}
