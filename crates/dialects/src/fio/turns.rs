//! Puts the jobs of a line into turns: those of a turn are measured at once, as fio runs them.

use super::job::Job;
use crate::RunWords;

/// The place of a job among the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    /// Whether it is measured at once with the job before it.
    pub joins: bool,
    /// The number of its group of results.
    pub group: u32,
}

/// The jobs that have their place so far.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// Names of the jobs whose turn is over when the present turn begins.
    earlier: Vec<String>,
    /// Names of the jobs of the present turn.
    present: Vec<String>,
    /// The job whose end began the present turn, if it was that of one job and not of all.
    begun_after: Option<String>,
    /// The group of the job before.
    group: u32,
}

impl Turns {
    /// Gives the next job its place.
    ///
    /// # Errors
    /// If it would begin at a time that is that of no turn.
    pub fn place(&mut self, job: &Job) -> Result<Place, String> {
        let is_first = self.present.is_empty();
        let begins = self.begins_turn(job);
        if !is_first && (job.waits || job.switches.begins_group) {
            self.group += 1;
        }
        let begins = begins?;
        if begins && !is_first {
            self.earlier.append(&mut self.present);
            self.begun_after = if job.waits { None } else { job.waits_for.clone() };
        }
        self.present.push(job.run.name.clone());
        Ok(Place { joins: !begins && !is_first, group: self.group })
    }

    /// Whether a turn begins with the job.
    fn begins_turn(&self, job: &Job) -> Result<bool, String> {
        match &job.waits_for {
            _ if job.waits || self.present.is_empty() => Ok(true),
            None if self.begun_after.is_none() => Ok(false),
            // fio begins it with the jobs before the present turn.
            None => Err(format!(
                "add stonewall or wait_for to it: fio begins it at once with the jobs of a turn that is over, since only the \
                 job before it waits for {}",
                self.begun_after.as_deref().unwrap_or("another")
            )),
            Some(other) if self.begun_after.as_ref() == Some(other) => Ok(false),
            Some(other) if self.present == [other.clone()] => Ok(true),
            Some(other) if self.begun_after.is_none() && self.earlier.contains(other) => Ok(false),
            Some(other) => Err(format!(
                "wait_for: `{other}` is not the only job that is measured before this one; add stonewall instead, to wait \
                 for all of them"
            )),
        }
    }
}

/// Why one simulated target is not measured by several jobs at once.
pub(super) const SIMULATED_TWICE: &str = "add stonewall to it, or --stonewall to the line, to run the jobs one after the \
                                          other: at once, each would have a simulated target of its own, and none would \
                                          wait for another";

/// The first run of a simulated target that a run of the same turn has too.
pub(super) fn simulated_twice(runs: &[RunWords]) -> Option<&RunWords> {
    let simulated = |run: &RunWords| {
        run.words.iter().filter_map(|word| word.to_str()).find(|word| word.starts_with("sim:")).map(str::to_string)
    };
    let mut present: Vec<String> = Vec::new();
    for run in runs {
        if !run.joins {
            present.clear();
        }
        let Some(target) = simulated(run) else { continue };
        if present.contains(&target) {
            return Some(run);
        }
        present.push(target);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(name: &str, waits: bool, waits_for: Option<&str>) -> Job {
        let mut job = Job { waits, waits_for: waits_for.map(str::to_string), ..Job::default() };
        job.run.name = name.to_string();
        job
    }

    fn placed(jobs: &[Job]) -> Vec<Result<(bool, u32), String>> {
        let mut turns = Turns::default();
        jobs.iter().map(|job| turns.place(job).map(|place| (place.joins, place.group))).collect()
    }

    #[test]
    fn jobs_are_at_once_unless_they_wait() {
        let jobs = [job("a", true, None), job("b", false, None), job("c", true, None), job("d", false, None)];
        assert_eq!(placed(&jobs), [Ok((false, 0)), Ok((true, 0)), Ok((false, 1)), Ok((true, 1))]);
    }

    #[test]
    fn a_job_waits_for_one_that_is_alone_or_over() {
        let a = || job("a", false, None);
        assert_eq!(placed(&[a(), job("b", false, Some("a"))]), [Ok((false, 0)), Ok((false, 0))]);
        // Both wait for the same.
        let two = [a(), job("b", false, Some("a")), job("c", false, Some("a"))];
        assert_eq!(placed(&two), [Ok((false, 0)), Ok((false, 0)), Ok((true, 0))]);
        let over = [a(), job("b", true, None), job("c", false, Some("a"))];
        assert_eq!(placed(&over)[2], Ok((true, 1)));
        let beside = placed(&[a(), job("b", false, None), job("c", false, Some("a"))]);
        assert!(beside[2].as_ref().is_err_and(|why| why.contains("add stonewall")), "{beside:?}");
        let early = placed(&[a(), job("b", false, Some("a")), job("c", false, None)]);
        assert!(early[2].as_ref().is_err_and(|why| why.contains("add stonewall")), "{early:?}");
        assert!(placed(&[a(), job("b", false, Some("x"))])[1].is_err());
    }

    #[test]
    fn a_group_begins_where_it_is_asked_for() {
        let mut apart = job("b", false, None);
        apart.switches.begins_group = true;
        assert_eq!(placed(&[job("a", false, None), apart]), [Ok((false, 0)), Ok((true, 1))]);
    }
}
