//! Compares the rates of shares over links of known rates with the links' payload.

use super::{PAYLOAD, SHARES, gives};

/// Judges reads and durable writes of both shares over a link of `megabits` Mbit/s.
fn over_a_wire(megabits: f64) {
    let script = format!(
        "wire {megabits}mbit; for share in $SMB $NFS; do for how in 'read device' 'write none'; do set -- $how; \
         $HP run $share --size 64MiB --rw $1 --cache $2 --bs 1MiB --iodepth 8 --runtime 3s; done; done"
    );
    gives(&format!("a wire of {megabits} Mbit/s"), &script, SHARES, megabits / 8.0 * PAYLOAD);
}

#[test]
#[ignore = "lab: a server and a wire of its own"]
fn a_wire_of_100_megabits_gives_its_payload() {
    over_a_wire(100.0);
}

#[test]
#[ignore = "lab: a server and a wire of its own"]
fn a_wire_of_a_gigabit_gives_its_payload() {
    over_a_wire(1000.0);
}
