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
    let line = "-b4K -rs50 -X<profile> -a0,1 -Sr -w101 -Z -z -ys -q sim:";
    let named = refusals(translate(&words(line)));
    let expected = ["-rs50", "-X<profile>", "-a0,1", "-Sr", "-w101", "-Z", "-z", "-ys", "-q"];
    assert_eq!(named.len(), expected.len(), "{named:?}");
    for (refusal, option) in named.iter().zip(expected) {
        assert!(refusal.starts_with(&format!("{option}: ")), "{refusal}");
    }
    assert!(refusals(translate(&words("-b4K -r8K sim:")))[0].contains("multiples of their size"));
    assert!(refusals(translate(&words("-b4K")))[0].contains("name a target"));
}

#[test]
fn a_size_beyond_all_sizes_is_passed_on_and_not_rounded() {
    let said = runs(translate(&words("-b4K -d10 -w30 -c18446744073709551615 F")));
    assert!(said[0].contains("--size 18446744073709551615"), "{said:?}");
}
