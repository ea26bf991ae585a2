//! Says for each workload option whether a target backend honours it, or why it refuses it.
//!
//! A new option needs an answer here for every backend. If a backend supports only some values of an option, or not
//! together with other settings, its own `admits` refuses the rest.

use halfpower_spec::{Affinity, Workload, WorkloadOption};

use crate::MeasureError;

/// The kinds of target backends, by what requests of a run reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Backend {
    /// Files and devices of this machine.
    Files,
    /// A file on a server, over SMB or NFS.
    Share,
    /// Objects on a server, over S3.
    Objects,
    /// Simulated disks of constants.
    Disks,
    /// A device that was calibrated from a study.
    Calibrated,
    /// A machine of the papers.
    Machine,
}

/// Why an option is not honoured.
#[derive(Debug, Clone, Copy)]
struct Refusal {
    why: &'static str,
    /// What to do other than to leave the option out.
    instead: Option<&'static str>,
}

const fn because(why: &'static str) -> Option<Refusal> {
    Some(Refusal { why, instead: None })
}

const fn instead(why: &'static str, instead: &'static str) -> Option<Refusal> {
    Some(Refusal { why, instead: Some(instead) })
}

const NO_SERVER: &str = "the target is no file server";
const ONE_FILE: &str = "a share has the one file that was laid out";
const NO_PAGE_CACHE: &str = "no page cache of this machine lies before a share";
pub(crate) const NO_FILES: &str = "this simulated target tells nothing of small files";
const NONE_OF_A_DISK: &str = "a simulated disk has no page cache";
const NONE_OF_A_CALIBRATED: &str = "a calibrated device has no page cache";

/// Refuses options that a backend does not honour.
///
/// # Errors
/// Names the flag with its value, the reason, and what to do.
pub(crate) fn honours(backend: Backend, workload: &Workload) -> Result<(), MeasureError> {
    for (row, value) in workload.options.given() {
        if let Some(Refusal { why, instead }) = refusal(backend, row.option, workload.options.affinity) {
            let value = if row.is_switch { value } else { format!(" {value}") };
            let choice =
                instead.map_or("; leave it out".to_string(), |instead| format!(": {instead}, or leave it out"));
            return Err(MeasureError::Unfit { what: format!("--{}{value}: {why}{choice}", row.flag) });
        }
    }
    Ok(())
}

/// Why a backend refuses an option that was given; `None` if it honours it.
fn refusal(backend: Backend, option: WorkloadOption, affinity: Affinity) -> Option<Refusal> {
    use Backend::{Calibrated, Disks, Files, Machine, Objects, Share};
    use WorkloadOption as Of;
    match option {
        Of::Misalign
        | Of::Region
        | Of::Thinktime
        | Of::ThinktimeBlocks
        | Of::ThinktimeFrom
        | Of::RandomDistribution
        | Of::Jump
        | Of::Blockalign
        | Of::Stride
        | Of::IoSize
        | Of::RampTime
        | Of::Rest
        | Of::Bssplit => None,
        Of::Backwards => match backend {
            Files | Share | Objects => None,
            Disks | Calibrated | Machine => because("the sequential requests of a simulated system only rise"),
        },
        Of::Layout => match backend {
            Files | Machine => None,
            Share | Objects => because(ONE_FILE),
            Disks => because("a simulated disk has no file system"),
            Calibrated => because("a calibrated device has no file system"),
        },
        Of::OwnFiles => match backend {
            Files => None,
            Share | Objects => because(ONE_FILE),
            Disks | Calibrated | Machine => because("a simulated target has no files of single threads"),
        },
        Of::FileOperation | Of::Folders | Of::FileCount => match backend {
            Files | Disks => None,
            Share | Objects => {
                instead("files are made in folders of this machine", "mount the share and name a folder")
            }
            Calibrated | Machine => instead(NO_FILES, "name a disk of constants with file_op=20us"),
        },
        Of::Fdatasync => match backend {
            Files | Share | Disks | Calibrated | Machine => None,
            Objects => because("over S3 each write is durable once it is answered"),
        },
        Of::FlushingThreads => match backend {
            Files | Share | Disks => None,
            Objects => because("over S3 each write is durable once it is answered"),
            Calibrated | Machine => because("in virtual time all threads of this target are one"),
        },
        Of::EndFlush => match backend {
            Files | Share | Disks | Calibrated | Machine => None,
            Objects => because("over S3 each write is durable once it is answered"),
        },
        Of::Compressible => match backend {
            Files | Share | Objects => None,
            Disks | Calibrated | Machine => because("a simulated system moves no data"),
        },
        Of::Processors => match backend {
            Files | Share | Objects => None,
            Disks | Calibrated | Machine => because("the processors of a simulated system cannot be chosen"),
        },
        Of::SteadyState => match backend {
            Files | Share | Objects => None,
            Disks | Calibrated | Machine => because("a simulated run has the length that it is given"),
        },
        Of::SameBlocks => match backend {
            Files | Share | Objects => None,
            Disks | Calibrated | Machine => because("requests of a simulated system reach no block at the same time"),
        },
        Of::Layer => match backend {
            Files => None,
            Share | Objects => because("the devices beneath a share are the server's"),
            Disks | Calibrated | Machine => because("a simulated system has no devices beneath it"),
        },
        Of::IoPriority => match backend {
            Files => None,
            Share | Objects => because("requests to a server carry no I/O priority of this machine"),
            Disks | Calibrated | Machine => because("a simulated system takes requests in their order"),
        },
        Of::FlushBy => match backend {
            Files => None,
            Share => because("the protocol has one request that makes writes durable"),
            Objects => because("over S3 each write is durable once it is answered"),
            Disks | Calibrated | Machine => because("a simulated system has one way to flush"),
        },
        Of::DurableBy => match backend {
            Files => None,
            Share | Objects => because("the protocol says how a write is made durable"),
            Disks | Calibrated | Machine => because("a simulated system has one way to make a write durable"),
        },
        Of::Affinity => match (backend, affinity) {
            (Files | Machine, _) | (Share | Objects, Affinity::All | Affinity::One) => None,
            (Share | Objects, Affinity::Interrupt | Affinity::Other) => {
                because("which interrupts are the network card's is not known")
            }
            (Share | Objects, Affinity::Near | Affinity::Far) => {
                because("which memory node the network card is at is not known")
            }
            (Disks, _) => because("a simulated disk's processors cannot be chosen"),
            (Calibrated, _) => because("a calibrated device's processors cannot be chosen"),
        },
        Of::Streams => match backend {
            Files | Share | Objects | Disks | Machine => None,
            Calibrated => because("the study of a calibrated device had one stream"),
        },
        Of::RandomReaders => match backend {
            Files | Share | Objects | Disks | Machine => None,
            Calibrated => because("the study of a calibrated device had no readers beside"),
        },
        Of::Beside => match backend {
            Files | Disks => None,
            Share | Objects => instead("threads beside a share's workload read at random", "take --random-readers"),
            Calibrated | Machine => because("this simulated target tells nothing of two loads at once"),
        },
        Of::PageCache | Of::Fadvise => match backend {
            Files | Machine => None,
            Share | Objects => because(NO_PAGE_CACHE),
            Disks => because(NONE_OF_A_DISK),
            Calibrated => because(NONE_OF_A_CALIBRATED),
        },
        Of::Uncached => match backend {
            Files => None,
            Share | Objects => because(NO_PAGE_CACHE),
            Disks => because(NONE_OF_A_DISK),
            Calibrated => because(NONE_OF_A_CALIBRATED),
            Machine => because("the page cache of a simulated machine knows no such requests"),
        },
        Of::Atomic => match backend {
            Files => None,
            Share | Objects => because("the protocol has no writes that are atomic if power fails"),
            Disks | Calibrated | Machine => because("a simulated system loses no power, so that no write is torn"),
        },
        Of::WriteCache => match backend {
            Files | Machine => None,
            Share | Objects => because("the server's disks cannot be switched from here"),
            Disks => because("a simulated disk has no write cache"),
            Calibrated => because("the write cache of a calibrated device cannot be switched"),
        },
        Of::Members | Of::VolumeLayout => match backend {
            Files | Disks | Calibrated | Machine => None,
            Share | Objects => because("a share is a single target"),
        },
        Of::Kernel => match backend {
            Files => None,
            Share | Objects => instead("the kernels of memory reach no share", "take `halfpower memory`"),
            Disks | Calibrated | Machine => {
                because("loops over this machine's memory, and a simulated system has none")
            }
        },
        Of::Verify => match backend {
            Files | Share | Objects | Disks => None,
            Calibrated | Machine => because(
                "this simulated target moves no data that could be checked; name a disk of constants, such as \
                 sim:fixed=80us",
            ),
        },
        Of::Connections => match backend {
            Share => None,
            Objects => {
                because("over S3 each request in flight has a connection, so that --iodepth says how many there are")
            }
            Files | Disks | Calibrated | Machine => because(NO_SERVER),
        },
        Of::Sealing => match backend {
            Share | Objects => None,
            Files | Disks | Calibrated | Machine => because(NO_SERVER),
        },
        // Backends that pass a run on to other processes remove these two first; here the run reached a single process.
        Of::Way => {
            instead("a witness at the far end measures it", "add --far-end with one that has --local or --share")
        }
        Of::Hosts => {
            instead("it names processes of a run on many hosts, and this is a single one", "start it by mpirun")
        }
    }
}

#[cfg(test)]
mod tests {
    use halfpower_spec::{Hosts, Layout, OPTIONS, Sealing, Way, WorkloadOptions};

    use super::*;

    #[test]
    fn what_a_backend_does_not_honour_is_refused_by_its_flag() {
        let default = WorkloadOptions::default();
        for (backend, options, said) in [
            (Backend::Share, WorkloadOptions { layout: Layout::New, ..default }, "--layout new: "),
            (Backend::Objects, WorkloadOptions { connections: 2, ..default }, "--connections 2: "),
            (Backend::Files, WorkloadOptions { sealing: Sealing::Signed, ..default }, "--sealing signed: "),
            (Backend::Machine, WorkloadOptions { verify: true, ..default }, "--verify : "),
            (Backend::Files, WorkloadOptions { way: Way::Local, ..default }, "--far-end"),
            (Backend::Disks, WorkloadOptions { backwards: true, ..default }, "--backwards: "),
            (Backend::Machine, WorkloadOptions { uncached: true, ..default }, "--uncached: "),
            (Backend::Share, WorkloadOptions { atomic: true, ..default }, "--atomic: "),
            (Backend::Disks, WorkloadOptions { io_priority: "idle".parse().ok(), ..default }, "--io-priority idle: "),
            (Backend::Share, WorkloadOptions { hosts: "0-3".parse::<Hosts>().ok(), ..default }, "mpirun"),
        ] {
            let refusal = honours(backend, &Workload { options, ..Workload::default() }).unwrap_err().to_string();
            assert!(refusal.contains(said.trim_end_matches(" : ")), "{said}: {refusal}");
            assert!(!refusal.contains(" :"), "{refusal}");
        }
    }

    #[test]
    fn files_of_this_machine_honour_all_that_is_theirs() {
        let refused = OPTIONS.iter().filter(|row| refusal(Backend::Files, row.option, Affinity::All).is_some());
        assert_eq!(refused.map(|row| row.flag).collect::<Vec<_>>(), ["connections", "sealing", "way", "hosts"]);
    }
}
