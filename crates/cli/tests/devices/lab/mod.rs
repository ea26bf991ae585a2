//! What measures limited devices: the laboratory runs it.

mod calibration;
mod credit;
mod limits;
mod shared_path;

use std::fs;
use std::path::Path;

use halfpower_lab::{Figure, judge};
use serde_json::Value;

use crate::throttled::{Begun, skip};

/// A limited device whose studies are judged.
trait Case {
    fn begin(&self) -> Begun;
    /// Where its study lies.
    fn folder(&self) -> &Path;
    fn figures(&self) -> Vec<Figure>;
    /// The same, as the study found them.
    fn found(&self, findings: &Value) -> Vec<f64>;
}

/// Studies all of the devices side by side, as often as it takes.
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

/// Lets the next study of a folder begin anew.
fn forget_study(folder: &Path) {
    fs::remove_file(folder.join("study.halfpower")).unwrap();
}

/// An observation of something that is said.
fn right(is_right: bool) -> f64 {
    f64::from(u8::from(is_right))
}
