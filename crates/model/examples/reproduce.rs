//! Prints every row of the reproduction as Markdown tables, misses first.
//!
//! `cargo run --release -p halfpower-model --example reproduce`

use std::collections::BTreeMap;
use std::time::Instant;

use halfpower_model::SystemError;
use halfpower_model::reproduction::{Agreement, Kind, Reproduction, Row, Tally, reproduce};

const VERDICTS: [(Agreement, &str); 6] = [
    (Agreement::Within10, "predictions within 10%"),
    (Agreement::Within25, "predictions within 25%"),
    (Agreement::Beyond, "predictions further off"),
    (Agreement::OtherSide, "contradicted by another figure, whose side we take"),
    (Agreement::NotPredicted, "given to the system or fitted, so not predicted"),
    (Agreement::Open, "not answered by any system"),
];

fn main() -> Result<(), SystemError> {
    let began = Instant::now();
    let reproduction = reproduce()?;
    let seconds = began.elapsed().as_secs_f64();
    print_counts(&reproduction);
    print_chosen(&reproduction, "Misses", |row| matches!(row.verdict, Agreement::Beyond | Agreement::Within25));
    print_chosen(&reproduction, "Contradictions", |row| row.verdict == Agreement::OtherSide);
    print_open(&reproduction);
    print_all(&reproduction);
    eprintln!("{:.1} M requests simulated in {seconds:.1} s", reproduction.requests as f64 / 1e6);
    Ok(())
}

fn print_counts(reproduction: &Reproduction) {
    println!("| rows | |\n|---:|---|");
    for (verdict, words) in VERDICTS {
        println!("| {} | {words} |", reproduction.count(verdict));
    }
    let headline = reproduction.headline();
    println!(
        "\n**{:.1}% of the {} independent predictions are within 10%.** Of all {} predictions {:.1}% are; with the {} \
         contradicted rows counted as predictions, {:.1}%.",
        headline.share_within_10() * 100.0,
        headline.judged(),
        reproduction.predictions(),
        reproduction.share_within_10() * 100.0,
        reproduction.count(Agreement::OtherSide),
        reproduction.share_with_contradictions() * 100.0,
    );
    println!("\n| kind | rows | within 10% | within 25% | further off | other side |\n|---|---:|---:|---:|---:|---:|");
    for kind in Kind::ALL {
        let tally = reproduction.tally(kind);
        let Tally { within_10, within_25, beyond, other_side } = tally;
        let rows = tally.judged() + other_side;
        println!("| {kind} | {rows} | {within_10} | {within_25} | {beyond} | {other_side} |");
    }
}

fn print_chosen(reproduction: &Reproduction, title: &str, holds: impl Fn(&Row) -> bool) {
    println!("\n## {title}\n\n| figure | published | ours | off | kind | |\n|---|---:|---:|---:|---|---|");
    for row in reproduction.rows.iter().filter(|row| holds(row)) {
        let (published, ours, off) = values(row);
        println!("| {} | {published} | {ours} | {off} | {} | {} |", row.figure.id, row.kind, row.remark);
    }
}

fn print_open(reproduction: &Reproduction) {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for row in reproduction.rows.iter().filter(|row| row.verdict == Agreement::Open) {
        *reasons.entry(&row.remark).or_default() += 1;
    }
    println!("\n## Not answered\n\n| rows | why |\n|---:|---|");
    for (reason, count) in reasons {
        println!("| {count} | {reason} |");
    }
}

/// One table for each figure, table and section of the studies.
fn print_all(reproduction: &Reproduction) {
    let mut place = String::new();
    println!("\n## Figure by figure");
    for row in reproduction.rows.iter().filter(|row| row.verdict != Agreement::Open) {
        let figure = &row.figure;
        let here = format!("{} {}", figure.source, figure.place);
        if here != place {
            println!("\n### {here}\n");
            println!("| figure | quantity | published | ours | off | | kind |\n|---|---|---:|---:|---:|---|---|");
            place = here;
        }
        let (published, ours, off) = values(row);
        let quantity = figure.quantity.replace('_', " ");
        let kind = kind(row);
        println!("| {} | {quantity} | {published} | {ours} | {off} | {} | {kind} |", figure.id, row.verdict);
    }
}

/// The kind, and what a derived or repeated row follows from.
fn kind(row: &Row) -> String {
    if row.of.is_empty() { row.kind.to_string() } else { format!("{}: {}", row.kind, row.of.join(", ")) }
}

fn values(row: &Row) -> (String, String, String) {
    let unit = row.figure.unit.as_str();
    let ours = row.ours.map_or(String::new(), |ours| ours.to_string());
    let off = row.off.map_or(String::new(), |off| format!("{:.0}%", off * 100.0));
    (format!("{} {unit}", row.figure.value), ours, off)
}
