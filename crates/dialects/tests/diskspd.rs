//! Tests diskspd's lines.

use super::{refusals, runs, words};
use halfpower_dialects::diskspd::translate;

#[test]
fn a_line_and_the_defaults() {
    assert_eq!(
        runs(translate(&words("-b4K -d10 -o32 -t2 -r -w30 -L -Sh sim:"))),
        ["sim: --runtime 10s --iodepth 32 --threads 2 --cache none --rw randrw --rwmixread 70 --seed 0 --bs 4KiB \
          --ramp-time 5s"]
    );
    assert_eq!(
        runs(translate(&words("-W0 sim:"))),
        ["sim: --rw read --iodepth 2 --runtime 10s --cache both --seed 0 --bs 64KiB"]
    );
}

#[test]
fn caching_letters_come_in_any_order() {
    let cache = |letters: &str| {
        let run = runs(translate(&words(&format!("-W0 {letters} sim:")))).remove(0);
        run.split("--cache ").nth(1).unwrap().split(' ').next().unwrap().to_string()
    };
    for (letters, expected) in [
        ("-S", "device"),
        ("-Su", "device"),
        ("-Sh", "none"),
        ("-h", "none"),
        ("-Suw", "none"),
        ("-Swu", "none"),
        ("-Sw", "os"),
        ("-Sb", "both"),
    ] {
        assert_eq!(cache(letters), expected, "{letters}");
    }
}

#[test]
fn what_is_not_taken_is_named() {
    let line = "-b4K -rs101 -X -ag1,0 -Sr -w101 -Z1M, -zx -ys -q sim:";
    let named = refusals(translate(&words(line)));
    let expected = ["-rs101", "-X", "-ag1,0", "-Sr", "-w101", "-Z1M,", "-zx", "-ys", "-q"];
    assert_eq!(named.len(), expected.len(), "{named:?}");
    for (refusal, option) in named.iter().zip(expected) {
        assert!(refusal.starts_with(&format!("{option}: ")), "{refusal}");
    }
    assert!(refusals(translate(&words("-b4K -s6K sim:")))[0].contains("multiples of their size"));
    assert!(refusals(translate(&words("-b4K")))[0].contains("name a target"));
}

#[test]
fn a_profile_becomes_the_line_that_asks_the_same() {
    let with_profile = runs(translate(&words("-Xtests/data/diskspd-profile.xml sim:"))).remove(0);
    let as_line = "-b8192 -o16 -t2 -w30 -r4096 -Suw -d30 -W5 -C2 -z0 -L -D250 -I2 -a0,1 sim:";
    let line = runs(translate(&words(as_line))).remove(0);
    let sorted = |run: &str| {
        let mut flags: Vec<String> = run.split(" --").map(str::to_string).collect();
        flags.sort();
        flags
    };
    assert_eq!(sorted(&with_profile), sorted(&line));
    assert!(runs(translate(&words("-Xtests/data/diskspd-profile.xml -z7 sim:")))[0].contains("--seed 7"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.xml");
    let refused = |targets: &str, beside: &str| {
        let text =
            format!("<Profile><TimeSpans><TimeSpan><Targets>{targets}</Targets></TimeSpan></TimeSpans></Profile>");
        std::fs::write(&path, text).unwrap();
        refusals(translate(&words(&format!("-X{} {beside}", path.display())))).remove(0)
    };
    let one = "<Target><Path>sim:</Path><BlockSize>4096</BlockSize></Target>";
    for (targets, beside, why) in [
        ("", "", "names no target"),
        (one, "-b4K", "leave it out"),
        (one, "sim:", "names its targets itself"),
        (one.replace("sim:", "*2").as_str(), "sim:", "target *2"),
        (one.replace("BlockSize", "Distribution").as_str(), "", "<Distribution>"),
        (format!("{one}{}", one.replace("4096", "8192")).as_str(), "", "different options"),
        (one.replace("<BlockSize>4096</BlockSize>", "<DisableLocalCache>true</DisableLocalCache>").as_str(), "", "-Sr"),
        ("<Target>", "", "is no XML profile"),
    ] {
        let said = refused(targets, beside);
        assert!(said.contains(why), "{why}: {said}");
    }
    assert!(refusals(translate(&words("-Xno-such.xml")))[0].contains("cannot be read"));
}

#[test]
fn zones_bursts_priorities_and_mapped_memory_are_diskspd_s() {
    let run = |options: &str| runs(translate(&words(&format!("-W0 {options} sim:")))).remove(0);
    let zones = run("-rdpct90/10:0/10:5/20");
    assert!(
        zones.contains("--rw randread") && zones.contains("--random-distribution zoned:90/10:0/10:5/20:5/60"),
        "{zones}"
    );
    let sizes = run("-rdabs90/10G:0/10G:5/20G");
    assert!(sizes.contains("zoned_abs:90/10GiB:0/10GiB:5/20GiB:5/"), "{sizes}");
    let bursts = run("-i100 -j10");
    assert!(bursts.contains("--thinktime 10ms --thinktime-blocks 100 --thinktime-from issued"), "{bursts}");
    assert!(run("-b64K -r4K").contains("--blockalign 4KiB") && !run("-b4K -r4K").contains("--blockalign"));
    assert!(run("-p -o4").contains("--same-blocks") && !run("-p -r").contains("--same-blocks"));
    assert!(run("-I1").contains("--io-priority idle") && run("-I2").contains("--io-priority best-effort:7"));
    assert!(!run("-I3").contains("--io-priority"));
    let mapped = run("-Sm -Nv -w100");
    assert!(mapped.contains("--cache both --engine mmap") || mapped.contains("--engine mmap"), "{mapped}");
    assert!(mapped.contains("--fdatasync 1 --flush-by sync_file_range"), "{mapped}");
    assert!(!run("-Sm -Nv").contains("--fdatasync"), "nothing is written");
    for (line, why) in [
        ("-p -si", "-si"),
        ("-p -sb", "-sb"),
        ("-rs30 -r4K", "-rs alone"),
        ("-i100", "-j"),
        ("-j10", "-i"),
        ("-i10 -j10 -g80", "-g"),
        ("-Nv", "-Sm"),
        ("-Smu", "page cache"),
        ("-rdpct90/60:10/60", "100%"),
        ("-rd90/10", "-rdpct"),
        ("-rdpct90/100", "100%"),
    ] {
        let named = refusals(translate(&words(&format!("{line} sim:"))));
        assert!(named[0].contains(why), "{line}: {named:?}");
    }
}

#[test]
fn sequential_requests_may_leave_blocks_out() {
    assert!(runs(translate(&words("-b4K -s64K sim:")))[0].contains("--stride 64KiB"));
    for plain in ["-b4K -s sim:", "-b4K -s4K sim:", "-b4K -r -s64K sim:"] {
        assert!(!runs(translate(&words(plain)))[0].contains("--stride"), "{plain}");
    }
}

#[test]
fn sequential_requests_may_go_backwards() {
    assert!(runs(translate(&words("-b64K -sb sim:")))[0].contains("--backwards"));
    let apart = runs(translate(&words("-b64K -sb128K sim:"))).remove(0);
    assert!(apart.contains("--backwards") && apart.contains("--stride 128KiB"), "{apart}");
    assert!(!runs(translate(&words("-b64K -sb64K sim:")))[0].contains("--stride"), "that is one block after the other");
    assert!(!runs(translate(&words("-b64K -r -sb64K sim:")))[0].contains("--backwards"));
}

#[test]
fn what_is_written_may_come_from_a_file() {
    let written = runs(translate(&words("-w100 -Z1M,data.bin sim:"))).remove(0);
    assert!(written.contains("--payload data.bin --payload-size 1MiB"), "{written}");
    assert!(!runs(translate(&words("-Z1M,data.bin sim:")))[0].contains("--payload"), "nothing is written");
    let large = translate(&words("-w100 -Z1G,data.bin sim:")).unwrap();
    assert!(large.notes().iter().any(|note| note.starts_with("-Z: the first 16MiB")), "{:?}", large.notes());
    assert!(refusals(translate(&words("-w100 -Z1X,data.bin sim:")))[0].contains("no unit"));
}

#[test]
fn a_size_beyond_all_sizes_is_passed_on_and_not_rounded() {
    let said = runs(translate(&words("-b4K -d10 -w30 -c18446744073709551615 F")));
    assert!(said[0].contains("--size 18446744073709551615"), "{said:?}");
}

#[test]
fn a_base_is_within_what_f_and_c_give() {
    let part = |options: &str| {
        let run = runs(translate(&words(&format!("-W0 {options} sim:")))).remove(0);
        run.split_once(" --size ").map_or(String::new(), |(_, part)| part.to_string())
    };
    assert_eq!(part("-B4M -f8M"), "8MiB --region 4MiB+4MiB");
    assert_eq!(part("-f8M -B4M"), "8MiB --region 4MiB+4MiB", "in either order");
    assert_eq!(part("-B4M:4M"), "8MiB --region 4MiB+4MiB", "-Bbase:length is -Bbase -f(base+length)");
    assert_eq!(part("-B1G -c4G"), "4GiB --region 1GiB+3GiB");
    assert_eq!(part("-c2G -f1G"), "1GiB", "the rest of the file is not used");
    assert_eq!(part("-f1G -c2G"), "1GiB");
    assert_eq!((part("-B0 -f8M").as_str(), part("-B0").as_str()), ("8MiB", ""));
    for none in ["-B8M -f8M", "-B8M -c4M"] {
        assert!(refusals(translate(&words(&format!("{none} sim:"))))[0].contains("nothing is left"), "{none}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.xml");
    let target =
        "<Target><Path>sim:</Path><BaseFileOffset>4194304</BaseFileOffset><MaxFileSize>8388608</MaxFileSize></Target>";
    let profile = format!("<Profile><TimeSpans><TimeSpan><Targets>{target}</Targets></TimeSpan></TimeSpans></Profile>");
    std::fs::write(&path, profile).unwrap();
    let of_profile = runs(translate(&words(&format!("-X{}", path.display())))).remove(0);
    assert!(of_profile.contains("--size 8MiB --region 4MiB+4MiB"), "{of_profile}");
}

#[test]
fn sizes_in_blocks_are_of_the_line_s_block_size_wherever_it_stands() {
    let [after, before] = ["-f10b -B2b -b8K sim:", "-b8K -B2b -f10b sim:"].map(|line| runs(translate(&words(line))));
    assert_eq!(after, before);
    assert!(after[0].ends_with("--size 80KiB --region 16KiB+64KiB"), "{after:?}");
}

#[test]
fn order_processors_and_payload_are_diskspd_s() {
    let run = |options: &str| runs(translate(&words(&format!("-W0 {options} sim:")))).remove(0);
    assert!(run("-rs30").contains("--jump 30%") && run("-rs30").contains("--rw randread"));
    assert!(!run("-rs100").contains("--jump") && run("-rs0").contains("--rw read "));
    assert!(run("-si -t4 -o8").contains("--threads 1 --iodepth 32"), "{}", run("-si -t4 -o8"));
    assert!(run("-a0,1 -t2").contains("--processors 0-1") && run("-ag0,0,1").contains("--processors 0-1"));
    assert!(run("-w100 -Z").contains("--compressible 100") && !run("-Z").contains("--compressible"));
    assert!(run("-z").contains("--seed ") && !run("-z").contains("--seed 0 "));
    assert!(run("-T1M -t2 -D500 -C5").contains("--threads 2"));
}

/// Lines of diskspd's documentation and of guides that run, in the kinds that they have.
const RUN: [&str; 32] = [
    "-c1G -b4K -t2 -d30 -a0,1 sim:",
    "-b8K -d60 -o4 -t8 -h -r -w25 -L -Z1G -c20G sim:",
    "-b64K -d120 -o32 -t4 -Sh -r -w0 -L -c50G sim:",
    "-b512K -d60 -o2 -t1 -Sh -w100 -si -c10G sim:",
    "-b4K -d120 -o32 -t4 -r4K -w0 -Sh -D -L -c5G sim:",
    "-d10 -W5 -C5 -c64M -b64K -s64K -Rxml sim:",
    "-c1G -d60 -w100 -t4 -o8 -b8K -r -Sh -W50 sim:",
    "-b4K -d60 -o128 -t8 -r -Suw -w0 -L sim:",
    "-t1 -o1 -b8K -s8K -Sh -w100 -g80 -c576000K sim:",
    "-t8 -o8 -rs70 -w25 -b64K -Sh sim:",
    "-F8 -b64K -o4 -r sim:",
    "-o8 -t4 -b64K -T1M -s sim:",
    "-l -b2M -t4 -o4 -Sh -c4G sim:",
    "-c2G -f1G -r -b4K sim:",
    "-B1G -c4G -b64K -r sim:",
    "-B1G:512M -b64K -r sim:",
    "-a -n -P -v -x -z -Z -w100 -b64K sim:",
    "-I3 -ag0,0,1 -b4K sim:",
    "-g500i -b4K -r -t2 sim:",
    "-b4K -w -fr -Sb -r sim:",
    "-b64K -s128K -Sh sim:",
    "-rdpct90/10:10/90 -b4K -w30 sim:",
    "-rdpct90/10:0/10:5/20 -b8K -Sh sim:",
    "-rdabs90/10G:0/10G:5/20G -r -b8K -Sh -c100G sim:",
    "-i100 -j10 -b4K -r -o8 sim:",
    "-Sm -Nv -w100 -b4K sim:",
    "-I1 -b4K -r -Sh sim:",
    "-p -o8 -b64K -Sh sim:",
    "-r4K -b64K -o8 -t2 -Sh sim:",
    "-Xtests/data/diskspd-profile.xml -Rxml -z7 sim:",
    "-sb64K sim:",
    "-Z1M,data.bin sim:",
];

/// Lines that are refused, and the reason.
const REFUSED: [(&str, &str); 3] =
    [("-ysReady sim:", "no events"), ("-Sm -Nn sim:", "without power"), ("-eRPROCESS sim:", "kernel events")];

#[test]
fn documented_lines_run_or_are_refused_for_their_reason() {
    for line in RUN {
        let translation = translate(&words(line));
        assert!(translation.as_ref().is_ok_and(|translation| translation.runs.len() == 1), "{line}: {translation:?}");
    }
    for (line, reason) in REFUSED {
        let named = refusals(translate(&words(line)));
        assert!(named[0].contains(reason), "{line}: {named:?}");
    }
}
