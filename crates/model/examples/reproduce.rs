//! Do the simulated machines give the published figures? Prints every row, or with `--markdown` a page of tables.
//!
//! `cargo run --release -p halfpower-model --example reproduce`

use std::time::Instant;

use model::SystemError;
use model::reproduce::{Reproduction, Verdict, reproduce};

fn main() -> Result<(), SystemError> {
    let began = Instant::now();
    let reproduction = reproduce()?;
    print_rows(&reproduction);
    print_counts(&reproduction);
    let seconds = began.elapsed().as_secs_f64();
    eprintln!("{:.1} M requests simulated in {seconds:.1} s", reproduction.requests as f64 / 1e6);
    Ok(())
}

fn print_rows(reproduction: &Reproduction) {
    for row in &reproduction.rows {
        if row.verdict == Verdict::Open && !std::env::args().any(|word| word == "--open") {
            continue;
        }
        let figure = &row.figure;
        let ours = row.ours.map_or(String::new(), |ours| format!("{ours:.4}"));
        let off = row.off.map_or(String::new(), |off| format!("{:.0}%", off * 100.0));
        println!(
            "{:<14} {:>9} {:<10} {:>9} {:>6}  {}  [{} | {}] {}",
            row.verdict, figure.value, figure.unit, ours, off, figure.id, figure.quantity, figure.workload, row.remark
        );
    }
}

fn print_counts(reproduction: &Reproduction) {
    println!();
    for verdict in [
        Verdict::Within10,
        Verdict::Within25,
        Verdict::Beyond,
        Verdict::OtherSide,
        Verdict::NotPredicted,
        Verdict::Open,
    ] {
        println!("{:>4} {verdict}", reproduction.count(verdict));
    }
    println!("{:.1}% of the predictions are within 10%", reproduction.share_within_10() * 100.0);
}
