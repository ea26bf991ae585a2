//! What measures limited devices: the laboratory runs it.

mod calibration;
mod credit;
mod limits;
mod shared_path;

use std::fs;
use std::path::Path;

/// Lets the next study of a folder begin anew.
fn forget_study(folder: &Path) {
    fs::remove_file(folder.join("study.halfpower")).unwrap();
}

/// An observation of something that is said.
fn right(is_right: bool) -> f64 {
    f64::from(u8::from(is_right))
}
