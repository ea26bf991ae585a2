//! Lays out parts of machines: disks on their buses, arrays, mapped devices, a network card.

use crate::raw::{WELL, nvme_pages, smart};
use crate::tree::Tree;

/// Writes a file, the second text if it is faulty.
pub fn either(tree: &Tree, faulty: bool, path: &str, healthy: &str, planted: &str) {
    tree.file(path, format!("{}\n", if faulty { planted } else { healthy }));
}

/// The settings of a usual machine.
pub fn usual(tree: &Tree) {
    for (file, text) in [
        ("proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro quiet"),
        ("proc/swaps", "Filename Type Size Used Priority"),
        ("proc/sys/vm/dirty_ratio", "20"),
        ("proc/sys/vm/dirty_bytes", "0"),
        ("proc/sys/vm/dirty_background_ratio", "10"),
        ("proc/sys/vm/dirty_background_bytes", "0"),
        ("proc/sys/vm/zone_reclaim_mode", "0"),
        ("proc/sys/vm/swappiness", "60"),
        ("proc/sys/vm/nr_hugepages", "0"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never"),
        (
            "proc/pressure/memory",
            "some avg10=0.00 avg60=0.10 avg300=0.00 total=9\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0",
        ),
        (
            "proc/self/limits",
            "Limit Soft Hard Units\nMax locked memory         8388608              8388608              bytes",
        ),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc"),
        ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet acpi_pm"),
        ("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected"),
        ("sys/devices/system/cpu/vulnerabilities/retbleed", "Not affected"),
        ("sys/module/pcie_aspm/parameters/policy", "[default] performance powersave powersupersave"),
        ("proc/stat", "cpu  1000 0 1000 90000 0 0 100 0 0 0"),
    ] {
        tree.file(file, format!("{text}\n"));
    }
    for cpu in 0..2 {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}");
        for (file, text) in [
            ("cpufreq/scaling_driver", "acpi-cpufreq"),
            ("cpufreq/scaling_governor", "schedutil"),
            ("cpufreq/scaling_min_freq", "800000"),
            ("cpufreq/scaling_max_freq", "3200000"),
            ("cpufreq/cpuinfo_max_freq", "3200000"),
            ("cpuidle/state1/name", "C1"),
            ("cpuidle/state1/latency", "2"),
            ("cpuidle/state1/disable", "0"),
        ] {
            tree.file(&format!("{folder}/{file}"), format!("{text}\n"));
        }
    }
}

/// The usual settings of a solid-state disk's queue.
pub fn queue(tree: &Tree, sys: &str, scheduler: &str) {
    for (file, text) in [
        ("scheduler", scheduler),
        ("nr_requests", "1023"),
        ("wbt_lat_usec", "2000"),
        ("rq_affinity", "1"),
        ("nomerges", "0"),
        ("iostats", "1"),
        ("add_random", "0"),
        ("max_sectors_kb", "1280"),
        ("max_hw_sectors_kb", "2048"),
        ("fua", "1"),
        ("zoned", "none"),
        ("io_poll", "0"),
        ("optimal_io_size", "0"),
    ] {
        tree.file(&format!("{sys}/queue/{file}"), format!("{text}\n"));
    }
}

pub fn partition(tree: &Tree, sys: &str, number: &str, start: &str) {
    tree.partition(sys, number);
    tree.file(&format!("{sys}/start"), format!("{start}\n"));
    tree.file(&format!("{sys}/alignment_offset"), "0\n");
}

/// An NVMe drive on a port of its own; returns the sysfs folders of drive, controller and PCI function.
pub fn nvme(tree: &Tree, index: u32) -> (String, String, String) {
    let port = format!("sys/devices/pci0000:00/0000:00:0{}.0", index + 1);
    let function = format!("{port}/0000:0{}:00.0", index + 1);
    let (sys, controller) = nvme_at(tree, index, [&port, &function]);
    (sys, controller, function)
}

/// An NVMe drive at these ends of a link, port and function; returns the sysfs folders of drive and controller.
pub fn nvme_at(tree: &Tree, index: u32, ends: [&str; 2]) -> (String, String) {
    let [_, function] = ends;
    for end in ends {
        tree.pcie(end, "16.0 GT/s PCIe", "4");
        tree.file(&format!("{end}/max_link_speed"), "16.0 GT/s PCIe\n");
        tree.file(&format!("{end}/max_link_width"), "4\n");
    }
    tree.link(&format!("{function}/iommu_group"), &format!("sys/kernel/iommu_groups/{index}"));
    tree.file(&format!("sys/kernel/iommu_groups/{index}/type"), "DMA-FQ\n");
    for (kind, total) in
        [("correctable", "TOTAL_ERR_COR 0"), ("nonfatal", "TOTAL_ERR_NONFATAL 0"), ("fatal", "TOTAL_ERR_FATAL 0")]
    {
        tree.file(&format!("{function}/aer_dev_{kind}"), format!("RxErr 0\n{total}\n"));
    }
    let controller = format!("{function}/nvme/nvme{index}");
    let sys = format!("{controller}/nvme{index}n1");
    tree.disk(&sys, &format!("259:{}", index * 8));
    queue(tree, &sys, "[none] mq-deadline kyber bfq");
    tree.link(&format!("{sys}/device"), &controller);
    for (file, text) in [
        ("state", "live"),
        ("power/pm_qos_latency_tolerance_us", "100000"),
        ("hwmon1/temp1_input", "41850"),
        ("hwmon1/temp1_max", "81850"),
        ("hwmon1/temp1_crit", "84850"),
        ("hwmon1/temp1_alarm", "0"),
    ] {
        tree.file(&format!("{controller}/{file}"), format!("{text}\n"));
    }
    for cpu in 0..2 {
        tree.file(&format!("{sys}/mq/{cpu}/cpu_list"), format!("{cpu}\n"));
    }
    nvme_pages(tree, &format!("nvme{index}n1"), &WELL);
    (sys, controller)
}

/// A SATA disk at 6 Gbit/s on a port of its own.
pub fn sata(tree: &Tree, port: u32, turns: bool) -> String {
    let name = ["sda", "sdb", "sdc", "sdd"][port as usize - 1];
    let ata = format!("sys/devices/pci0000:00/0000:00:17.0/ata{port}");
    for (file, text) in [("sata_spd", "6.0 Gbps"), ("sata_spd_limit", "<unknown>"), ("hw_sata_spd_limit", "6.0 Gbps")] {
        tree.file(&format!("sys/class/ata_link/link{port}/{file}"), format!("{text}\n"));
    }
    tree.file(&format!("{ata}/link{port}/ata_link/link{port}/sata_spd"), "6.0 Gbps\n");
    tree.file(&format!("sys/class/ata_device/dev{port}.0/id"), format!("{}870e 0000\n", "0000 ".repeat(76)));
    let device = format!("{ata}/host{port}/target{port}:0:0/{port}:0:0:0");
    let sys = format!("{device}/block/{name}");
    tree.disk(&sys, &format!("8:{}", 16 * (port - 1)));
    queue(tree, &sys, "none [mq-deadline] kyber bfq");
    tree.file(&format!("{sys}/queue/nr_requests"), "64\n");
    tree.file(&format!("{sys}/queue/rotational"), if turns { "1\n" } else { "0\n" });
    tree.file(&format!("{sys}/queue/wbt_lat_usec"), if turns { "75000\n" } else { "2000\n" });
    tree.link(&format!("{sys}/device"), &device);
    tree.file(&format!("sys/class/scsi_host/host{port}/link_power_management_policy"), "max_performance\n");
    scsi(tree, &device, "32");
    smart(tree, name, [0; 4]);
    sys
}

/// What every SCSI device has.
pub fn scsi(tree: &Tree, device: &str, depth: &str) {
    for (file, text) in [
        ("model", "Some Disk"),
        ("queue_depth", depth),
        ("state", "running"),
        ("ioerr_cnt", "0x2"),
        ("iodone_cnt", "0xfffff"),
        ("iotmo_cnt", "0x0"),
        ("scsi_disk/0:0:0:0/cache_type", "write back"),
    ] {
        tree.file(&format!("{device}/{file}"), format!("{text}\n"));
    }
}

/// An array over some disks.
pub fn array(tree: &Tree, level: &str, members: &[String]) -> String {
    let sys = "sys/devices/virtual/block/md0".to_string();
    tree.disk(&sys, "9:0");
    for (file, text) in [
        ("level", level),
        ("degraded", "0"),
        ("sync_action", "idle"),
        ("chunk_size", "524288"),
        ("stripe_cache_size", "4096"),
        ("group_thread_cnt", "4"),
        ("bitmap/location", "+8"),
        ("bitmap/chunksize", "67108864"),
        ("consistency_policy", "bitmap"),
    ] {
        tree.file(&format!("{sys}/md/{file}"), format!("{text}\n"));
    }
    tree.file(&format!("{sys}/md/raid_disks"), format!("{}\n", members.len()));
    for member in members {
        let name = member.rsplit('/').next().unwrap();
        tree.stands_on(&sys, member);
        tree.file(&format!("{sys}/md/dev-{name}/state"), "in_sync\n");
        tree.file(&format!("{sys}/md/dev-{name}/errors"), "0\n");
    }
    sys
}

/// A mapped device with its table.
pub fn mapped(tree: &Tree, minor: u32, name: &str, uuid: &str, table: &str, below: &[&str]) -> String {
    let sys = format!("sys/devices/virtual/block/dm-{minor}");
    tree.disk(&sys, &format!("252:{minor}"));
    tree.file(&format!("{sys}/dm/name"), format!("{name}\n"));
    tree.file(&format!("{sys}/dm/uuid"), format!("{uuid}\n"));
    tree.file(&format!("mapping/252:{minor}"), format!("{table}\n"));
    below.iter().for_each(|below| tree.stands_on(&sys, below));
    sys
}

/// A network card to a server at 10.0.0.2.
pub fn card(tree: &Tree, mbit: &str, duplex: &str, mtu: &str) {
    for (file, text) in [
        ("speed", mbit),
        ("duplex", duplex),
        ("mtu", mtu),
        ("device/vendor", "0x8086"),
        ("operstate", "up"),
        ("statistics/rx_packets", "1000000"),
        ("statistics/tx_packets", "1000000"),
        ("statistics/rx_errors", "0"),
        ("statistics/tx_errors", "0"),
        ("statistics/rx_dropped", "0"),
        ("statistics/tx_dropped", "0"),
    ] {
        tree.file(&format!("sys/class/net/eth0/{file}"), format!("{text}\n"));
    }
    tree.file(
        "proc/net/route",
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\neth0\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\n",
    );
    for (file, text) in [
        ("tcp_window_scaling", "1"),
        ("tcp_sack", "1"),
        ("tcp_rmem", "4096\t131072\t6291456"),
        ("tcp_wmem", "4096\t16384\t4194304"),
    ] {
        tree.file(&format!("proc/sys/net/ipv4/{file}"), format!("{text}\n"));
    }
}

/// A USB disk behind this driver.
pub fn usb_disk(tree: &Tree, mbit: &str, version: &str, driver: &str) -> String {
    let device = "sys/devices/pci0000:00/0000:00:14.0/usb2/2-1";
    tree.file(&format!("{device}/speed"), format!("{mbit}\n"));
    tree.file(&format!("{device}/version"), format!(" {version}\n"));
    let interface = format!("{device}/2-1:1.0");
    tree.link(&format!("{interface}/driver"), &format!("sys/bus/usb/drivers/{driver}"));
    let address = format!("{interface}/host6/target6:0:0/6:0:0:0");
    let sys = format!("{address}/block/sdb");
    tree.disk(&sys, "8:16");
    queue(tree, &sys, "none [mq-deadline]");
    tree.file(&format!("{sys}/queue/nr_requests"), "60\n");
    tree.link(&format!("{sys}/device"), &address);
    scsi(tree, &address, "30");
    sys
}
