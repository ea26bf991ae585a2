//! Checks where interrupts of disks go, how many queues they have, and on which memory node they sit.

use std::collections::BTreeSet;

use halfpower_probe::{Disk, vectors};

use crate::check::Check;
use crate::outcome::{Finding, Look, only_if};
use crate::parsed::list;
use crate::place::{queue, short};
use crate::{Outcome, Place};

pub(crate) const SPREAD: Check = Check {
    code: "interrupt-spread",
    title: "Processors that are interrupted",
    reads: &["/proc/interrupts", "/proc/irq/N/{effective_affinity_list,smp_affinity_list}"],
    applies: "disks with several queues, on machines with several processors",
    costs: "All queues interrupt one processor, which completes every request. Unknown: it costs where that \
            processor is full.",
    source: "https://docs.kernel.org/core-api/irq/irq-affinity.html",
    change: "`echo 0-N > /proc/irq/NUMBER/smp_affinity_list` for each, or start irqbalance; back with the old lists.",
    look: |place| place.each_disk(spread),
};

fn spread(place: &Place, disk: &Disk) -> Look {
    only_if(place.machine.cpus > 1)?;
    let mut found = vectors(&place.root, disk);
    // The first queue of NVMe takes commands of the administrator, `config` of virtio changes of size.
    found.retain(|vector| !vector.name.ends_with("q0") && !vector.name.ends_with("-config"));
    only_if(found.len() > 1)?;
    let targets = |number: &str| -> Result<Vec<usize>, Outcome> {
        let effective =
            place.text(format!("proc/irq/{number}/effective_affinity_list")).filter(|text| !text.is_empty());
        let text = match effective {
            Some(text) => text,
            None => place.fact(format!("proc/irq/{number}/smp_affinity_list"))?,
        };
        Ok(list(&text))
    };
    let mut processors = BTreeSet::new();
    for vector in &found {
        processors.extend(targets(&vector.number)?);
    }
    match processors.iter().collect::<Vec<_>>()[..] {
        [only] => {
            let what = format!("all {} queues interrupt processor {only}", found.len());
            let file = format!("proc/irq/{}/smp_affinity_list", found[0].number);
            Finding::warn(&disk.name, what)
                .saw(&file, only)
                .change("systemctl start irqbalance, or spread them in /proc/irq/*/smp_affinity_list")
                .back(format!("echo {only} > /proc/irq/NUMBER/smp_affinity_list for each"))
                .end()
        }
        _ => Ok(Outcome::Fine),
    }
}

pub(crate) const QUEUES: Check = Check {
    code: "hardware-queues",
    title: "Queues of the disk",
    reads: &["/sys/block/DISK/mq/*"],
    applies: "NVMe and virtio disks, on machines with several processors",
    costs: "Processors that share a queue wait for its lock. One queue of a virtio disk for several processors is a \
            setting of the host (num-queues): unknown. Fewer queues than processors is a note.",
    source: "https://docs.kernel.org/block/blk-mq.html",
    change: "Of virtio in the host: `num-queues=N` (QEMU), `<driver queues='N'/>` (libvirt).",
    look: |place| place.each_disk(queues),
};

fn queues(place: &Place, disk: &Disk) -> Look {
    let is_virtio = place.is_by(disk, &["virtio"]);
    only_if(is_virtio || disk.name.starts_with("nvme"))?;
    let folder = format!("{}/mq", short(disk));
    let count = place.root.names(&folder).len();
    let cpus = place.machine.cpus as usize;
    only_if(count > 0 && cpus > 1)?;
    let what = format!("{count} queue{} for {cpus} processors", if count == 1 { "" } else { "s" });
    match count {
        1 if is_virtio => Finding::warn(&disk.name, what)
            .saw(&folder, "0")
            .change(format!("in the host: num-queues={cpus} (QEMU), queues='{cpus}' (libvirt)"))
            .end(),
        few if few < cpus => Finding::note(&disk.name, what).saw(&folder, format!("0 to {}", few - 1)).end(),
        _ => Ok(Outcome::Fine),
    }
}

pub(crate) const NODE: Check = Check {
    code: "memory-node",
    title: "Memory node of the disk",
    reads: &["/sys/bus/pci/devices/*/numa_node", "/sys/devices/system/node/node*/cpulist", "/proc/self/status"],
    applies: "machines with several memory nodes",
    costs: "None of the processors that this process may use is at the disk's node: every request and its data cross \
            between nodes. Unknown.",
    source: "https://docs.kernel.org/admin-guide/abi-testing.html (sysfs-bus-pci, numa_node)",
    change: "`numactl --cpunodebind=NODE --membind=NODE COMMAND`, or another affinity of the service.",
    look: |place| place.each_disk(node),
};

fn node(place: &Place, disk: &Disk) -> Look {
    let nodes = place.numbered("sys/devices/system/node", "node");
    only_if(nodes.len() > 1)?;
    let end = place.functions(disk).into_iter().filter_map(|mut way| way.pop()).next().ok_or(Outcome::NotApplicable)?;
    let own: i32 = place.figure(end.join("numa_node"))?;
    only_if(own >= 0)?;
    let near = list(&place.fact(format!("sys/devices/system/node/node{own}/cpulist"))?);
    let allowed = place.allowed_processors();
    if allowed.is_empty() || near.iter().any(|processor| allowed.contains(processor)) {
        return Ok(Outcome::Fine);
    }
    Finding::warn(&disk.name, format!("it is at memory node {own}, and this process runs elsewhere only"))
        .saw(&format!("sys/bus/pci/devices/{}/numa_node", crate::blocks_below::name(&end)), own)
        .saw("proc/self/status", format!("Cpus_allowed_list {}", shown(&allowed)))
        .change(format!("numactl --cpunodebind={own} --membind={own} COMMAND"))
        .end()
}

fn shown(processors: &[usize]) -> String {
    match processors {
        [only] => only.to_string(),
        [first, .., last] => format!("{first} to {last}, {} in all", processors.len()),
        [] => "none".to_string(),
    }
}

pub(crate) const POLLING: Check = Check {
    code: "poll-queues",
    title: "Queues for polling",
    reads: &["/sys/block/DISK/queue/io_poll", "/sys/module/nvme/parameters/poll_queues"],
    applies: "NVMe disks on PCIe",
    costs: "Without queues for polling, completions that are asked for by polling come by interrupt all the same. \
            Unknown; a note.",
    source: "https://docs.kernel.org/admin-guide/abi-stable.html (sysfs-block, io_poll)",
    change: "`nvme.poll_queues=N` on the kernel's command line.",
    look: |place| place.each_disk(polling),
};

fn polling(place: &Place, disk: &Disk) -> Look {
    only_if(place.is_by(disk, &["nvme"]))?;
    let file = queue(disk, "io_poll");
    match place.figure::<u32>(&file)? {
        0 => Finding::note(&disk.name, "no queues for polling")
            .saw(&file, 0)
            .change("start the kernel with nvme.poll_queues=N")
            .end(),
        _ => Ok(Outcome::Fine),
    }
}
