//! Checks that the running system gives a consistent answer.

use std::path::Path;

use halfpower_probe::{Root, TargetIdentity, probe_machine, probe_path};
use halfpower_record::Machine;

#[test]
fn the_running_system_hangs_together() {
    for path in ["/", ".", "/no/such/folder/yet", "/proc", "/dev"] {
        let seen = probe_path(&Root::live(), Path::new(path)).expect("something to look at");
        // A processor may have another frequency by now.
        let steady = |machine: Machine| Machine { cpu_mhz: None, ..machine };
        assert_eq!(steady(seen.machine.clone()), steady(probe_machine(&Root::live())));
        assert!(seen.machine.cpus >= 1 && seen.machine.memory.0 > 0, "{:?}", seen.machine);
        assert!(seen.filesystem.is_some(), "{path} is on some file system");
        let ends = ["device", "memory", "server"];
        assert!(seen.levels.last().is_some_and(|level| ends.contains(&level.name.as_str())), "{:?}", seen.levels);
        assert!(seen.levels.iter().all(|level| !level.source.is_empty()));
        if let Some(device) = &seen.device {
            assert!(device.logical_block.0 >= 512 && device.physical_block >= device.logical_block, "{device:?}");
            assert!(device.size.0 > 0, "{device:?}");
        }
    }
}

#[test]
fn a_path_that_is_not_there_yet_is_where_its_folder_is() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let there = TargetIdentity::of(folder.path()).expect("the folder");
    let not_yet = TargetIdentity::of(&folder.path().join("a/b/file")).expect("the folder above");
    assert_eq!(there, not_yet);
    assert!(there.block.0 >= 512, "{there:?}");
}
