//! Names what the tables of a watch show: kinds of operations, causes of requests, waits.

use halfpower_record::{Cause, IssuedBy, OperationKind, Wait};

/// The name of a kind of operation.
pub(super) fn kind(kind: OperationKind) -> &'static str {
    match kind {
        OperationKind::Read => "read",
        OperationKind::Write => "write",
        OperationKind::DurableWrite => "durable write",
        OperationKind::Fdatasync => "fdatasync",
        OperationKind::Fsync => "fsync",
        OperationKind::OtherSync => "other sync",
        OperationKind::FaultRead => "page fault that reads",
    }
}

/// How operations are issued.
pub(super) fn issued(by: IssuedBy, direct: Option<bool>) -> String {
    let by = match by {
        IssuedBy::Calls => "calls",
        IssuedBy::IoUring => "io_uring",
        IssuedBy::Aio => "libaio",
        IssuedBy::Mapping => "mapping",
    };
    match direct {
        Some(true) => format!("{by}, direct"),
        Some(false) => format!("{by}, buffered"),
        None => by.to_string(),
    }
}

/// All waits, in the order in which tables show them.
pub(super) const WAITS: [Wait; 9] = [
    Wait::Device,
    Wait::Flush,
    Wait::BlockQueue,
    Wait::Journal,
    Wait::Writeback,
    Wait::Throttle,
    Wait::RunQueue,
    Wait::Processor,
    Wait::Other,
];

/// The name of a wait.
pub(super) fn wait(wait: Wait) -> &'static str {
    match wait {
        Wait::Processor => "processor",
        Wait::RunQueue => "run queue",
        Wait::Throttle => "throttle",
        Wait::Journal => "journal",
        Wait::Writeback => "writeback",
        Wait::BlockQueue => "block queue",
        Wait::Device => "device",
        Wait::Flush => "flush",
        Wait::Other => "other",
    }
}

/// Why a request reached a disk.
pub(super) fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Operation => "operation",
        Cause::ReadAhead => "read-ahead",
        Cause::Sync => "sync",
        Cause::Journal => "journal",
        Cause::Writeback => "writeback",
        Cause::Flush => "flush",
        Cause::Paging => "paging",
        Cause::Other => "other",
    }
}

/// The heading that a line of the answer begins with, in capitals, and the rest of the line.
pub(super) fn heading_of(line: &str) -> (Option<&str>, &str) {
    let end = line.find("  ").unwrap_or(line.len());
    let (front, rest) = line.split_at(end);
    let is_heading = front.chars().filter(|c| c.is_uppercase()).count() >= 4
        && front.chars().all(|c| c.is_uppercase() || matches!(c, ' ' | ','));
    if is_heading { (Some(front), rest) } else { (None, line) }
}
