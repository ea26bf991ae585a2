//! Measures a share of Samba in three ways: on the server bypassing the share, on the server through it, and over the
//! wire.

use crate::lab_alone;

#[test]
#[ignore = "lab: a server, a wire and a disk of its own"]
fn a_witness_measures_its_own_ends_ways_and_the_wire_is_the_slowest() {
    // The disk is faster than the wire, which the server's own ways do not use.
    let script = "disk 2000000000; wire 100mbit\n\
                  WITNESS=\"$WITNESS --local /mnt/slow --share smb://root@127.0.0.1/slow\"\n\
                  for way in local same-machine wire; do \
                  $HP run $SLOW_SMB --size 64MiB --rw read --bs 1MiB --iodepth 8 --runtime 2s --way $way --far-end \"$WITNESS\"; done\n\
                  $HP study $SLOW_SMB --size 64MiB --budget 100s --experiments network --far-end \"$WITNESS\" --output s.study >/dev/null; \
                  echo \"code $?\"; $HP report s.study --json; ls -A /mnt/slow; grep -c lab-secret s.study *.html";
    let Some(text) = lab_alone(script) else { return };
    let rates = crate::rates(&text);
    assert_eq!(rates.len(), 3, "{text}");
    let wire = 12.5 * super::PAYLOAD;
    assert!(
        rates[2] <= wire * (1.0 + super::WITHIN) && rates[2] < rates[1] && rates[2] < rates[0],
        "{rates:?}: {text}"
    );
    assert!(rates[0] > 2.0 * wire && rates[1] > 2.0 * wire, "these do not go over the wire: {rates:?}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("code 0") && words.contains("MB/s locally at the server, "), "{text}");
    assert!(words.contains("MB/s through the share on the same machine, "), "{text}");
    assert!(!words.contains("is not measured: --far-end"), "{text}");
    assert!(text.contains("s.study:0") && !super::holds_password(&text), "no file holds the password: {text}");
    assert!(!text.contains(".halfpower-"), "nothing is left: {text}");
}
