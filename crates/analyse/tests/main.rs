//! Tests the crate as its users see it, in one program, which links once.

mod built;
mod calibrate;
mod coverage;
mod judgement;
mod odd_records;
mod recovery;
mod steadiness;
