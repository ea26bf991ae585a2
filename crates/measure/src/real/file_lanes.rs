//! Prepares runs of operations on small files: a folder of our own, and an engine for each thread.
//!
//! The folder lies in the target's folder and goes with the lanes of the run. What killed processes left goes when the
//! target is opened (`member`).

use std::path::Path;
use std::sync::Arc;

use halfpower_engine::FileWork;
use halfpower_os::{FileFolder, Kind};
use halfpower_record::LaneRole;
use halfpower_spec::{Bytes, EngineName, FileOperation, Folders, Workload};

use super::member::Member;
use crate::MeasureError;
use crate::silence::Silence;
use crate::target_backend::{ClosingFlush, Lane, Prepared};

/// What a reader of records of such runs has to know.
pub(super) const NOTE: &str = "in runs of --file-operation a request is one operation on a small file of --bs bytes, or one \
                               listing of its folder: MB/s are the sizes of these files, of which only create moves bytes";

/// Whether `workload` works on small files.
///
/// # Errors
/// If it does, and the target is no single folder.
pub(super) fn are_files(workload: &Workload, members: &[Member]) -> Result<bool, MeasureError> {
    let Some(operation) = workload.options.file_operation else { return Ok(false) };
    match members {
        [folder] if folder.kind == Kind::Folder => Ok(true),
        _ => {
            let what = format!("--file-operation {operation}: files are made in a single folder: name one");
            Err(MeasureError::Unfit { what })
        }
    }
}

/// Opens one lane for each thread, with its files in `folder`.
///
/// # Errors
/// If there is no room for the files, or the folder may not be written to.
pub(super) fn prepare(
    workload: &Workload,
    operation: FileOperation,
    folder: &Path,
    silence: Silence,
) -> Result<Prepared, MeasureError> {
    let Workload { bs, threads, cache, options, .. } = *workload;
    let files = u64::from(threads) * u64::from(options.file_count);
    if !halfpower_os::has_room_for_files(folder, files, bs.0)? {
        let what = format!(
            "a quarter of what is free has no room for {files} files of {bs}: free some, or ask for a smaller --file-count"
        );
        return Err(MeasureError::Target { path: folder.to_path_buf(), what });
    }
    let own = Arc::new(FileFolder::new_in(folder)?);
    let span = Bytes(bs.0 * u64::from(options.file_count));
    let lane = |thread| Lane {
        engine: halfpower_engine::open_files(FileWork {
            operation,
            folder: Arc::clone(&own),
            thread,
            has_own_folder: options.folders == Folders::Own,
            files: options.file_count,
            file_bytes: bs.0 as u32,
            is_durable: cache.durable(),
        })
        .engine,
        depth: 1,
        range: 0..span.0,
        once: operation.is_once(),
        most_bytes: None,
        role: LaneRole::Own,
        cpu: None,
    };
    Ok(Prepared {
        lanes: (0..threads).map(lane).collect(),
        engine: EngineName::Sync,
        span_bytes: span.0 * u64::from(threads),
        spread_bytes: None,
        cached_bytes: None,
        buffer_segments: None,
        warms_up: None,
        flush: ClosingFlush::None,
        silence: Some(silence),
    })
}
