//! Checks which headlines may come from a cache: those without a device counter for their bytes.

use crate::built::{disk, question, study};
use halfpower_analyse::{HeadlineDoubt, MeasuredCeilings, analyse, headlines};
use halfpower_record::{Capabilities, Device, Environment, TargetKind};
use halfpower_spec::{Cache, Question};

/// Whether the reads of a study in a folder, with this cache setting and device, have no witness.
fn is_unwitnessed(cache: Cache, device: Option<Device>) -> bool {
    let question = Question { cache: vec![cache], ..question() };
    let capabilities = Capabilities { kind: TargetKind::Folder, members: 1, ..Capabilities::default() };
    let environment = Environment { device, capabilities, ..Environment::default() };
    let records = study(&disk("fixed=80us,rate=500MB/s"), &question);
    let found = analyse(&question, &environment, &records, &MeasuredCeilings::default());
    let headlines = headlines(&environment, &found.cells, 1.0);
    headlines[0].doubts.contains(&HeadlineDoubt::NoWitness)
}

#[test]
fn bytes_that_no_counter_tells_of_may_be_a_caches_direct_or_not() {
    let device = || Some(Device::default());
    assert!(is_unwitnessed(Cache::Device, None), "direct on FUSE");
    assert!(is_unwitnessed(Cache::Both, None), "buffered on FUSE, which takes no direct requests");
    assert!(is_unwitnessed(Cache::Device, device()), "a device whose counter was not read");
    assert!(!is_unwitnessed(Cache::Both, device()), "the page cache keeps some of these from a device");
}
