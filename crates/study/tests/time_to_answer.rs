//! Checks that a study finds in two minutes what an exhaustive grid finds in an hour, on ten random disks simulated in
//! virtual time. `cargo run --release --example time_to_answer` makes the table of fifty.

use crate::grid::{Answer, What, disk, grid_s, mistakes, question, study};

const DISKS: u64 = 10;

#[test]
fn a_study_says_what_an_exhaustive_grid_says_in_a_tenth_of_its_time() {
    let question = question();
    let mut wrong = Vec::new();
    for number in 1..=DISKS {
        let disk = disk(number);
        let studied = study(&question, &disk);
        let runs = studied.records.len();
        let answered = studied.answered;
        eprintln!(
            "disk {number}: {runs} runs in {:.0} s, answered before the budget's end: {answered}",
            studied.spent_s
        );
        assert!(studied.spent_s <= grid_s(&question) / 10.0, "disk {number} took {} s", studied.spent_s);
        let found = mistakes(&question, &disk, &Answer::from(&studied.findings));
        wrong.extend(found.into_iter().map(|(what, words)| (what, format!("disk {number}, {words}"))));
    }
    // The highest of many noisy cells is sometimes a little above the truth, in the grid as well. And the last runs of
    // a budget may move a curve's half power next to a size for which no time is left.
    let slight = |what: &What| match what {
        What::Peak(tenths) | What::CurvePeak(tenths) => *tenths < 100,
        What::NotBracketed => true,
        What::HalfPower | What::Advice => false,
    };
    let grave: Vec<&String> = wrong.iter().filter(|(what, _)| !slight(what)).map(|(_, words)| words).collect();
    assert!(grave.is_empty(), "{grave:#?}");
    let peaks = DISKS as usize * (question.iodepth.len() + 1) * 4;
    assert!(wrong.len() <= peaks / 50, "{} of {peaks}: {wrong:#?}", wrong.len());
}

#[test]
fn the_judge_finds_what_is_wrong() {
    let question = question();
    let disk = disk(1);
    let right = crate::grid::grid(&question, &halfpower_spec::SimulatedDisk { noise: 0.0, ..disk.clone() });
    assert!(mistakes(&question, &disk, &right).is_empty());
    let mut wrong = right.clone();
    wrong.curves.values_mut().for_each(|half| half.bs = halfpower_spec::Bytes(half.bs.0 * 2));
    wrong.advised.values_mut().for_each(|at| at.1 = question.bs[0]);
    let found = mistakes(&question, &disk, &wrong);
    let count = |kind: What| found.iter().filter(|(what, _)| *what == kind).count();
    assert_eq!((count(What::HalfPower), count(What::Advice)), (4 * question.iodepth.len(), 4), "{found:?}");
}
