//! Checks the depth from which `mirror` reports a gain, and that it calls the copies correct only if they were read
//! back.

use crate::built::{disk, record_at};
use crate::study_findings::analyse;
use halfpower_record::{Environment, Record};
use halfpower_spec::{Cache, Experiment, Pass, Question, Rw, VolumeLayout, Workload, WorkloadOptions};

fn runs(rw: Rw, options: WorkloadOptions, depth: u32, mbps: f64) -> Vec<Record> {
    let workload = Workload { options, ..crate::built::workload(rw, Cache::Device, 64, depth) };
    let run = |repeat: u32| {
        let rate = mbps * 1e6 * (1.0 + 0.01 * (f64::from(repeat) - 1.0));
        let mut record = record_at(&disk(""), workload, repeat, Pass::Plain, rate);
        record.run.experiment = Some(Experiment::Mirror);
        record
    };
    (0..3).map(run).collect()
}

fn mirror() -> WorkloadOptions {
    WorkloadOptions { members: 2, volume_layout: Some(VolumeLayout::Mirror), ..WorkloadOptions::default() }
}

fn answer(records: &[Vec<Record>]) -> String {
    let question = Question { experiments: vec![Experiment::Mirror], ..Question::about("d") };
    analyse(&question, &Environment::default(), &records.concat()).experiments[0].answer.clone()
}

/// Sequential reads of one member at 100 MB/s, and of a mirror at these rates at depths 1, 2, 4, ...
fn reads(rates: &[f64]) -> Vec<Vec<Record>> {
    let one = WorkloadOptions { members: 1, ..WorkloadOptions::default() };
    let depths = (0..rates.len()).map(|power| 1 << power);
    let both = |(depth, mbps): (u32, &f64)| [runs(Rw::Read, one, depth, 100.0), runs(Rw::Read, mirror(), depth, *mbps)];
    depths.zip(rates).flat_map(both).collect()
}

#[test]
fn a_gain_from_a_depth_on_is_one_at_every_depth_from_there() {
    let from = answer(&reads(&[100.0, 100.0, 150.0, 180.0]));
    assert!(from.contains("with 256 KiB outstanding and more; 8 deep they run at 1.80 times"), "{from}");
    let dips = answer(&reads(&[120.0, 100.0, 150.0, 180.0]));
    assert!(dips.contains("with 256 KiB outstanding and more"), "{dips}");
    let lost = answer(&reads(&[100.0, 150.0, 150.0, 100.0]));
    assert!(lost.contains("with 128 KiB outstanding, and not with most"), "{lost}");
    let none = answer(&reads(&[100.0, 100.0]));
    assert!(none.contains("gain nothing that runs could tell"), "{none}");
}

/// A stripe that was not measured at the mirror's depth is not compared with it.
#[test]
fn a_stripe_is_told_at_the_depth_of_the_mirror() {
    let stripe = WorkloadOptions { volume_layout: Some(VolumeLayout::Stripe), ..mirror() };
    let mut records = reads(&[100.0, 150.0]);
    records.push(runs(Rw::Read, stripe, 1, 190.0));
    assert!(!answer(&records).contains("a stripe at"), "{}", answer(&records));
    records.push(runs(Rw::Read, stripe, 2, 170.0));
    assert!(answer(&records).contains("; a stripe at 1.70 times"), "{}", answer(&records));
}

#[test]
fn copies_are_called_right_only_where_something_was_read_back() {
    let verified = runs(Rw::Randwrite, WorkloadOptions { verify: true, ..mirror() }, 8, 50.0);
    assert!(answer(std::slice::from_ref(&verified)).contains("each block of them is right"));
    let mut nothing = verified.clone();
    nothing.iter_mut().for_each(|record| (record.bytes, record.ios) = (0, 0));
    assert_eq!(answer(&[nothing]), "No copy could be read or written.");
    let mut wrong = verified;
    wrong[0].errors.insert("corrupt".to_string(), 3);
    assert!(answer(&[wrong]).contains("3 BLOCKS WERE WRONG"));
}
