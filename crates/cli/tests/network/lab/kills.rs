//! Kills studies of shares at random moments, and checks for lost records and for files that stay on the server.

use std::collections::BTreeMap;

use halfpower_lab::Campaign;

use crate::lab_beside;

/// Kills of each share; `HALFPOWER_SHARE_KILLS` sets another number.
const KILLS: u32 = 40;

#[test]
#[ignore = "lab: kills whole studies"]
fn studies_of_shares_that_are_killed_lose_no_record_and_leave_no_file() {
    let kills = std::env::var("HALFPOWER_SHARE_KILLS").map_or(KILLS, |text| text.parse().expect("a number"));
    let study = "$HP study $share --size 16MiB --budget 60s --bs 4k,64k --iodepth 1,8 --output $kind.study";
    let script = format!(
        "each() {{ for kind in smb nfs; do share=$SMB; [ $kind = nfs ] && share=$NFS; $1; done; }}\n\
         killed() {{ {study} >/dev/null 2>>said & sleep $((RANDOM % 3)).$(printf %03d $((RANDOM % 1000)))\n\
         kill -0 $! && echo \"at work $kind\"; kill -9 $!; wait $!\n\
         [ -e $kind.study ] && echo \"rows $kind $($HP export $kind.study --format csv | wc -l)\"; }}\n\
         for kill in $(seq {kills}); do each killed; done\n\
         last() {{ $HP run $share --size 16MiB --runtime 100ms >/dev/null; echo \"code $?\"; }}\n\
         each last; ls -A ../data; grep -c panicked said; echo end"
    );
    let Some(text) = lab_beside(&script) else { return };
    let mut rows: BTreeMap<&str, u64> = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("rows ")) {
        let (kind, count) = line.split_once(' ').unwrap_or_else(|| panic!("{line}"));
        let before = rows.insert(kind, count.trim().parse().unwrap_or_else(|_| panic!("{line}: {text}")));
        assert!(before <= rows.get(kind).copied(), "a record is lost: {text}");
    }
    let at_work = text.matches("at work").count();
    println!("killed at work: {at_work} of {}; rows at the end: {rows:?}", 2 * kills);
    let at_work_on = |kind: &str| text.matches(&format!("at work {kind}")).count() as u64;
    let on_each = [("SMB", at_work_on("smb")), ("NFS", at_work_on("nfs"))];
    assert!(at_work > kills as usize && rows.values().all(|rows| *rows > 2), "{text}");
    assert!(text.matches("code 0").count() == 2 && text.contains("\n0\nend"), "{text}");
    // A line of the list of files; the next command names what it removed within a sentence.
    let stays = text.lines().any(|line| line.starts_with(".halfpower-"));
    assert!(!stays, "the next one removes what the killed ones left: {text}");
    for (share, tried) in on_each {
        Campaign { tried, survived: tried, ..Campaign::new(format!("kills: {share} study")) }.judge("kills");
    }
}
