//! Checks whether the settings of a workload fit together, whatever the target is.

use halfpower_spec::{
    Affinity, Bytes, Cache, Direction, EngineName, Fadvise, FileOperation, FlushCall, Issuing, Jump, Layout, Nanos,
    PageCache, Pattern, RandomDistribution, Rw, Spread, ThinktimeFrom, Workload, WorkloadOptions,
};

use crate::MeasureError;

/// Refuses settings that contradict each other or make each other meaningless.
///
/// # Errors
/// Names the settings and says what to do.
pub fn coherent(workload: &Workload) -> Result<(), MeasureError> {
    let Workload { rw, cache, engine, issuing, options, .. } = workload;
    let refuse = |what: String| Err(MeasureError::Unfit { what });
    if let Some(Issuing { iodepth_batch, .. }) = issuing.filter(|issuing| *issuing != issuing.by(*engine)) {
        return refuse(format!(
            "--engine {engine} makes a call for each request, and --iodepth-batch {iodepth_batch} has no meaning: leave \
             it out"
        ));
    }
    if matches!(engine, EngineName::Null | EngineName::Memory) && issuing.is_some_and(|issuing| !issuing.is_default()) {
        return refuse(format!("--engine {engine} has no buffers for requests: leave --iomem and --iodepth-batch out"));
    }
    runs_a_kernel(options)?;
    works_on_files(workload)?;
    if options.streams > 1 && rw.pattern() == Pattern::Random {
        let streams = options.streams;
        return refuse(format!("--streams {streams} are sequential, and --rw {rw} is not: take --rw read or write"));
    }
    if rw.pattern() == Pattern::Unknown {
        return refuse(format!("--rw {rw} is of another tool's results, which tell no order: take one of halfpower's"));
    }
    gives_back(workload)?;
    draws_at_random(workload)?;
    jumps(workload)?;
    aligns(workload)?;
    strides(workload)?;
    reaches_the_same(workload)?;
    draws_sizes(workload)?;
    if options.fdatasync > 0 && (!rw.writes() || matches!(rw, Rw::Trim | Rw::Randtrim)) {
        return refuse(format!("--fdatasync has nothing to make durable with --rw {rw}: leave it out"));
    }
    if options.flushing_threads > 0 && options.fdatasync == 0 {
        let threads = options.flushing_threads;
        return refuse(format!("--flushing-threads {threads}: nothing flushes: add --fdatasync 1, or leave it out"));
    }
    sends_commands(workload)?;
    reads_beneath(workload)?;
    makes_durable(workload)?;
    goes_beside(workload)?;
    drops_pages(workload)?;
    writes_whole(workload)?;
    if let Some(processors) = options.processors.filter(|_| options.affinity != Affinity::All) {
        let affinity = options.affinity;
        return refuse(format!(
            "--processors {processors} and --affinity {affinity} both say where threads run: leave one of them out"
        ));
    }
    thinks(workload)?;
    has_priority(workload)?;
    if cache.direct() && (options.fadvise != Fadvise::Normal || options.page_cache != PageCache::Empty) {
        let flag = if options.fadvise == Fadvise::Normal { "--page-cache" } else { "--fadvise" };
        return refuse(format!(
            "{flag} is about the page cache, which --cache {cache} passes by: add --cache {}",
            Cache::Both
        ));
    }
    Ok(())
}

/// Refuses what has no meaning on a device beneath the target, or is not to be done there.
fn reads_beneath(workload: &Workload) -> Result<(), MeasureError> {
    let Workload { rw, cache, engine, options, .. } = workload;
    let layer = options.layer;
    let why = match () {
        () if layer == 0 => return Ok(()),
        () if rw.direction() != Some(Direction::Read) => "a device beneath a target is only read: take --rw randread",
        () if rw.pattern() != Pattern::Random => "the target's bytes may lie there in any order: take --rw randread",
        () if !cache.direct() => "reads through the page cache would not reach it each time: add --cache device",
        () if engine.sends_commands() || *engine == EngineName::Mmap => {
            "it takes requests of the block layer alone: take another --engine"
        }
        () if options.verify => "what lies there is not as it was written: leave --verify out",
        () if options.beside.is_some() || options.random_readers > 0 => {
            "nothing goes beside such reads: leave --beside and --random-readers out"
        }
        () if options.region.is_some() || options.misalign > Bytes(0) => {
            "places of the target are not those of the device: leave --region and --misalign out"
        }
        () => return Ok(()),
    };
    Err(MeasureError::Unfit { what: format!("--layer {layer}: {why}") })
}

/// Refuses time between requests that come at a rate, and bursts without such time.
fn thinks(workload: &Workload) -> Result<(), MeasureError> {
    let WorkloadOptions { thinktime, thinktime_blocks, thinktime_from, .. } = workload.options;
    let what = if thinktime > Nanos(0) && workload.rate.is_some() {
        "--thinktime and --rate both say when requests come: leave one of them out".to_string()
    } else if thinktime == Nanos(0) && thinktime_blocks > 1 {
        format!(
            "--thinktime-blocks {thinktime_blocks}: no time passes between bursts: add --thinktime, or leave it out"
        )
    } else if thinktime == Nanos(0) && thinktime_from != ThinktimeFrom::Done {
        format!("--thinktime-from {thinktime_from}: no time passes between requests: add --thinktime, or leave it out")
    } else {
        return Ok(());
    };
    Err(MeasureError::Unfit { what })
}

/// Refuses an I/O priority where another thread than those that have it submits.
fn has_priority(workload: &Workload) -> Result<(), MeasureError> {
    match workload.options.io_priority {
        Some(priority) if workload.engine == EngineName::Sqpoll => {
            let what = format!(
                "--io-priority {priority} is of the threads that submit, and with --engine {} a thread of the kernel does: \
                 take --engine io_uring",
                workload.engine
            );
            Err(MeasureError::Unfit { what })
        }
        Some(_) | None => Ok(()),
    }
}

/// Refuses a memory kernel together with any other option.
fn runs_a_kernel(options: &WorkloadOptions) -> Result<(), MeasureError> {
    match options.kernel {
        Some(kernel) if *options != (WorkloadOptions { kernel: Some(kernel), ..WorkloadOptions::default() }) => {
            let what =
                format!("--kernel {kernel} touches no target, so that nothing else is to be turned in it:{options}");
            Err(MeasureError::Unfit { what })
        }
        Some(_) | None => Ok(()),
    }
}

/// Most small files of a run, and most bytes of one.
const MOST_FILES: u64 = 1 << 18;
const MOST_FILE_BYTES: Bytes = Bytes(1 << 20);

/// Refuses operations on files together with settings that have no meaning for them, and the settings of such files
/// without them.
fn works_on_files(workload: &Workload) -> Result<(), MeasureError> {
    let WorkloadOptions { file_operation, folders, file_count, .. } = workload.options;
    let usual = WorkloadOptions::default();
    let what = match file_operation {
        None if folders != usual.folders => {
            format!("--folders {folders} is about small files: add --file-operation create, or leave it out")
        }
        None if file_count != usual.file_count => {
            format!("--file-count {file_count} is about small files: add --file-operation create, or leave it out")
        }
        None => return Ok(()),
        Some(operation) => match misfit_of_files(workload, operation) {
            Some(what) => format!("--file-operation {operation} {what}"),
            None => return Ok(()),
        },
    };
    Err(MeasureError::Unfit { what })
}

/// What does not fit an operation on files; `None` if all does.
fn misfit_of_files(workload: &Workload, operation: FileOperation) -> Option<String> {
    let Workload { rw, bs, threads, cache, engine, issuing, options, .. } = *workload;
    let WorkloadOptions { file_operation, folders, file_count, .. } = options;
    let direction = if operation.changes() { Direction::Write } else { Direction::Read };
    let files = u64::from(threads) * u64::from(file_count);
    let both = Cache::Both;
    let own = WorkloadOptions { file_operation, folders, file_count, ..WorkloadOptions::default() };
    Some(if options != own {
        format!("goes together with --folders and --file-count alone, and not with all of this:{options}")
    } else if !matches!(engine, EngineName::Auto | EngineName::Sync | EngineName::Simulated) {
        format!("is a system call of its own, and --engine {engine} makes none: leave it out")
    } else if issuing.is_some_and(|issuing| !issuing.is_default()) {
        "has no buffers for requests: leave --iomem and --iodepth-batch out".to_string()
    } else if cache.direct() {
        let durable = Cache::Os;
        format!(
            "goes through the page cache, which --cache {cache} passes by: add --cache {both}, or --cache {durable} to \
             make each change durable"
        )
    } else if cache.durable() && !operation.changes() {
        format!("changes nothing that --cache {cache} could make durable: add --cache {both}")
    } else if rw.direction() != Some(direction) || rw.trims() {
        format!("is no --rw {rw}: add --rw {direction}, or rand{direction} for files in random order")
    } else if files > MOST_FILES {
        format!("has {files} small files, more than the {MOST_FILES} of a run: ask for a smaller --file-count")
    } else if bs > MOST_FILE_BYTES {
        format!("makes files of --bs {bs}, and they are small: ask for {MOST_FILE_BYTES} at most")
    } else {
        return None;
    })
}

/// Checks that requests of `workload` fit the pieces of a spread span, and that its options work on pieces.
///
/// # Errors
/// Says what does not fit and what to do.
pub(crate) fn fits_pieces(workload: &Workload, spread: Option<Spread>, span_bytes: u64) -> Result<(), MeasureError> {
    let Some(spread) = spread else { return Ok(()) };
    let bs = workload.bs;
    let piece = Bytes(spread.piece_bytes());
    let what = if workload.options.verify {
        "--verify checks a span that is one part: leave it out, or --spread and --host-layout shared".to_string()
    } else if workload.options.bssplit.is_some() {
        "--bssplit lets requests begin anywhere, and the pieces of --spread have ends: leave one of them out"
            .to_string()
    } else if workload.options.blockalign != Bytes(0) {
        "--blockalign lets requests reach over the ends of the pieces of --spread: leave one of them out".to_string()
    } else if !spread.admits(bs.0, span_bytes) {
        format!(
            "--bs {bs} does not fit the pieces of --spread or --interleave, which hold {piece}: ask for a larger --size, or \
             for an --interleave that is a multiple of --bs"
        )
    } else {
        return Ok(());
    };
    Err(MeasureError::Unfit { what })
}

/// A note that says how the used bytes are spread over the target.
pub(crate) fn note_of_spread(span_bytes: u64, whole_bytes: u64) -> String {
    let spread = Spread::over(span_bytes, whole_bytes).ok();
    let (count, piece) = spread.map_or((1, span_bytes), |spread| (spread.pieces(span_bytes), spread.piece_bytes()));
    let span = Bytes(span_bytes);
    let piece = Bytes(piece);
    let whole = Bytes(whole_bytes);
    format!("{span} were used, in {count} pieces of {piece} spread over {whole}")
}

/// Refuses what commands to a namespace lack: a page cache, files, and the calls of a file system.
fn sends_commands(workload: &Workload) -> Result<(), MeasureError> {
    let Workload { cache, engine, options, .. } = workload;
    let usual = WorkloadOptions::default();
    let what = if !engine.sends_commands() {
        return Ok(());
    } else if !cache.direct() {
        let direct = Cache::Device;
        format!(
            "--engine {engine} passes the page cache by, and --cache {cache} does not: add --cache {direct}, or none"
        )
    } else if options.flush_by == FlushCall::SyncFileRange {
        format!("--flush-by {}: a namespace has no pages, and its flush is a command: leave it out", options.flush_by)
    } else if options.durable_by != usual.durable_by {
        format!(
            "--durable-by {} is about system calls, and a command that is durable by itself carries a bit (FUA): leave it \
             out",
            options.durable_by
        )
    } else if options.layout != Layout::Written || options.own_files {
        let flag = if options.own_files { "--own-files".to_string() } else { format!("--layout {}", options.layout) };
        format!("{flag} makes files, and --engine {engine} reaches a namespace, which holds none: leave it out")
    } else {
        return Ok(());
    };
    Err(MeasureError::Unfit { what })
}

/// Refuses what is asked of writes that are none, and means of making them durable that nothing asks for, or that an
/// engine lacks.
fn makes_durable(workload: &Workload) -> Result<(), MeasureError> {
    let Workload { rw, cache, engine, options, .. } = workload;
    let WorkloadOptions { flush_by, durable_by, fdatasync, .. } = *options;
    let usual = WorkloadOptions::default();
    let flushes = fdatasync > 0 || options.end_flush || (rw.writes() && !cache.direct());
    let what = if options.compressible > 0 && (!rw.writes() || options.verify) {
        let beside = if options.verify {
            "--verify writes data of its own".to_string()
        } else {
            format!("--rw {rw} writes nothing")
        };
        format!("--compressible {}: {beside}; leave it out", options.compressible)
    } else if options.end_flush && (!rw.writes() || matches!(rw, Rw::Trim | Rw::Randtrim)) {
        format!("--end-flush has nothing to make durable with --rw {rw}: leave it out")
    } else if flush_by != usual.flush_by && !flushes {
        format!("--flush-by {flush_by}: nothing is flushed; add --fdatasync with a number of writes")
    } else if flush_by == FlushCall::SyncFileRange && *engine == EngineName::Libaio {
        format!("--flush-by {flush_by}: libaio has no such call; take another --engine")
    } else if durable_by != usual.durable_by && !(rw.writes() && cache.durable()) {
        format!(
            "--durable-by {durable_by}: no write of this run is durable by itself; add --sync dsync, or --cache os or none"
        )
    } else {
        return Ok(());
    };
    Err(MeasureError::Unfit { what })
}

/// Refuses a load beside a workload that it would disturb in more than its pace.
fn goes_beside(workload: &Workload) -> Result<(), MeasureError> {
    let WorkloadOptions { beside, random_readers, verify, members, volume_layout, .. } = workload.options;
    let Some(load) = beside else { return Ok(()) };
    let what = if let Some(why) = load.misfit() {
        format!("--beside {load}: {why}")
    } else if random_readers > 0 {
        format!("--random-readers {random_readers} and --beside are both beside the workload: leave one of them out")
    } else if verify {
        "--verify checks what it has written, and a load beside it may write there too: leave --beside out".to_string()
    } else if workload.rw.trims() {
        format!("--beside would reach what --rw {} has given back: leave it out", workload.rw)
    } else if members > 0 || volume_layout.is_some() {
        "--beside reaches all members of the target: leave --members and --volume-layout out".to_string()
    } else {
        return Ok(());
    };
    Err(MeasureError::Unfit { what })
}

/// Refuses to drop pages after use where no request has pages in the page cache, or all were brought there before.
fn drops_pages(workload: &Workload) -> Result<(), MeasureError> {
    let Workload { rw, cache, engine, options, .. } = workload;
    let what = if !options.uncached {
        return Ok(());
    } else if cache.direct() {
        let both = Cache::Both;
        format!("--uncached is about the page cache, which --cache {cache} passes by: add --cache {both}")
    } else if options.page_cache == PageCache::Warm {
        "--uncached drops the pages that requests bring, and --page-cache warm brings all of them before: leave one of \
         them out"
            .to_string()
    } else if let Some(why) = carries_no_flags(*rw, *engine) {
        format!("--uncached is asked for by each request, and {why}")
    } else {
        return Ok(());
    };
    Err(MeasureError::Unfit { what })
}

/// Refuses atomic writes where nothing is written, or where the kernel takes none: buffered, and off a multiple of their
/// size.
fn writes_whole(workload: &Workload) -> Result<(), MeasureError> {
    let Workload { rw, bs, cache, engine, options, .. } = workload;
    let from = options.region.map_or(0, |region| region.from.0);
    let what = if !options.atomic {
        return Ok(());
    } else if !rw.writes() {
        format!("--atomic: --rw {rw} writes nothing; leave it out")
    } else if !cache.direct() {
        let device = Cache::Device;
        format!("--atomic is about direct writes, and --cache {cache} has none: add --cache {device}, or none")
    } else if let Some(why) = carries_no_flags(*rw, *engine) {
        format!("--atomic is asked for by each write, and {why}")
    } else if options.bssplit.is_some() {
        "--atomic writes begin at multiples of their size, and --bssplit lets them begin anywhere: leave one of them out"
            .to_string()
    } else if !bs.0.is_power_of_two() {
        format!("--atomic writes have sizes that are powers of two, and --bs {bs} is none: choose another one")
    } else if options.misalign.0 > 0 || !from.is_multiple_of(bs.0) {
        let flag = if options.misalign.0 > 0 { "--misalign" } else { "--region" };
        format!("--atomic writes begin at multiples of --bs {bs}, which {flag} shifts them off: leave one of them out")
    } else {
        return Ok(());
    };
    Err(MeasureError::Unfit { what })
}

/// Why requests cannot carry flags of their own; `None` if they can.
fn carries_no_flags(rw: Rw, engine: EngineName) -> Option<String> {
    if rw.trims() {
        return Some(format!("the trims of --rw {rw} cannot: leave it out"));
    }
    let has_none =
        matches!(engine, EngineName::Mmap | EngineName::Null | EngineName::Memory) || engine.sends_commands();
    has_none.then(|| format!("--engine {engine} makes no calls that could: take another one"))
}

/// Refuses settings that do not work with trims.
fn gives_back(workload: &Workload) -> Result<(), MeasureError> {
    let Workload { rw, engine, options, .. } = workload;
    let what = if !rw.trims() {
        return Ok(());
    } else if !matches!(engine, EngineName::Auto | EngineName::Sync | EngineName::Pool | EngineName::Null) {
        format!("--rw {rw} makes a call for each trim, which --engine {engine} does not: take --engine pool or sync")
    } else if options.verify {
        format!("--verify checks what was written, and --rw {rw} gives it back: leave --verify out")
    } else if options.random_distribution.is_skewed() && *rw != Rw::Trimwrite {
        let of = options.random_distribution;
        format!("--random-distribution {of} lets blocks come again, and --rw {rw} leaves none there: leave it out")
    } else if options.random_readers > 0 {
        format!("--random-readers would read what --rw {rw} has given back: leave them out")
    } else if options.bssplit.is_some() {
        format!("--bssplit has sizes of reads and of writes, and --rw {rw} trims: leave it out")
    } else if options.layout != Layout::Written {
        format!(
            "--layout {} is about a file that grows, and --rw {rw} needs one that is there: leave it out",
            options.layout
        )
    } else {
        return Ok(());
    };
    Err(MeasureError::Unfit { what })
}

/// Refuses a random distribution if requests are not random, or if each block is used only once.
fn draws_at_random(workload: &Workload) -> Result<(), MeasureError> {
    let of = workload.options.random_distribution;
    let rw = workload.rw;
    let layout = workload.options.layout;
    let what = match of {
        RandomDistribution::Even => return Ok(()),
        _ if rw.pattern() == Pattern::Sequential => {
            format!("--random-distribution {of} is about random requests, and --rw {rw} has none: leave it out")
        }
        _ if of.is_skewed() && layout != Layout::Written => format!(
            "--random-distribution {of} lets blocks come again, and --layout {layout} writes each once: leave one of them \
             out"
        ),
        _ => return Ok(()),
    };
    Err(MeasureError::Unfit { what })
}

/// Refuses jumps now and then if requests are not random, or if blocks come in an order of their own.
fn jumps(workload: &Workload) -> Result<(), MeasureError> {
    let Workload { rw, options, .. } = workload;
    let WorkloadOptions { jump, random_distribution, layout, bssplit, .. } = *options;
    let what = if jump == Jump::default() {
        return Ok(());
    } else if rw.pattern() == Pattern::Sequential {
        format!("--jump {jump} is about random requests, and --rw {rw} has none: leave it out, or take --rw randread")
    } else if random_distribution != RandomDistribution::Even {
        format!("--jump {jump} draws evenly, and --random-distribution {random_distribution} does not: leave one out")
    } else if rw.trims() || layout != Layout::Written {
        format!("--jump {jump} lets blocks come again, and this run reaches each once: leave it out")
    } else if bssplit.is_some() {
        format!("--jump {jump} goes on by blocks of one size: leave --bssplit or --jump out")
    } else {
        return Ok(());
    };
    Err(MeasureError::Unfit { what })
}

/// Refuses another alignment of random requests where there are none, or where no byte may come twice.
fn aligns(workload: &Workload) -> Result<(), MeasureError> {
    let Workload { rw, options, .. } = workload;
    let WorkloadOptions { blockalign, random_distribution, jump, layout, verify, atomic, .. } = *options;
    let what = if blockalign == Bytes(0) {
        return Ok(());
    } else if rw.pattern() != Pattern::Random {
        format!("--blockalign {blockalign} is about random requests, and --rw {rw} has none: leave it out")
    } else if random_distribution == RandomDistribution::Shuffled
        || jump != Jump::default()
        || layout != Layout::Written
    {
        format!(
            "--blockalign {blockalign} lets requests overlap, or leave something out, and goes together with neither \
             --random-distribution shuffled, --jump nor --layout: leave it out"
        )
    } else if verify || atomic || rw.trims() {
        let beside = match (verify, atomic) {
            (true, _) => "--verify".to_string(),
            (_, true) => "--atomic".to_string(),
            _ => format!("--rw {rw}"),
        };
        format!("{beside} needs requests that begin at multiples of their size: leave --blockalign {blockalign} out")
    } else {
        return Ok(());
    };
    Err(MeasureError::Unfit { what })
}

/// Refuses distances between sequential requests that are none, or that other options have of their own.
fn strides(workload: &Workload) -> Result<(), MeasureError> {
    goes_backwards(workload)?;
    let Workload { rw, bs, options, .. } = workload;
    let WorkloadOptions { stride, streams, bssplit, layout, .. } = *options;
    let what = if stride == Bytes(0) {
        return Ok(());
    } else if rw.pattern() != Pattern::Sequential {
        format!(
            "--stride {stride} is about sequential requests, and --rw {rw} has none: leave it out, or take --rw read"
        )
    } else if bssplit.is_some() || streams > 1 || layout != Layout::Written {
        format!("--stride {stride} goes together with neither --bssplit, --streams nor --layout: leave it out")
    } else if !stride.0.is_multiple_of(bs.0) {
        format!(
            "--stride {stride} is from the beginning of a request to that of the next: write a multiple of --bs {bs}"
        )
    } else {
        return Ok(());
    };
    Err(MeasureError::Unfit { what })
}

/// Refuses to go backwards where requests are not sequential, or where other options have an order of their own.
fn goes_backwards(workload: &Workload) -> Result<(), MeasureError> {
    let Workload { rw, options, .. } = workload;
    let WorkloadOptions { backwards, streams, bssplit, layout, .. } = *options;
    let what = if !backwards {
        return Ok(());
    } else if rw.pattern() != Pattern::Sequential {
        format!("--backwards is about sequential requests, and --rw {rw} has none: leave it out, or take --rw read")
    } else if bssplit.is_some() || streams > 1 || layout != Layout::Written {
        "--backwards goes together with neither --bssplit, --streams nor --layout: leave it out".to_string()
    } else {
        return Ok(());
    };
    Err(MeasureError::Unfit { what })
}

/// Refuses to let several requests reach the same blocks where they are not sequential, or where each block comes once.
fn reaches_the_same(workload: &Workload) -> Result<(), MeasureError> {
    let Workload { rw, options, .. } = workload;
    let WorkloadOptions { same_blocks, streams, bssplit, layout, backwards, verify, .. } = *options;
    let what = if !same_blocks {
        return Ok(());
    } else if rw.pattern() != Pattern::Sequential || rw.trims() {
        format!(
            "--same-blocks is about sequential reads and writes, and --rw {rw} has none: leave it out, or take --rw read"
        )
    } else if bssplit.is_some() || streams > 1 || backwards || layout != Layout::Written {
        "--same-blocks goes together with neither --bssplit, --streams, --backwards nor --layout: leave it out"
            .to_string()
    } else if verify {
        "--verify knows of one write to a block at a time, and --same-blocks makes several: leave one of them out"
            .to_string()
    } else {
        return Ok(());
    };
    Err(MeasureError::Unfit { what })
}

/// Refuses several request sizes together with options that need one size.
fn draws_sizes(workload: &Workload) -> Result<(), MeasureError> {
    let Workload { bs, options, .. } = workload;
    let Some(sizes) = options.bssplit else { return Ok(()) };
    let what = if *bs != sizes.largest() {
        format!("--bs is the largest size of --bssplit {sizes}: let it be {}, not {bs}", sizes.largest())
    } else if options.verify {
        "--verify checks blocks of one size: leave --bssplit or --verify out".to_string()
    } else if options.streams > 1 {
        format!("--streams {} take turns by blocks of one size: leave --bssplit or --streams out", options.streams)
    } else if options.layout != Layout::Written {
        format!("--layout {} writes each block once: leave --bssplit or --layout out", options.layout)
    } else {
        return Ok(());
    };
    Err(MeasureError::Unfit { what })
}

/// Checks that a zone which gets requests lies within the `reached` bytes in use.
///
/// # Errors
/// If there is none.
pub(crate) fn fits_zones(workload: &Workload, reached: u64) -> Result<(), MeasureError> {
    let RandomDistribution::Zoned(zones) = workload.options.random_distribution else { return Ok(()) };
    let Bytes(unit) = workload.alignment();
    let blocks = reached.saturating_add(unit).saturating_sub(workload.bs.0) / unit;
    if !zones.in_blocks(blocks, unit).is_empty() {
        return Ok(());
    }
    let what = format!(
        "--random-distribution {zones}: no zone that gets requests has a block within the {} in use: use a larger --size, or \
         name other zones",
        Bytes(reached)
    );
    Err(MeasureError::Unfit { what })
}

/// Checks that direct requests of `workload` begin and end at multiples of `unit`.
///
/// # Errors
/// Says what does not and what to do.
pub(crate) fn fits_direct(workload: &Workload, unit: Bytes) -> Result<(), MeasureError> {
    let options = &workload.options;
    if let Some(bs) = workload.sizes().find(|size| !size.0.is_multiple_of(unit.0)) {
        return Err(MeasureError::Unaligned { bs, unit });
    }
    let from = options.region.map_or(0, |region| region.from.0);
    let begins = [("--misalign", options.misalign.0), ("--region", from), ("--blockalign", options.blockalign.0)];
    for (flag, bytes) in begins {
        if !bytes.is_multiple_of(unit.0) {
            let what = format!(
                "{flag} begins at {bytes}, and direct I/O begins at multiples of {unit} on this target: choose one, or \
                 measure buffered with --cache both"
            );
            return Err(MeasureError::Unfit { what });
        }
    }
    Ok(())
}

/// Checks that a block of the background readers fits in the `reached` bytes.
///
/// # Errors
/// Says that it does not and what to do.
pub(crate) fn fits_readers(workload: &Workload, block: Bytes, reached: Bytes) -> Result<(), MeasureError> {
    if workload.options.random_readers > 0 && reached < block {
        let what = format!("--random-readers read {block} at a time, and {reached} are reached: choose a larger part");
        return Err(MeasureError::Unfit { what });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use halfpower_spec::{Folders, IoMem, Kernel};

    use super::*;

    #[test]
    fn commands_to_a_namespace_have_neither_a_page_cache_nor_calls() {
        use halfpower_spec::DurableBy;
        let usual = Workload { engine: EngineName::Commands, rw: Rw::Randwrite, ..Workload::default() };
        assert!(usual.cache.direct() && coherent(&usual).is_ok());
        assert!(coherent(&Workload { cache: Cache::None, ..usual }).is_ok(), "each write carries a bit");
        let flushed = WorkloadOptions { fdatasync: 1, flush_by: FlushCall::Fsync, ..WorkloadOptions::default() };
        assert!(coherent(&Workload { options: flushed, ..usual }).is_ok(), "fsync is the drive's flush as well");
        let with = |change: fn(&mut WorkloadOptions)| {
            let mut options = WorkloadOptions::default();
            change(&mut options);
            coherent(&Workload { options, cache: Cache::None, ..usual }).unwrap_err().to_string()
        };
        let buffered = coherent(&Workload { cache: Cache::Both, ..usual }).unwrap_err().to_string();
        assert!(buffered.contains("passes the page cache by"), "{buffered}");
        assert!(with(|options| options.flush_by = FlushCall::SyncFileRange).contains("no pages"));
        assert!(with(|options| options.durable_by = DurableBy::RwfDsync).contains("FUA"));
        assert!(with(|options| options.layout = Layout::New).contains("--layout new"));
        assert!(with(|options| options.atomic = true).contains("makes no calls that could"));
        let trims = coherent(&Workload { rw: Rw::Randtrim, ..usual }).unwrap_err().to_string();
        assert!(trims.contains("--engine pool or sync"), "{trims}");
    }

    #[test]
    fn an_engine_is_asked_only_for_what_it_can_issue() {
        let issued = |engine, iomem, iodepth_batch| {
            coherent(&Workload { engine, issuing: Some(Issuing { iomem, iodepth_batch }), ..Workload::default() })
                .map_err(|refusal| refusal.to_string())
        };
        assert!(issued(EngineName::Libaio, IoMem::Huge, 0).is_ok());
        assert!(issued(EngineName::Sync, IoMem::Huge, 1).is_ok());
        assert!(issued(EngineName::Sync, IoMem::Pages, 4).unwrap_err().contains("--iodepth-batch 4"));
        assert!(issued(EngineName::Sqpoll, IoMem::Pages, 0).is_err(), "the kernel's thread makes no calls");
        assert!(issued(EngineName::Null, IoMem::Pages, 1).is_ok());
        assert!(issued(EngineName::Null, IoMem::Huge, 1).unwrap_err().contains("--iomem"));
    }

    #[test]
    fn several_sizes_are_refused_beside_what_needs_one() {
        let sizes: halfpower_spec::BlockSizes = "4k/60:64k/40".parse().unwrap();
        let usual = WorkloadOptions { bssplit: Some(sizes), ..WorkloadOptions::default() };
        let said = |bs, options| {
            let refusal = coherent(&Workload { bs: Bytes(bs), options, ..Workload::default() });
            refusal.map_err(|refusal| refusal.to_string())
        };
        assert_eq!(said(65536, usual), Ok(()));
        assert!(said(4096, usual).unwrap_err().contains("let it be 64KiB, not 4KiB"));
        for (options, word) in [
            (WorkloadOptions { verify: true, ..usual }, "--verify"),
            (WorkloadOptions { streams: 2, ..usual }, "--streams 2"),
            (WorkloadOptions { layout: Layout::Append, ..usual }, "--layout append"),
        ] {
            assert!(said(65536, options).unwrap_err().contains(word), "{word}");
        }
        let workload = Workload { bs: Bytes(65536), options: usual, ..Workload::default() };
        fits_direct(&workload, Bytes(4096)).unwrap();
        let refusal = fits_direct(&workload, Bytes(8192)).unwrap_err().to_string();
        assert!(refusal.contains("4KiB"), "each size is held against the unit: {refusal}");
    }

    #[test]
    fn direct_requests_begin_where_the_device_lets_them() {
        let shifted = |bytes| Workload {
            options: WorkloadOptions { misalign: Bytes(bytes), ..WorkloadOptions::default() },
            ..Workload::default()
        };
        fits_direct(&shifted(2048), Bytes(512)).unwrap();
        let error = fits_direct(&shifted(2048), Bytes(4096)).unwrap_err().to_string();
        assert!(error.contains("--misalign begins at 2048") && error.contains("--cache both"), "{error}");
        let exceptions = Workload { bs: Bytes(3000), ..Workload::default() };
        assert!(matches!(fits_direct(&exceptions, Bytes(512)), Err(MeasureError::Unaligned { .. })));
    }

    #[test]
    fn operations_on_files_take_their_own_settings_alone() {
        let usual = WorkloadOptions { file_operation: Some(FileOperation::Create), ..WorkloadOptions::default() };
        let create =
            Workload { rw: Rw::Write, bs: Bytes(4096), cache: Cache::Both, options: usual, ..Workload::default() };
        let stat = WorkloadOptions { file_operation: Some(FileOperation::Stat), ..usual };
        coherent(&create).unwrap();
        coherent(&Workload { rw: Rw::Randwrite, cache: Cache::Os, engine: EngineName::Sync, ..create }).unwrap();
        coherent(&Workload { rw: Rw::Randread, options: stat, ..create }).unwrap();
        for (workload, said) in [
            (Workload { cache: Cache::Device, ..create }, "--cache both"),
            (Workload { rw: Rw::Read, ..create }, "--rw write"),
            (Workload { rw: Rw::Read, cache: Cache::Os, options: stat, ..create }, "could make durable"),
            (Workload { engine: EngineName::Libaio, ..create }, "--engine libaio"),
            (Workload { bs: Bytes(2 << 20), ..create }, "1MiB at most"),
            (Workload { threads: 1000, ..create }, "--file-count"),
            (Workload { options: WorkloadOptions { streams: 2, ..usual }, ..create }, "--streams 2"),
            (
                Workload { options: WorkloadOptions { file_operation: None, file_count: 7, ..usual }, ..create },
                "--file-count 7",
            ),
            (
                Workload {
                    options: WorkloadOptions { file_operation: None, folders: Folders::Shared, ..usual },
                    ..create
                },
                "--folders shared",
            ),
        ] {
            let refusal = coherent(&workload).unwrap_err().to_string();
            assert!(refusal.contains(said), "{said}: {refusal}");
        }
    }

    #[test]
    fn pages_are_dropped_and_writes_are_atomic_where_requests_can_ask_for_it() {
        let usual = WorkloadOptions::default();
        let uncached = WorkloadOptions { uncached: true, ..usual };
        let atomic = WorkloadOptions { atomic: true, ..usual };
        let buffered = Workload { cache: Cache::Both, options: uncached, ..Workload::default() };
        let whole = Workload { rw: Rw::Randwrite, bs: Bytes(16384), options: atomic, ..Workload::default() };
        coherent(&buffered).unwrap();
        coherent(&Workload { rw: Rw::Write, cache: Cache::Os, engine: EngineName::IoUring, ..buffered }).unwrap();
        coherent(&whole).unwrap();
        coherent(&Workload { rw: Rw::Randmixed, cache: Cache::None, engine: EngineName::Libaio, ..whole }).unwrap();
        let region = "4KiB+64MiB".parse::<halfpower_spec::Region>().ok();
        for (workload, said) in [
            (Workload { engine: EngineName::Mmap, ..buffered }, "--engine mmap"),
            (Workload { rw: Rw::Trim, engine: EngineName::Auto, ..buffered }, "trim"),
            (
                Workload { options: WorkloadOptions { page_cache: PageCache::Warm, ..uncached }, ..buffered },
                "--page-cache warm",
            ),
            (Workload { cache: Cache::Both, ..whole }, "--cache both"),
            (Workload { bs: Bytes(12288), ..whole }, "--bs 12KiB"),
            (Workload { options: WorkloadOptions { region, ..atomic }, ..whole }, "--region"),
            (Workload { options: WorkloadOptions { misalign: Bytes(512), ..atomic }, ..whole }, "--misalign"),
        ] {
            let refusal = coherent(&workload).unwrap_err().to_string();
            assert!(refusal.contains(said), "{said}: {refusal}");
        }
    }

    #[test]
    fn what_makes_no_sense_together_is_refused_by_its_flag() {
        let twisted = |options| Workload { options, ..Workload::default() };
        let usual = WorkloadOptions::default();
        let cases = [
            (Workload { rw: Rw::Randread, ..twisted(WorkloadOptions { streams: 2, ..usual }) }, "--streams 2"),
            (twisted(WorkloadOptions { kernel: Some(Kernel::Copy), streams: 2, ..usual }), "--kernel memcpy"),
            (twisted(WorkloadOptions { fdatasync: 1, ..usual }), "--fdatasync"),
            (twisted(WorkloadOptions { end_flush: true, ..usual }), "--end-flush"),
            (twisted(WorkloadOptions { compressible: 50, ..usual }), "--compressible 50"),
            (twisted(WorkloadOptions { jump: Jump::Share(50), ..usual }), "--jump 50%"),
            (twisted(WorkloadOptions { stride: Bytes(100_000), ..usual }), "--stride 100000"),
            (twisted(WorkloadOptions { backwards: true, streams: 2, ..usual }), "--backwards"),
            (Workload { rw: Rw::Randread, ..twisted(WorkloadOptions { backwards: true, ..usual }) }, "--backwards"),
            (
                twisted(WorkloadOptions {
                    processors: "0".parse().ok(),
                    affinity: halfpower_spec::Affinity::One,
                    ..usual
                }),
                "--processors 0",
            ),
            (twisted(WorkloadOptions { fadvise: Fadvise::Random, ..usual }), "--fadvise"),
            (twisted(WorkloadOptions { page_cache: PageCache::Warm, ..usual }), "--page-cache"),
            (twisted(WorkloadOptions { uncached: true, ..usual }), "--uncached"),
            (twisted(WorkloadOptions { atomic: true, ..usual }), "--atomic"),
            (twisted(WorkloadOptions { blockalign: Bytes(4096), ..usual }), "--blockalign 4KiB"),
            (twisted(WorkloadOptions { same_blocks: true, streams: 2, ..usual }), "--same-blocks"),
            (twisted(WorkloadOptions { thinktime_blocks: 8, ..usual }), "--thinktime-blocks 8"),
            (twisted(WorkloadOptions { thinktime_from: ThinktimeFrom::Issued, ..usual }), "--thinktime-from issued"),
            (
                Workload {
                    engine: EngineName::Sqpoll,
                    ..twisted(WorkloadOptions { io_priority: "idle".parse().ok(), ..usual })
                },
                "--io-priority idle",
            ),
        ];
        for (workload, flag) in cases {
            let error = coherent(&workload).unwrap_err().to_string();
            assert!(error.contains(flag) && error.contains(':'), "{error}");
        }
        coherent(&Workload { cache: Cache::Both, ..twisted(WorkloadOptions { page_cache: PageCache::Warm, ..usual }) })
            .unwrap();
        coherent(&Workload { rw: Rw::Write, ..twisted(WorkloadOptions { fdatasync: 8, streams: 4, ..usual }) })
            .unwrap();
    }
}
