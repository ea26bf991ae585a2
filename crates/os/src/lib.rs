//! Wraps the operating system in safe types; this is the only crate with `unsafe` code.
//!
//! Arguments are plain values (paths, sizes, slots); results are owned handles and plain values. Anything the system
//! refuses is an [`OsError`], which prints as one sentence.

pub mod address_space;
pub mod aio;
mod alignment;
mod buffer_memory;
pub mod buffers;
pub mod cache_switch;
pub mod clock;
pub mod content_mark;
pub mod data_file;
pub mod descriptor;
mod device;
pub mod device_mapper;
mod device_part;
mod error;
pub mod extents;
mod file_folder;
pub mod filesystem;
pub mod generic_device;
mod held_command;
mod held_setting;
pub mod hidden_line;
pub mod in_use;
pub mod interrupt;
pub mod io_priority;
pub mod keys;
pub mod locked_memory;
pub mod lone_reads;
pub mod loops;
pub mod mapping;
pub mod member_mark;
pub mod mounts;
pub mod network_card;
pub mod nvme;
mod nvme_namespace;
pub mod open_files;
mod overlay;
pub mod page_arena;
pub mod page_cache;
mod payload;
pub mod polling;
mod processes;
pub mod processor;
mod request_flags;
pub mod ring;
mod run_file;
pub mod sandbox;
pub mod scsi_query;
mod setting;
mod shared_file;
pub mod standard_output;
pub mod switched;
pub mod tasks;
pub mod tcp;
mod terminal_settings;
pub mod trace;
mod transfer;
mod writers;

pub use aio::Aio;
pub use alignment::Alignment;
pub use buffer_memory::BufferMemory;
pub use buffers::Buffers;
pub use clock::Clock;
pub use data_file::{DataFile, Kind};
pub use device::DeviceNumber;
pub use error::OsError;
pub use file_folder::{FileFolder, file_names, has_room_for_files, sweep_files};
pub use held_command::{HeldCommand, ask_to_end, has_ended};
pub use held_setting::HeldSetting;
pub use loops::{Arena, Streams, Vectors};
pub use mapping::Mapping;
pub use nvme_namespace::Namespace;
pub use payload::{Payload, PayloadData};
pub use request_flags::AtomicSizes;
pub use ring::{Ring, RingForm, available as io_uring_available};
pub use run_file::{DurableBy, FlushCall, Mode, ReadOrder, RunFile};
pub use setting::{Setting, may_change};
pub use shared_file::{SharedFile, sweep_shared};
pub use transfer::{Action, NVME_STATUS, Reaped, Transfer, file_of_slot};

/// Restores settings that killed processes of ours left changed; returns one sentence for each.
pub fn mend_switched() -> Vec<String> {
    switched::mend(trace::remove_instance)
}

/// Whether something becomes so within a minute of looking: what another test starts has the open files of this process
/// too, until it runs its own program.
#[cfg(test)]
pub(crate) fn in_time(mut is_so: impl FnMut() -> bool) -> bool {
    (0..6_000).any(|look| {
        if look > 0 {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        is_so()
    })
}

/// Reports what is left out and why; fails if `HALFPOWER_NO_SKIP` is set.
#[cfg(test)]
pub(crate) fn skip(what: &str) {
    assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "may not be skipped: {what}");
    eprintln!("skipped: {what}");
}
