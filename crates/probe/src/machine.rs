//! Reads the kernel, the processors, the memory and the hypervisor from /proc and /sys.

use std::path::Path;

use halfpower_record::Machine;
use halfpower_spec::Bytes;

use crate::Root;
use crate::cgroup;
use crate::root::mounts;
use halfpower_os::mounts::mount_of;

const UNKNOWN: &str = "unknown";

/// Words in DMI product and vendor names that only virtual machines have, and the hypervisor that each means; the first that is
/// met counts.
const HYPERVISORS: [(&str, &str); 11] = [
    ("KVM", "KVM"),
    ("QEMU", "QEMU"),
    ("Standard PC", "QEMU"),
    ("VMware", "VMware"),
    ("VirtualBox", "VirtualBox"),
    ("Parallels", "Parallels"),
    ("Apple Virtualization", "Apple Virtualization"),
    ("Virtual Machine", "Hyper-V"),
    ("Google Compute Engine", "Google Compute Engine"),
    ("Amazon EC2", "Amazon EC2"),
    ("OpenStack", "OpenStack"),
];

/// Words in the control group paths of containers, and the software that each means.
const CONTAINERS: [(&str, &str); 5] = [
    ("kubepods", "Kubernetes"),
    ("docker", "Docker"),
    ("libpod", "Podman"),
    ("containerd", "containerd"),
    ("lxc", "LXC"),
];

/// Reads the machine's facts; an unknown fact is `unknown`, 0 or `None`.
pub fn probe_machine(root: &Root) -> Machine {
    let cpuinfo = root.text("proc/cpuinfo").unwrap_or_default();
    let mounts = mounts(root);
    let cpus = allowed_cpus(root).unwrap_or_else(|| field_count(&cpuinfo, "processor"));
    let memory = memory(root).unwrap_or_default();
    let places: Vec<String> = [virtual_machine(root), container(root)].into_iter().flatten().collect();
    Machine {
        kernel: root.text("proc/sys/kernel/osrelease").unwrap_or_else(|| UNKNOWN.to_string()),
        cpu_model: cpu_model(&cpuinfo),
        cpu_mhz: cpu_mhz(&cpuinfo),
        cpu_quota: cgroup::processors(root, &mounts).filter(|quota| *quota < f64::from(cpus)),
        memory_limit: cgroup::memory(root, &mounts).filter(|limit| *limit < memory),
        cpus,
        memory,
        hostname: root.text("proc/sys/kernel/hostname").filter(|name| !name.is_empty()),
        virtualised: (!places.is_empty()).then(|| places.join(", ")),
    }
}

/// The value of the first `key : value` line.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

fn field_count(text: &str, key: &str) -> u32 {
    let named = |line: &&str| line.split_once(':').is_some_and(|(name, _)| name.trim() == key);
    text.lines().filter(named).count() as u32
}

fn cpu_model(cpuinfo: &str) -> String {
    // x86 reports `model name`, POWER `cpu`, MIPS `cpu model`, and small ARM boards only the board's `Model`.
    let keys = ["model name", "cpu model", "cpu", "Model", "Hardware"];
    let named = keys.iter().find_map(|key| field(cpuinfo, key)).filter(|model| !model.is_empty());
    named.unwrap_or(UNKNOWN).to_string()
}

/// The speed of the fastest processor, rounded: idle processors are clocked down, and a varying figure would look like
/// another machine.
fn cpu_mhz(cpuinfo: &str) -> Option<f64> {
    let speeds = cpuinfo.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        if name.trim() == "cpu MHz" { value.trim().parse::<f64>().ok() } else { None }
    });
    speeds.filter(|mhz| mhz.is_finite() && *mhz > 0.0).map(f64::round).reduce(f64::max)
}

fn allowed_cpus(root: &Root) -> Option<u32> {
    let status = root.text("proc/self/status")?;
    count_list(field(&status, "Cpus_allowed_list")?)
}

/// The count of numbers in a kernel list such as `0-3,8`.
fn count_list(list: &str) -> Option<u32> {
    list.split(',').try_fold(0u32, |count, range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        count.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

fn memory(root: &Root) -> Option<Bytes> {
    let meminfo = root.text("proc/meminfo")?;
    let kib: u64 = field(&meminfo, "MemTotal")?.split_whitespace().next()?.parse().ok()?;
    kib.checked_mul(1024).map(Bytes)
}

/// The hypervisor that this system runs under, if it can be detected.
///
/// On x86 the processor's `hypervisor` flag decides: a cloud's bare-metal instance is no guest although its DMI names
/// the cloud too. Other processors have no such flag, so the firmware's names decide; where it gives none, as to a kernel that is
/// started without it, what only hypervisors provide.
pub fn virtual_machine(root: &Root) -> Option<String> {
    let name = hypervisor_name(root);
    let cpuinfo = root.text("proc/cpuinfo").unwrap_or_default();
    let guest = match field(&cpuinfo, "flags") {
        Some(flags) => flags.split_whitespace().any(|flag| flag == "hypervisor"),
        None => {
            let is_provided = root.exists("proc/device-tree/hypervisor") || has_paravirtual_device(root);
            (name.is_some() || is_provided) && !product(root).contains("metal")
        }
    };
    guest.then(|| name.map_or("virtual machine".to_string(), |name| format!("virtual machine ({name})")))
}

/// Whether a hypervisor provides a virtio device. Those of messages to another processor of the same chip (`remoteproc`) and of
/// cards that speak virtio (vDPA) are bare metal's.
fn has_paravirtual_device(root: &Root) -> bool {
    const MESSAGES: &str = "0x0007";
    let devices = "sys/bus/virtio/devices";
    root.names(devices).iter().any(|name| {
        let device = format!("{devices}/{name}");
        let is_of_a_card = root.resolve(&device).is_some_and(|path| path.to_string_lossy().contains("vdpa"));
        root.text(format!("{device}/device")).is_some_and(|kind| kind.trim() != MESSAGES) && !is_of_a_card
    })
}

fn hypervisor_name(root: &Root) -> Option<String> {
    if let Some(kind) = root.text("sys/hypervisor/type").filter(|kind| !kind.is_empty()) {
        return Some(kind);
    }
    let product = product(root);
    let known = HYPERVISORS.iter().find(|(word, _)| product.contains(word));
    known.map(|(_, name)| (*name).to_string())
}

fn product(root: &Root) -> String {
    let read = |file| root.text(format!("sys/class/dmi/id/{file}")).unwrap_or_default();
    format!("{} {}", read("product_name"), read("sys_vendor"))
}

fn container(root: &Root) -> Option<String> {
    let environ = root.text("proc/1/environ").unwrap_or_default();
    let reported = environ.split('\0').find_map(|entry| entry.strip_prefix("container="));
    let reported = reported.map(str::to_string).or_else(|| root.text("run/systemd/container"));
    if let Some(name) = reported.filter(|name| !name.is_empty()) {
        return Some(format!("container ({name})"));
    }
    // An image booted as a virtual machine carries these files too, but its root is no overlay.
    let table = mounts(root);
    let overlay = mount_of(&table, Path::new("/"), None).is_some_and(|mount| mount.kind == "overlay");
    if overlay && root.exists(".dockerenv") {
        return Some("container (Docker)".to_string());
    }
    if overlay && root.exists("run/.containerenv") {
        return Some("container (Podman)".to_string());
    }
    let groups = root.text("proc/1/cgroup").unwrap_or_default();
    let known = CONTAINERS.iter().find(|(word, _)| groups.contains(word));
    known.map(|(_, name)| format!("container ({name})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_processors_are_counted() {
        let cases = [("0-1", Some(2)), ("3", Some(1)), ("0-3,8,10-11", Some(7)), ("", None), ("3-1", None)];
        for (list, count) in cases {
            assert_eq!(count_list(list), count, "{list}");
        }
    }

    #[test]
    fn a_field_is_the_whole_name() {
        let text = "cpu family\t: 6\nmodel\t\t: 167\nmodel name\t: Some Processor\n";
        assert_eq!(cpu_model(text), "Some Processor");
        assert_eq!(cpu_model(""), UNKNOWN);
    }

    #[test]
    fn the_fastest_processor_gives_the_speed() {
        assert_eq!(cpu_mhz("cpu MHz\t\t: 800.012\nprocessor\t: 1\ncpu MHz\t\t: 2599.998\n"), Some(2600.0));
        assert_eq!(cpu_mhz("cpu MHz\t\t: 0.000\nBogoMIPS\t: 50.00\n"), None);
    }
}
