//! Checks the findings where processors are full: of our threads, of others, or of interrupts.

use crate::built::{disk, question, study};
use halfpower_analyse::{LevelId, LevelKind, MeasuredCeilings, ProcessorsOf, StoppedBy, analyse};
use halfpower_record::{Cpu, CpuTimes, Device, Environment, Machine, Record};

#[test]
fn a_thread_that_waits_for_the_processor_of_others_is_as_full() {
    let question = question();
    let mut records = study(&disk("fixed=80us,rate=1GB/s,disks=8,shared=1050MB/s"), &question);
    for record in &mut records {
        let span_ns = record.cpu.span_ns;
        record.cpu = Cpu { span_ns, user_ns: span_ns / 2, waited_ns: span_ns * 9 / 20, ..Cpu::default() };
    }
    let machine = Machine { cpus: 2, ..Machine::default() };
    let environment = Environment { machine, ..Environment::default() };
    let judged = |records: &[Record]| {
        let findings = analyse(&question, &environment, records, &MeasuredCeilings::default());
        findings.bottleneck.stopped_by
    };
    let full = judged(&records);
    let StoppedBy::FullProcessor { processors_of: ProcessorsOf::Threads, share, waited_share, .. } = full else {
        panic!("{full:?}")
    };
    assert!((0.4..=0.6).contains(&share) && (share + waited_share) > 0.9, "{full:?}");
    records.iter_mut().for_each(|record| record.cpu.waited_ns = 0);
    assert!(!matches!(judged(&records), StoppedBy::FullProcessor { .. }), "idle for the other half");
}

#[test]
fn a_quota_of_processors_is_named_where_it_ends_before_the_threads_do() {
    let question = question();
    let mut records = study(&disk("fixed=80us,rate=1GB/s,disks=8,shared=1050MB/s"), &question);
    for record in &mut records {
        let span_ns = record.cpu.span_ns;
        // A thread that its quota holds back is ready, and waits.
        record.cpu = Cpu { span_ns, user_ns: span_ns / 2, waited_ns: span_ns * 9 / 20, ..Cpu::default() };
    }
    let judged = |cpu_quota: Option<f64>| {
        let machine = Machine { cpus: 4, cpu_quota, ..Machine::default() };
        let environment = Environment { machine, ..Environment::default() };
        analyse(&question, &environment, &records, &MeasuredCeilings::default()).bottleneck.stopped_by
    };
    let full = judged(Some(0.5));
    let StoppedBy::FullProcessor { processors_of: ProcessorsOf::Quota, processors, share, waited_share, .. } = full
    else {
        panic!("{full:?}")
    };
    assert!(processors == 0.5 && share + waited_share > 0.9 && share > waited_share, "{full:?}");
    for more_than_one_thread_uses in [Some(2.5), None] {
        let full = judged(more_than_one_thread_uses);
        assert!(matches!(full, StoppedBy::FullProcessor { processors_of: ProcessorsOf::Threads, .. }), "{full:?}");
    }
}

#[test]
fn one_processor_full_of_interrupts_is_named_while_the_other_is_idle() {
    let question = question();
    let mut records = study(&disk("fixed=80us,rate=1GB/s,disks=8,shared=1050MB/s"), &question);
    let machine = Machine { cpus: 2, ..Machine::default() };
    let environment = Environment { machine, ..Environment::default() };
    let mut judged = |irq_tenths: u64, user_tenths: u64, number: Option<u32>| {
        for record in &mut records {
            let tenth = record.cpu.span_ns / 10;
            let idle_ns = (10 - irq_tenths - user_tenths) * tenth;
            let full = CpuTimes {
                softirq_ns: irq_tenths * tenth,
                user_ns: user_tenths * tenth,
                idle_ns,
                number,
                ..CpuTimes::default()
            };
            record.cpu.machine = vec![CpuTimes { idle_ns: 10 * tenth, ..CpuTimes::default() }, full];
        }
        let findings = analyse(&question, &environment, &records, &MeasuredCeilings::default());
        findings.bottleneck.stopped_by
    };
    let StoppedBy::FullOfInterrupts { of_processors, busiest } = judged(6, 4, None) else { panic!() };
    assert_eq!((of_processors, busiest.processor), (2.0, 1));
    assert!((busiest.interrupt_share() - 0.6).abs() < 0.01 && busiest.taken_share() > 0.99, "{busiest:?}");
    assert!(!matches!(judged(6, 2, None), StoppedBy::FullOfInterrupts { .. }), "it has time left");
    let StoppedBy::FullOfInterrupts { busiest, .. } = judged(6, 4, Some(2)) else { panic!() };
    assert_eq!(busiest.processor, 2, "processor 1 is offline");
    assert!(!matches!(judged(1, 9, None), StoppedBy::FullOfInterrupts { .. }), "other programs fill it");
}

/// What stops a disk of these constants below such a queue, while a thread waits an eighth of the time.
fn below_a_queue(constants: &str, queue_requests: Option<u32>) -> (Option<LevelId>, StoppedBy) {
    on_device(constants, Device { queue_requests, queues: Some(1), ..Device::default() })
}

fn on_device(constants: &str, device: Device) -> (Option<LevelId>, StoppedBy) {
    let question = question();
    let mut records = study(&disk(constants), &question);
    records.iter_mut().for_each(|record| record.cpu.waited_ns = record.cpu.span_ns / 8);
    let machine = Machine { cpus: 2, ..Machine::default() };
    let environment = Environment { machine, device: Some(device), ..Environment::default() };
    let found = analyse(&question, &environment, &records, &MeasuredCeilings::default()).bottleneck;
    (found.level, found.stopped_by)
}

#[test]
fn a_full_queue_of_the_device_is_named_before_a_processor_that_is_less_full() {
    // A null_blk of 1 ms behind a queue of 8: 8,000 requests a second, for which a thread is charged 81%.
    let null = "fixed=1ms,rate=100GB/s,disks=8,cpu_fixed=101us,cpu_per_kib=0us";
    let (level, stop) = below_a_queue(null, Some(8));
    let StoppedBy::DeviceQueue { queue_requests: 8, alone_us, limit_iops, share } = stop else { panic!("{stop:?}") };
    assert_eq!(level, Some(LevelId::of(LevelKind::Device)));
    assert!((alone_us / 1000.0 - 1.0).abs() < 0.05 && (limit_iops / 8000.0 - 1.0).abs() < 0.05, "{alone_us}");
    assert!((share - 1.0).abs() < 0.03, "{share}");
    let is_queue = |(_, stop): &(_, StoppedBy)| matches!(stop, StoppedBy::DeviceQueue { .. });
    let unknown = below_a_queue(null, None);
    assert!(!is_queue(&unknown), "no queue is known: {unknown:?}");
    let of_two = Device { queue_requests: Some(8), queues: Some(1), others: vec!["sdb".into()], ..Device::default() };
    assert!(!is_queue(&on_device(null, of_two)), "another device has a queue too");
    let slower = below_a_queue("fixed=1ms,rate=100GB/s,disks=2,cpu_fixed=404us,cpu_per_kib=0us", Some(8));
    assert!(!is_queue(&slower), "requests in the queue wait for the device itself: {slower:?}");
    let larger = below_a_queue(null, Some(64));
    assert!(!is_queue(&larger), "the queue was never full: {larger:?}");
}
