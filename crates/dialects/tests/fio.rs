//! Tests fio's lines and job files.

use super::{refusals, runs, words};
use halfpower_dialects::Ends;
use halfpower_dialects::fio::{speaks, translate};
use std::path::PathBuf;

fn file(folder: &tempfile::TempDir, text: &str) -> PathBuf {
    let path = folder.path().join("job.fio");
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_line_and_fio_s_defaults() {
    let line = "--filename sim: --rw randrw --rwmixread 70 --bs 4k --iodepth 32 --numjobs 4 --direct 1 --ioengine libaio \
                --size 1G --runtime 5 --time_based --output-format json";
    assert_eq!(
        runs(translate(&words(line))),
        ["sim: --rw randrw --rwmixread 70 --bs 4KiB --iodepth 32 --threads 4 --direct 1 --runtime 5s --engine libaio \
          --random-distribution shuffled --size 1GiB"]
    );
    let translation = translate(&words("--filename=sim: --time_based=1 --runtime=5")).unwrap();
    assert!(translation.notes().iter().all(|note| note.contains("page cache")), "{:?}", translation.notes());
    assert_eq!(runs(Ok(translation)), ["sim: --runtime 5s --engine sync --rw read --bs 4k --iodepth 1 --direct 0"]);
}

#[test]
fn both_spellings_and_own_words_stand_side_by_side() {
    let lines = [
        "--filename=sim: --time-based --group-reporting --rate_iops=100 --thinktime=0 --soaker --timeout 9s",
        "--filename sim: --time_based --group_reporting --rate-iops 100 --thinktime 0 --soaker --timeout 9s",
    ];
    let [first, second] = lines.map(|line| runs(translate(&words(line))));
    assert_eq!(first, second);
    assert!(first[0].ends_with("--soaker --timeout 9s"), "{first:?}");
}

#[test]
fn only_what_fio_alone_has_makes_a_line_fio_s() {
    for ours in ["sim: --rw read --bs 4k --direct=1", "sim: --overwrite --timeout 3s --verify", "--help"] {
        assert!(!speaks(&words(ours)), "{ours}");
    }
    for theirs in
        ["--filename sim:", "sim: --time_based", "x.fio", "sim: --output-format=json", "sim: --bssplit=4k/50:8k/50"]
    {
        assert!(speaks(&words(theirs)), "{theirs}");
    }
}

#[test]
fn a_named_target_keeps_our_defaults() {
    assert_eq!(runs(translate(&words("sim: --norandommap --time_based"))), ["sim:"]);
    assert_eq!(runs(translate(&words("sim: --io_size=1m --time_based -d 5s"))), ["sim: -d 5s"]);
}

#[test]
fn a_job_file_has_globals_sections_comments_and_variables() {
    let folder = tempfile::tempdir().unwrap();
    let text = "; a comment\n[global]\nfilename=sim:\ntime_based\nruntime=1\nbs=8k ; inline\n\n[one]\nrw=randread\n# more\n\
                [global]\niodepth=${PATH_THAT_IS_NOT_SET}\n[two]\nstonewall\nrw = write\nbs=64k\n";
    let path = file(&folder, text);
    let line = words(path.to_str().unwrap());
    assert!(
        refusals(translate(&line))[0]
            .ends_with("job.fio, line 12: iodepth: the variable PATH_THAT_IS_NOT_SET is not set in the environment")
    );
    file(&folder, &text.replace("${PATH_THAT_IS_NOT_SET}", "4"));
    let translation = translate(&line).unwrap();
    assert_eq!(translation.runs.iter().map(|run| run.name.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    assert_eq!(
        runs(Ok(translation)),
        [
            "sim: --runtime 1s --bs 8KiB --rw randread --engine sync --iodepth 1 --direct 0 --random-distribution shuffled",
            "sim: --runtime 1s --iodepth 4 --rw write --bs 64KiB --engine sync --direct 0"
        ]
    );
    let only = words(&format!("{} --section=two", path.display()));
    assert_eq!(translate(&only).unwrap().runs.len(), 1);
}

#[test]
fn each_key_that_is_not_taken_is_named_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "[job]\nfilename=sim:\nbssplit=4k/50:8k/40\nrw=trimread\nbogus=1\nbs\nrandrepeat=2\n");
    let named = refusals(translate(&words(path.to_str().unwrap())));
    for (refusal, place) in named.iter().zip(["3: bssplit", "4: rw", "5: bogus", "6: bs", "7: randrepeat"]) {
        assert!(refusal.contains(&format!("job.fio, line {place}: ")), "{refusal}");
    }
    assert_eq!(named.len(), 5, "{named:?}");
}

#[test]
fn jobs_are_measured_at_once_unless_they_wait() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(
        &folder,
        "[global]\nioengine=null\nsize=1m\ngroup_reporting\n[a]\nrw=read\n[b]\nrw=write\nexitall\n[c]\nstonewall\n[d]\n\
         new_group\n",
    );
    let places = |line: &str| {
        let runs = translate(&words(line)).unwrap().runs;
        runs.iter().map(|run| (run.name.clone(), run.joins, run.group)).collect::<Vec<_>>()
    };
    let named = |name: &str, joins, group| (name.to_string(), joins, group);
    let line = path.to_str().unwrap();
    assert_eq!(places(line), [named("a", false, 0), named("b", true, 0), named("c", false, 1), named("d", true, 2)]);
    let runs = translate(&words(line)).unwrap().runs;
    assert!(runs.iter().all(|run| run.ends == Ends::Group && run.is_grouped), "exitall holds for the line, as in fio");
    assert!(places(&format!("--stonewall {line}")).iter().all(|(_, joins, _)| !joins));
    let two = "--ioengine=null --size=1m --name=a --name=b --exitall --exit_what=stonewall";
    assert_eq!(places(two), [named("a", false, 0), named("b", true, 0)]);
}

#[test]
fn one_simulated_target_is_not_measured_by_jobs_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "[global]\nfilename=sim:\n[a]\nrw=read\n[b]\nrw=write\n");
    let line = path.to_str().unwrap();
    assert!(refusals(translate(&words(line)))[0].contains("[b]: add stonewall to it"));
    assert_eq!(runs(translate(&words(&format!("--stonewall {line}")))).len(), 2);
}

#[test]
fn what_is_otherwise_is_said() {
    let notes = |line: &str| translate(&words(line)).unwrap().notes().join("\n");
    assert_eq!(notes("--filename sim: --runtime 5"), "", "it ends where fio's ends");
    assert!(notes("--filename sim: --runtime 5 --time_based").contains("may end before its time"));
    assert!(notes("--filename sim: --loops 2").contains("the run ends there"), "a second pass would be the cache's");
    assert!(notes("--filename sim: --rw read --numjobs 4 --time_based").contains("a part of its own"));
    assert!(notes("--filename sim: --time_based").contains("time_based: without runtime it has no effect"));
    let ramped = "--filename sim: --size 64m --ramp_time 2";
    assert!(notes(ramped).contains("what is moved in it counts too"), "{}", notes(ramped));
    let of_time = format!("{ramped} --time_based --runtime 5");
    assert!(!notes(&of_time).contains("ramp_time"), "no size ends it: {}", notes(&of_time));
    assert!(!notes(&format!("{ramped} --ramp_time 0")).contains("ramp_time"));
    assert!(refusals(translate(&words("--filename sim: --rw rw --rate 1m,")))[0].contains("write both"));
    assert!(notes("--filename sim: --rw rw --rate 1m").contains("50% of the requests are reads"));
}

#[test]
fn io_uring_is_the_form_that_fio_uses() {
    let engine = |more: &str| {
        let run =
            runs(translate(&words(&format!("--filename sim: --ioengine io_uring --time_based {more}")))).remove(0);
        run.split("--engine ").nth(1).unwrap().split(' ').next().unwrap().to_string()
    };
    for (more, expected) in [
        ("", "io_uring_plain"),
        ("--fixedbufs", "io_uring"),
        ("--hipri=1", "io_uring_iopoll"),
        ("--sqthread_poll 1", "io_uring_sqpoll"),
    ] {
        assert_eq!(engine(more), expected, "{more}");
    }
    assert!(refusals(translate(&words("--filename sim: --ioengine rbd")))[0].contains("no engine `rbd`"));
}

#[test]
fn commands_are_direct_and_what_they_lack_is_refused() {
    let line = |more: &str| {
        words(&format!("--filename sim: --ioengine io_uring_cmd --cmd_type nvme --time_based --runtime 1 {more}"))
    };
    let run = |more: &str| runs(translate(&line(more))).remove(0);
    let read = run("--rw randread");
    assert!(read.contains("--engine io_uring_cmd "), "{read}");
    assert!(read.contains("--direct 1"), "as in fio, whatever direct says: {read}");
    assert!(run("--rw randread --direct 0").contains("--direct 1"));
    assert!(run("--rw randread --hipri").contains("--engine io_uring_cmd_iopoll "));
    assert!(run("--rw write --writefua 1").contains("--sync dsync"));
    let refused = |more: &str| refusals(translate(&line(more))).join("\n");
    assert!(refused("--rw randread --cmd_type bsg").contains("no others"), "{}", refused("--cmd_type bsg"));
    assert!(refused("--rw randtrim").contains("trims are no commands"));
    assert!(refused("--rw write --sync dsync").contains("writefua=1"));
    assert!(refused("--rw randread --sqthread_poll 1").contains("sqthread_poll"));
}

/// What a line names is what is measured.
#[test]
fn a_section_that_names_a_file_or_device_is_its_target() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("target");
    std::fs::write(&target, vec![0; 1 << 20]).unwrap();
    let job = file(&folder, &format!("[{}]\nrw=read\ntime_based\nruntime=1\n", target.display()));
    let [run] = &runs(translate(&words(&job.display().to_string())))[..] else { panic!() };
    assert!(run.starts_with(&target.display().to_string()), "{run}");
    // A name that is no file is a name.
    let job = file(&folder, "[no-such-file]\nrw=read\ntime_based\nruntime=1\nfilename=sim:\n");
    assert!(runs(translate(&words(&job.display().to_string())))[0].starts_with("sim:"));
}

#[test]
fn a_directory_that_is_not_there_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("typo");
    let line = format!("--directory={} --name=job --time_based", missing.display());
    let refused = refusals(translate(&words(&line)));
    assert!(refused[0].contains("typo` is no directory"), "{refused:?}");
}

#[test]
fn what_a_global_job_of_a_line_says_holds_for_those_after_it() {
    let line = "--name=global --filename=sim: --rw=randwrite --bs=8k --time_based --runtime=1 --name=job1 --iodepth=4";
    assert_eq!(
        runs(translate(&words(line))),
        [
            "sim: --rw randwrite --bs 8KiB --runtime 1s --iodepth 4 --engine sync --direct 0 --random-distribution shuffled"
        ]
    );
}

#[test]
fn a_single_dash_is_as_good_as_two() {
    let [one, two] = [
        "-filename=sim: -direct=1 -rw=randread -bs=4k -time_based -runtime=2",
        "--filename=sim: --direct=1 \
        --rw=randread --bs=4k --time_based --runtime=2",
    ]
    .map(|line| runs(translate(&words(line))));
    assert_eq!(one, two);
    assert!(speaks(&words("-filename=sim: -bs=4k")));
    // halfpower's own short flags stay its own.
    assert!(!speaks(&words("sim: -b4k -o 32 -h")));
}

#[test]
fn sizes_are_fios() {
    let bs = |value: &str| runs(translate(&words(&format!("--filename=sim: --time_based --bs={value}")))).remove(0);
    assert!(bs("4KB").contains("--bs 4KiB"), "{}", bs("4KB"));
    assert!(bs("4kib").contains("--bs 4000"), "{}", bs("4kib"));
    assert!(refusals(translate(&words("--filename=sim: --kb_base=1000 --bs=4k")))[0].contains("kB as 1024 bytes"));
}

#[test]
fn every_means_of_making_writes_durable_is_taken() {
    let run = |options: &str| {
        runs(translate(&words(&format!("--filename=sim: --time_based --rw=write {options}")))).remove(0)
    };
    assert!(run("--fsync=1").contains("--flush-by fsync --fdatasync 1"), "{}", run("--fsync=1"));
    assert!(run("--fdatasync=4").contains("--fdatasync 4") && !run("--fdatasync=4").contains("flush-by"));
    let range = run("--sync_file_range=wait_before,write,wait_after:8");
    assert!(range.contains("--flush-by sync_file_range --fdatasync 8"), "{range}");
    assert!(refusals(translate(&words("--filename=sim: --sync_file_range=write:8")))[0].contains("waits until"));
    assert!(run("--sync=1").contains("--durable-by o_sync --sync dsync"), "{}", run("--sync=1"));
    assert!(run("--sync=dsync").contains("--sync dsync") && !run("--sync=dsync").contains("durable-by"));
}

#[test]
fn each_call_that_flushes_has_a_count_of_its_own() {
    let line = |options: &str| words(&format!("--filename=sim: --rw=write {options}"));
    let run = |options: &str| runs(translate(&line(options))).remove(0);
    for (options, flushes) in [
        ("--fdatasync=1 --fsync=0", "--fdatasync 1"),
        ("--fsync=0 --fdatasync=1", "--fdatasync 1"),
        ("--fsync=4 --fdatasync=0", "--flush-by fsync --fdatasync 4"),
        (
            "--sync_file_range=wait_before,write,wait_after:8 --fsync=2 --fsync=0",
            "--flush-by sync_file_range --fdatasync 8",
        ),
    ] {
        assert!(run(options).contains(flushes), "{options}: {}", run(options));
        let flags = |words: &str| words.matches("--flush-by").count();
        assert_eq!(flags(&run(options)), flags(flushes), "{options}: {}", run(options));
    }
    for none in ["--fsync=1 --fsync=0", "--fdatasync=0", "--sync_file_range=wait_before,write,wait_after:0"] {
        assert!(!run(none).contains("--fdatasync") && !run(none).contains("--flush-by"), "{none}: {}", run(none));
    }
    let two = refusals(translate(&line("--name=a --fsync=8 --fdatasync=1")));
    assert!(two[0].contains("[a]: fsync, fdatasync: a run flushes by one call"), "{two:?}");
    assert!(translate(&words("--filename=sim: --rw=read --fsync=8 --fdatasync=1")).is_ok(), "nothing is written");
    assert!(refusals(translate(&line("--sync_file_range=wait_before,write,wait_after")))[0].contains("whole number"));
}

#[test]
fn the_last_word_on_an_option_counts() {
    for (earlier, later, flags) in [
        ("--sync=1", "--sync=dsync", "--durable-by"),
        ("--sync=1", "--sync=0", "--durable-by"),
        ("--fadvise_hint=random", "--fadvise_hint=0", "--fadvise"),
        ("--fadvise_hint=random", "--fadvise_hint=1", "--fadvise"),
        ("--zero_buffers=1", "--zero_buffers=0", "--compressible"),
        ("--buffer_compress_percentage=40", "--buffer_compress_percentage=0", "--compressible"),
        ("--ramp_time=1", "--ramp_time=0", "--ramp-time"),
        ("--percentage_random=30", "--percentage_random=100", "--jump"),
        ("--atomic=1", "--atomic=0", "--atomic"),
    ] {
        let with = |options: &str| on_sim(&format!("--rw=randwrite {options}"));
        assert!(with(earlier).contains(flags), "{earlier}: {}", with(earlier));
        let both = with(&format!("{earlier} {later}"));
        assert_eq!(both, with(later), "{earlier} {later}");
        assert!(!both.contains(flags), "{both}");
    }
    // These are options of their own, and none unsays another.
    let apart = on_sim("--buffer_compress_percentage=40 --zero_buffers=1 --rw=write");
    assert!(apart.contains("--compressible 40"), "the share counts, as in fio: {apart}");
    assert!(on_sim("--zero_buffers=1 --buffer_compress_percentage=0 --rw=write").contains("--compressible 100"));
    assert!(on_sim("--percentage_random=30 --rw=randread").contains("--jump 30%"));
    let both = refusals(translate(&words("--filename=sim: --name=a --percentage_random=30 --rw=randread:8")));
    assert!(both[0].contains("[a]: percentage_random: `:8` of rw"), "{both:?}");
}

/// The words that a line on `sim:` became.
fn on_sim(options: &str) -> String {
    runs(translate(&words(&format!("--filename=sim: {options}")))).remove(0)
}

#[test]
fn a_job_without_time_based_ends_when_its_size_is_moved() {
    assert!(on_sim("--size=64m").contains("--io-size 100% --size 64MiB"), "{}", on_sim("--size=64m"));
    assert!(on_sim("--size=64m --runtime=5").contains("--runtime 5s"), "whichever comes first");
    assert!(on_sim("").contains("--io-size 100%"), "all of the target");
    assert!(!on_sim("--size=64m --runtime=5 --time_based").contains("--io-size"));
    for amount in ["--io_size=8m", "--number_ios=256", "--loops=3"] {
        let timed = on_sim(&format!("--size=64m --runtime=5 --time_based {amount}"));
        assert!(timed.contains("--runtime 5s") && !timed.contains("--io-size"), "{amount}: {timed}");
        let alone = on_sim(&format!("--size=64m --time_based {amount}"));
        assert!(alone.contains("--io-size"), "time_based without a runtime: {amount}: {alone}");
    }
    for alone in ["--size=64m --time_based", "--size=64m --time_based --runtime=0"] {
        assert!(on_sim(alone).contains("--io-size 100%"), "{alone}: {}", on_sim(alone));
    }
    assert!(on_sim("--size=64m --loops=3").contains("--io-size 300%"));
    assert!(on_sim("--size=64m --io_size=8m").contains("--io-size 8MiB --size 64MiB"));
    assert!(on_sim("--size=64m --io_size=25%").contains("--io-size 25%"));
    assert!(on_sim("--size=64m --number_ios=256 --bs=8k").contains("--io-size 2MiB"));
    assert!(on_sim("--filesize=64m --size=256m").contains("--io-size 256MiB --size 64MiB"));
    assert!(!on_sim("--runtime=0 --size=1m").contains("--runtime"), "no limit");
    // A line that names its target as halfpower does keeps halfpower's end, unless it says otherwise.
    assert_eq!(runs(translate(&words("sim: --group_reporting"))), ["sim:"]);
    assert_eq!(runs(translate(&words("sim: --group_reporting --io_size=1m"))), ["--io-size 1MiB sim:"]);
}

#[test]
fn shares_are_of_the_file_that_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("data");
    std::fs::write(&target, vec![1; 8 << 20]).unwrap();
    let line = |options: &str| format!("--filename={} {options}", target.display());
    let run = runs(translate(&words(&line("--size=50% --offset=25%")))).remove(0);
    assert!(run.ends_with("--io-size 100% --size 5MiB --region 2MiB+3MiB"), "{run}");
    let refused = refusals(translate(&words("--filename=sim: --size=50%")));
    assert!(refused[0].contains("a share is one of a file"), "{refused:?}");
}

#[test]
fn each_job_has_its_files_as_in_fio() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path().display();
    let run =
        |options: &str| runs(translate(&words(&format!("--directory={here} --name=j --size=4m {options}")))).remove(0);
    let four = run("--numjobs=4");
    assert!(four.starts_with(&format!("{here} {here} {here} {here} --")) && !four.contains("--threads"), "{four}");
    assert!(four.ends_with("--size 4MiB"), "each job's file has the size: {four}");
    let files = run("--nrfiles=4 --rw=randread");
    assert!(files.starts_with(&format!("stripe:chunk=4KiB,{here},{here},{here},{here} --")), "{files}");
    assert!(files.ends_with("--size 1MiB"), "a job's files share its size: {files}");
    for name in ["a", "b"] {
        std::fs::write(folder.path().join(name), vec![1; 1 << 20]).unwrap();
    }
    let line = format!("--filename={here}/a:{here}/b --rw=randread --bs=16k --numjobs=3");
    let both = runs(translate(&words(&line))).remove(0);
    assert!(both.starts_with(&format!("stripe:chunk=16KiB,{here}/a,{here}/b --")), "{both}");
    assert!(both.contains("--threads 3"), "as many requests in flight as in fio: {both}");
    assert!(
        refusals(translate(&words(&format!("--directory={here} --name=j --size=4m --nrfiles=999"))))[0].contains("64")
    );
}

#[test]
fn nothing_is_laid_out_that_a_line_did_not_ask_for() {
    let folder = tempfile::tempdir().unwrap();
    let typo = format!("--filename={}/typo --rw=randread", folder.path().display());
    let refused = refusals(translate(&words(&typo)));
    assert!(refused[0].contains("is not there; name a file that is, or give size="), "{refused:?}");
    assert!(translate(&words(&format!("{typo} --size=4m"))).is_ok());
    let device = refusals(translate(&words("--filename=/dev/no-such-device --rw=randread --size=4m")));
    assert!(device[0].contains("there is no such device"), "{device:?}");
}

#[test]
fn random_requests_reach_each_block_once_unless_norandommap_is_set() {
    assert!(on_sim("--rw=randread").contains("--random-distribution shuffled"));
    for other in ["--rw=read", "--rw=randread --norandommap", "--rw=randread --norandommap=1"] {
        assert!(!on_sim(other).contains("--random-distribution"), "{other}");
    }
    assert!(on_sim("--rw=randread --random_distribution=zipf:1.2").contains("--random-distribution zipf:1.2"));
    assert!(!on_sim("--rw=randread:8").contains("shuffled"));
}

#[test]
fn order_and_sizes_of_requests_are_fio_s() {
    assert!(on_sim("--rw=randwrite:8").contains("--rw randwrite") && on_sim("--rw=randwrite:8").contains("--jump 8"));
    assert!(on_sim("--rw=randread --percentage_random=30").contains("--jump 30%"));
    assert!(!on_sim("--rw=randread --percentage_random=100").contains("--jump"));
    let back = on_sim("--rw=read:-8k --bs=4k");
    assert!(back.contains("--backwards") && !back.contains("--stride"), "each block before the one before: {back}");
    assert!(on_sim("--rw=write:-12k --bs=4k").contains("--backwards --stride 8KiB"));
    assert!(!on_sim("--rw=read:-8k --rw=read").contains("--backwards"), "the last one holds");
    let same = refusals(translate(&words("--filename=sim: --name=a --rw=read:-4k --bs=4k")));
    assert!(same[0].contains("from twice on; write one"), "it would come back to the same block: {same:?}");
    assert!(on_sim("--rw=read:8k --bs=4k").contains("--stride 12KiB"), "{}", on_sim("--rw=read:8k --bs=4k"));
    assert!(!on_sim("--rw=read:8k --rw=read").contains("--stride"), "the last one holds");
    let odd = refusals(translate(&words("--filename=sim: --name=a --rw=read:6k --bs=4k")));
    assert!(odd[0].contains("no multiple of the block size"), "{odd:?}");
    assert!(on_sim("--rw=read --bs=4k,8k").contains("--bs 4KiB"));
    assert!(on_sim("--rw=write --bs=4k,8k").contains("--bs 8KiB"));
    assert!(on_sim("--rw=randrw --bs=4k,8k").contains("--bssplit 4KiB,8KiB"));
    assert!(on_sim("--rw=randread --bsrange=1k-4k").contains("--bssplit 1KiB/25:2KiB/25:3KiB/25:4KiB/25"));
    let iometer = "--rw=randrw --bssplit=512/10:1k/5:2k/5:4k/60:8k/2:16k/4:32k/4:64k/10";
    assert!(on_sim(iometer).contains("--bssplit 512/10:1KiB/5:"), "{}", on_sim(iometer));
    assert!(on_sim(iometer).contains("--random-distribution shuffled"), "each block comes once");
    assert!(!on_sim("--rw=randread --bssplit=4k/50:6k/50").contains("shuffled"), "which cannot cover it");
    assert!(
        on_sim("--rw=randread --bssplit=4k/50:8k/50,6k/100").contains("shuffled"),
        "nothing has the size of writes"
    );
    assert!(on_sim("--rw=read --rate_iops=200,100").contains("--rate-iops 200"));
    let mixed = on_sim("--rw=randrw --rate_iops=300,100");
    assert!(mixed.contains("--rate-iops 400 --rwmixread 75"), "{mixed}");
    let uneven = refusals(translate(&words("--filename=sim: --name=a --rw=randrw --rate_iops=1000,4")));
    assert!(uneven[0].contains("[a]: rate: a mix has a whole percentage of reads"), "{uneven:?}");
    assert!(on_sim("--rw=randtrim --rate_iops=300,200,100").contains("--rate-iops 100"));
    assert!(on_sim("--rw=trimwrite --rate_iops=300,200,100").contains("--rate-iops 200"));
}

#[test]
fn what_is_written_and_where_threads_run_is_taken() {
    assert!(on_sim("--rw=write --zero_buffers").contains("--compressible 100"));
    assert!(on_sim("--rw=write --buffer_compress_percentage=40").contains("--compressible 40"));
    assert!(on_sim("--cpus_allowed=0-1,3").contains("--processors 0-1,3"));
    assert!(on_sim("--cpumask=0xb").contains("--processors 0-1,3"));
    assert!(on_sim("--rw=write --direct=1 --end_fsync=1").contains("--end-flush"));
    assert!(!on_sim("--rw=write --end_fsync=1").contains("--end-flush"), "a buffered run flushes anyway");
    let seeds = [on_sim("--randrepeat=0"), on_sim("--allrandrepeat=0")];
    assert!(seeds.iter().all(|run| run.contains("--seed ")), "{seeds:?}");
    let folder = tempfile::tempdir().unwrap();
    let line = format!("--directory={} --name=j --size=4m", folder.path().display());
    for cached in ["--invalidate=0", "--pre_read=1"] {
        let run = |options: &str| runs(translate(&words(&format!("{line} {options}")))).remove(0);
        assert!(run(cached).contains("--page-cache warm"), "{cached}");
        assert!(!run(&format!("{cached} --direct=1")).contains("--page-cache"), "{cached} of a direct run");
    }
    assert!(refusals(translate(&words("--filename=sim: --rw=write --readonly")))[0].contains("the job writes"));
    assert!(translate(&words("--filename=sim: --readonly --max-jobs=4 --io_submit_mode=inline")).is_ok());
    let run = translate(&words("--filename=sim: --startdelay=2")).unwrap().runs.remove(0);
    assert_eq!(run.start_delay, Some(halfpower_spec::Nanos(2_000_000_000)));
    for refused in ["--create_only=1", "--fill_device=1", "--file_append=1", "--latency_max_queue_depth=8"] {
        assert_eq!(refusals(translate(&words(&format!("--filename=sim: {refused}")))).len(), 1, "{refused}");
    }
}

#[test]
fn data_are_checked_whatever_pattern_is_asked_for() {
    let line = "--filename=sim: --rw=write --verify_pattern=0xdeadbeef";
    let run = translate(&words(line)).unwrap().runs.remove(0);
    assert_eq!(run.get("--verify"), Some(""));
    assert!(run.notes.iter().any(|note| note.starts_with("verify_pattern: ")), "{:?}", run.notes);
    assert!(on_sim("--rw=read --numa_cpu_nodes=0").contains("--processors "), "one node is always there");
    assert!(!on_sim("--rw=read --numa_cpu_nodes=all").contains("--processors "));
    assert!(refusals(translate(&words("--filename=sim: --numa_mem_policy=bind:0")))[0].contains("--membind"));
    assert!(refusals(translate(&words("--filename=sim: --status-interval=x"))).len() == 1);
}

#[test]
fn a_depth_is_looked_for_that_keeps_a_latency() {
    let profile = on_sim(
        "--rw=randread --iodepth=128 --latency_target=500000 --latency_window=5000000 --latency_percentile=99.9",
    );
    for flag in ["--latency-target 500ms", "--latency-window 5s", "--latency-percentile 99.9", "--runtime 5s"] {
        assert!(profile.contains(flag), "{flag}: {profile}");
    }
    assert!(on_sim("--rw=randread --latency_target=10ms").contains("--runtime 1s"), "it ends when a depth is found");
    let timed = on_sim("--rw=randread --latency_target=10ms --runtime=60 --time_based");
    assert!(timed.contains("--runtime 60s") && !timed.contains("--io-size"), "{timed}");
    let untimed = on_sim("--rw=randread --latency_target=10ms --time_based");
    assert!(untimed.contains("--runtime 1s") && untimed.contains("--io-size 100%"), "{untimed}");
    let on = translate(&words("--filename=sim: --latency_target=10ms --latency_run=1")).unwrap();
    assert!(!on.runs[0].words.iter().any(|word| word == "--runtime"), "{:?}", on.runs[0].words);
    assert!(on.notes().iter().any(|note| note.starts_with("latency_run: ")), "{:?}", on.notes());
    assert!(
        !on_sim("--rw=read --latency_target=0 --latency_window=5000").contains("--latency"),
        "nothing is looked for"
    );
    for wrong in ["--latency_target=x", "--latency_percentile=101", "--latency_percentile=0", "--latency_run=2"] {
        assert_eq!(refusals(translate(&words(&format!("--filename=sim: {wrong}")))).len(), 1, "{wrong}");
    }
    assert!(!speaks(&words("sim: --latency-target 10ms --latency-percentile 99")), "these are our own flags too");
}

#[test]
fn priorities_zones_and_bursts_are_fio_s() {
    assert!(on_sim("--rw=read --prioclass=1 --prio=0").contains("--io-priority realtime:0"));
    assert!(on_sim("--rw=read --prio=6").contains("--io-priority best-effort:6"), "no class is best effort");
    assert!(on_sim("--rw=read --prioclass=3").contains("--io-priority idle"));
    assert!(on_sim("--rw=read --prioclass=2 --prio=4 --priohint=1").contains("--io-priority best-effort:4:1"));
    assert!(refusals(translate(&words("--filename=sim: --prioclass=2 --prio=9")))[0].contains("no level 9"));
    let zones = on_sim("--rw=randread --random_distribution=zoned:50/5:30/15:20/");
    assert!(zones.contains("--random-distribution zoned:50/5:30/15:20/80") && !zones.contains("shuffled"), "{zones}");
    let sizes = on_sim("--rw=randread --random_distribution=zoned_abs:60/20G:30/100G:10/500g");
    assert!(sizes.contains("zoned_abs:60/20GiB:30/100GiB:10/500GiB"), "{sizes}");
    let aligned = on_sim("--rw=randread --bs=64k --blockalign=4k");
    assert!(aligned.contains("--blockalign 4KiB") && !aligned.contains("shuffled"), "{aligned}");
    assert!(!on_sim("--rw=randread --bs=4k --ba=4k").contains("--blockalign"), "that is its size");
    assert!(!on_sim("--rw=read --bs=64k --blockalign=4k").contains("--blockalign"), "of random requests alone");
    let jesd219 = "--ioengine=libaio --direct=1 --rw=randrw --norandommap --rwmixread=40 --iodepth=256 --numjobs=4 \
                   --bssplit=512/4:1024/1:1536/1:2048/1:2560/1:3072/1:3584/1:4k/67:8k/10:16k/7:32k/3:64k/3 \
                   --blockalign=4k --random_distribution=zoned:50/5:30/15:20/80";
    assert!(on_sim(jesd219).contains("--random-distribution zoned:50/5:30/15:20/80"), "{}", on_sim(jesd219));
    assert!(on_sim(jesd219).contains("--blockalign 4KiB"));
    let bursts = on_sim("--rw=randread --thinktime=10ms --thinktime_blocks=16");
    assert!(bursts.contains("--thinktime 10ms --thinktime-blocks 16"), "{bursts}");
    assert!(!on_sim("--rw=randread --thinktime_blocks=16").contains("--thinktime"), "no time passes");
    let deep = "--filename=sim: --rw=randread --iodepth=8 --thinktime=10ms --thinktime_blocks=16";
    let notes = |line: &str| translate(&words(line)).unwrap().notes().join("\n");
    assert!(notes(deep).contains("thinktime_blocks: "), "{}", notes(deep));
    assert!(!notes(&format!("{deep} --thinktime_blocks_type=issue")).contains("thinktime_blocks: "));
    let steady = "--rw=read --ss=iops:10% --ss_dur=30s --ss_ramp=10s --runtime=5m --time_based";
    assert!(on_sim(steady).contains("--steady-state iops:10%:30s:10s"), "{}", on_sim(steady));
    let latency =
        "--steadystate=lat:5% --steadystate_duration=300 --steadystate_ramp_time=60 --steadystate_check_interval=10";
    assert!(on_sim(latency).contains("--steady-state lat:5%:300s:60s:10s"), "{}", on_sim(latency));
    assert!(!on_sim("--rw=read --steadystate=iops:10%").contains("--steady-state"), "no time is judged");
    assert!(notes("--filename=sim: --steadystate=iops:10%").contains("steadystate_duration"));
    assert!(
        on_sim("--rw=write --verify=crc32c --verify_interval=4096").contains("--verify"),
        "each 512 bytes are checked"
    );
}

#[test]
fn a_log_is_asked_again_of_what_is_named_for_it_or_of_what_it_names() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().display();
    let log = folder.path().join("log");
    let written = |version: &str, lines: &str| {
        let lines = lines.replace("DIR", &at.to_string());
        std::fs::write(&log, format!("fio version {version} iolog\n{lines}\n")).unwrap();
    };
    let asked = |options: &str| translate(&words(&format!("--name=a --read_iolog={} {options}", log.display())));
    let run = |options: &str| runs(asked(options)).remove(0);
    std::fs::write(folder.path().join("data"), [0; 8192]).unwrap();
    written("2", "DIR/data add\nDIR/data open\nDIR/data read 0 4096\nDIR/data close");
    let plain = format!("{at}/data --open --iodepth 1 --cache both --workload {}", log.display());
    assert_eq!(run(""), plain);
    assert_eq!(run("--rw=randwrite --bs=1m --size=1g --readonly"), plain, "the log says what is asked");
    let deep = run("--iodepth=8 --direct=1 --replay_no_stall=1 --replay_redirect=/dev/null --runtime=5");
    assert!(deep.starts_with("/dev/null --no-pauses --iodepth 8 --cache device --runtime 5s --workload "), "{deep}");
    assert!(run("--replay_time_scale=50 --filename=other.dat").contains(". --open --speed 0.5x"), "laid out here");
    written("3", "0 DIR/a write 0 4096\n10 DIR/b read 0 4096");
    assert!(run("").starts_with(&format!("{at} --open ")), "files of our own in the folder of both");
    assert!(run("--overwrite --replay_redirect=data").contains("--overwrite --workload "), "{}", run("--overwrite"));
    for (options, why) in [
        ("--readonly", "readonly"),
        ("--numjobs=2", "numjobs"),
        ("--verify=crc32c", "--verify"),
        ("--fsync=1", "fsync, fdatasync"),
        ("--output-format=json", "--json"),
        ("--replay_scale=2", "leave it out"),
        ("--filename=a:b", "write one"),
    ] {
        assert!(refusals(asked(options))[0].contains(why), "{options}: {:?}", refusals(asked(options)));
    }
    written("3", "0 /dev/sda write 0 4096\n10 /dev/sdb read 0 4096");
    assert!(refusals(asked(""))[0].contains("write directory"));
    std::fs::write(&log, [0x07, 0x75, 0x61, 0x65]).unwrap();
    assert!(refusals(asked(""))[0].contains("blkparse"), "what blktrace recorded");
    std::fs::remove_file(&log).unwrap();
    assert!(refusals(asked(""))[0].contains("cannot be read"));
}

#[test]
fn requests_ask_for_dropped_pages_and_atomic_writes_where_those_of_fio_do() {
    assert!(on_sim("--rw=read --uncached=1").contains("--uncached"), "{}", on_sim("--rw=read --uncached=1"));
    assert!(!on_sim("--rw=read --direct=1 --uncached=1").contains("--uncached"), "a direct run has no pages");
    assert!(!on_sim("--rw=read --uncached=1 --uncached=0").contains("--uncached"));
    let whole = "--rw=randwrite --direct=1 --bs=16k --atomic=1";
    assert!(on_sim(whole).contains("--atomic"), "{}", on_sim(whole));
    assert!(on_sim("--rw=randwrite --direct=1 --atomic").contains("--atomic"));
    assert!(!on_sim("--rw=randread --direct=1 --atomic=1").contains("--atomic"), "nothing is written");
    assert!(!on_sim("--rw=randwrite --direct=1 --atomic=0").contains("--atomic"));
}

#[test]
fn what_is_of_writes_is_left_out_of_a_job_that_only_reads() {
    let read = on_sim("--rw=randread --zero_buffers --fsync=1 --sync=1 --end_fsync=1 --buffer_compress_percentage=30");
    for flag in ["--compressible", "--fdatasync", "--flush-by", "--durable-by", "--end-flush"] {
        assert!(!read.contains(flag), "{flag}: {read}");
    }
    assert!(on_sim("--rw=randrw --fsync=1 --zero_buffers").contains("--compressible 100"));
}

#[test]
fn threads_that_begin_further_on_are_taken_where_their_parts_are_ours() {
    let four = on_sim("--rw=read --numjobs=4 --size=8m --offset_increment=8m --time_based --runtime=1");
    assert!(four.contains("--threads 4") && four.ends_with("--size 32MiB") && !four.contains("--io-size"), "{four}");
    assert!(on_sim("--rw=read --numjobs=4 --size=8m --offset_increment=8m").contains("--io-size 8MiB"));
    let gaps = refusals(translate(&words("--filename=sim: --name=a --numjobs=4 --size=1m --offset_increment=8m")));
    assert!(gaps[0].contains("[a]: offset_increment: threads share one range"), "{gaps:?}");
}

#[test]
fn a_foreign_engine_is_the_reason_and_not_what_goes_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let path =
        file(&folder, "[a]\nioengine=http\nhttp_host=x\nhttp_s3_key=${NOT_SET_ANYWHERE}\nfilename=/k/e.y\nrw=write\n");
    let named = refusals(translate(&words(path.to_str().unwrap())));
    assert_eq!(named.len(), 1, "{named:?}");
    assert!(named[0].contains("line 2: ioengine: halfpower has no engine `http`") && named[0].contains("s3://"));
    let line = refusals(translate(&words("--name=a --ioengine=rbd --pool=p")));
    assert!(line.len() == 1 && line[0].contains("rbd map"), "{line:?}");
}

#[test]
fn latin_1_and_a_byte_order_mark_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("job.txt");
    std::fs::write(&path, b"\xef\xbb\xbf; caf\xe9\r\n[gr\xfc\xdfe]\r\nfilename=sim:\r\ndescription=\xe9t\xe9\r\n")
        .unwrap();
    let line = words(path.to_str().unwrap());
    assert!(speaks(&line), "its first line is a section's");
    assert_eq!(translate(&line).unwrap().runs[0].name, "gr\u{fc}\u{df}e");
    // The name of a file is its bytes.
    let odd = folder.path().join(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"odd\xff"));
    std::fs::write(&odd, vec![1; 1 << 20]).unwrap();
    let text = [b"[a]\nfilename=", std::os::unix::ffi::OsStrExt::as_bytes(odd.as_os_str()), b"\n"].concat();
    std::fs::write(&path, text).unwrap();
    assert_eq!(translate(&line).unwrap().runs[0].words[0], odd);
}

#[test]
fn a_job_waits_for_the_one_that_it_names() {
    let folder = tempfile::tempdir().unwrap();
    let jobs = |waits: &str| file(&folder, &format!("[global]\nfilename=sim:\n[a]\n[b]\nwait_for={waits}\n"));
    assert_eq!(runs(translate(&words(jobs("a").to_str().unwrap()))).len(), 2);
    assert!(refusals(translate(&words(jobs("x").to_str().unwrap())))[0].contains("add stonewall"));
}

#[test]
fn results_go_to_a_file_and_words_can_be_shown_alone() {
    let translation = translate(&words("--filename=sim: --output=r.json --output-format=json --parse-only")).unwrap();
    let output = translation.output.unwrap();
    assert_eq!((output.path, output.force, translation.only_shows), (PathBuf::from("r.json"), false, true));
    let study = translate(&words("--filename=sim: --output n.halfpower --force")).unwrap();
    assert_eq!(study.output, None);
    assert!(runs(Ok(study))[0].ends_with("--output n.halfpower"));
    assert!(!speaks(&words("sim: --output n.halfpower --io-size 1m")), "halfpower's own");
}
