//! Implements `halfpower compare --live`: measures two targets in turns and says whether they differ.

mod cells;

use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use halfpower_analyse::{Condition, Duet, DuetLeftOut, asked_in_vain, check_duet};
use halfpower_measure::TargetBackend;
use halfpower_spec::{Nanos, Target, Workload};
use halfpower_study::{DuetPlan, DuetProgress, RunSeeds, Side, SlicedTarget, conduct_duet};

use super::compare::{ConditionHolds, WITHOUT_A_TERMINAL, conditions, holding};
use super::report::style_without_a_terminal;
use super::{Purpose, TargetRequest, backend, refuse_credentials, to_output, to_styled_output};
use crate::args::{CommandLine, CompareArgs};
use crate::duet_args::DuetArgs;
use crate::measuring_args::{CommonArgs, MayWriteArgs};
use crate::progress::Line;

/// What both targets are asked for: the cells, and those that were left out.
struct Cells {
    measured: Vec<Workload>,
    left_out: Vec<DuetLeftOut>,
    /// Whether the user chose them, so that none may be left out.
    are_chosen: bool,
}

impl Cells {
    /// Leaves out what `why` has a reason against.
    ///
    /// # Errors
    /// The reason, if the user chose the cell.
    fn without(&mut self, why: impl Fn(&Workload) -> Option<String>) -> Result<()> {
        let mut kept = Vec::new();
        for workload in std::mem::take(&mut self.measured) {
            match why(&workload) {
                None => kept.push(workload),
                Some(why) if self.are_chosen => bail!("--cell '{workload}': {why}"),
                Some(why) => self.left_out.push(DuetLeftOut { workload, why }),
            }
        }
        self.measured = kept;
        Ok(())
    }
}

/// Measures two targets in turns, and prints how they compare.
///
/// # Errors
/// [`ConditionHolds`] if a condition of `--fail-if` holds; a sentence if a target cannot be measured, or the user
/// interrupts.
pub fn duet(args: &CompareArgs) -> Result<()> {
    let conditions = conditions(args)?;
    let DuetArgs { cells: words, .. } = &args.duet;
    let chosen: Vec<Workload> = words.iter().map(|words| cells::workload_of(words)).collect::<Result<_>>()?;
    let are_chosen = !chosen.is_empty();
    let measured = if are_chosen { chosen } else { cells::usual() };
    refuse_vain(&conditions, &measured)?;
    let slice = args.duet.slice()?;
    let stop = halfpower_os::interrupt::stop_flag()?;
    let targets = args.duet.targets()?;
    let mut cells = Cells { measured, left_out: Vec::new(), are_chosen };
    let mut sides = opened(&args.duet, &targets, &mut cells, &stop)?;
    refuse_vain(&conditions, &cells.measured)?;
    let plan = DuetPlan { cells: cells.measured, slice, budget: args.duet.budget() };
    let line = Line::new(args.json);
    let found = conduct_duet(&mut sides, &plan, |progress| line.show(&shown(progress, &plan)));
    drop(line);
    let [a, b] = targets.map(|target| target.to_string());
    let seconds: f64 = sides.iter().map(|side| side.spent().seconds()).sum();
    let fail_if = check_duet(&conditions, &found);
    let left_out = cells.left_out;
    let duet = Duet { a, b, cells: found, left_out, notes: notes(&sides), slice_s: slice.seconds(), seconds, fail_if };
    print(&duet, args.json)?;
    if sides[0].is_stopped() {
        bail!("interrupted after {seconds:.0} s; the figures are of that time");
    }
    answer(&duet)
}

/// Refuses a condition that no cell answers.
fn refuse_vain(conditions: &[Condition], cells: &[Workload]) -> Result<()> {
    match asked_in_vain(conditions, cells) {
        None => Ok(()),
        Some(condition) => bail!(
            "--fail-if `{condition}`: no cell that is measured here tells that; name one with --cell, or leave the \
             condition out"
        ),
    }
}

/// Opens both targets and leaves out the cells that one of them cannot measure.
fn opened<'a>(
    args: &DuetArgs,
    targets: &[Target; 2],
    cells: &mut Cells,
    stop: &'a AtomicBool,
) -> Result<[SlicedTarget<'a>; 2]> {
    if !targets.iter().any(is_share) {
        refuse_credentials(args.credentials.as_deref(), &targets[0])?;
    }
    let common = self::common(args);
    // Credentials are for the side that is a share.
    let without = CommonArgs { credentials: None, ..self::common(args) };
    for (side, target) in [Side::A, Side::B].into_iter().zip(targets) {
        let refusal = |workload: &Workload| {
            let may = !workload.rw.writes() || may_write(target, common.may_write.overwrite);
            (!may).then(|| {
                let letter = side.letter();
                format!("it writes, and {letter} ({target}) is not halfpower's own: --overwrite lets it write there")
            })
        };
        cells.without(refusal)?;
    }
    let writes = cells.measured.iter().any(|workload| workload.rw.writes() || workload.options.verify);
    let open = |side: Side, target: &Target| -> Result<Box<dyn TargetBackend>> {
        let said = || format!("{} ({target})", side.letter());
        let common = if is_share(target) { &common } else { &without };
        let asked = TargetRequest { target: target.clone(), common, payload: None };
        let mut target = backend(&asked, &Purpose::of_run(common, writes, None), None).with_context(said)?;
        target.make_ready(None, stop).with_context(said)?;
        Ok(target)
    };
    let both = [(Side::A, open(Side::A, &targets[0])?), (Side::B, open(Side::B, &targets[1])?)];
    for (side, target) in &both {
        let refusal =
            |workload: &Workload| target.admits(workload).err().map(|error| format!("{}: {error}", side.letter()));
        cells.without(refusal)?;
    }
    if cells.measured.is_empty() {
        let why = cells.left_out.first().map_or("", |one| one.why.as_str());
        bail!("no cell can be measured on both targets ({why}); choose one with --cell");
    }
    // No run of one target has the seed of another one.
    let first = common.seed << 32;
    Ok(both.map(|(side, target)| {
        let seeds = RunSeeds { next: first.wrapping_add(u64::from(side == Side::B)), step: 2 };
        SlicedTarget::new(target, seeds, stop)
    }))
}

fn is_share(target: &Target) -> bool {
    matches!(target, Target::Share(_))
}

/// The flags as those of `run` about targets; the others have their defaults.
fn common(args: &DuetArgs) -> CommonArgs {
    let DuetArgs { size, overwrite, .. } = *args;
    let usual = CommandLine::of_run(&["null:".into()]).common;
    let may_write = MayWriteArgs { overwrite, ..MayWriteArgs::default() };
    CommonArgs { size, may_write, credentials: args.credentials.clone(), seed: args.seed(), ..usual }
}

/// Whether a target may be written to: what halfpower lays out itself, what is simulated, and what the user gave away.
fn may_write(target: &Target, overwrite: bool) -> bool {
    match target {
        Target::Path(path) => overwrite || path.is_dir(),
        Target::Several(several) => overwrite || several.members.iter().all(|member| member.is_dir()),
        Target::Share(_) | Target::Simulated(_) | Target::System(_) | Target::Null => true,
    }
}

/// The line of progress.
fn shown(progress: &DuetProgress, plan: &DuetPlan) -> String {
    let DuetProgress { workload, pair, done, spent } = progress;
    let Nanos(budget) = plan.budget;
    let share = 100.0 * spent.0 as f64 / budget.max(1) as f64;
    format!("{share:3.0}%  {done} of {} cells decided; pair {pair} of {workload}", plan.cells.len())
}

/// What the targets noted, each note with its side.
fn notes(sides: &[SlicedTarget<'_>; 2]) -> Vec<String> {
    let of_side = |(letter, side): (&str, &SlicedTarget<'_>)| -> Vec<String> {
        side.target().environment().notes.iter().map(|note| format!("{letter}: {note}")).collect()
    };
    [Side::A, Side::B].map(Side::letter).into_iter().zip(sides).flat_map(of_side).collect()
}

fn print(duet: &Duet, json: bool) -> Result<()> {
    if json {
        return to_output(|out| Ok(halfpower_report::duet_json(duet, out)?));
    }
    let style = style_without_a_terminal(WITHOUT_A_TERMINAL);
    to_styled_output(&style, |out| Ok(halfpower_report::duet_text(duet, &style, out)?))
}

/// Returns the conditions that hold as an error, and says which cannot be decided.
fn answer(duet: &Duet) -> Result<()> {
    for finding in duet.fail_if.iter().filter(|finding| !finding.holds && !finding.can_be_decided()) {
        let condition = &finding.condition;
        crate::tell::tell!(
            "halfpower: `{condition}` cannot be decided: there are too few pairs; give a larger --budget"
        );
    }
    let held: Vec<String> =
        duet.fail_if.iter().filter(|finding| finding.holds).map(|finding| holding(finding, "")).collect();
    if held.is_empty() { Ok(()) } else { Err(ConditionHolds::of(held.join("; ")).into()) }
}
