//! Holds the tests that measure limited devices, for the laboratory.

mod calibration;
mod credit;
mod limits;
mod load;
mod shared_path;
mod sustain;
mod tries;
mod user_space;

use std::fs;
use std::path::Path;

use halfpower_lab::{Figure, judge};
use serde_json::Value;

use crate::throttled::{Begun, skip};

/// A limited device with a study to judge.
trait Case {
    fn begin(&self) -> Begun;
    /// Folder of its study.
    fn folder(&self) -> &Path;
    fn figures(&self) -> Vec<Figure>;
    /// The same figures, as the study found them.
    fn found(&self, findings: &Value) -> Vec<f64>;
}

/// Studies all devices in parallel, until the evidence decides.
fn judge_all<C: Case>(cases: Result<Vec<C>, String>) {
    let cases = match cases {
        Ok(cases) => cases,
        Err(why) => return skip(&format!("no throttled loop devices here (root is needed): {why}")),
    };
    judge("devices", cases.iter().flat_map(Case::figures).collect(), || {
        let studies: Vec<Begun> = cases.iter().map(Case::begin).collect();
        let found: Vec<Value> = studies.into_iter().map(Begun::findings).collect();
        cases.iter().for_each(|case| forget_study(case.folder()));
        Some(cases.iter().zip(&found).flat_map(|(case, findings)| case.found(findings)).collect())
    });
}

/// Removes the study of a folder, so that the next one begins anew.
fn forget_study(folder: &Path) {
    fs::remove_file(folder.join("study.halfpower")).unwrap();
}

/// An observation of a statement: 1 if it is right, else 0.
fn right(is_right: bool) -> f64 {
    f64::from(u8::from(is_right))
}
