//! Compares studies of two minutes with exhaustive grids on simulated disks; prints one line per disk, and the sums.
//!
//! `cargo run --release -p halfpower-study --example time_to_answer [DISKS]`

#[path = "../tests/grid/mod.rs"]
mod grid;

use std::collections::BTreeMap;
use std::time::Instant;

use grid::{Answer, Studied, What};
use halfpower_spec::{Bytes, SimulatedDisk};

/// Cells with this many runs or more are counted together.
const MOST_RUNS: usize = 6;

/// Sums over all disks.
#[derive(Default)]
struct Sums {
    study_wrong: Vec<What>,
    grid_wrong: Vec<What>,
    /// Advice that names the same cell as the grid.
    same: usize,
    longest_s: f64,
    all_s: f64,
    runs: usize,
    /// By number of runs of a cell: cells, cells whose interval holds the truth, and cells within 5%.
    intervals: BTreeMap<usize, [usize; 3]>,
}

fn main() {
    let question = grid::question();
    let disks: u64 = std::env::args().nth(1).map_or(50, |count| count.parse().expect("a number of disks"));
    let began = Instant::now();
    let mut sums = Sums::default();
    println!("disk  runs cells seconds  answered  wrong: study grid  constants");
    for number in 1..=disks {
        let disk = grid::disk(number);
        let studied = grid::study(&question, &disk);
        let answer = Answer::from(&studied.findings);
        let exhaustive = grid::grid(&question, &disk);
        let of_study = grid::mistakes(&question, &disk, &answer);
        let of_grid = grid::mistakes(&question, &disk, &exhaustive);
        let runs = studied.records.len();
        let cells = studied.findings.cells.len();
        let answered = studied.answered;
        let text = disk.to_string();
        let constants = text.split(",noise").next().unwrap_or(&text);
        let study = of_study.len();
        let grid = of_grid.len();
        println!(
            "{number:4} {runs:5} {cells:5} {:7.1}  {answered:8} {study:12} {grid:4}  {constants}",
            studied.spent_s
        );
        of_study.iter().for_each(|(_, words)| println!("     study: {words}"));
        of_grid.iter().for_each(|(_, words)| println!("     grid:  {words}"));
        sums.study_wrong.extend(of_study.into_iter().map(|(what, _)| what));
        sums.grid_wrong.extend(of_grid.into_iter().map(|(what, _)| what));
        sums.same += answer.advised.iter().filter(|(kind, at)| exhaustive.advised.get(kind) == Some(at)).count();
        sums.add(&disk, &studied);
    }
    println!("\n{} runs simulated in {:.1} s", sums.runs, began.elapsed().as_secs_f64());
    sums.print(disks, question.iodepth.len() as u64, grid::grid_s(&question));
}

impl Sums {
    fn add(&mut self, disk: &SimulatedDisk, studied: &Studied) {
        self.longest_s = self.longest_s.max(studied.spent_s);
        self.all_s += studied.spent_s;
        self.runs += studied.records.len();
        for cell in studied.findings.cells.iter().filter(|cell| cell.runs >= 3) {
            let truth = halfpower_model::throughput(disk, Bytes(cell.bs_bytes), cell.iodepth).mbps();
            let held = cell.mbps.low <= truth && truth <= cell.mbps.high;
            let narrow = cell.mbps.relative_reach() <= 0.05;
            let sums = self.intervals.entry(cell.runs.min(MOST_RUNS)).or_default();
            *sums = [sums[0] + 1, sums[1] + usize::from(held), sums[2] + usize::from(narrow)];
        }
    }

    fn print(&self, disks: u64, depths: u64, grid_s: f64) {
        let mean_s = self.all_s / disks as f64;
        let longest_s = self.longest_s;
        let share = grid_s / self.longest_s;
        println!("the grid takes {grid_s:.0} s, a study {mean_s:.0} s (longest {longest_s:.0} s): 1/{share:.0}");
        let paths = disks * 4;
        println!("{paths} pieces of advice: {} name the very cell that the grid names", self.same);
        println!("wrong against the truth, of {paths} paths and {} curves:", paths * depths);
        for (name, wrong) in [("study", &self.study_wrong), ("grid", &self.grid_wrong)] {
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
        println!("the 95% intervals of the studies' cells, by runs ({MOST_RUNS} or more together):");
        for (runs, [cells, held, narrow]) in &self.intervals {
            let percent = |count: &usize| 100.0 * *count as f64 / *cells as f64;
            println!(
                "  {runs} runs: {cells} cells, {:.1}% hold the truth, {:.1}% are within 5%",
                percent(held),
                percent(narrow)
            );
        }
    }
}
