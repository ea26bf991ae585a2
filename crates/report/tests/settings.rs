//! Checks that the settings on the page follow from the measurements.

use crate::sample_report::sample;
use halfpower_analyse::Findings;

fn page(change: impl FnOnce(&mut Findings)) -> String {
    let (mut findings, records) = sample();
    change(&mut findings);
    let mut out = Vec::new();
    halfpower_report::html(&findings.into(), &records, "halfpower study", &mut out).unwrap();
    // The page splits commands where a narrow screen may break them.
    String::from_utf8(out).unwrap().replace("</span><span>", "")
}

#[test]
fn postgresql_gets_the_depth_that_8_kib_random_reads_stop_gaining_at() {
    let (findings, _) = sample();
    // If 8 KiB was not measured at several depths, the next larger size is used.
    let at = |bs: u64| {
        let own = |c: &&halfpower_analyse::CellFinding| {
            (c.pattern, c.rw, c.cache, c.bs_bytes)
                == (halfpower_spec::Pattern::Random, halfpower_spec::Direction::Read, halfpower_spec::Cache::Device, bs)
        };
        findings.cells.iter().filter(own).map(|c| (c.iodepth, c.mbps.value)).collect::<Vec<_>>()
    };
    let cells = at(8192);
    let best = cells.iter().map(|(_, mbps)| *mbps).fold(0.0, f64::max);
    let depth = cells.iter().filter(|(_, mbps)| *mbps >= 0.95 * best).map(|(depth, _)| *depth).min().unwrap();
    let page = page(|_| {});
    assert!(page.contains(&format!("effective_io_concurrency = {depth}\n")), "depth {depth}");
    assert!(page.contains("io_combine_limit = "));
}

#[test]
fn dd_reads_and_writes_a_file_and_never_writes_to_a_device() {
    let folder = page(|_| {});
    assert!(folder.contains("dd if='/srv/sample data/FILE'"));
    assert!(folder.contains("of='/srv/sample data/FILE'") && folder.contains("oflag=direct"));
    assert!(folder.contains("# dd keeps one request outstanding: "));
    let device = page(|findings| findings.target = "/dev/sdz".into());
    assert!(device.contains("dd if=/dev/sdz of=/dev/null") && !device.contains("of=/dev/sdz"));
    let simulated = page(|findings| findings.target = "sim:fixed=80us".into());
    assert!(!simulated.contains("dd if="));
    // Four threads of one request each are not what dd does.
    let threads = page(|findings| findings.cells.iter_mut().for_each(|cell| cell.settings.threads = 4));
    assert!(folder.contains(" was measured so\n") && !threads.contains("was measured so"));
    assert!(threads.contains("# dd keeps one request outstanding, so it stays below this"));
}

#[test]
fn read_ahead_holds_what_the_advice_keeps_in_flight() {
    let (findings, _) = sample();
    let read = findings.advice.iter().find(|a| a.settings.rw == halfpower_spec::Rw::Read).unwrap();
    let kib = read.settings.bs.0 * u64::from(read.settings.iodepth) / 1024;
    let page = page(|_| {});
    assert!(page.contains(&format!("echo {kib} &gt; /sys/block/nvme0n1/queue/read_ahead_kb")), "{kib} KiB");
    assert!(page.contains("it is 128 KiB now"));
}

/// The queue's read-ahead does nothing for files of btrfs.
#[test]
fn read_ahead_of_a_file_system_with_its_own_backing_device_is_set_there() {
    let on_btrfs = |backing_device: Option<&str>| {
        page(|findings| {
            findings.filesystem.as_mut().expect("a file system").kind = "btrfs".into();
            findings.device.as_mut().expect("a device").backing_device = backing_device.map(str::to_string);
        })
    };
    assert!(!on_btrfs(None).contains("read_ahead_kb"), "which device is its own is not told");
    let told = on_btrfs(Some("btrfs-1"));
    assert!(told.contains("&gt; /sys/class/bdi/btrfs-1/read_ahead_kb") && !told.contains("/sys/block"));
}
