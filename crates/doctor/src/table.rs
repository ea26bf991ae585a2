//! Lists all checks, from the application down to the disks.

use crate::Check;
use crate::checks::{
    alignment, array, array_work, btrfs, caches, control_groups, copy_on_write, crypt, file_system, fragments, fuse,
    idle, interrupts, iommu, kernel, line, line_driver, loop_device, lvm_raid, memory, mitigations, mount_options,
    multipath, nfs, nvme, nvme_health, nvme_power, pcie, processor, queue, read_ahead, request_size, sata, scheduler,
    scsi, smart, smb, swap, temperature, thin, transfer_mode, usb, volumes, write_cache, zfs, zoned,
};

/// All checks.
pub const CHECKS: &[Check] = &[
    // The machine.
    mitigations::MITIGATIONS,
    processor::GOVERNOR,
    processor::PREFERENCE,
    processor::LIMIT,
    processor::STEAL,
    processor::CLOCK,
    idle::STATES,
    kernel::DEBUGGING,
    // Control groups.
    control_groups::RATE,
    control_groups::WEIGHT,
    control_groups::MEMORY,
    control_groups::PROCESSORS,
    // Memory.
    memory::DIRTY,
    memory::RECLAIM,
    memory::SWAPPINESS,
    swap::SHARED,
    memory::LOCKED,
    memory::HUGE,
    memory::PRESSURE,
    // The file system.
    mount_options::BARRIERS,
    mount_options::ACCESS,
    mount_options::DISCARD,
    mount_options::DATA_JOURNAL,
    mount_options::SYNC,
    mount_options::ALLOCATION,
    mount_options::DAX,
    file_system::FULL,
    file_system::RESERVED,
    file_system::LOG,
    fragments::PIECES,
    fragments::UNWRITTEN,
    alignment::SYSTEM_BLOCK,
    read_ahead::READ_AHEAD,
    btrfs::COPIES,
    btrfs::COMPRESSION,
    btrfs::OPTIONS,
    btrfs::WORK,
    btrfs::DEVICES,
    zfs::STATE,
    zfs::CACHE,
    zfs::PREFETCH,
    zfs::FLUSHES,
    zfs::DIRECT,
    zfs::PROPERTIES,
    fuse::MESSAGES,
    fuse::OVERLAY,
    // Servers and the network.
    nfs::MESSAGES,
    nfs::CONNECTIONS,
    nfs::CACHING,
    nfs::VERSION,
    smb::CACHE,
    smb::DIALECT,
    smb::PROTECTION,
    smb::MESSAGES,
    line::SPEED,
    line_driver::NEGOTIATED,
    line::DUPLEX,
    line::FRAMES,
    line_driver::FITS,
    line_driver::OFFLOADS,
    line::ERRORS,
    line::WINDOWS,
    // Volumes.
    loop_device::BUFFERED,
    array_work::DEGRADED,
    array_work::SYNC,
    array_work::MEMBERS,
    array::CHUNK,
    array::STRIPES,
    array::THREADS,
    array::BITMAP,
    array::JOURNAL,
    crypt::QUEUES,
    crypt::SECTORS,
    crypt::INSTRUCTIONS,
    crypt::CODE,
    lvm_raid::STATE,
    thin::FULL,
    thin::ZEROING,
    copy_on_write::SNAPSHOTS,
    multipath::PATHS,
    multipath::POLICY,
    volumes::LAYOUT,
    caches::CACHE,
    alignment::PARTITIONS,
    alignment::STRIPES,
    // The queue of a disk.
    scheduler::SCHEDULER,
    queue::REQUESTS,
    queue::THROTTLE,
    queue::AFFINITY,
    queue::MERGES,
    queue::STATISTICS,
    queue::ENTROPY,
    queue::ROTATIONAL,
    request_size::SIZE,
    alignment::BLOCKS,
    zoned::ZONED,
    interrupts::SPREAD,
    interrupts::QUEUES,
    interrupts::NODE,
    interrupts::POLLING,
    // The way to a disk.
    iommu::STRICT,
    iommu::BOUNCE,
    pcie::WIDTH,
    pcie::ERRORS,
    pcie::POWER,
    sata::SPEED,
    sata::POWER,
    transfer_mode::MODE,
    usb::SPEED,
    usb::DRIVER,
    // The disk.
    write_cache::CACHE,
    write_cache::FORCE,
    queue::QUEUEING,
    scsi::STATE,
    scsi::ERRORS,
    scsi::LOGS,
    scsi::CARD,
    smart::SECTORS,
    smart::LINK,
    nvme::STATE,
    nvme_health::WARNINGS,
    nvme_health::WEAR,
    nvme_health::MEDIA,
    nvme_health::HEAT,
    nvme_power::SLEEP,
    nvme_power::HELD,
    nvme::FORMAT,
    nvme::PATHS,
    nvme::POLICY,
    temperature::TEMPERATURE,
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn codes_are_kebab_case_and_unique_and_nothing_is_left_out() {
        let codes: BTreeSet<&str> = CHECKS.iter().map(|check| check.code).collect();
        assert_eq!(codes.len(), CHECKS.len());
        assert!(CHECKS.len() >= 40);
        for check in CHECKS {
            let is_kebab =
                check.code.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
            assert!(is_kebab, "{}", check.code);
            for text in [check.title, check.applies, check.costs, check.source, check.change] {
                assert!(!text.is_empty() && !text.contains("  "), "{}: {text}", check.code);
            }
            assert!(!check.reads.is_empty(), "{}", check.code);
        }
    }
}
