//! Tries settings of a place: switches each, measures it in turns with the old one, and puts it back.
//!
//! While a setting is switched its owner holds a note of it, so that it is put back whatever ends this process.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use halfpower_doctor::{Candidate, Place, Switchable, TRIES, TrialLoad, Try, candidates};
use halfpower_measure::{RealTarget, RealTargetOptions, TargetBackend as _, WriteCache};
use halfpower_os::cache_switch::{CacheSwitch, WRITE_BACK, WRITE_THROUGH};
use halfpower_os::{HeldSetting, Setting};
use halfpower_record::{CheckFinding, Diagnosis, Trial, TrialVerdict};
use halfpower_spec::{Nanos, Switch};
use halfpower_study::{RunSeeds, SeenPairs, Side, Slice, SlicedTarget, pairs};

use crate::progress::Line;
use crate::values::Tried;

/// Length of a slice.
const SLICE: Nanos = Nanos(500_000_000);
/// Length of the requests after each switch that are not measured.
const RAMP: Nanos = Nanos(100_000_000);
/// Time in which a trial gets to the first look at its pairs.
const FIRST_LOOK: Duration = Duration::from_secs(8);
/// Time limit of laying out a file in a folder.
const LAYOUT: Nanos = Nanos(10_000_000_000);

/// One trial that is to be made.
struct Planned {
    code: &'static str,
    candidate: Candidate,
    load: TrialLoad,
}

/// Tries what `wanted` names at a place, for at most `budget`. Says so if there is nothing to try.
///
/// # Errors
/// If the target cannot be measured, or the user interrupts; every setting is then as it was.
pub fn tries(
    path: &Path,
    (place, seen): (&Place, &Diagnosis),
    (wanted, budget): (&Tried, Nanos),
    quiet: bool,
    stop: &AtomicBool,
) -> Result<Vec<Trial>> {
    let planned = planned(place, seen, wanted);
    if planned.is_empty() {
        crate::tell::tell!("halfpower: {}: {}", path.display(), nothing(wanted));
        return Ok(Vec::new());
    }
    let mut bench = Bench::open(path, stop)?;
    let until = Instant::now() + Duration::from_nanos(budget.0);
    let line = Line::new(quiet);
    let of = planned.len();
    let mut trials = Vec::new();
    for (at, plan) in planned.iter().enumerate() {
        // What is decided early leaves its time to the others; what is begun may get as far as the first look.
        let left = until.saturating_duration_since(Instant::now());
        let share = (left / (planned.len() - at) as u32).max(FIRST_LOOK).min(left);
        let deadline = Instant::now() + share;
        trials.push(bench.trial(plan, deadline, |number| line.show(&progress(plan, (at + 1, of), number))));
        if stop.load(Ordering::Relaxed) {
            drop(line);
            return interrupted(&trials);
        }
    }
    Ok(trials)
}

fn interrupted(trials: &[Trial]) -> Result<Vec<Trial>> {
    let switched = trials.iter().filter(|trial| !trial.put_back).map(|trial| trial.setting.as_str());
    match switched.collect::<Vec<_>>().join(", ") {
        none if none.is_empty() => bail!("interrupted; every setting is as it was"),
        some => bail!("interrupted, and not put back: {some}; start any command of halfpower as root"),
    }
}

/// Why nothing is tried, and what to do.
fn nothing(wanted: &Tried) -> String {
    match wanted {
        Tried::Found => {
            let codes: Vec<&str> = TRIES.iter().map(|row| row.code).collect();
            format!("no finding here can be tried; name settings (--try=scheduler, or all): {}", codes.join(", "))
        }
        Tried::All => "no setting here can be tried".to_string(),
        Tried::Named(names) => {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            format!("there is nothing to switch here for --try={}", names.join(","))
        }
    }
}

/// The trials, one for each setting, value and workload.
fn planned(place: &Place, seen: &Diagnosis, wanted: &Tried) -> Vec<Planned> {
    let may_try = |code: &str, subject: &str| {
        let is_it = |finding: &CheckFinding| finding.may_try && finding.subject == subject;
        seen.checks.iter().any(|check| check.code == code && check.findings.iter().any(is_it))
    };
    let is_wanted = |row: &Try, candidate: &Candidate| match wanted {
        Tried::Found => may_try(row.code, &candidate.subject),
        Tried::All => !row.by_name_only,
        Tried::Named(names) => names.iter().any(|name| name.is_of(row, &candidate.subject)),
    };
    let mut planned = Vec::new();
    for row in TRIES {
        for candidate in candidates(row, place).into_iter().filter(|candidate| is_wanted(row, candidate)) {
            let of_load = |load: &TrialLoad| Planned { code: row.code, candidate: candidate.clone(), load: *load };
            planned.extend(row.loads.iter().map(of_load));
        }
    }
    planned
}

/// What is tried now, for the line of progress.
fn progress(plan: &Planned, (at, of): (usize, usize), number: u32) -> String {
    let Candidate { subject, shown, to, .. } = &plan.candidate;
    let name = shown.rsplit('/').next().unwrap_or_default();
    format!("trying {at} of {of}: {subject}, {name} {to}, {}, pair {number}", plan.load.words())
}

/// A setting that is held while it is tried; dropping it puts it back.
enum Owner {
    Setting { held: HeldSetting, setting: Setting, to: String },
    WriteCache { held: WriteCache, device: String },
}

impl Owner {
    fn take(candidate: &Candidate) -> Result<Self> {
        match &candidate.switch {
            Switchable::Setting { setting, followers } => {
                let name = candidate.shown.rsplit('/').next().unwrap_or_default();
                let name = format!("setting-{}-{name}", candidate.subject.replace('/', "-"));
                let device = candidate.device.as_deref();
                let held = HeldSetting::take(&name, setting.clone(), followers.clone(), device);
                let held = held.map_err(|error| match error.kind() {
                    ErrorKind::WouldBlock => anyhow!("another halfpower holds it: wait until that ends"),
                    _ => error.into(),
                })?;
                Ok(Self::Setting { held, setting: setting.clone(), to: candidate.to.clone() })
            }
            Switchable::WriteCache(device) => {
                let held = WriteCache::held(device)?;
                Ok(Self::WriteCache { held, device: device.clone() })
            }
        }
    }

    /// The setting from before.
    fn before(&self) -> String {
        match self {
            Self::Setting { held, .. } => held.before().to_string(),
            Self::WriteCache { .. } => WRITE_BACK.to_string(),
        }
    }

    fn turn(&self, side: Side) -> Result<()> {
        match (self, side) {
            (Self::Setting { held, .. }, Side::A) => Ok(held.put_back()?),
            (Self::Setting { held, setting, to }, Side::B) => {
                held.switch(to).with_context(|| format!("the kernel refuses {to}"))?;
                if setting.read()? == held.before() {
                    bail!("the kernel keeps {}", held.before());
                }
                Ok(())
            }
            (Self::WriteCache { held, .. }, Side::A) => Ok(held.turn(Switch::On)?),
            (Self::WriteCache { held, .. }, Side::B) => Ok(held.turn(Switch::Off)?),
        }
    }

    /// Puts the setting back; returns whether it is as before.
    fn end(self) -> bool {
        match self {
            Self::Setting { held, .. } => held.put_back().is_ok() && held.is_as_before(),
            Self::WriteCache { held, device } => {
                drop(held);
                let switch = CacheSwitch::of(&Path::new("/sys/block").join(device));
                switch.is_some_and(|switch| switch.setting().is_ok_and(|now| now == WRITE_BACK))
            }
        }
    }
}

/// The target, opened to be measured.
struct Bench<'a> {
    target: SlicedTarget<'a>,
    /// Whether it has a file of our own.
    is_ours: bool,
}

impl<'a> Bench<'a> {
    fn open(path: &Path, stop: &'a AtomicBool) -> Result<Self> {
        let is_ours = path.is_dir();
        let wanted = RealTargetOptions { writes: is_ours, layout_limit: LAYOUT, ..RealTargetOptions::default() };
        let mut target = RealTarget::open(path, &wanted)?;
        target.make_ready(None, stop)?;
        let seeds = RunSeeds { next: 1, step: 1 };
        Ok(Self { target: SlicedTarget::new(Box::new(target), seeds, stop), is_ours })
    }

    /// Makes one trial; whatever comes of it, the setting is back afterwards. `shows` is told the number of each pair.
    fn trial(&mut self, plan: &Planned, deadline: Instant, shows: impl Fn(u32)) -> Trial {
        let refused = |why: String| Trial { why: Some(why), ..empty(plan) };
        if plan.load.writes() && !self.is_ours {
            return refused("it writes: name a folder on it, where a file of our own is laid out".to_string());
        }
        if Instant::now() >= deadline {
            return refused("the time was over: give a larger --budget".to_string());
        }
        let owner = match Owner::take(&plan.candidate) {
            Ok(owner) => owner,
            Err(error) => return refused(format!("it cannot be switched: {error:#}")),
        };
        let from = owner.before();
        let outcome = self.measured(plan.load, &owner, deadline, shows);
        let put_back = owner.end();
        let trial = Trial { from, put_back, ..empty(plan) };
        match outcome {
            Ok(seen) => told(trial, &seen, Instant::now() >= deadline),
            Err(error) => Trial { why: Some(format!("{error:#}")), ..trial },
        }
    }

    fn measured(
        &mut self,
        load: TrialLoad,
        owner: &Owner,
        deadline: Instant,
        shows: impl Fn(u32),
    ) -> Result<SeenPairs> {
        let workload = load.workload();
        let mut now = Side::A;
        let mut is_warm = false;
        let slice = |side: Side, number: u32| -> Result<Slice> {
            shows(number);
            if now != side {
                owner.turn(side)?;
                now = side;
                is_warm = false;
            }
            if !is_warm {
                self.target.run(workload, RAMP)?;
                is_warm = true;
            }
            Ok(self.target.slice(workload, SLICE)?)
        };
        pairs(slice, || Instant::now() < deadline)
    }
}

/// A trial of which nothing is known yet.
fn empty(plan: &Planned) -> Trial {
    let Candidate { subject, shown, to, .. } = &plan.candidate;
    Trial {
        check: plan.code.to_string(),
        subject: subject.clone(),
        setting: shown.clone(),
        from: now(&plan.candidate),
        to: to.clone(),
        workload: plan.load.workload().to_string(),
        what: plan.load.words().to_string(),
        ratio: None,
        pairs: 0,
        slice_s: SLICE.seconds(),
        disturbed_pairs: 0,
        others_share: None,
        decided: TrialVerdict::NotTried,
        why: None,
        put_back: true,
        change: plan.candidate.change(),
    }
}

/// What a setting is before it is held; empty if it cannot be read.
fn now(candidate: &Candidate) -> String {
    match &candidate.switch {
        Switchable::Setting { setting, .. } => setting.read().unwrap_or_default(),
        Switchable::WriteCache(_) if candidate.to == WRITE_THROUGH => WRITE_BACK.to_string(),
        Switchable::WriteCache(_) => String::new(),
    }
}

/// The trial with what its pairs told.
fn told(trial: Trial, seen: &SeenPairs, is_late: bool) -> Trial {
    let decided = seen.pairs.verdict();
    let why = match decided {
        _ if decided.is_decided() => None,
        _ if seen.is_too_disturbed() => Some("not decided because disturbed".to_string()),
        _ if is_late && seen.pairs.len() < seen.pairs.looks().most_pairs() => {
            Some("the time was over: give a larger --budget".to_string())
        }
        _ => Some("the pairs differ more than the settings do".to_string()),
    };
    Trial {
        ratio: seen.pairs.ratio(),
        pairs: seen.pairs.len() as u32,
        disturbed_pairs: seen.disturbed,
        others_share: seen.others_share(),
        decided,
        why,
        ..trial
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Planned {
        let setting = Setting::File("/nowhere/queue/scheduler".into());
        let candidate = Candidate {
            subject: "sda".to_string(),
            shown: "/sys/class/block/sda/queue/scheduler".to_string(),
            switch: Switchable::Setting { setting, followers: Vec::new() },
            to: "none".to_string(),
            device: None,
        };
        Planned { code: "scheduler", candidate, load: TrialLoad::ReadAlone }
    }

    /// What a trial says of pairs in which the new setting gives these rates, and the old one 1.
    fn said(rates: &[f64], is_late: bool) -> Trial {
        let mut seen = SeenPairs::default();
        for rate in rates {
            assert!(seen.pairs.add(1.0, *rate));
        }
        told(empty(&plan()), &seen, is_late)
    }

    #[test]
    fn what_is_not_decided_says_why() {
        let faster = said(&[1.2, 1.2, 1.2, 1.2], true);
        assert_eq!((faster.decided, faster.pairs, faster.why), (TrialVerdict::Faster, 4, None));
        let late = said(&[1.2, 1.2], true);
        assert_eq!((late.decided, late.ratio.is_some()), (TrialVerdict::NotDecided, true));
        assert!(late.why.is_some_and(|why| why.contains("--budget")));
        let scattered: Vec<f64> = (0..16).map(|at| if at % 3 == 0 { 2.0 } else { 0.5 }).collect();
        assert!(said(&scattered, true).why.is_some_and(|why| why.contains("differ")));
        let busy = SeenPairs { disturbed: 8, ..SeenPairs::default() };
        let busy = told(empty(&plan()), &busy, true);
        assert_eq!(
            (busy.decided, busy.why.as_deref()),
            (TrialVerdict::NotDecided, Some("not decided because disturbed"))
        );
    }

    #[test]
    fn a_trial_tells_the_setting_the_workload_and_the_command() {
        let trial = empty(&plan());
        assert_eq!((trial.decided, trial.put_back, trial.ratio), (TrialVerdict::NotTried, true, None));
        assert_eq!(trial.change, "echo none > /sys/class/block/sda/queue/scheduler");
        assert!(trial.workload.starts_with("--rw randread --bs 4KiB --iodepth 1 "), "{}", trial.workload);
    }

    #[test]
    fn a_setting_that_cannot_be_held_is_not_tried() {
        let Err(error) = Owner::take(&plan().candidate) else { panic!("there is no such file") };
        assert!(!format!("{error:#}").is_empty());
    }
}
