//! Do the simulated machines give the figures that were measured on the real ones? Figures in, a table out.

mod answers;
mod bench;
mod closed_loop;
mod figures;
mod mechanism;
mod table;
mod workload;

pub use bench::{Bench, Measured};
pub use closed_loop::{Load, Order, Outcome, ProcessorSeconds, run};
pub use figures::{Figure, Relation, figures};
pub use table::{Reproduction, Row, Verdict, reproduce};
pub use workload::{Pattern, Workload};
