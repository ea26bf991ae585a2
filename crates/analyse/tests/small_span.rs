//! Checks that a small used share of a device is reported, if it changes what is measured.

use crate::built::question;
use halfpower_analyse::{Harm, MeasuredCeilings, Warning, analyse};
use halfpower_record::{Capabilities, Device, Environment, TargetKind};
use halfpower_spec::Bytes;

#[test]
fn a_small_share_of_a_disk_that_turns_is_said() {
    let disk = |rotational, write_cache: &str, gib: u64| Device {
        size: Bytes(gib << 30),
        rotational: Some(rotational),
        write_cache: Some(write_cache.to_string()),
        ..Device::default()
    };
    let capabilities =
        Capabilities { kind: TargetKind::Folder, span: Bytes(1 << 30), members: 1, ..Capabilities::default() };
    let harm_of = |capabilities: &Capabilities, device| {
        let environment =
            Environment { device: Some(device), capabilities: capabilities.clone(), ..Environment::default() };
        let found = analyse(&question(), &environment, &[], &MeasuredCeilings::default());
        found.warnings.iter().find(|warning| matches!(warning, Warning::SmallSpan { .. })).map(Warning::harm)
    };
    let harm = |device| harm_of(&capabilities, device);
    assert_eq!(harm(disk(true, "write through", 100)), Some(Harm::Changed), "short strokes");
    let spread = Capabilities { kind: TargetKind::Device, spread: Some(Bytes(100 << 30)), ..capabilities.clone() };
    assert_eq!(harm_of(&spread, disk(true, "write through", 100)), None, "heads go everywhere");
    assert_eq!(harm_of(&spread, disk(true, "write back", 100)), Some(Harm::Slight), "a cache holds it all the same");
    assert_eq!(harm(disk(false, "write back", 100)), Some(Harm::Slight), "a cache");
    assert_eq!([harm(disk(false, "write through", 100)), harm(disk(true, "write back", 5))], [None, None], "a fifth");
}
