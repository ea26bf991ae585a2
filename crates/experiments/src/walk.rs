//! Holds what the two walks of block size and depth have in common: their runs are planned one by one and their figures
//! are the study's own, so that neither has a plan or rows here.

use serde::Serialize;

/// No rows: the cells of a walk are the findings' own.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct NoRows {}
