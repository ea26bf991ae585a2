//! Causes faults on shares of Samba and NFS-Ganesha, and checks what a user sees of them.

use super::holds_password;
use crate::{lab_beside, rates};

#[test]
#[ignore = "lab: a server of its own"]
fn a_link_that_is_down_for_five_seconds_costs_these_and_nothing_else() {
    let run = "$HP run $share --size 64MiB --rw read --bs 64k --runtime 8s";
    let script = format!("for share in $SMB $NFS; do (sleep 3; link down; sleep 5; link up) & {run}; wait; done");
    let Some(text) = lab_beside(&script.replace("; wait", "; sleep 3")) else { return };
    assert_eq!((rates(&text).len(), text.matches("errors      none").count()), (2, 2), "{text}");
}

#[test]
#[ignore = "lab: a server of its own"]
fn a_server_that_is_killed_ends_a_study_that_goes_on_when_it_is_back() {
    let script = "study() { $HP study $1 --size 64MiB --budget 8s --bs 64k,1MiB --iodepth 1,8 --output $2; echo \"code $?\"; }\n\
                  for kind in smb nfs; do share=$SMB; [ $kind = nfs ] && share=$NFS\n\
                  (sleep 4; server stop) & study $share $kind.study; sleep 1; server start; study $share $kind.study; done\n\
                  grep -c lab-secret *.study *.html; ls -A ../data; echo end";
    let Some(text) = lab_beside(script) else { return };
    let codes: Vec<&str> = text.lines().filter(|line| line.starts_with("code ")).collect();
    assert_eq!(codes, ["code 2", "code 0", "code 2", "code 0"], "{text}");
    // Killed during a run, or while it connects.
    let said =
        ["the connection to the server was lost", "takes no connection"].map(|words| text.matches(words).count());
    assert_eq!(said.iter().sum::<usize>(), 2, "{text}");
    let are_counted = text.contains("smb.study:0") && text.contains("nfs.study:0");
    assert!(are_counted && !holds_password(&text), "no file holds the password: {text}");
}

#[test]
#[ignore = "lab: a server of its own"]
fn what_a_server_refuses_is_said_in_a_sentence() {
    let script = "HALFPOWER_SMB_PASSWORD=wrong $HP run $SMB; echo \"code $?\"\n\
                  for share in smb://root@10.77.1.2/nowhere $SMB/nowhere smb://root@10.77.1.2/closed nfs://10.77.1.2/nowhere; do\n\
                  $HP run $share; echo \"code $?\"; done\n\
                  $HP run $FULL --size 200MiB; echo \"code $?\"; server stop; $HP run $SMB; echo \"code $?\"";
    let Some(text) = lab_beside(script) else { return };
    for words in [
        "does not let the user root in",
        "has no share nowhere",
        "no such folder",
        "/closed: the user root has no rights",
        "does not give /nowhere",
        "--size 200MiB is more",
        "takes no connection",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(text.matches("code 2").count(), 7, "{text}");
}

#[test]
#[ignore = "lab: a server of its own"]
fn encrypted_shares_are_verified_and_a_kill_leaves_no_file_on_smb() {
    let script = "$HP run smb://root@10.77.1.2/signed --size 64MiB --rw write --verify --bs 64k --runtime 1s\n\
                  $HP run $SMB --size 64MiB --runtime 60s & sleep 4; ls -A ../data; kill -9 $!; sleep 1; ls -A ../data; echo end";
    let Some(text) = lab_beside(script) else { return };
    assert!(text.contains("no data were wrong") && text.contains("errors      none"), "{text}");
    assert_eq!(text.matches(".halfpower-").count(), 1, "gone with the kill: {text}");
}

#[test]
#[ignore = "lab: a server of its own"]
fn a_share_that_fills_up_keeps_what_is_laid_out_and_takes_no_more() {
    // The server frees a deleted file's space only on close, a little after the run ends.
    let script = "dd if=/dev/zero of=../full/theirs bs=1M count=60 status=none\n\
                  (sleep 2; dd if=/dev/zero of=../full/more bs=1M count=60 status=none) & \n\
                  $HP run $FULL --size 30MiB --rw write --bs 64k --runtime 4s; echo \"code $?\"\n\
                  for part in 1 2 3 4; do dd if=/dev/zero of=../full/rest$part bs=1M count=60 status=none; sleep 0.5; done\n\
                  $HP run $FULL --size 30MiB --rw read --bs 64k --runtime 1s; echo \"code $?\"";
    let Some(text) = lab_beside(script) else { return };
    assert!(text.contains("code 0") && text.contains("errors      none"), "what is laid out stays: {text}");
    assert!(text.contains("code 2") && text.matches("halfpower: smb://10.77.1.2/full").count() == 1, "{text}");
}

#[test]
#[ignore = "lab: a server of its own"]
fn reads_beyond_the_end_of_a_file_that_another_cuts_are_errors_and_never_wrong_data() {
    let script = "for share in $SMB $NFS; do\n\
                  (sleep 3; for file in ../data/.halfpower-*; do truncate -s 16M $file; done) & \n\
                  $HP run $share --size 64MiB --rw randread --bs 64k --iodepth 4 --runtime 4s; echo \"code $?\"; sleep 1; done";
    let Some(text) = lab_beside(script) else { return };
    let tells_the_end = |line: &&str| line.trim_start().starts_with("errors ") && line.contains("(EOF ");
    assert_eq!((rates(&text).len(), text.lines().filter(tells_the_end).count()), (2, 2), "{text}");
    assert_eq!(text.matches("code 1").count(), 2, "{text}");
}

#[test]
#[ignore = "lab: a server of its own"]
fn rights_that_are_lost_are_said_when_the_next_connection_is_made() {
    let script = "chmod 700 ../data; $HP run smb://guest@10.77.1.2/data --size 16MiB; echo \"code $?\"\n\
                  chmod 555 ../data; chown 1:1 ../data; setpriv --reuid 2 --clear-groups $HP run $NFS --size 16MiB; echo \"code $?\"";
    let Some(text) = lab_beside(script) else { return };
    assert_eq!(text.matches("code 2").count(), 2, "{text}");
    assert!(text.contains("does not let the user guest in") && text.contains("permission denied"), "{text}");
}

#[test]
#[ignore = "lab: a server of its own"]
fn a_server_that_requires_signatures_gets_them() {
    let script = "server stop; server start 'server signing=mandatory'\n\
                  $HP run $SMB --size 64MiB --rw write --verify --bs 64k --iodepth 4 --runtime 1s; $HP probe $SMB";
    let Some(text) = lab_beside(script) else { return };
    assert!(text.contains("no data were wrong") && text.contains("errors      none"), "{text}");
    assert!(text.contains("messages are signed"), "{text}");
}

#[test]
#[ignore = "lab: a server of its own"]
fn what_was_written_is_what_smbclient_reads() {
    // Nobody else can open our file during the run; a second name keeps it after the first is removed.
    let script = "(sleep 3; ln ../data/.halfpower-* ../data/kept) & \n\
                  $HP run $SMB --size 16MiB --rw write --bs 64k --runtime 5s; sleep 1\n\
                  PASSWD=lab-secret smbclient //10.77.1.2/data -U root -c 'get kept copy'; cmp copy ../data/kept && echo same\n\
                  python3 -c 'import zlib; d = open(\"copy\", \"rb\").read(); print(\"bytes\", len(d)); \
                  print(\"packed\", len(zlib.compress(d, 1)) * 100 // len(d)); \
                  print(\"blocks\", len({d[i:i + 4096] for i in range(0, len(d), 4096)}))'";
    let Some(text) = lab_beside(script) else { return };
    let figure = |word: &str| -> u64 {
        let line = text.lines().find_map(|line| line.strip_prefix(word)).unwrap_or_else(|| panic!("{word}: {text}"));
        line.trim().parse().unwrap()
    };
    assert!(text.contains("\nsame\n") && figure("bytes") == 16 << 20, "{text}");
    assert!(figure("packed") >= 99, "it does not compress: {text}");
    assert_eq!(figure("blocks"), (16 << 20) / 4096, "no block comes twice: {text}");
}

#[test]
#[ignore = "lab: a server of its own"]
fn a_study_with_connections_says_so_in_each_run() {
    let script = "$HP study $SMB --size 64MiB --budget 6s --bs 64k --iodepth 8 --connections 4 --output s.study >/dev/null; echo \"code $?\"\n\
                  $HP export s.study --format json | grep -o '\"connections\": *[0-9]*' | sort | uniq -c";
    let Some(text) = lab_beside(script) else { return };
    assert!(text.contains("code 0") && text.contains("\"connections\":4"), "{text}");
}
