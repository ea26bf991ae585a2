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
    let line = "-b4K -rs101 -X<profile> -ag1,0 -Sr -w101 -Z1M,f -zx -ys -q sim:";
    let named = refusals(translate(&words(line)));
    let expected = ["-rs101", "-X<profile>", "-ag1,0", "-Sr", "-w101", "-Z1M,f", "-zx", "-ys", "-q"];
    assert_eq!(named.len(), expected.len(), "{named:?}");
    for (refusal, option) in named.iter().zip(expected) {
        assert!(refusal.starts_with(&format!("{option}: ")), "{refusal}");
    }
    assert!(refusals(translate(&words("-b4K -r8K sim:")))[0].contains("multiples of their size"));
    assert!(refusals(translate(&words("-b4K -s6K sim:")))[0].contains("multiples of their size"));
    assert!(refusals(translate(&words("-b4K")))[0].contains("name a target"));
}

#[test]
fn sequential_requests_may_leave_blocks_out() {
    assert!(runs(translate(&words("-b4K -s64K sim:")))[0].contains("--stride 64KiB"));
    for plain in ["-b4K -s sim:", "-b4K -s4K sim:", "-b4K -r -s64K sim:"] {
        assert!(!runs(translate(&words(plain)))[0].contains("--stride"), "{plain}");
    }
}

#[test]
fn a_size_beyond_all_sizes_is_passed_on_and_not_rounded() {
    let said = runs(translate(&words("-b4K -d10 -w30 -c18446744073709551615 F")));
    assert!(said[0].contains("--size 18446744073709551615"), "{said:?}");
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
