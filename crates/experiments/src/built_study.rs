//! Builds one-experiment studies with known rates, for the tests.

use halfpower_record::{Ability, Capabilities, Environment, Record, TargetKind};
use halfpower_spec::{Bytes, Experiment, Pass, Question, Workload};
use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::built::{disk, normal, record_at};
use crate::section::ExperimentSection;
use crate::study_findings::{StudyFindings, analyse};

/// What a folder of 1 GiB offers that lacks these abilities, for this reason.
pub fn folder_without(direct_unit: Option<Bytes>, unavailable: &[Ability], why: &str) -> Capabilities {
    Capabilities {
        kind: TargetKind::Folder,
        span: Bytes(1 << 30),
        members: 1,
        direct_unit,
        unavailable: unavailable.iter().map(|ability| (ability.clone(), why.to_string())).collect(),
        ..Capabilities::default()
    }
}

/// Analyses one experiment whose cells run at these rates in MB/s: three runs each, with relative noise `noise`.
pub fn reported(experiment: Experiment, cells: &[(Workload, f64)], noise: f64) -> StudyFindings {
    told_in_rounds(experiment, cells, noise, [1.0; 3])
}

/// As [`reported`], but multiplies every rate in round `i` by `rounds[i]`.
pub fn told_in_rounds(
    experiment: Experiment,
    cells: &[(Workload, f64)],
    noise: f64,
    rounds: [f64; 3],
) -> StudyFindings {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let disk = disk("fixed=80us,rate=500MB/s");
    let mut records: Vec<Record> = Vec::new();
    for (workload, mbps) in cells {
        for (repeat, round) in (0..).zip(rounds) {
            let rate = mbps * 1e6 * round * (1.0 + noise * normal(&mut random));
            let mut record = record_at(&disk, *workload, repeat, Pass::Plain, rate);
            record.run.experiment = Some(experiment);
            records.push(record);
        }
    }
    let question = Question { experiments: vec![experiment], ..Question::about("d") };
    analyse(&question, &Environment::default(), &records)
}

pub fn answer(findings: &StudyFindings) -> &str {
    assert_eq!(findings.experiments.len(), 1);
    &findings.experiments[0].answer
}

/// Lines that a short answer fills on a terminal of 80 columns, behind the name of its experiment.
pub fn lines(section: &ExperimentSection) -> usize {
    const NAME: usize = 14;
    let mut lines = 1;
    let mut used = NAME;
    for word in section.brief().split(' ') {
        let more = word.chars().count() + usize::from(used > NAME);
        if used + more > 80 {
            lines += 1;
            used = NAME;
        }
        used += word.chars().count() + usize::from(used > NAME);
    }
    lines
}
