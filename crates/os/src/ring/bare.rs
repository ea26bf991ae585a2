//! Holds an io_uring whose entries are of the usual size, or of twice that size, as NVMe commands need.

use std::os::fd::{AsRawFd, RawFd};

use io_uring::{IoUring, Parameters, Submitter, cqueue, squeue};

/// An io_uring with entries of one size.
pub(crate) enum BareRing {
    /// Entries of 64 bytes, and completions of 16.
    Usual(IoUring),
    /// Entries of 128 bytes, which hold a command, and completions of 32.
    Commands(IoUring<squeue::Entry128, cqueue::Entry32>),
}

impl BareRing {
    /// What registers resources with it.
    pub fn submitter(&self) -> Submitter<'_> {
        match self {
            Self::Usual(ring) => ring.submitter(),
            Self::Commands(ring) => ring.submitter(),
        }
    }

    /// What it was set up with.
    pub fn params(&self) -> &Parameters {
        match self {
            Self::Usual(ring) => ring.params(),
            Self::Commands(ring) => ring.params(),
        }
    }

    /// Whether the kernel's thread that polls the queue sleeps.
    pub fn needs_wakeup(&mut self) -> bool {
        match self {
            Self::Usual(ring) => ring.submission().need_wakeup(),
            Self::Commands(ring) => ring.submission().need_wakeup(),
        }
    }

    /// Number of outcomes that have arrived.
    pub fn arrived(&mut self) -> usize {
        match self {
            Self::Usual(ring) => ring.completion().len(),
            Self::Commands(ring) => ring.completion().len(),
        }
    }

    /// Takes every outcome that has arrived; returns how many are not marked with `mark`.
    pub fn drop_all_but(&mut self, mark: u64) -> usize {
        match self {
            Self::Usual(ring) => ring.completion().filter(|outcome| outcome.user_data() != mark).count(),
            Self::Commands(ring) => ring.completion().filter(|outcome| outcome.user_data() != mark).count(),
        }
    }

    /// Adds an entry of the usual size; returns whether there was room.
    ///
    /// # Safety
    /// What the entry refers to stays in place until its outcome has arrived.
    pub unsafe fn push(&mut self, entry: squeue::Entry) -> bool {
        match self {
            // SAFETY: the caller vouches for the entry.
            Self::Usual(ring) => unsafe { ring.submission().push(&entry) }.is_ok(),
            // SAFETY: as above.
            Self::Commands(ring) => unsafe { ring.submission().push(&entry.into()) }.is_ok(),
        }
    }
}

impl AsRawFd for BareRing {
    fn as_raw_fd(&self) -> RawFd {
        match self {
            Self::Usual(ring) => ring.as_raw_fd(),
            Self::Commands(ring) => ring.as_raw_fd(),
        }
    }
}
