//! Names the status of NVMe commands that failed, as the NVM Express base specification 2.0 and that of zoned namespaces do.

use std::borrow::Cow;

use halfpower_os::NVME_STATUS;

/// The type of a status (bits 8 to 10) and its code (bits 0 to 7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NvmeStatus(u16);

impl NvmeStatus {
    /// The status in an error number; `None` if it is no drive's.
    pub fn of(number: i32) -> Option<Self> {
        let is_one = number & !0x7ff == NVME_STATUS;
        is_one.then_some(Self((number & 0x7ff) as u16))
    }

    /// Its name, such as `NVMe-LBA-out-of-range`, without a space, as names of errors are; its number if storage does not
    /// usually return it.
    pub fn name(self) -> Cow<'static, str> {
        Cow::Borrowed(match self.0 {
            0x001 => "NVMe-invalid-opcode",
            0x002 => "NVMe-invalid-field",
            0x004 => "NVMe-data-transfer-error",
            0x005 => "NVMe-aborted-by-power-loss",
            0x006 => "NVMe-internal-error",
            0x007 => "NVMe-aborted-by-request",
            0x008 => "NVMe-aborted-with-its-queue",
            0x00b => "NVMe-invalid-namespace-or-format",
            0x013 => "NVMe-invalid-PRP-offset",
            0x01b => "NVMe-aborted-by-preempt-and-abort",
            0x020 => "NVMe-namespace-write-protected",
            0x021 => "NVMe-command-interrupted",
            0x022 => "NVMe-transient-transport-error",
            0x080 => "NVMe-LBA-out-of-range",
            0x081 => "NVMe-capacity-exceeded",
            0x082 => "NVMe-namespace-not-ready",
            0x083 => "NVMe-reservation-conflict",
            0x084 => "NVMe-format-in-progress",
            0x182 => "NVMe-attempted-write-to-read-only-range",
            0x1b8 => "NVMe-zone-boundary-error",
            0x1b9 => "NVMe-zone-is-full",
            0x1ba => "NVMe-zone-is-read-only",
            0x1bb => "NVMe-zone-is-offline",
            0x1bc => "NVMe-zone-invalid-write",
            0x1bd => "NVMe-too-many-active-zones",
            0x1be => "NVMe-too-many-open-zones",
            0x1bf => "NVMe-invalid-zone-state-transition",
            0x280 => "NVMe-write-fault",
            0x281 => "NVMe-unrecovered-read-error",
            0x282 => "NVMe-guard-check-error",
            0x283 => "NVMe-application-tag-check-error",
            0x284 => "NVMe-reference-tag-check-error",
            0x286 => "NVMe-access-denied",
            0x287 => "NVMe-deallocated-block",
            0x300 => "NVMe-internal-path-error",
            0x301 => "NVMe-ANA-persistent-loss",
            0x302 => "NVMe-ANA-inaccessible",
            0x303 => "NVMe-ANA-transition",
            0x370 => "NVMe-host-path-error",
            0x371 => "NVMe-aborted-by-the-host",
            other => return Cow::Owned(format!("NVMe-status-{other:#05x}")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of `include/linux/nvme.h` (`NVME_SC_...`).
    #[test]
    fn what_a_drive_may_try_again_and_what_zones_refuse_have_the_numbers_of_the_specification() {
        for (status, name) in [
            (0x01b, "NVMe-aborted-by-preempt-and-abort"),
            (0x020, "NVMe-namespace-write-protected"),
            (0x021, "NVMe-command-interrupted"),
            (0x022, "NVMe-transient-transport-error"),
            (0x1b8, "NVMe-zone-boundary-error"),
            (0x1b9, "NVMe-zone-is-full"),
            (0x1ba, "NVMe-zone-is-read-only"),
            (0x1bb, "NVMe-zone-is-offline"),
            (0x1bc, "NVMe-zone-invalid-write"),
            (0x1bd, "NVMe-too-many-active-zones"),
            (0x1be, "NVMe-too-many-open-zones"),
            (0x1bf, "NVMe-invalid-zone-state-transition"),
        ] {
            assert_eq!(NvmeStatus(status).name(), name, "{status:#x}");
        }
    }

    #[test]
    fn a_status_has_a_name_and_a_number_of_the_system_is_none() {
        let name = |status| NvmeStatus::of(NVME_STATUS | status).map(|status| status.name().into_owned());
        assert_eq!(name(0x281).as_deref(), Some("NVMe-unrecovered-read-error"));
        assert_eq!(name(0x7c1).as_deref(), Some("NVMe-status-0x7c1"));
        assert_eq!(name(0x03f).as_deref(), Some("NVMe-status-0x03f"));
        assert_eq!((NvmeStatus::of(5), NvmeStatus::of(5001), NvmeStatus::of(-1)), (None, None, None));
    }
}
