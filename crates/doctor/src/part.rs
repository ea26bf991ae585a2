//! Says which part of a path each check looks at, and which findings limit that part.

use halfpower_record::PathPart::{self, *};

/// A part of a path: the checks whose findings limit what gets through it, then its other checks. A check of the path as a
/// whole is in no row.
type PartChecks = (PathPart, &'static [&'static str], &'static [&'static str]);

const PARTS: &[PartChecks] = &[
    (
        Processor,
        &["governor", "frequency-limit", "steal-time"],
        &["cgroup-processors", "mitigations", "energy-preference", "clock-source", "idle-states", "kernel-debugging"],
    ),
    (
        Memory,
        &[],
        &["cgroup-memory", "dirty-limits", "zone-reclaim", "swappiness", "read-ahead", "zfs-cache", "zfs-prefetch"],
    ),
    (ControlGroup, &["cgroup-io-limit"], &["cgroup-io-weight"]),
    (
        FileSystem,
        &[],
        &[
            "barriers",
            "access-times",
            "discard",
            "data-journal",
            "synchronous-mount",
            "delayed-allocation",
            "dax",
            "nearly-full",
            "reserved-blocks",
            "log-device",
            "fragmentation",
            "unwritten-parts",
            "file-system-block",
            "btrfs-copy-on-write",
            "btrfs-compression",
            "btrfs-options",
            "btrfs-work",
            "btrfs-devices",
            "zfs-pool",
            "zfs-flushes",
            "zfs-direct",
            "zfs-properties",
            "fuse-requests",
            "overlay",
        ],
    ),
    (
        Server,
        &[],
        &[
            "nfs-message-size",
            "nfs-connections",
            "nfs-caching",
            "nfs-version",
            "smb-cache",
            "smb-dialect",
            "smb-protection",
            "smb-message-size",
        ],
    ),
    (
        Network,
        &["line-speed"],
        &["line-negotiation", "line-duplex", "line-frames", "line-mtu", "line-offloads", "line-errors", "tcp-windows"],
    ),
    (
        Volume,
        &["md-degraded"],
        &[
            "loop-buffered",
            "md-sync",
            "md-members",
            "md-chunk",
            "md-stripe-cache",
            "md-threads",
            "md-bitmap",
            "md-journal",
            "crypt-queues",
            "crypt-sector",
            "crypt-instructions",
            "crypt-code",
            "lvm-raid",
            "thin-pool-full",
            "thin-pool-zeroing",
            "snapshots",
            "volume-layout",
            "block-cache",
        ],
    ),
    (
        Queue,
        &[],
        &[
            "scheduler",
            "queue-requests",
            "write-throttling",
            "rq-affinity",
            "merges",
            "iostats",
            "add-random",
            "rotational",
            "request-size",
            "interrupt-spread",
            "hardware-queues",
            "memory-node",
            "poll-queues",
        ],
    ),
    (PcieLink, &["pcie-link"], &["pcie-errors", "pcie-power", "iommu-strict"]),
    (StorageLink, &["multipath-paths", "multipath-policy"], &[]),
    (SataLink, &["sata-link"], &["link-power"]),
    (UsbLink, &["usb-speed"], &["usb-driver"]),
    (
        Device,
        &[],
        &[
            "write-cache",
            "forced-writes",
            "command-queueing",
            "scsi-state",
            "scsi-errors",
            "scsi-logs",
            "raid-card",
            "smart-sectors",
            "nvme-state",
            "nvme-warnings",
            "nvme-wear",
            "nvme-media-errors",
            "nvme-heat",
            "nvme-power",
            "nvme-power-state",
            "nvme-format",
            "nvme-paths",
            "nvme-path-policy",
            "temperature",
            "zoned",
            "block-size",
            "partition-alignment",
            "stripe-alignment",
            "swap-on-disk",
        ],
    ),
];

/// The part that the check of this code looks at, and whether its findings limit that part.
pub(crate) fn part_of(code: &str) -> (Option<PathPart>, bool) {
    let row = PARTS.iter().find(|(_, limiting, others)| limiting.contains(&code) || others.contains(&code));
    row.map_or((None, false), |(part, limiting, _)| (Some(*part), limiting.contains(&code)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::CHECKS;

    /// Checks of no part, or of more than one: the buffers of requests, which are not the page cache; a machine without memory,
    /// where all is slow; copies on the way to any disk; and the link of an ATA disk, which may be IDE, SATA, or SATA behind USB.
    const OF_NO_PART: [&str; 6] =
        ["locked-memory", "huge-pages", "memory-pressure", "bounce-buffers", "transfer-mode", "smart-link-errors"];

    #[test]
    fn each_code_is_that_of_a_check_and_is_in_one_row() {
        let codes: Vec<&str> =
            PARTS.iter().flat_map(|(_, limiting, others)| limiting.iter().chain(others.iter())).copied().collect();
        assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), codes.len());
        for code in codes {
            assert!(CHECKS.iter().any(|check| check.code == code), "{code}");
        }
    }

    #[test]
    fn a_check_without_a_part_is_listed_as_one() {
        let without = CHECKS.iter().map(|check| check.code).filter(|code| part_of(code).0.is_none());
        assert_eq!(without.collect::<BTreeSet<_>>(), BTreeSet::from(OF_NO_PART));
    }

    #[test]
    fn a_check_says_what_it_limits() {
        assert_eq!(part_of("pcie-link"), (Some(PcieLink), true));
        assert_eq!(part_of("pcie-errors"), (Some(PcieLink), false));
        assert_eq!(part_of("locked-memory"), (None, false));
    }
}
