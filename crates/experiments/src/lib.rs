//! Holds the experiments: each one's question, plan, analysis and words, in a folder of its own.
//!
//! An experiment is a folder with a definition (`definition.rs` says what that is) and a line in `table.rs`. Its plan
//! (`plan.rs`) makes the cells to measure from a question and what the target offers; its analysis makes rows and an
//! answer from the records; its words are the sentences.

mod alignment;
mod allocation;
mod anatomy;
mod buffered;
#[cfg(test)]
#[path = "../../analyse/tests/built/mod.rs"]
mod built;
#[cfg(test)]
mod built_study;
mod burst;
mod data;
mod definition;
mod durability;
mod engines;
mod measured;
mod memory;
mod mirror;
mod plan;
mod price;
mod processors;
mod random;
mod ratio;
mod rounds;
mod scaling;
mod section;
mod sequential;
mod streams;
mod study_findings;
mod table;
mod walk;
mod zones;

pub use alignment::rows::AlignmentRow;
pub use allocation::rows::AllocationRow;
pub use anatomy::rows::AnatomyRow;
pub use buffered::cost::{BufferedCostRow, Cheaper};
pub use buffered::rows::BufferedRow;
pub use burst::rows::{BurstRow, Hit, HitRow, OverheadRow};
pub use durability::rows::DurabilityRow;
pub use engines::rows::EngineRow;
pub use memory::rows::MemoryRow;
pub use memory::{loop_ns_per_kib, memory};
pub use mirror::rows::MirrorRow;
pub use plan::{PlanRequest, PlannedCell};
pub use processors::rows::ProcessorRow;
pub use scaling::rows::{LimitedBy, ScalingRow};
pub use section::{Axis, ExperimentSection, Line, Picture, PictureKind, Point};
pub use streams::rows::StreamRow;
pub use study_findings::{StudyFindings, analyse};
pub use table::{ExperimentRows, left_out, plan, sections};
pub use zones::rows::ZoneRow;
