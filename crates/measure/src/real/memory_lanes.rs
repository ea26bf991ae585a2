//! Prepares runs of the memory kernels: each thread gets an engine with its own arena.

use std::path::Path;

use halfpower_engine::EngineError;
use halfpower_record::LaneRole;
use halfpower_spec::{EngineName, Kernel, Workload};

use crate::MeasureError;
use crate::target_backend::{ClosingFlush, Lane, Prepared};

/// Whether `workload` runs a memory kernel: it then has both the memory engine and a kernel, otherwise neither.
///
/// # Errors
/// If it has only one of them, with what to add; or if the processor cannot run the kernel.
pub(crate) fn is_memory(workload: &Workload) -> Result<bool, MeasureError> {
    match (workload.engine, workload.options.kernel) {
        (EngineName::Memory, Some(kernel @ (Kernel::WriteStream | Kernel::CopyStream))) if !can_stream() => {
            let what = "needs stores past the caches, and halfpower knows none on this processor";
            Err(MeasureError::Kernel { kernel, what })
        }
        (EngineName::Memory, Some(_)) => Ok(true),
        (EngineName::Memory, None) => {
            let why = "it runs a loop over memory: say which, such as --kernel memcpy".to_string();
            Err(EngineError::Unavailable { engine: EngineName::Memory.word(), why }.into())
        }
        (_, Some(kernel)) => Err(MeasureError::Kernel { kernel, what: "is a loop over memory: add --engine memory" }),
        (_, None) => Ok(false),
    }
}

fn can_stream() -> bool {
    halfpower_os::Vectors::widest().streams().is_some()
}

/// Opens one lane for each thread; the kernels that use files make them in `folder`.
pub(crate) fn prepare(workload: &Workload, folder: &Path) -> Result<Prepared, MeasureError> {
    let Workload { bs, threads, options, .. } = *workload;
    let kernel = options.kernel.expect("a place admits a workload before it prepares it");
    let lanes = (0..threads).map(|_| {
        let (opened, span_bytes) = halfpower_engine::open_memory(kernel, bs, threads, folder)?;
        Ok(Lane {
            engine: opened.engine,
            depth: opened.most_in_flight,
            range: 0..span_bytes,
            once: false,
            most_bytes: None,
            role: LaneRole::Own,
            cpu: None,
        })
    });
    let lanes = lanes.collect::<Result<Vec<_>, MeasureError>>()?;
    let span_bytes = lanes.iter().map(|lane: &Lane| lane.range.end - lane.range.start).sum();
    Ok(Prepared {
        lanes,
        engine: EngineName::Memory,
        span_bytes,
        spread_bytes: None,
        cached_bytes: None,
        buffer_segments: None,
        warms_up: None,
        flush: ClosingFlush::None,
        silence: None,
    })
}
