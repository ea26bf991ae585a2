//! Runs on a real target, in real time.
//!
//! A target is a folder, a file, a device or several of these. `member` opens each and refuses what must not be done
//! with it, `layout` lays out our own files, `page_cache` empties or fills the cache before a run, `lanes` opens
//! engines, `verification` keeps track of what was written, and `target` puts these together. `share_target` does the
//! same for a share on a file server.

mod account;
mod admits;
mod apply_options;
mod client_ceiling;
mod commands;
mod file_lanes;
mod host_part;
mod instruments;
mod lanes;
mod layers;
mod layout;
mod ledgers;
mod member;
mod members;
mod memory_budget;
mod memory_lanes;
mod options;
mod page_cache;
mod request_flags;
mod run_volume;
mod scratch_file;
mod share_account;
mod share_target;
mod target;
mod verification;
mod write_cache;

pub use host_part::HostPart;
pub use member::open_existing;
pub use options::{RealTargetOptions, USUAL_LAYOUT, USUAL_SILENCE};
pub use share_target::{ShareTarget, probe_share};
pub use target::RealTarget;
pub use write_cache::WriteCache;
