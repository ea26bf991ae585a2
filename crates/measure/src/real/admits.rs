//! Checks whether a workload can run on a real target.

use halfpower_engine::EngineError;
use halfpower_spec::{Bytes, EngineName, RandomDistribution, Workload, WorkloadOptions};

use super::member::Member;
use super::members::Members;
use super::run_volume::{RunLayout, RunVolume};
use super::{apply_options, commands, file_lanes, layers, memory_lanes, request_flags, scratch_file};
use crate::admission::{coherent, fits_direct, fits_pieces, fits_readers, fits_zones};
use crate::option_answers::{Backend, honours};
use crate::read_back;
use crate::{MeasureError, background, covering};

/// What a check needs besides the members.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rights {
    /// Whether the target was opened for writing.
    pub writes: bool,
}

/// Checks that `workload` can run on `members`.
///
/// # Errors
/// A sentence that says why not.
pub(super) fn admits(members: &Members, workload: &Workload, rights: Rights) -> Result<(), MeasureError> {
    let workload = &commands::settled(workload, members.command_paths());
    coherent(workload)?;
    honours(Backend::Files, workload)?;
    if memory_lanes::is_memory(workload)? {
        return Ok(());
    }
    if file_lanes::are_files(workload, &members.each)? {
        return Ok(());
    }
    let volume = members.run_volume(&workload.options)?;
    members.budget.admits(workload, volume.lanes().len() as u64)?;
    let is_spread = members.spread_bytes.is_some() || members.reorders();
    layers::admit(&members.each, is_spread, workload)?;
    scratch_file::admit(workload, &members.each[..volume.members])?;
    let devices = members.distinct_devices(volume.members);
    apply_options::admit(workload, &devices, members.each.is_empty(), members.direct_unit())?;
    admits_direct(members, workload, volume)?;
    commands::admit(workload, members.command_paths().take(volume.members))?;
    request_flags::admit(workload, &members.each[..volume.members], volume)?;
    if workload.rw.trims() {
        members.each[..volume.members].iter().try_for_each(Member::admits_trims)?;
    }
    let span = volume.span_bytes(members.span_bytes);
    fits_span(workload, span)?;
    fits_pieces(workload, members.spread(volume)?, span)?;
    if let Some(load) = workload.load_beside() {
        // It counts its blocks from where the workload does.
        let options = WorkloadOptions { misalign: workload.options.misalign, ..load.options };
        let load = commands::settled(&Workload { options, ..load }, members.command_paths());
        coherent(&load)?;
        commands::admit(&load, members.command_paths().take(volume.members))?;
        members.budget.admits(&load, volume.lanes().len() as u64)?;
        admits_direct(members, &load, volume)?;
        fits_span(&load, span)?;
        fits_pieces(&load, members.spread(volume)?, span)?;
    }
    if workload.options.verify && members.reorders() {
        let what =
            "--verify knows what this process wrote, and --reorder reads what another one did: leave one of them out";
        return Err(MeasureError::Unfit { what: what.to_string() });
    }
    admits_engine(members, workload, volume)?;
    if workload.options.verify { admits_verification(members, workload, volume, rights) } else { Ok(()) }
}

/// Checks that the engine can be used here, and over the members in the mode of the workload.
fn admits_engine(members: &Members, workload: &Workload, volume: RunVolume) -> Result<(), MeasureError> {
    let engine = workload.engine;
    let refuse = |why: String| EngineError::Unavailable { engine: engine.word(), why };
    halfpower_engine::available(engine, None).map_err(refuse)?;
    // Of other engines the mode says nothing; and a device beneath the members is opened for the run alone.
    if !engine.polls_device() && engine != EngineName::Mmap || workload.options.layer > 0 {
        return Ok(());
    }
    let mode = apply_options::mode(workload);
    members.each[..volume.members].iter().try_for_each(|member| {
        let file = member.reached().reopen(mode)?;
        Ok(halfpower_engine::available(engine, Some(&file)).map_err(refuse)?)
    })
}

fn admits_direct(members: &Members, workload: &Workload, volume: RunVolume) -> Result<(), MeasureError> {
    if !workload.cache.direct() {
        return Ok(());
    }
    let Some(unit) = members.direct_unit() else {
        return Err(halfpower_os::OsError::NoDirect { path: members.path() }.into());
    };
    fits_direct(workload, unit)?;
    match volume.layout {
        RunLayout::Stripe(chunk) if !chunk.0.is_multiple_of(unit.0) => {
            members.refuse(format!("takes direct I/O in multiples of {unit}: let chunk be one, not {chunk}"))
        }
        _ => Ok(()),
    }
}

/// Checks that the span has a block for each stream, and one for the background readers.
pub(super) fn fits_span(workload: &Workload, span: u64) -> Result<(), MeasureError> {
    let streams = u64::from(workload.threads).saturating_mul(u64::from(workload.options.streams));
    let needed = Bytes(workload.bs.0.saturating_mul(streams));
    let used = workload.options.reached(span);
    let reached = used.end - used.start;
    if needed.0 > reached || workload.bs.0 > u64::from(u32::MAX / 2) {
        let span = Bytes(reached);
        return Err(MeasureError::TooSmall { workload: Box::new(*workload), needed, span });
    }
    fits_cover(workload, reached)?;
    fits_zones(workload, reached)?;
    fits_readers(workload, background::BLOCK, Bytes(reached))
}

/// Checks that a lane can keep track of what requests of several sizes have reached, if each byte is to come once.
fn fits_cover(workload: &Workload, reached: u64) -> Result<(), MeasureError> {
    let options = &workload.options;
    let Some(sizes) = options.bssplit.filter(|_| options.random_distribution == RandomDistribution::Shuffled) else {
        return Ok(());
    };
    let smallest = sizes.smallest();
    let most = smallest.0.saturating_mul(covering::MOST_UNITS);
    if reached <= most {
        return Ok(());
    }
    let what = format!(
        "--random-distribution shuffled with --bssplit keeps track of each {smallest} of the target, of at most {}: use a \
         smaller --size, or leave shuffled out",
        Bytes(most)
    );
    Err(MeasureError::Unfit { what })
}

fn admits_verification(
    members: &Members,
    workload: &Workload,
    volume: RunVolume,
    rights: Rights,
) -> Result<(), MeasureError> {
    if members.each.is_empty() {
        return members.refuse("holds nothing that could be verified: leave --verify out".to_string());
    }
    if members.each.iter().any(|member| !member.ours) && !rights.writes {
        return members.refuse("is only read, and --verify checks what it has written: add --overwrite".to_string());
    }
    let span = volume.span_bytes(members.span_bytes);
    read_back::admit(workload, volume.lanes().len(), span, members.budget.usable_bytes)
        .or_else(|what| members.refuse(what))
}
