//! How are runs of the memory kernels prepared? Each thread gets an engine with an arena of its own; the target is not
//! touched, but that its folder takes the file of file-read and file-write.

use std::path::Path;

use engine::EngineError;
use record::LaneRole;
use spec::{EngineName, Kernel, Workload};

use crate::MeasureError;
use crate::place::{Lane, Prepared};

/// Whether `workload` is a memory kernel that this machine can run: the engine and the kernel both say so, or neither.
///
/// # Errors
/// Where only one does, with what to add; or where the processor lacks what it takes.
pub(crate) fn is_memory(workload: &Workload) -> Result<bool, MeasureError> {
    match (workload.engine, workload.twist.kernel) {
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
    os::Vectors::widest().streams().is_some()
}

/// One lane for each thread; files lie in `folder`.
pub(crate) fn prepare(workload: &Workload, folder: &Path) -> Result<Prepared, MeasureError> {
    let Workload { bs, threads, twist, .. } = *workload;
    let kernel = twist.kernel.expect("a place admits a workload before it prepares it");
    let lanes = (0..threads).map(|_| {
        let (opened, span_bytes) = engine::open_memory(kernel, bs, threads, folder)?;
        Ok(Lane {
            engine: opened.engine,
            depth: opened.most_in_flight,
            range: 0..span_bytes,
            role: LaneRole::Own,
            cpu: None,
        })
    });
    let lanes = lanes.collect::<Result<_, MeasureError>>()?;
    Ok(Prepared { lanes, engine: EngineName::Memory, cached_bytes: None, once: false, flush: false, readers: None })
}
