//! Tests every layout of files for many processes, and measures a limited device with several processes.

use std::fs;

use halfpower_lab::{Figure, judge};

use crate::alone;
use crate::processes::{folder, json, mpirun, plain, program, said, together};
use crate::throttled::{Limit, Loop, MIB, Throttle, skip};

#[test]
#[ignore = "lab: mpirun many times"]
fn layouts_of_files_leave_nothing_and_reorder_reads_the_next_ones() {
    let _alone = alone();
    let Some(program) = program() else { return };
    let folder = folder();
    let here = folder.path();
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    for layout in [
        "",
        "--reorder",
        "--host-layout shared",
        "--host-layout shared --reorder",
        "--host-layout shared --interleave 1MiB --reorder",
    ] {
        for rw in ["read", "randread", "write", "randrw"] {
            let words = format!("run data --size 8MiB --rw {rw} -b 64k -o 4 -d 300ms --json {layout}");
            let words: Vec<&str> = words.split_whitespace().collect();
            let output = together(&program, here, 3, &words);
            assert!(output.status.success(), "{words:?}: {}", said(&output));
            let run = json(&output);
            assert!(run["bytes"].as_u64().unwrap() > 0 && run["errors"].as_u64() == Some(0), "{words:?}: {run}");
            assert_eq!(fs::read_dir(&data).unwrap().count(), 0, "{words:?}");
        }
    }
    // If one host cannot prepare, the error says so, and nothing is left behind.
    let output = together(&program, here, 2, &["run", "data", "--size", "4000TiB", "-d", "1s"]);
    assert!(said(&output).contains("rank 0 on ") && said(&output).contains("4000TiB is more"), "{}", said(&output));
    let output = together(&program, here, 2, &["run", "data", "--size", "8MiB", "--hosts", "1-2", "-d", "1s"]);
    assert!(said(&output).contains("there are 2 processes, 0 to 1"), "{}", said(&output));
    assert_eq!(fs::read_dir(&data).unwrap().count(), 0);
}

#[test]
#[ignore = "lab: mpirun on a throttled device"]
fn processes_share_what_a_throttled_device_gives() {
    let _alone = alone();
    let Some(program) = program() else { return };
    let limit = 60 * MIB;
    let there = Loop::new(64 * MIB).and_then(|device| {
        let throttle = Throttle::new("hosts", &[Limit::of_reads(&device, Some(limit), None)])?;
        Ok((throttle, device))
    });
    let (throttle, device) = match there {
        Ok(there) => there,
        Err(why) => return skip(&format!("no throttled loop devices here (root is needed): {why}")),
    };
    let folder = folder();
    let name = device.device.display().to_string();
    let words = ["run", &name, "--host-layout", "shared", "-b", "64KiB", "-o", "8", "-d", "5s", "--json"];
    // Control groups charge larger requests twice if the device splits them.
    let within = mpirun(&program, folder.path(), 4, &words);
    let figure = Figure::near("four processes before a limited device", limit as f64 / 1e6, "MB/s", 0.03);
    judge("hosts", vec![figure], || {
        let mut command = plain("sh");
        command.args(["-c", &format!("{} \"$0\" \"$@\"", throttle.within()), "mpirun"]);
        command.args(within.get_args()).current_dir(folder.path());
        command.envs([("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        Some(vec![json(&output)["mbps"].as_f64().unwrap()])
    });
}
