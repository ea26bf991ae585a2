//! Turns the shapes of a profile into workloads that this target can run, with what differs from the profile.

use halfpower_record::{Ability, TargetKind};
use halfpower_spec::{
    Bytes, Cache, DurableBy, EngineName, FlushCall, Layout, Profile, Question, Shape, Workload, WorkloadOptions,
};

use crate::plan::PlanRequest;

/// Largest block of a device that applications write as a whole; some devices call a far larger unit their block.
const LARGEST_BLOCK_BYTES: u64 = 4096;

/// A shape as this target can run it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SuitedShape {
    pub workload: Workload,
    /// What differs from the profile, each a sentence without full stop.
    pub changes: Vec<String>,
}

/// The profile that the question names.
///
/// # Errors
/// If it names none, or its text is no profile: a sentence without full stop.
pub(super) fn profile(question: &Question) -> Result<Profile, String> {
    let Some(application) = &question.application else {
        return Err("no application is named: add --for NAME, such as --for etcd".to_string());
    };
    application.profile().map_err(|error| format!("the profile {} cannot be read: {error}", application.name))
}

/// Each shape of the profile as this target can run it, in their order; or why it cannot, without full stop.
pub(super) fn suited_shapes(ask: &PlanRequest, profile: &Profile) -> Vec<Result<SuitedShape, String>> {
    profile.shapes.iter().map(|shape| with_load(ask, profile, shape)).collect()
}

/// The shape with the load that goes beside it, each as this target can run it.
fn with_load(ask: &PlanRequest, profile: &Profile, shape: &Shape) -> Result<SuitedShape, String> {
    let own = suited(ask, shape)?;
    let Some(beside) = shape.beside else { return Ok(own) };
    let beside = &profile.shapes[beside];
    let of_load = |why: &str| format!("beside it {}: {why}", beside.name);
    let load = suited(ask, beside).map_err(|why| of_load(&why))?;
    if ask.capabilities().kind == TargetKind::Share {
        return Err("beside another it is not measured on a share".to_string());
    }
    let beside = Some(load.workload.as_load().map_err(of_load)?);
    let options = WorkloadOptions { beside, ..own.workload.options };
    let changes = own.changes.into_iter().chain(load.changes.iter().map(|change| of_load(change))).collect();
    Ok(SuitedShape { workload: Workload { options, ..own.workload }, changes })
}

fn suited(ask: &PlanRequest, shape: &Shape) -> Result<SuitedShape, String> {
    let capabilities = ask.capabilities();
    if matches!(capabilities.kind, TargetKind::Nothing | TargetKind::Imported) {
        return Err("there is no storage here that could keep anything".to_string());
    }
    if shape.workload.options.fdatasync > 0 {
        capabilities.can(&Ability::Commits)?;
    }
    let mut changes = Vec::new();
    let options = suited_options(ask, shape.workload.options, &mut changes);
    let cache = suited_cache(ask, shape.workload.cache, &mut changes);
    let bs = suited_size(ask, &Workload { cache, options, ..shape.workload }, &mut changes);
    let own = Workload { cache, bs, options, ..shape.workload };
    let engine = match own.engine {
        // Each write waits until it is durable, so plain calls are what such an application makes.
        EngineName::Auto if ask.question.engine != EngineName::Auto => ask.question.engine,
        EngineName::Auto if own.iodepth == 1 && (options.fdatasync > 0 || cache.durable()) => EngineName::Sync,
        named => named,
    };
    let workload = Workload { engine, issuing: ask.question.issuing, ..own };
    Ok(SuitedShape { workload: workload.issued_by_engine(), changes })
}

/// The size of the shape's requests, in whole units of what direct I/O takes here. What an application writes past the page
/// cache is whole blocks of the device too, as less would let the device read before it writes.
fn suited_size(ask: &PlanRequest, shape: &Workload, changes: &mut Vec<String>) -> Bytes {
    let asked = shape.bs;
    if !shape.cache.direct() || shape.options.bssplit.is_some() {
        return asked;
    }
    let unit = ask.capabilities().direct_unit.map_or(1, |unit| unit.0.max(1));
    let block = ask.environment.device.as_ref().map_or(0, |device| device.physical_block.0);
    let has_larger_blocks = (unit + 1..=LARGEST_BLOCK_BYTES).contains(&block) && block.is_multiple_of(unit);
    let (unit, why) = match shape.rw.writes() && has_larger_blocks {
        true => (block, "the device writes whole blocks of"),
        false => (unit, "direct requests are multiples of"),
    };
    let bs = Bytes(asked.0.div_ceil(unit) * unit);
    if bs != asked {
        changes.push(format!("{bs} instead of {asked}, since {why} {}", Bytes(unit)));
    }
    bs
}

/// The cache setting that comes nearest here.
fn suited_cache(ask: &PlanRequest, asked: Cache, changes: &mut Vec<String>) -> Cache {
    let has_page_cache = ask.page_cache().is_ok();
    let has_direct = ask.capabilities().direct_unit.is_some();
    let can_durable = ask.capabilities().can(&Ability::DurableBufferedWrites).is_ok();
    let (cache, why) = match asked {
        Cache::Both if !has_page_cache => (Cache::Device, "past the page cache, since there is none here"),
        Cache::Os if has_direct && !(has_page_cache && can_durable) => {
            (Cache::None, "past the page cache, since buffered writes are not durable by themselves here")
        }
        Cache::Device if !has_direct => (Cache::Both, "through the page cache, since direct I/O is refused here"),
        Cache::None if !has_direct => (Cache::Os, "through the page cache, since direct I/O is refused here"),
        asked => (asked, ""),
    };
    if cache != asked {
        changes.push(why.to_string());
    }
    cache
}

/// The options that come nearest here, with those that all cells of the study share.
fn suited_options(ask: &PlanRequest, asked: WorkloadOptions, changes: &mut Vec<String>) -> WorkloadOptions {
    let capabilities = ask.capabilities();
    let makes_files = capabilities.kind == TargetKind::Folder && capabilities.members <= 1;
    let shared = ask.question.options();
    let mut options = WorkloadOptions { connections: shared.connections, sealing: shared.sealing, ..asked };
    let has_layouts = makes_files && capabilities.can(&Ability::Layouts).is_ok();
    if options.layout != Layout::Written && !has_layouts {
        changes
            .push(format!("into written blocks instead of --layout {}, since no file is laid out here", asked.layout));
        options.layout = Layout::Written;
    }
    if options.own_files && !makes_files {
        changes.push("into one file, since there is no folder for files of single threads".to_string());
        options.own_files = false;
    }
    if matches!(capabilities.kind, TargetKind::Simulated | TargetKind::Share) {
        let usual = (FlushCall::Fdatasync, DurableBy::Odsync);
        if (options.flush_by, options.durable_by) != usual {
            changes.push("by the one way to flush that there is here".to_string());
            (options.flush_by, options.durable_by) = usual;
        }
    }
    options
}
