//! Checks that an engine reports buffers that the kernel could not register.

use std::path::Path;

use halfpower_engine::{io_uring_available, open};
use halfpower_os::{DataFile, Mode};
use halfpower_spec::{Bytes, EngineName};

/// The kernel registers no more buffers than this.
const MOST_REGISTERED: u32 = 16_384;

#[test]
fn buffers_that_are_not_registered_are_told() {
    if let Err(why) = io_uring_available() {
        assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "may not be skipped: {why}");
        return eprintln!("skipped: {why}");
    }
    let data = DataFile::unnamed_in(Path::new(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    data.write_all_at(&[1; 4096], 0).unwrap();
    let reported = |name, depth| {
        let mode = Mode::default();
        open(Some(data.reopen(mode).unwrap()), name, depth, Bytes(512), 1).unwrap().buffers.unregistered
    };
    assert!(reported(EngineName::IoUring, MOST_REGISTERED + 1), "more than the kernel takes");
    assert!(!reported(EngineName::Plain, MOST_REGISTERED + 1), "it registers none by itself");
    assert!(!reported(EngineName::Sync, 1));
}
