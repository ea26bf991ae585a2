//! Runs once on a share of Samba and one of NFS-Ganesha, without judging rates.

use crate::{documents, lab_beside};

#[test]
#[ignore = "gate: two servers of its own"]
fn runs_of_each_share_end_well_and_their_bytes_and_records_are_right() {
    let run = "$HP run $share --size 16MiB --rw $rw --bs 64k --iodepth 4 --runtime 500ms";
    let script = format!(
        "for share in $SMB $NFS; do for rw in read write; do {run} --json; echo \"code $?\"; {run} --verify; done; done; ls -A ../data"
    );
    let Some(text) = lab_beside(&script) else { return };
    let runs = documents(&text);
    assert!(runs.len() == 4 && text.matches("code 0").count() == 4, "{text}");
    for (run, engine) in runs.iter().zip(["smb", "smb", "nfs", "nfs"]) {
        let figure = |name: &str| run[name].as_u64().unwrap_or_else(|| panic!("{name}: {run}"));
        assert!(run["engine"] == engine && figure("errors") == 0 && figure("short_transfers") == 0, "{run}");
        assert!(figure("ios") > 0 && figure("bytes") == figure("ios") * figure("bs_bytes"), "{run}");
        assert!(run["latency_ns"]["p50"].as_u64() > Some(0), "{run}");
    }
    assert_eq!(text.matches("no data were wrong").count(), 4, "{text}");
    assert!(!text.contains(".halfpower-"), "nothing is left: {text}");
}
