//! Says what `anatomy` asks and what the papers saw.

pub(super) const QUESTION: &str =
    "Where does the time of a request go, on its way from the application to the device and back?";
pub(super) const PAPERS: &str = "In 1998 a bus analyzer saw small requests waste the SCSI bus: at 8 KB half of its busy time went into \
    setting up transfers and 45% into data, at 64 KB 90% into data. A second disk doubled the throughput and \
    raised the bus's load by 125%: the extra quarter was handshaking. No analyzer hangs on today's link; the \
    kernel's tracepoints divide the way at the host's end of it instead, and what lies beyond the driver is \
    one phase.";
