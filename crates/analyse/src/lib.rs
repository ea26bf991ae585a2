//! What do the records say? Records in, findings out; pure, so that the same records always say the same.

mod findings;

pub use findings::{
    Advice, Bottleneck, Bound, CellFinding, Cost, Curve, Findings, Interval, LatencySummary, LevelFinding, Limits,
};
