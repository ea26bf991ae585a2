//! Checks whether a workload can run on a share of a file server.

use halfpower_share::Limits;
use halfpower_spec::{Bytes, EngineName, Issuing, ShareProtocol, Workload};

use super::admits::fits_span;
use super::memory_budget::MemoryBudget;
use crate::admission::coherent;
use crate::option_answers::{Backend, honours};
use crate::{MeasureError, read_back};

/// Upper bound of the files that a study has open besides its connections.
const OTHER_FILES: u64 = 64;

/// Checks that `workload` can run on `span` bytes of a share that speaks `protocol`.
///
/// # Errors
/// A sentence that says why not.
pub(super) fn admits(
    workload: &Workload,
    protocol: ShareProtocol,
    (span, limits): (u64, Limits),
    budget: MemoryBudget,
) -> Result<(), MeasureError> {
    coherent(workload)?;
    honours(if protocol == ShareProtocol::S3 { Backend::Objects } else { Backend::Share }, workload)?;
    let refused = refusal(workload, protocol.engine()).or_else(|| of_objects(workload, protocol));
    if let Some(what) = refused.or_else(|| too_large(workload, limits)) {
        return Err(MeasureError::Unfit { what });
    }
    budget.admits(workload, 1)?;
    fits_span(workload, span)?;
    if workload.options.verify {
        read_back::admit(workload, 1, span, budget.usable_bytes).map_err(|what| MeasureError::Unfit { what })?;
    }
    Ok(())
}

/// Refuses settings that do not apply to a share.
fn refusal(workload: &Workload, engine: EngineName) -> Option<String> {
    let Workload { rw, cache, engine: asked, issuing, .. } = workload;
    Some(match () {
        _ if *asked == EngineName::Memory => {
            "the kernels of memory reach no share: take `halfpower memory`".to_string()
        }
        _ if *asked != EngineName::Auto && *asked != engine => {
            format!(
                "--engine {asked} reaches files of this machine, and a share goes through the engine {engine}: leave \
                     it out"
            )
        }
        _ if rw.trims() => {
            format!("--rw {rw}: blocks cannot be given back through a share; name a file or a device of this machine")
        }
        _ if !cache.direct() => format!(
            "--cache {cache}: no page cache of this machine lies before a share that is spoken to without a mount; take \
             --cache device (the server may cache) or --cache none (each write is on the server's disk)"
        ),
        _ if issuing.is_some_and(|issuing| issuing.iodepth_batch != Issuing::default().iodepth_batch) => {
            "--iodepth-batch counts system calls, and what goes to a share is cut by TCP: leave it out".to_string()
        }
        _ => return None,
    })
}

/// Refuses settings that do not apply to S3: there each write makes an object, and each request has a connection.
fn of_objects(workload: &Workload, protocol: ShareProtocol) -> Option<String> {
    let Workload { rw, options, .. } = workload;
    let files = halfpower_os::open_files::most();
    // Each connection takes two descriptors: one for requests, one for its TCP statistics.
    let needed = u64::from(workload.total_depth()).saturating_mul(2).saturating_add(OTHER_FILES);
    Some(match options {
        _ if protocol != ShareProtocol::S3 => return None,
        _ if options.verify && rw.writes() && rw.direction().is_none() => format!(
            "--rw {rw}: --verify cannot check both over S3, where a write is an object of its own and a read is of \
             another; take --rw read or --rw write"
        ),
        _ if needed > files => format!(
            "{} requests in flight are as many connections over S3, and this process may open {files} files: allow more \
             (ulimit -n), or ask for less depth",
            workload.total_depth()
        ),
        _ => return None,
    })
}

/// Refuses a block size that is too large for one request to the server.
fn too_large(workload: &Workload, limits: Limits) -> Option<String> {
    let reads = workload.rw.direction() != Some(halfpower_spec::Direction::Write) || workload.options.verify;
    let most = match (reads, workload.rw.writes()) {
        (true, true) => limits.read_bytes.min(limits.write_bytes),
        (true, false) => limits.read_bytes,
        _ => limits.write_bytes,
    };
    let bs = workload.bs;
    let most = Bytes(most.into());
    (bs > most).then(|| {
        format!("--bs {bs} is more than the server takes in one request, which is {most}: choose a smaller --bs")
    })
}

#[cfg(test)]
mod tests {
    use halfpower_spec::{Affinity, Cache, Layout, Rw, WorkloadOptions};

    use super::*;

    const LIMITS: Limits = Limits { read_bytes: 1 << 20, write_bytes: 1 << 16 };

    fn said(workload: Workload) -> Result<(), String> {
        said_of(ShareProtocol::Smb, workload)
    }

    fn said_of(protocol: ShareProtocol, workload: Workload) -> Result<(), String> {
        let budget = MemoryBudget { usable_bytes: 0, locked_bytes: None };
        admits(&workload, protocol, (1 << 30, LIMITS), budget).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn what_objects_cannot_be_asked_is_refused_by_its_flag() {
        let usual = Workload::default();
        let options = WorkloadOptions::default();
        assert_eq!(said_of(ShareProtocol::S3, usual), Ok(()));
        assert_eq!(said_of(ShareProtocol::S3, Workload { cache: Cache::None, rw: Rw::Randmixed, ..usual }), Ok(()));
        for (rw, options, iodepth, word) in [
            (Rw::Read, WorkloadOptions { connections: 2, ..options }, 1, "--connections 2"),
            (Rw::Write, WorkloadOptions { fdatasync: 8, ..options }, 1, "--fdatasync 8"),
            (Rw::Randmixed, WorkloadOptions { verify: true, ..options }, 1, "--verify"),
            (Rw::Read, options, 1 << 30, "ulimit -n"),
        ] {
            let workload = Workload { rw, options, iodepth, ..usual };
            let refusal = said_of(ShareProtocol::S3, workload).unwrap_err();
            assert!(refusal.contains(word), "{word}: {refusal}");
        }
    }

    #[test]
    fn what_a_share_cannot_be_asked_is_refused_by_its_flag() {
        let usual = Workload::default();
        assert_eq!(said(usual), Ok(()));
        assert_eq!(said(Workload { engine: EngineName::Smb, cache: Cache::None, ..usual }), Ok(()));
        let with = |options| Workload { options, ..usual };
        let options = WorkloadOptions::default();
        for (workload, word) in [
            (Workload { cache: Cache::Both, ..usual }, "--cache both"),
            (Workload { engine: EngineName::IoUring, ..usual }, "--engine io_uring"),
            (Workload { rw: Rw::Randtrim, ..usual }, "--rw randtrim"),
            (Workload { engine: EngineName::Nfs, ..usual }, "--engine nfs"),
            (with(WorkloadOptions { layout: Layout::New, ..options }), "--layout new"),
            (with(WorkloadOptions { affinity: Affinity::Interrupt, ..options }), "--affinity interrupt"),
            (with(WorkloadOptions { members: 2, ..options }), "--members"),
            (Workload { bs: Bytes(2 << 20), ..usual }, "--bs 2MiB"),
            (Workload { bs: Bytes(1 << 17), rw: Rw::Write, ..usual }, "64KiB"),
        ] {
            let refusal = said(workload).unwrap_err();
            assert!(refusal.contains(word), "{word}: {refusal}");
        }
    }
}
