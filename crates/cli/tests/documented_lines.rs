//! Reads lines of fio that stand in its documentation, in vendors' guides and in scripts, and checks what becomes of each:
//! it runs, or it is refused for its true reason. Nothing is measured.

use std::path::Path;

use crate::program::{folder, run};

/// Lines that run. FILE is a file or device that is there, and DIR a folder.
const RUN: [&str; 73] = [
    // fio's own documentation.
    "--name=global --rw=randread --size=128m --name=job1 --name=job2",
    "--name=random-writers --ioengine=libaio --iodepth=4 --rw=randwrite --bs=32k --direct=0 --size=64m --numjobs=4",
    "--name=a --filename=DIR/tmp --size=1g --rw=randrw --bssplit=4k/10:64k/50:32k/40",
    "--name=a --filename=DIR/tmp --size=1g --rw=randrw --bssplit=2k/50:4k/50,4k/90:8k/10",
    "--name=a --filename=DIR/tmp --size=1g --rw=randrw --bsrange=1k-4k,2k-8k",
    "--name=a --filename=FILE --rw=randread --random_distribution=zipf:1.2",
    "--name=a --filename=FILE --rw=randread --random_distribution=zoned:60/10:30/20:8/30:2/40",
    "--name=a --filename=FILE --rw=randread --random_distribution=zoned_abs:60/20G:30/100G:10/500g",
    "--name=a --filename=FILE --rw=write --sync_file_range=wait_before,write,wait_after:8",
    "--name=a --filename=FILE --rw=read --rate=500k --rate_process=poisson",
    "--name=a --filename=FILE --rw=randrw --rate=1m,500k --rwmixread=70",
    // Disks of Google Compute Engine: throughput and IO/s of a folder and of a device.
    "--name=write_throughput --directory=DIR --numjobs=16 --size=10G --time_based --runtime=60s --ramp_time=2s \
     --ioengine=libaio --direct=1 --verify=0 --bs=1M --iodepth=64 --rw=write --group_reporting=1",
    "--name=write_iops --directory=DIR --size=10G --time_based --runtime=60s --ramp_time=2s --ioengine=libaio --direct=1 \
     --verify=0 --bs=4K --iodepth=256 --rw=randwrite --group_reporting=1 --iodepth_batch_submit=256 \
     --iodepth_batch_complete_max=256",
    "--name=read_throughput --directory=DIR --numjobs=16 --size=10G --time_based --runtime=60s --ramp_time=2s \
     --ioengine=libaio --direct=1 --verify=0 --bs=1M --iodepth=64 --rw=read --group_reporting=1",
    "--name=read_iops --directory=DIR --size=10G --time_based --runtime=60s --ramp_time=2s --ioengine=libaio --direct=1 \
     --verify=0 --bs=4K --iodepth=256 --rw=randread --group_reporting=1",
    "--name=write_bandwidth_test --filename=FILE --filesize=2500G --time_based --ramp_time=2s --runtime=1m \
     --ioengine=libaio --direct=1 --verify=0 --randrepeat=0 --bs=1M --iodepth=64 --rw=write --numjobs=1",
    "--name=read_bandwidth_test --filename=FILE --time_based --ramp_time=2s --runtime=1m --ioengine=libaio --direct=1 \
     --verify=0 --randrepeat=0 --bs=1M --iodepth=64 --rw=read --numjobs=4 --size=500G --offset_increment=500G",
    // Volumes of Amazon EC2: initialization, IO/s, throughput.
    "--filename=FILE --rw=read --bs=1M --iodepth=32 --ioengine=libaio --direct=1 --name=volume-initialize",
    "--directory=DIR --ioengine=psync --name fio_test_file --direct=1 --rw=randwrite --bs=16k --size=1G --numjobs=16 \
     --time_based --runtime=180 --group_reporting --norandommap",
    "--directory=DIR --name fio_test_file --direct=1 --rw=randread --bs=16k --size=1G --numjobs=16 --time_based \
     --runtime=180 --group_reporting --norandommap",
    "--filename=FILE --direct=1 --rw=randrw --rwmixread=70 --bs=16k --ioengine=libaio --iodepth=16 --numjobs=1 \
     --runtime=60 --time_based --name=gp3",
    // Disks of Oracle's cloud: IO/s, throughput, latency.
    "--filename=FILE --direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=256 --runtime=120 --numjobs=4 \
     --time_based --group_reporting --name=iops-test-job --eta-newline=1 --readonly",
    "--filename=FILE --direct=1 --rw=randrw --bs=4k --ioengine=libaio --iodepth=256 --runtime=120 --numjobs=4 \
     --time_based --group_reporting --name=iops-test-job --eta-newline=1",
    "--filename=FILE --direct=1 --rw=read --bs=4k --ioengine=libaio --iodepth=256 --runtime=120 --numjobs=4 --time_based \
     --group_reporting --name=iops-test-job --eta-newline=1 --readonly",
    "--filename=FILE --direct=1 --rw=randread --bs=256k --ioengine=libaio --iodepth=64 --runtime=120 --numjobs=4 \
     --time_based --group_reporting --name=throughput-test-job --eta-newline=1 --readonly",
    "--filename=FILE --direct=1 --rw=randread --bs=4k --ioengine=libaio --iodepth=1 --numjobs=1 --time_based \
     --group_reporting --name=readlatency-test-job --runtime=120 --eta-newline=1 --readonly",
    // Disks of Alibaba's, Tencent's and Huawei's clouds, with single dashes.
    "-direct=1 -iodepth=128 -rw=randwrite -ioengine=libaio -bs=4k -size=1G -numjobs=1 -runtime=1000 -group_reporting \
     -filename=DIR/iotest -name=Rand_Write_Testing",
    "-direct=1 -iodepth=128 -rw=randread -ioengine=libaio -bs=4k -size=1G -numjobs=1 -runtime=1000 -group_reporting \
     -filename=DIR/iotest -name=Rand_Read_Testing",
    "-direct=1 -iodepth=64 -rw=write -ioengine=libaio -bs=1024k -size=1G -numjobs=1 -runtime=1000 -group_reporting \
     -filename=DIR/iotest -name=Write_PPS_Testing",
    "-direct=1 -iodepth=1 -rw=randread -ioengine=libaio -bs=4k -size=1G -numjobs=1 -group_reporting -filename=DIR/iotest \
     -name=Rand_Read_Latency_Testing",
    "-bs=4k -ioengine=libaio -iodepth=1 -direct=1 -rw=randread -time_based -runtime=600 -refill_buffers -norandommap \
     -randrepeat=0 -group_reporting -name=fio-randread-lat --size=10G -filename=FILE",
    "-bs=128k -ioengine=libaio -iodepth=32 -direct=1 -rw=write -time_based -runtime=600 -refill_buffers -norandommap \
     -randrepeat=0 -group_reporting -name=fio-write-throughput --size=10G -filename=FILE",
    // Guides of hosts and distributions.
    "--randrepeat=1 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=test --filename=DIR/test --bs=4k --iodepth=64 \
     --size=4G --readwrite=randrw --rwmixread=75",
    "--name=rand_rw_4k --ioengine=libaio --rw=randrw --rwmixread=50 --bs=4k --iodepth=64 --numjobs=2 --size=2G \
     --runtime=30 --gtod_reduce=1 --direct=1 --filename=DIR/test.fio --group_reporting --minimal",
    "--name=setup --ioengine=libaio --rw=read --bs=64k --iodepth=64 --numjobs=2 --size=2G --runtime=1 --gtod_reduce=1 \
     --filename=DIR/test.fio --direct=1 --minimal",
    "--filename=FILE --sync=1 --rw=randread --bs=4k --numjobs=1 --iodepth=4 --group_reporting --name=test --filesize=10G \
     --runtime=300",
    "--ioengine=libaio --direct=1 --sync=1 --rw=read --bs=4K --numjobs=1 --iodepth=1 --runtime=60 --time_based \
     --name=seq_read --filename=FILE",
    "--ioengine=libaio --direct=1 --sync=1 --rw=write --bs=4M --numjobs=1 --iodepth=1 --runtime=60 --time_based \
     --name=seq_write --filename=FILE",
    "--filename=FILE --direct=1 --sync=1 --rw=write --bs=4k --numjobs=1 --iodepth=1 --runtime=60 --time_based \
     --group_reporting --name=journal-test",
    "--rw=write --ioengine=sync --fdatasync=1 --directory=DIR --size=22m --bs=2300 --name=etcd",
    "--name=random-write --ioengine=posixaio --rw=randwrite --bs=4k --size=4g --numjobs=1 --iodepth=1 --runtime=60 \
     --time_based --end_fsync=1 --directory=DIR",
    "--name=random-write --ioengine=posixaio --rw=randwrite --bs=64k --size=256m --numjobs=16 --iodepth=16 --runtime=60 \
     --time_based --end_fsync=1 --directory=DIR",
    "--name=random-write --ioengine=posixaio --rw=randwrite --bs=1m --size=16g --numjobs=1 --iodepth=1 --runtime=60 \
     --time_based --end_fsync=1 --directory=DIR",
    "--loops=5 --size=500m --filename=DIR/fiotest.tmp --stonewall --ioengine=libaio --direct=1 --name=Seqread --bs=1m \
     --rw=read --name=Seqwrite --bs=1m --rw=write --name=512Kread --bs=512k --rw=randread --name=4kQD32read --bs=4k \
     --iodepth=32 --rw=randread",
    "--ioengine=libaio --direct=1 --name=fiotest --filename=DIR/testfio --iodepth=32 --size=4G --rwmixread=75 \
     --readwrite=randrw",
    // Storage of Kubernetes.
    "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=read_iops --filename=DIR/fiotest \
     --bs=4K --iodepth=64 --size=2G --readwrite=randread --time_based --ramp_time=2s --runtime=15s",
    "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=write_bw --filename=DIR/fiotest \
     --bs=128K --iodepth=64 --size=2G --readwrite=randwrite --time_based --ramp_time=2s --runtime=15s",
    "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --name=read_latency --filename=DIR/fiotest --bs=4K \
     --iodepth=4 --size=2G --readwrite=randread --time_based --ramp_time=2s --runtime=15s",
    "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=read_seq --filename=DIR/fiotest \
     --bs=1M --iodepth=16 --size=2G --readwrite=read --time_based --ramp_time=2s --runtime=15s --thread --numjobs=4 \
     --offset_increment=500M",
    "--randrepeat=0 --verify=0 --ioengine=libaio --direct=1 --gtod_reduce=1 --name=rw_mix --filename=DIR/fiotest --bs=4k \
     --iodepth=64 --size=2G --readwrite=randrw --rwmixread=75 --time_based --ramp_time=2s --runtime=15s",
    "--name=cpu --filename=FILE --direct=1 --ioengine=libaio --bs=4K --iodepth=1 --rw=randread --time_based --runtime=30 \
     --output-format=json --output=DIR/cpu.json --numjobs=1 --rate_iops=1000 --thread=1",
    // Makers of drives, and databases.
    "--name=rr --filename=FILE --rw=randread --bs=4k --iodepth=32 --numjobs=8 --ioengine=io_uring --fixedbufs=1 \
     --registerfiles=1 --hipri --norandommap --randrepeat=0 --refill_buffers --time_based --runtime=300 \
     --cpus_allowed=0-1 --cpus_allowed_policy=split --gtod_reduce=1 --group_reporting --direct=1",
    "--name=sq --filename=FILE --rw=randread --bs=512 --iodepth=128 --ioengine=io_uring --sqthread_poll=1 --direct=1 \
     --time_based --runtime=30",
    "--name=precondition --filename=FILE --rw=write --bs=128k --iodepth=32 --ioengine=libaio --direct=1 --loops=2 \
     --size=100% --randrepeat=0 --refill_buffers",
    "--name=mixed --filename=FILE --rw=randrw --rwmixwrite=35 --bssplit=512/4:1k/1:1536/1:2k/1:3k/1:4k/67:8k/10:16k/7:32k/3:64k/5 \
     --iodepth=32 --ioengine=libaio --direct=1 --norandommap --time_based --runtime=60 --percentile_list=50:99:99.9:99.99",
    "--name=JESD219 --filename=FILE --ioengine=libaio --direct=1 --rw=randrw --norandommap --randrepeat=0 --rwmixread=40 \
     --rwmixwrite=60 --iodepth=256 --numjobs=4 --group_reporting \
     --bssplit=512/4:1024/1:1536/1:2048/1:2560/1:3072/1:3584/1:4k/67:8k/10:16k/7:32k/3:64k/3 --blockalign=4k \
     --random_distribution=zoned:50/5:30/15:20/80",
    "--name=oltp --directory=DIR --size=1g --rw=randrw --rwmixread=70 --bs=8k --ioengine=libaio --iodepth=16 --direct=1 \
     --numjobs=4 --runtime=60 --time_based --group_reporting",
    "--name=redo --filename=DIR/redo --size=1g --rw=write --bs=16k --fsync=1 --ioengine=sync --time_based --runtime=30",
    "--name=wal --filename=DIR/wal --size=64m --rw=write --bs=8k --fdatasync=1 --ioengine=psync --overwrite=1 \
     --fallocate=none --time_based --runtime=30",
    "--name=binlog --filename=DIR/bin --size=256m --rw=write --bs=1k --sync=dsync --time_based --runtime=30",
    "--name=scan --filename=FILE --rw=read --bs=1m --ioengine=mmap --time_based --runtime=10",
    "--name=trim --filename=FILE --rw=randtrim --bs=64k --ioengine=libaio --iodepth=8 --time_based --runtime=10",
    "--name=logged --filename=FILE --rw=randread --bs=4k --write_bw_log=DIR/x --write_lat_log=DIR/x --write_iops_log=DIR/x \
     --log_avg_msec=1000 --time_based --runtime=10 --output-format=json+",
    "--name=think --filename=FILE --rw=randread --bs=4k --thinktime=1ms --time_based --runtime=10",
    "--name=burst --filename=FILE --rw=randread --bs=4k --thinktime=10ms --thinktime_blocks=16 --time_based --runtime=10",
    "--name=a --filename=FILE --rw=randread --prioclass=1 --prio=0",
    "--name=a --filename=FILE --rw=read --steadystate=iops_slope:0.3% --steadystate_duration=60",
    "--name=a --filename=FILE --status-interval=1",
    "--name=a --filename=FILE --rw=randwrite --verify_pattern=0xdeadbeef --verify=pattern",
    "--name=a --filename=FILE --rw=randread --numa_cpu_nodes=0",
    "--name=a --filename=FILE --rw=randread --latency_target=10ms --latency_percentile=99",
    "--name=replay --read_iolog=DIR/trace",
    "--name=both --filename=FILE:DIR/other --size=2g --rw=randread --bs=4k --iodepth=4 --ioengine=libaio --direct=1",
];

/// Lines that are refused, and the reason.
const REFUSED: [(&str, &str); 8] = [
    ("--name=a --filename=FILE --zonemode=zbd --rw=randwrite", "zoned device"),
    ("--name=a --ioengine=rbd --clientname=admin --pool=rbd --rbdname=image --rw=randwrite --bs=4k", "rbd map"),
    ("--name=a --ioengine=sg --filename=FILE --rw=read", "pass the block layer by"),
    ("--name=a --ioengine=http --http_mode=s3 --filename=/bucket/object", "s3://"),
    ("--name=a --ioengine=net --hostname=server --port=8888", "without storage"),
    ("--client=server --name=a --filename=FILE", "mpirun"),
    ("--server", "mpirun"),
    ("--profile=act", "halfpower study"),
];

/// Lines that fio refuses, too, and the reason.
const REFUSED_BY_FIO: [(&str, &str); 2] = [
    ("--name=a --filename=DIR/not-there --rw=randread", "give size="),
    ("--name=a --filename=/dev/not-there --rw=randread --size=1g", "no such device"),
];

fn said(here: &Path, line: &str) -> (Option<i32>, String, String) {
    let line = line.replace("FILE", &here.join("data").display().to_string());
    let line = line.replace("DIR", &here.display().to_string());
    let words: Vec<&str> = ["run"].into_iter().chain(line.split_whitespace()).chain(["--parse-only"]).collect();
    let output = run(here, &words);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn documented_lines_run_or_are_refused_for_their_reason() {
    let here = folder();
    let data = here.path().join("data");
    std::fs::write(&data, vec![1; 1 << 20]).unwrap();
    let trace = format!("fio version 2 iolog\n{0} add\n{0} open\n{0} read 4096 8192\n{0} close\n", data.display());
    std::fs::write(here.path().join("trace"), trace).unwrap();
    for line in RUN {
        let (code, shown, why) = said(here.path(), line);
        assert_eq!(code, Some(0), "{line}: {why}");
        let jobs = line.matches("--name=").count().saturating_sub(line.matches("--name=global").count()).max(1);
        assert_eq!(shown.matches("halfpower run ").count(), jobs, "{line}: {shown}");
    }
    for (line, reason) in REFUSED.into_iter().chain(REFUSED_BY_FIO) {
        let (code, shown, why) = said(here.path(), line);
        assert_eq!((code, shown.as_str()), (Some(2), ""), "{line}: {why}");
        assert!(why.contains(reason), "{line}: {why}");
    }
    let left = std::fs::read_dir(here.path()).unwrap().count();
    assert_eq!(left, 2, "nothing was laid out");
}

#[test]
fn the_page_says_how_many_lines_run() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/habits.md")).unwrap();
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = format!("of those that fio itself takes, {} of {} run", RUN.len(), RUN.len() + REFUSED.len());
    assert!(words.contains(&told), "docs/habits.md says that {told}");
}
