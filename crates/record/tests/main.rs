//! Tests the crate as its users see it, in one program, which links once.

mod crash;
mod damage;
mod export;
mod fio;
mod power_loss;
mod sample;
mod sqlio;
mod study_file;
