//! Writes what differs between two studies besides their figures, and what is missing.

use halfpower_analyse::{Comparison, Flaw, InStudy, LeftOut, MissingFigure, Note};
use halfpower_spec::format::{size, two_digits};
use halfpower_spec::{Bytes, InOrder};

use super::compare::joined;
use super::surroundings;

/// A note as a sentence; `comparison` has the facts of both studies.
pub(crate) fn sentence(note: &Note, comparison: &Comparison) -> String {
    let letter_a = &comparison.a.letter;
    let letter_b = &comparison.b.letter;
    let plural = |count: usize| if count == 1 { "cell is" } else { "cells are" };
    match note {
        Note::TargetsDiffer => {
            let (of_a, of_b) = own_targets(&comparison.a.target, &comparison.b.target);
            format!("The targets differ: {of_a} in {letter_a}, {of_b} in {letter_b}.")
        }
        Note::SurroundingsDiffer(change) => surroundings::difference(change, [letter_a, letter_b]),
        Note::OthersUsedTheDisk { cells } => {
            let verb = if *cells == 1 { "differs" } else { "differ" };
            format!(
                "{cells} of {} common cells {verb}, but others used the disk while the worse figure was measured: no \
                 difference is claimed for them (? marks them). Measure again when the disk is idle.",
                comparison.cells.len()
            )
        }
        Note::SpreadDiffers { a_bytes, b_bytes } => {
            let over = |bytes: &Option<u64>| match bytes {
                Some(bytes) => format!("lies in pieces over {}", size(*bytes as f64)),
                None => "is one part".to_string(),
            };
            let [of_a, of_b] = [a_bytes, b_bytes].map(over);
            format!("The part of the target that was used {of_a} in {letter_a} and {of_b} in {letter_b}.")
        }
        Note::RunOnce { cells, of_cells } => format!(
            "{cells} of {of_cells} common cells were run once in {letter_a} or in {letter_b}: they have no interval, and no difference is \
             claimed for them."
        ),
        Note::NotSteady { cells, of_cells } => format!(
            "{cells} of {of_cells} common cells were not steady within their runs in {letter_a} or in {letter_b}, so that a mean says \
             little of them."
        ),
        Note::InOneAlone { a, b } => {
            let alone = [(letter_a, *a), (letter_b, *b)].into_iter().filter(|(_, count)| *count > 0);
            let alone: Vec<String> =
                alone.map(|(study, count)| format!("{count} {} in {study} alone", plural(count))).collect();
            format!("{} and not compared.", alone.join(", "))
        }
        Note::CellsLeftOut { cells, study, flaw, all_alike } => {
            let others = if *all_alike { "" } else { ", and the like" };
            format!("{cells} common {} left out: {}{others}.", plural(*cells), flaw_words(*study, *flaw, comparison))
        }
        Note::Noise { throughput_percent, p99_percent, cost_percent } => {
            let figures =
                [("throughput", throughput_percent), ("p99 latency", p99_percent), ("cost", cost_percent)].into_iter();
            let noisy =
                figures.filter_map(|(figure, percent)| Some(format!("{}% in {figure}", two_digits((*percent)?))));
            format!(
                "The runs vary so much that a single cell has to differ by {} to count; more runs would tell smaller \
                 differences.",
                noisy.collect::<Vec<_>>().join(", ")
            )
        }
    }
}

/// Two targets without the constants that simulated ones share, since each has a dozen.
fn own_targets(a: &str, b: &str) -> (String, String) {
    let constants = |text: &str| text.strip_prefix("sim:").map(|rest| rest.split(',').map(str::to_string).collect());
    let (Some(of_a), Some(of_b)): (Option<Vec<String>>, Option<Vec<String>>) = (constants(a), constants(b)) else {
        return (a.to_string(), b.to_string());
    };
    let own = |of: &[String], other: &[String]| {
        let own: Vec<&str> = of.iter().filter(|one| !other.contains(one)).map(String::as_str).collect();
        format!("sim:{}", own.join(","))
    };
    (own(&of_a, &of_b), own(&of_b, &of_a))
}

/// Why a common cell is left out, such as `in both studies a cache answered`.
pub(crate) fn left_out(left_out: &LeftOut, comparison: &Comparison) -> String {
    flaw_words(left_out.study, left_out.flaw, comparison)
}

fn flaw_words(study: InStudy, flaw: Flaw, comparison: &Comparison) -> String {
    let flaw = match flaw {
        Flaw::RequestsFailed => "requests failed",
        Flaw::CacheAnswered => "a cache answered",
        Flaw::NothingMoved => "nothing was moved",
    };
    match study {
        InStudy::Both => format!("in both studies {flaw}"),
        InStudy::A => format!("in {} {flaw}", comparison.a.letter),
        InStudy::B => format!("in {} {flaw}", comparison.b.letter),
    }
}

/// Says in a sentence what the price tables of these studies lack.
pub(crate) fn missing(letters: &[String], figure: MissingFigure) -> String {
    let what = match figure {
        MissingFigure::Capacity => "the capacity of the device".to_string(),
        MissingFigure::RandomReads { bs_bytes } => {
            let flags = format!("--experiments price, or random with --rw read --bs {}", Bytes(bs_bytes));
            format!("random direct reads of {} ({flags}, measures them)", size(bs_bytes as f64))
        }
        MissingFigure::RandomReadsOneDeep { bs_bytes } => {
            format!("random direct reads of {} one at a time (--iodepth 1 measures them)", size(bs_bytes as f64))
        }
    };
    let verb = if letters.len() == 1 { "does" } else { "do" };
    format!("{} {verb} not have {what}.", joined(letters))
}

/// The letters of the studies that lack a figure.
pub(crate) fn letters_of(study: InStudy, comparison: &Comparison) -> Vec<String> {
    let a = comparison.a.letter.clone();
    let b = comparison.b.letter.clone();
    match study {
        InStudy::Both => vec![a, b],
        InStudy::A => vec![a],
        InStudy::B => vec![b],
    }
}

/// What the price tables lack: each figure once, with all studies that lack it.
pub(crate) fn all_missing(comparisons: &[Comparison]) -> Vec<String> {
    let mut lacking: Vec<(MissingFigure, Vec<String>)> = Vec::new();
    for (comparison, table) in comparisons.iter().filter_map(|one| Some((one, one.price.as_ref()?))) {
        for (study, figure) in &table.missing {
            let letters = letters_of(*study, comparison);
            match lacking.iter_mut().find(|(known, _)| known == figure) {
                Some((_, known)) => known.extend(letters),
                None => lacking.push((*figure, letters)),
            }
        }
    }
    let said = |(figure, mut letters): (MissingFigure, Vec<String>)| {
        letters.order_by_key(|letter| (letter.len(), letter.clone()));
        letters.dedup();
        missing(&letters, figure)
    };
    lacking.into_iter().map(said).collect()
}
