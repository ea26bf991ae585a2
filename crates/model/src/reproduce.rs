//! Do the simulated machines give the figures that were measured on the real ones? Figures in, a table out.

mod closed_loop;

pub use closed_loop::{Load, Order, Outcome, run};
