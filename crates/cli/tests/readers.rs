//! Measures files that the user may read and not write.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use halfpower_os::DataFile;
use serde_json::Value;

use crate::program::{as_user, for_other_users, is_root, skip};

const BYTES: u64 = 16 << 20;
/// A user who owns nothing here.
const NOBODY: u32 = 65_534;

#[test]
fn what_the_page_cache_holds_of_another_users_file_is_not_told_and_a_warm_one_is_read() {
    if !is_root() {
        return skip("only root has files that another user may read and not write");
    }
    let (copy, program) = for_other_users();
    let path = copy.path().join("data");
    fs::write(&path, vec![7; BYTES as usize]).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    let file = DataFile::open(&path, false).unwrap();
    // The kernel leaves what it looks at itself at this moment.
    let is_dropped = |_: u32| {
        file.drop_cached(0..BYTES).unwrap();
        file.cached_bytes(0..BYTES).ok() == Some(0)
    };
    if !(0..20).any(is_dropped) {
        return skip("the temporary folder is in memory");
    }
    let target = path.to_str().unwrap();
    let words = ["run", target, "--rw", "read", "--cache", "both", "--bs", "4KiB", "--io-size", "64KiB", "--json"];
    let of_run = |more: &[&str]| -> Value {
        let output = as_user(&program, NOBODY, &[&words[..], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    assert_eq!(of_run(&[])["cached_bytes"], Value::Null);
    assert!(file.cached_bytes(0..BYTES).unwrap() < BYTES, "only a part was read");
    // Others on the machine may take memory from it meanwhile.
    let is_read_before = |_: u32| {
        assert_eq!(of_run(&["--page-cache", "warm"])["cached_bytes"], Value::Null);
        file.cached_bytes(0..BYTES).unwrap() == BYTES
    };
    assert!((0..20).any(is_read_before), "all was read before the run");
}
