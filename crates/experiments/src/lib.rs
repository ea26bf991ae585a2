//! Holds the experiments: the question, plan, analysis and words of each, in one folder each.
//!
//! An experiment is a folder and a line in `table.rs`, which lists what the folder must contain. The plan turns a
//! question and the target's capabilities into cells to measure. The analysis turns records into rows and an answer
//! (numbers and codes). The words turn the answer into sentences and pictures, which are data. The walks `sequential`
//! and `random` have no folder: the planner chooses their runs one by one, and the findings report them.

pub mod alignment;
pub mod allocation;
pub mod anatomy;
mod answer;
pub mod application;
mod at_once;
pub mod buffered;
#[cfg(test)]
#[path = "../../analyse/tests/built/mod.rs"]
mod built;
#[cfg(test)]
mod built_study;
pub mod burst;
mod cell_figures;
pub mod commits;
pub mod credit;
mod data;
pub mod durability;
pub mod engines;
pub mod files;
pub mod hosts;
pub mod layers;
pub mod load;
pub mod memory;
pub mod mirror;
pub mod network;
mod picture;
mod plan;
pub mod price;
pub mod processors;
mod ratio;
mod rounds;
pub mod scaling;
mod section;
pub mod streams;
pub mod stripes;
mod study_findings;
pub mod sustain;
mod table;
mod words;
pub mod zones;

pub use answer::ShortAnswer;
pub use cell_figures::CellFigures;
pub use engines::issuing::{IssuingChange, IssuingPart, MUCH, other_pages};
pub use engines::words::issuing_part;
pub use memory::{MemoryRow, loop_ns_per_kib, memory};
pub use picture::{Axis, Line, Picture, PictureKind, Point};
pub use plan::{PlanRequest, PlannedCell};
pub use ratio::{RatioFinding, RatioVerdict};
pub use section::{ExperimentSection, NOT_RUN_YET, sections};
pub use study_findings::{StudyFindings, analyse};
pub use table::{ExperimentAnswer, ExperimentRows, left_out, plan};
