//! Checks what every transfer of a device pays on the way to memory: the IOMMU's mode, and copies of buffers.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::blocks_below::name;
use crate::check::Check;
use crate::outcome::{Finding, Look, all, only_if, published};
use crate::parsed::release;
use crate::{Outcome, Place};

/// What was measured of strict mode: https://github.com/NVIDIA/NV-Kernels/pull/182.
const STRICT_SOURCE: &str = "NVIDIA, 8 NVMe drives, 4 KiB random reads: 2.8 M IOPS strict, 16.4 M lazy \
                             (github.com/NVIDIA/NV-Kernels/pull/182)";
/// The first release that tells strict from lazy in a group's type.
const TELLS_LAZY: (u32, u32) = (5, 15);

pub(crate) const STRICT: Check = Check {
    code: "iommu-strict",
    title: "IOMMU mode",
    reads: &["/sys/bus/pci/devices/*/iommu_group/type of the disks' controllers", "/proc/cmdline"],
    applies: "disks whose controller is in an IOMMU group",
    costs: "In strict mode (type DMA) each finished request waits until its translation is gone; lazy mode (DMA-FQ) \
            collects them. Published: 2.8 million IOPS strict, 16.4 million lazy, on 8 drives. Slow disks do not \
            feel it.",
    source: "https://github.com/NVIDIA/NV-Kernels/pull/182; \
             https://docs.kernel.org/admin-guide/kernel-parameters.html (iommu.strict)",
    change: "Start the kernel with `iommu.strict=0`; back with `iommu.strict=1`. Lazy mode protects memory from \
            devices less.",
    look: strict,
};

fn strict(place: &Place) -> Vec<Outcome> {
    let ends = place.real_disks().flat_map(|disk| place.functions(disk)).filter_map(|mut way| way.pop());
    let ends: BTreeSet<PathBuf> = ends.collect();
    all(ends.iter().map(|function| {
        let group = place.root.resolve(function.join("iommu_group")).ok_or(Outcome::NotApplicable)?;
        let kind = place.fact(group.join("type"))?;
        only_if(kind.starts_with("DMA") || kind == "identity")?;
        if kind != "DMA" {
            return Ok(Outcome::Fine);
        }
        let kernel = release(&place.machine.kernel).unwrap_or_default();
        let line = place.text("proc/cmdline").unwrap_or_default();
        let asked = line.split_whitespace().any(|word| matches!(word, "iommu.strict=1" | "intel_iommu=strict"));
        if kernel < TELLS_LAZY && !asked {
            return Err(Outcome::untold("whether the IOMMU is strict: kernels before 5.15 do not tell"));
        }
        Finding::warn(name(function), "IOMMU in strict mode")
            .saw(&format!("sys/kernel/iommu_groups/{}/type", name(&group)), &kind)
            .costs(published(0.0, 1.0 - 2.8 / 16.4, "IOPS", STRICT_SOURCE))
            .change("start the kernel with iommu.strict=0")
            .back("start the kernel with iommu.strict=1")
            .end()
    }))
}

pub(crate) const BOUNCE: Check = Check {
    code: "bounce-buffers",
    title: "Bounce buffers",
    reads: &["/proc/cmdline", "/proc/cpuinfo"],
    applies: "every place with a disk",
    costs: "With `swiotlb=force`, and in a confidential virtual machine (SEV, TDX), every transfer is copied once \
            more by a processor. The cost is unknown; it grows with the bytes moved.",
    source: "https://docs.kernel.org/core-api/swiotlb.html",
    change: "Start the kernel without `swiotlb=force`. In a confidential machine it cannot be changed.",
    look: |place| all([bounce(place)]),
};

fn bounce(place: &Place) -> Look {
    only_if(!place.stack.disks.is_empty())?;
    let line = place.fact("proc/cmdline")?;
    if let Some(word) = line
        .split_whitespace()
        .find(|word| word.starts_with("swiotlb=") && word.ends_with("force") && !word.ends_with("noforce"))
    {
        return Finding::warn("", "every transfer is copied through bounce buffers")
            .saw("proc/cmdline", word)
            .change("start the kernel without swiotlb=force")
            .back("start the kernel with swiotlb=force")
            .end();
    }
    let flags = place.text("proc/cpuinfo").unwrap_or_default();
    let flags = crate::parsed::field(&flags, "flags").unwrap_or_default().to_string();
    match flags
        .split_whitespace()
        .find(|flag| matches!(*flag, "sev_guest" | "sev_es_guest" | "sev_snp_guest" | "tdx_guest"))
    {
        Some(flag) => {
            let what = "confidential virtual machine: every transfer is copied through bounce buffers";
            Finding::warn("", what).saw("proc/cpuinfo", flag).end()
        }
        None => Ok(Outcome::Fine),
    }
}
