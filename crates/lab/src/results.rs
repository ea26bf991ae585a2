//! Appends the outcomes as lines of JSON to the file that `HALFPOWER_LAB_RESULTS` names.

use std::fmt;
use std::fs::OpenOptions;
use std::io::Write;

use serde::Serialize;

use crate::Truth;
use crate::evidence::{Evidence, Verdict};
use crate::machine::Disturbance;

/// One figure's outcome.
#[derive(Debug, Serialize)]
pub(crate) struct Outcome {
    lab: String,
    /// The test that judged it, from the name of its thread.
    test: Option<String>,
    figure: String,
    unit: Option<&'static str>,
    truth: Option<f64>,
    /// Mean of the observations; for a sentence, the share of tries in which it was right.
    found: Option<f64>,
    /// `found / truth - 1`, and the half width of its interval.
    deviation: Option<f64>,
    deviation_interval: Option<f64>,
    /// Smallest and largest accepted deviation.
    bound: Option<[f64; 2]>,
    /// Tries until the verdict. Of these, those that told nothing of the figure, and those that others disturbed.
    tries: usize,
    unseen_tries: usize,
    disturbed_tries: usize,
    /// Share of the processors' time that others took in the worst try, and who took it.
    noise: f64,
    noise_by: String,
    #[serde(serialize_with = "word")]
    pub verdict: Verdict,
}

fn word<S: serde::Serializer>(verdict: &Verdict, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(verdict.word())
}

impl Outcome {
    pub fn of(lab: &str, evidence: &Evidence, worst: &Disturbance) -> Self {
        let seen = &evidence.seen;
        let found = (!seen.is_empty()).then(|| seen.iter().sum::<f64>() / seen.len() as f64);
        let (unit, truth, bound) = match &evidence.figure.truth {
            Truth::Number { truth, unit, bound } => {
                (Some(*unit), Some(*truth), Some([bound.start() - 1.0, bound.end() - 1.0]))
            }
            Truth::Saying => (None, None, None),
        };
        let deviation = truth.zip(found).map(|(truth, found)| found / truth - 1.0);
        Self {
            lab: lab.to_string(),
            test: std::thread::current().name().map(str::to_string),
            figure: evidence.figure.name.clone(),
            unit,
            truth,
            found,
            deviation,
            deviation_interval: truth.zip(evidence.mean()).map(|(truth, (_, half))| half / truth),
            bound,
            tries: seen.len() + evidence.unseen + evidence.disturbed,
            unseen_tries: evidence.unseen,
            disturbed_tries: evidence.disturbed,
            noise: worst.share,
            noise_by: worst.by.clone(),
            verdict: evidence.verdict(),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}, ", self.verdict.word(), self.figure)?;
        match (self.found, self.deviation) {
            (Some(found), Some(deviation)) => {
                let (truth, unit) = (self.truth.unwrap_or_default(), self.unit.unwrap_or_default());
                write!(out, "{found:.4} of {truth:.4} {unit}, {:+.2}%", deviation * 100.0)?;
                if let Some(half) = self.deviation_interval {
                    write!(out, " ±{:.2}", half * 100.0)?;
                }
            }
            (Some(found), None) => write!(out, "right in {:.0}% of the tries", found * 100.0)?,
            _ => write!(out, "nothing seen")?,
        }
        write!(out, ", {} tries", self.tries)?;
        if self.unseen_tries > 0 {
            write!(out, ", {} of which told nothing of it", self.unseen_tries)?;
        }
        if self.disturbed_tries > 0 {
            write!(out, ", {} of which were disturbed, by {} most", self.disturbed_tries, self.noise_by)?;
        }
        Ok(())
    }
}

/// Adds the outcomes to the laboratory's results, if `HALFPOWER_LAB_RESULTS` is set.
pub(crate) fn keep(outcomes: &[Outcome]) {
    keep_lines(&outcomes.iter().map(line).collect::<String>());
}

/// Adds one row to the laboratory's results, if there are any.
pub(crate) fn keep_row(row: &impl Serialize) {
    keep_lines(&line(row));
}

fn line(row: &impl Serialize) -> String {
    serde_json::to_string(row).expect("plain data") + "\n"
}

fn keep_lines(lines: &str) {
    let Some(path) = std::env::var_os("HALFPOWER_LAB_RESULTS") else { return };
    let mut file = OpenOptions::new().append(true).create(true).open(&path).expect("the laboratory's results");
    // A single write, so that lines of parallel tests do not mix.
    file.write_all(lines.as_bytes()).expect("the laboratory's results");
}
