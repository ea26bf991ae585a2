//! Checks that the simulated machines give the published figures.

use std::sync::OnceLock;

use halfpower_model::reproduction::{Agreement, Reproduction, Row, figures, reproduce};

fn reproduction() -> &'static Reproduction {
    static REPRODUCTION: OnceLock<Reproduction> = OnceLock::new();
    REPRODUCTION.get_or_init(|| reproduce().expect("the shipped systems answer the shipped figures"))
}

fn shown(row: &Row) -> String {
    format!("{}: published {}, ours {:?}, {:?}", row.figure.id, row.figure.value, row.ours, row.verdict)
}

fn rows(holds: impl Fn(&Row) -> bool) -> Vec<String> {
    reproduction().rows.iter().filter(|row| holds(row)).map(shown).collect()
}

#[test]
fn nine_predictions_in_ten_are_within_10_percent() {
    let share = reproduction().share_within_10();
    assert!(share >= 0.9, "{share}");
    // A large share of only a few rows would prove little.
    assert!(reproduction().count(Agreement::Within10) >= 150);
}

#[test]
fn each_prediction_beyond_25_percent_is_explained() {
    let silent = rows(|row| row.verdict == Agreement::Beyond && !row.explained);
    assert!(silent.is_empty(), "{silent:#?}");
}

#[test]
fn each_contradiction_says_which_side_is_taken() {
    let silent = rows(|row| row.verdict == Agreement::OtherSide && !row.explained);
    assert!(silent.is_empty(), "{silent:#?}");
    assert!(reproduction().count(Agreement::OtherSide) >= 20);
}

#[test]
fn what_a_constant_was_given_by_or_fitted_to_comes_out() {
    let off = rows(|row| row.verdict == Agreement::NotPredicted && row.off.is_none_or(|off| off > 0.25));
    assert!(off.is_empty(), "{off:#?}");
}

#[test]
fn every_figure_has_one_row_and_what_is_open_says_why() {
    let reproduction = reproduction();
    assert_eq!(reproduction.rows.len(), figures().len());
    assert_eq!(reproduction.rows.len(), 566);
    let silent =
        rows(|row| row.verdict == Agreement::Open && (row.remark.is_empty() || row.remark.starts_with("no system")));
    assert!(silent.is_empty(), "{silent:#?}");
}
