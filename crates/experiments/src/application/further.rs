//! Decides which shapes of a profile need further runs: those whose figures decide something and are not known well enough.

use std::collections::{BTreeMap, BTreeSet};

use halfpower_record::Environment;
use halfpower_spec::{Figure, Formula, Need, Profile, Question, Workload};

use super::figures::{Missing, RunFigures, known, over_runs, surely_missed};
use super::shapes;
use crate::plan::PlanRequest;

/// Half of an interval, as a share of its value, at which a figure is known well enough.
const SHARP: f64 = 0.05;
/// Half intervals that a bound lies away from a needed figure if nobody has to measure on. More than one, because a look
/// after each round would else find an interval beside its bound by luck.
const FAR: f64 = 3.0;

/// The profile of a question, and the workloads of its shapes here.
#[derive(Debug, Clone)]
pub struct Further {
    profile: Profile,
    /// The workload of each shape; `None` for one that cannot run here.
    workloads: Vec<Option<Workload>>,
}

impl Further {
    /// What the profile of `question` decides by; `None` without a profile that can be read.
    pub fn of(question: &Question, environment: &Environment) -> Option<Self> {
        let profile = shapes::profile(question).ok()?;
        let ask = PlanRequest { question, environment };
        let suited = shapes::suited_shapes(&ask, &profile);
        let workloads = suited.into_iter().map(|suited| suited.ok().map(|suited| suited.workload)).collect();
        Some(Self { profile, workloads })
    }

    /// The workloads whose figures are not known well enough, given the figures of their runs so far.
    pub fn open(&self, runs: &BTreeMap<Workload, Vec<RunFigures>>) -> BTreeSet<Workload> {
        let mut open = BTreeSet::new();
        for need in &self.profile.needs {
            if !self.is_far_from(need, runs) {
                open.extend(self.unsharp(&need.figure, runs));
            }
        }
        for setting in &self.profile.settings {
            open.extend(self.unsharp(&setting.value, runs));
        }
        open
    }

    fn runs_of<'a>(&self, shape: usize, runs: &'a BTreeMap<Workload, Vec<RunFigures>>) -> &'a [RunFigures] {
        let of_shape = self.workloads[shape].and_then(|workload| runs.get(&workload));
        of_shape.map_or(&[][..], Vec::as_slice)
    }

    /// Whether the figure lies so far from its bound that further runs would not turn the verdict.
    fn is_far_from(&self, need: &Need, runs: &BTreeMap<Workload, Vec<RunFigures>>) -> bool {
        let of_shape = |shape: usize, figure: Figure| {
            let (measured, count) = over_runs(self.runs_of(shape, runs), figure).ok()?;
            (count > 1).then(|| known(measured))
        };
        let Some(value) = need.figure.value(&of_shape) else {
            return surely_missed(need, &|shape| self.runs_of(shape, runs)).is_some();
        };
        let reach = (value.high - value.low) / 2.0;
        (value.value - need.bound.number()).abs() > FAR * reach
    }

    /// The workloads of the formula's figures that are not sharp. A shape without any run is none of them: it cannot be
    /// measured, or its turn comes anyway.
    fn unsharp(&self, formula: &Formula, runs: &BTreeMap<Workload, Vec<RunFigures>>) -> Vec<Workload> {
        let is_unsharp = |(shape, figure): &(usize, Figure)| {
            let runs = self.runs_of(*shape, runs);
            match over_runs(runs, *figure) {
                Ok((measured, count)) => count < 2 || measured.relative_reach() > SHARP,
                // More runs give more requests; a figure that no run has does not come with more of them.
                Err(Missing::Requests { .. }) => true,
                Err(Missing::Figure) => false,
            }
        };
        let figures = formula.figures().into_iter().filter(is_unsharp);
        figures.filter_map(|(shape, _)| self.workloads[shape]).collect()
    }
}

#[cfg(test)]
mod tests {
    use halfpower_record::{LatencyCounter, Record};
    use halfpower_spec::{Application, Bytes, Experiment, Pass};

    use super::*;
    use crate::built::{disk, record_at};
    use crate::built_study::folder_without;

    /// The shapes of etcd that are open after runs of these flush times in milliseconds.
    fn open(flush_ms: &[f64]) -> BTreeSet<Bytes> {
        let question = Question {
            experiments: vec![Experiment::Application],
            application: Application::built_in("etcd"),
            ..Question::about("d")
        };
        let capabilities = folder_without(Some(Bytes(512)), &[], "");
        let further = Further::of(&question, &Environment { capabilities, ..Environment::default() }).unwrap();
        let mut runs: BTreeMap<Workload, Vec<RunFigures>> = BTreeMap::new();
        for workload in further.workloads.iter().flatten() {
            for (repeat, ms) in flush_ms.iter().enumerate() {
                let mut record: Record = record_at(&disk(""), *workload, repeat as u32, Pass::Plain, 2e8 / ms);
                let mut counter = LatencyCounter::default();
                counter.add((ms * 1e6) as u64, 1000);
                (record.commits, record.syncs) = (counter.latency(), counter.latency());
                runs.entry(*workload).or_default().push(RunFigures::of(&record).unwrap());
            }
        }
        further.open(&runs).into_iter().map(|workload| workload.bs).collect()
    }

    #[test]
    fn what_is_sharp_or_far_from_every_bound_needs_no_further_runs() {
        assert!(open(&[2.0, 2.001, 1.999]).is_empty());
        let log = Bytes(2300);
        assert!(open(&[9.0, 10.0, 11.0]).contains(&log), "the bound of 10 ms is near");
        assert!(open(&[2.0]).contains(&log), "a single run has no interval");
    }
}
