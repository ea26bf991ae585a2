//! Does a study of two minutes say what an exhaustive grid says? Simulated disks, a line each, and the sums.
//!
//! `cargo run --release -p halfpower-study --example time_to_answer [DISKS]`

#[path = "../tests/grid/mod.rs"]
mod grid;

use std::time::Instant;

use grid::{Answer, What};

fn main() {
    let question = grid::question();
    let disks = std::env::args().nth(1).map_or(50, |count| count.parse().expect("a number of disks"));
    let began = Instant::now();
    let (mut study_wrong, mut grid_wrong, mut same) = (Vec::new(), Vec::new(), 0);
    let (mut longest_s, mut all_s, mut runs) = (0.0f64, 0.0, 0);
    println!("disk  runs cells seconds  answered  wrong: study grid  constants");
    for number in 1..=disks {
        let disk = grid::disk(number);
        let studied = grid::study(&question, &disk);
        let (answer, exhaustive) = (Answer::from(&studied.findings), grid::grid(&question, &disk));
        let of_study = grid::mistakes(&question, &disk, &answer);
        let of_grid = grid::mistakes(&question, &disk, &exhaustive);
        let (cells, wrong) = (studied.findings.cells.len(), (of_study.len(), of_grid.len()));
        let text = disk.to_string();
        let constants = text.split(",noise").next().unwrap_or(&text);
        println!(
            "{number:4} {:5} {cells:5} {:7.1}  {:8} {:12} {:4}  {constants}",
            studied.records.len(),
            studied.spent_s,
            studied.answered,
            wrong.0,
            wrong.1
        );
        of_study.iter().for_each(|(_, words)| println!("     study: {words}"));
        of_grid.iter().for_each(|(_, words)| println!("     grid:  {words}"));
        study_wrong.extend(of_study.into_iter().map(|(what, _)| what));
        grid_wrong.extend(of_grid.into_iter().map(|(what, _)| what));
        same += answer.advised.iter().filter(|(kind, at)| exhaustive.advised.get(kind) == Some(at)).count();
        longest_s = longest_s.max(studied.spent_s);
        (all_s, runs) = (all_s + studied.spent_s, runs + studied.records.len());
    }
    let kinds = disks as usize * 4;
    println!("\n{runs} runs simulated in {:.1} s", began.elapsed().as_secs_f64());
    println!(
        "the grid takes {:.0} s, a study {:.0} s (longest {longest_s:.0} s): 1/{:.0}",
        grid::grid_s(&question),
        all_s / disks as f64,
        grid::grid_s(&question) / longest_s
    );
    println!("{kinds} pieces of advice: {same} name the very cell that the grid names");
    println!("wrong against the truth, of {kinds} paths and {} curves:", kinds * question.iodepth.len());
    for (name, wrong) in [("study", &study_wrong), ("grid", &grid_wrong)] {
        let count = |is: fn(&What) -> bool| wrong.iter().filter(|what| is(what)).count();
        println!(
            "  {name}: advice {}, peak of a path {}, half power {}, not bracketed {}, peak of a curve {}",
            count(|what| *what == What::Advice),
            count(|what| matches!(what, What::Peak(_))),
            count(|what| *what == What::HalfPower),
            count(|what| *what == What::NotBracketed),
            count(|what| matches!(what, What::CurvePeak(_)))
        );
    }
}
