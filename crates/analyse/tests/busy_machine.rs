//! Checks the findings for threads whose processors are used by others.

use crate::built::{disk, question, study};
use halfpower_analyse::{MeasuredCeilings, ProcessorsOf, StoppedBy, analyse};
use halfpower_record::{Cpu, Environment, Machine, Record};

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
