//! Compares the simulated machines of the two studies with the published figures of the real ones.

mod answers;
mod bench;
mod closed_loop;
mod figures;
mod mechanism;
mod table;
mod workload;

pub use bench::{Bench, Measured};
pub use closed_loop::{Load, LoadOrder, Outcome, ProcessorSeconds, run};
pub use figures::{Figure, Relation, figures};
pub use table::{Agreement, Reproduction, Row, reproduce};
pub use workload::{PaperPattern, PaperWorkload};
