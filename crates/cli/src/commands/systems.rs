//! Implements `halfpower systems`: lists simulated machines, prints one, or compares all with published figures.

use std::io::Write;

use anyhow::{Result, bail};
use halfpower_model::reproduction::{Agreement, Kind, Relation, Reproduction, Row, Tally, reproduce};
use halfpower_model::{Shipped, systems as shipped};
use halfpower_spec::format;

use super::to_output;
use crate::args::SystemsArgs;

/// Agreements in the order of the summary, each with its label.
const AGREEMENTS: [(Agreement, &str); 6] = [
    (Agreement::Within10, "predicted within 10%"),
    (Agreement::Within25, "within 25%"),
    (Agreement::Beyond, "further off"),
    (Agreement::OtherSide, "contradicted by another figure"),
    (Agreement::NotPredicted, "given to a system or fitted"),
    (Agreement::Open, "not answered by any system"),
];

pub fn systems(args: &SystemsArgs) -> Result<()> {
    match &args.name {
        Some(name) => to_output(|out| Ok(out.write_all(find(name)?.text.as_bytes())?)),
        None if args.reproduce => {
            let reproduction = reproduce()?;
            to_output(|out| table(&reproduction, out))
        }
        None => to_output(list),
    }
}

fn find(name: &str) -> Result<&'static Shipped> {
    let Some(system) = shipped().iter().find(|system| system.name == name) else {
        bail!("there is no machine {name}; `halfpower systems` lists them")
    };
    Ok(system)
}

fn list(out: &mut dyn Write) -> Result<()> {
    let width = shipped().iter().map(|system| system.name.len()).max().unwrap_or(0);
    for system in shipped() {
        writeln!(out, "{:width$}  {}", system.name, system.about())?;
    }
    writeln!(out, "\nstudy one:  halfpower study sim:{}", shipped()[0].name)?;
    writeln!(out, "edit one:   halfpower systems {} > mine.toml; halfpower study sim:mine.toml", shipped()[0].name)?;
    Ok(())
}

/// Prints the counts, and every figure that a system answers.
fn table(reproduction: &Reproduction, out: &mut dyn Write) -> Result<()> {
    totals(reproduction, out)?;
    let answered: Vec<&Row> = reproduction.rows.iter().filter(|row| row.ours.is_some()).collect();
    let width = answered.iter().map(|row| row.figure.id.len()).max().unwrap_or(0);
    let mut line = |[figure, published, ours, ratio, verdict, kind, mechanism]: [&str; 7]| {
        writeln!(out, "{figure:width$}  {published:>18}  {ours:>13}  {ratio:>5}  {verdict:13}  {kind:11}  {mechanism}")
    };
    line(["figure", "published", "ours", "ratio", "", "kind", "mechanism"])?;
    for row in &answered {
        let published = format!("{}{} {}", relation(row.figure.relation), row.figure.value, row.figure.unit);
        let ours = row.ours.map_or(String::new(), |ours| ours.to_string());
        let ratio = ratio(row).map_or("-".to_string(), |ratio| format!("{ratio:.2}"));
        let verdict = row.verdict.to_string();
        line([&row.figure.id, &published, &ours, &ratio, &verdict, &row.kind.to_string(), &mechanism(row)])?;
    }
    Ok(())
}

/// Prints how many rows agree, in all and of each kind.
fn totals(reproduction: &Reproduction, out: &mut dyn Write) -> Result<()> {
    let counts = AGREEMENTS.map(|(verdict, words)| format!("{} {words}", reproduction.count(verdict)));
    writeln!(out, "{} figures: {}.", reproduction.rows.len(), counts.join(", "))?;
    let headline = reproduction.headline();
    writeln!(
        out,
        "{} of the {} independent predictions are within 10%; {} of all {} predictions.\n",
        format::percent(headline.share_within_10()),
        headline.judged(),
        format::percent(reproduction.share_within_10()),
        reproduction.predictions(),
    )?;
    writeln!(out, "{:11}  within 10%  within 25%  further off  other side", "kind")?;
    for kind in Kind::ALL {
        let Tally { within_10, within_25, beyond, other_side } = reproduction.tally(kind);
        writeln!(out, "{kind:11}  {within_10:>10}  {within_25:>10}  {beyond:>11}  {other_side:>10}")?;
    }
    writeln!(out)?;
    Ok(())
}

/// Prefix that shows how the published figure bounds the quantity.
fn relation(relation: Relation) -> &'static str {
    match relation {
        Relation::Equals => "",
        Relation::About => "~",
        Relation::AtLeast => ">= ",
        Relation::AtMost => "<= ",
        Relation::LessThan => "< ",
        Relation::RangeLow => "from ",
        Relation::RangeHigh => "to ",
    }
}

/// The mechanism, and if our figure is off, the reason.
fn mechanism(row: &Row) -> String {
    let off = !matches!(row.verdict, Agreement::Within10 | Agreement::NotPredicted);
    if off && row.explained { format!("{}; {}", row.mechanism, row.remark) } else { row.mechanism.to_string() }
}

/// Our figure divided by the published one, of reads and writes the one that is farther off; `None` if that is 0.
fn ratio(row: &Row) -> Option<f64> {
    let ratio = row.judged? / row.figure.value;
    ratio.is_finite().then_some(ratio)
}
