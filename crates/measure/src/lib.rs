//! One run in, one record out.
//!
//! A [`Place`] is where runs happen: it prepares the target, opens engines on it and keeps the processors'
//! account, for real or in virtual time. The window drives the engines and accounts, knowing neither.

mod account;
mod admission;
mod anatomy;
mod aside;
mod conduct;
mod engines;
mod error;
mod fresh;
mod harness;
mod joined;
mod layout;
mod ledgers;
mod member;
mod memory;
mod noise;
mod offsets;
mod page_cache;
mod place;
mod real;
mod schedule;
mod seat;
mod simulated;
mod turned;
mod window;
mod write_cache;

pub use conduct::measure;
pub use error::MeasureError;
pub use place::{Account, Lane, Place, Prepared, Spent};
pub use real::{RealPlace, Wanted};
pub use simulated::SimulatedPlace;
pub use write_cache::WriteCache;
