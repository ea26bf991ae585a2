//! Measures a database with its defaults and with the settings that a study prints for it, in turns.

use halfpower_lab::{Figure, judge};
use serde_json::Value;

use super::LAB;
use crate::disks::Disk;

/// Pairs of a try, in either order as often. The fewest tries make twelve.
const PAIRS: u32 = 4;
/// The least share of the defaults' speed, and that where the disk is not what the defaults assume.
pub const NEVER_WORSE: f64 = 0.97;
pub const BETTER: f64 = 1.05;
/// Above all that is found.
const WHATEVER: f64 = 100.0;

/// The lines that a study of the disk with these words prints, without those of settings whose names hold one of `others`.
pub fn lines(disk: &Disk, words: &str, others: &[&str]) -> Vec<String> {
    let study = disk.studied(words, "settings.halfpower");
    let found = &study["experiments"][0]["found"];
    let settings: Vec<Value> = found["settings"].as_array().cloned().unwrap_or_default();
    let is_known = |setting: &&Value| {
        let name = setting["name"].as_str().unwrap_or_default();
        !others.iter().any(|other| name.contains(other))
    };
    let lines = settings.iter().filter(is_known).filter_map(|setting| setting["line"].as_str().map(str::to_string));
    let lines: Vec<String> = lines.collect();
    println!("{}: {lines:?}", disk.nature.words());
    if lines.is_empty() {
        println!("nothing is advised: {found}");
    }
    lines
}

/// Compares until the evidence decides. `speed` measures with the lines that it is given: with these, and with none.
pub fn judge_lines(figure: String, least: f64, lines: &[String], speed: impl Fn(&[String]) -> f64) {
    judge(LAB, vec![Figure::between(figure, 1.0, "", least..=WHATEVER)], || Some(vec![times_as_fast(lines, &speed)]));
}

/// How many times as fast it is with the lines as with none, over pairs of turns; NaN without a line.
fn times_as_fast(lines: &[String], speed: impl Fn(&[String]) -> f64) -> f64 {
    if lines.is_empty() {
        return f64::NAN;
    }
    let mut sum = 0.0;
    for pair in 0..PAIRS {
        let is_set_first = pair % 2 == 1;
        let first = speed(if is_set_first { lines } else { &[] });
        let second = speed(if is_set_first { &[] } else { lines });
        let (set, defaults) = if is_set_first { (first, second) } else { (second, first) };
        println!("with the defaults {defaults:.3}, with the lines {set:.3}");
        sum += (set / defaults).ln();
    }
    (sum / f64::from(PAIRS)).exp()
}
