//! Compares two studies: whether they differ, in what, and by how much.

mod change;
mod comparison;
mod condition;
mod notes;
mod pairs;
mod paths;
mod price;
mod price_table;
mod priors;
mod reservations;
mod spread;
mod studies;
mod study_records;

pub use comparison::{
    CellComparison, Change, Comparison, ConditionCase, ConditionFinding, ConditionLimit, CostComparison, CostTerm,
    Floor, HalfPowerComparison, LeftOut, PathComparison, Practical, Quantity, StudyFacts,
};
pub use condition::Condition;
pub use price::{KILOBYTES, MEGABYTES, price, price_row};
pub use price_table::{Accesses, MissingFigure, PriceRow, PriceTable};
pub use reservations::{Flaw, InStudy, Note, Outcome, PlaceAspect};
pub use spread::{Estimate, Prior};
pub use studies::{compare, compare_all};
pub use study_records::StudyRecords;
