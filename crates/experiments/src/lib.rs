//! Holds the experiments: the question, plan, analysis and words of each, in one folder each.
//!
//! An experiment is a folder and a line in `table.rs`, which lists what the folder must contain. The plan turns a
//! question and the target's capabilities into cells to measure. The analysis turns records into rows and an answer
//! (numbers and codes). The words turn the answer into sentences. The pictures are data. The walks `sequential` and
//! `random` have no folder: the planner chooses their runs one by one, and the findings report them.

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
mod credit;
mod data;
mod durability;
mod engines;
mod hosts;
mod measured;
mod memory;
mod mirror;
mod network;
mod picture;
mod plan;
mod price;
mod processors;
mod ratio;
mod ratio_finding;
mod rounds;
mod scaling;
mod section;
mod streams;
mod study_findings;
mod table;
mod words;
mod zones;

pub use alignment::answer::{AlignmentAnswer, ShiftedKind};
pub use alignment::rows::AlignmentRow;
pub use allocation::answer::{AllocationAnswer, DepthGain, Extension, GrowingFiles, ReservedBlocks};
pub use allocation::rows::AllocationRow;
pub use anatomy::answer::{AnatomyAnswer, CutRequests, PhaseShare, RequestTime, ReturnedRequests, Untraced};
pub use anatomy::rows::AnatomyRow;
pub use buffered::answer::{
    AgainstDirect, BelowAPage, BufferedAnswer, RatioAtSize, SmallWrite, WithoutReadAhead, WritePhases,
};
pub use buffered::cost::{BufferedCostRow, Cheaper};
pub use buffered::rows::BufferedRow;
pub use burst::answer::{AfterAPause, BurstAnswer, LinkRate, MembersTogether, PauseVerdict};
pub use burst::rows::{BurstRow, Hit, HitRow, OverheadRow};
pub use credit::answer::{CreditAnswer, LimitCounts, LimitFinding};
pub use credit::rows::{CreditRow, CreditSpent, LimitSlices};
pub use durability::answer::{
    DurabilityAnswer, DurableAtOnce, DurableWrites, FlushTime, SharedFlush, WithoutWriteCache,
};
pub use durability::rows::DurabilityRow;
pub use engines::answer::{
    BestEngines, BusyEngines, EngineSpeed, EnginesAnswer, IssuingChange, IssuingPart, PollingCost,
};
pub use engines::rows::EngineRow;
pub use engines::words::issuing_part;
pub use memory::answer::MemoryAnswer;
pub use memory::rows::MemoryRow;
pub use memory::{loop_ns_per_kib, memory};
pub use mirror::answer::{MirrorAnswer, MirrorWrites, RandomReads, SecondCopyGain, SequentialReads, VerifiedCopies};
pub use mirror::rows::MirrorRow;
pub use network::answer::{HalfPowerAt, MoreConnections, NetworkAnswer, ShareRate};
pub use network::rows::NetworkRow;
pub use picture::{Axis, Line, Picture, PictureKind, Point};
pub use plan::{PlanRequest, PlannedCell};
pub use price::answer::PriceAnswer;
pub use processors::answer::{AffinityComparison, ProcessorsAnswer};
pub use processors::rows::ProcessorRow;
pub use ratio_finding::{RatioFinding, RatioVerdict};
pub use scaling::answer::{
    CostByMembers, MemberCost, MembersScaling, ScalingAnswer, ScalingVerdict, StoppedMembers, StripeShare,
};
pub use scaling::rows::{LimitedBy, ScalingRow};
pub use section::{ExperimentSection, sections};
pub use streams::answer::{StreamAmongReaders, StreamsAnswer, StreamsTogether};
pub use streams::rows::StreamRow;
pub use study_findings::{StudyFindings, analyse};
pub use table::{ExperimentAnswer, ExperimentRows, left_out, plan};
pub use zones::answer::ZonesAnswer;
pub use zones::rows::ZoneRow;
