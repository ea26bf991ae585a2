//! Lists fio's options of the processes and threads of a job: their processors, memory and priorities.

use halfpower_spec::{ParseError, Processors};

use super::job::Job;
use super::numa_nodes;
use super::take::count;
use crate::OptionRow;

type Row = OptionRow<Job>;

/// fio's options of processes and threads.
pub(super) const PROCESS_OPTIONS: &[Row] = &[
    Row::taken("cpus_allowed", "--processors: each thread runs on one of them, in turn", |job, value| {
        let list: Processors = value.replace(':', ",").parse().map_err(|error: ParseError| error.to_string())?;
        job.run.set("--processors", list);
        Ok(())
    }),
    Row::taken("cpumask", "--processors, those of the mask's bits", |job, value| {
        let wrong = || format!("`{value}` is no mask of processors; write it like 0xf");
        let hexadecimal = value.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16));
        let mask = hexadecimal.unwrap_or_else(|| value.parse()).map_err(|_| wrong())?;
        let list = Processors::of((0..64).filter(|bit| mask >> bit & 1 == 1)).ok_or_else(wrong)?;
        job.run.set("--processors", list);
        Ok(())
    }),
    Row::without_effect("cpus_allowed_policy", "each thread stays on one processor of the list"),
    Row::taken("numa_cpu_nodes", "--processors, those of these nodes, such as 0-1; all sets none", |job, value| {
        match numa_nodes::processors(value)? {
            Some(list) => job.run.set("--processors", list),
            None => job.run.unset("--processors"),
        }
        Ok(())
    }),
    Row::refused(
        "numa_mem_policy",
        "memory is taken where the kernel gives it: use `numactl --membind=NODE halfpower ...`",
    ),
    Row::taken("prioclass", "--io-priority: 1 is realtime, 2 best-effort, 3 idle [default: 2]", |job, value| {
        job.priority.class = Some(count(value)?);
        Ok(())
    }),
    Row::taken("prio", "--io-priority, its level: 0, the highest, to 7 [default: 0]", |job, value| {
        job.priority.level = Some(count(value)?);
        Ok(())
    }),
    Row::taken("priohint", "--io-priority, its hint for the device", |job, value| {
        job.priority.hint = Some(count(value)?);
        Ok(())
    }),
    Row::refused("nice", "use `nice halfpower ...` or a cgroup around it").or(&[
        "cgroup",
        "cgroup_weight",
        "cgroup_nodelete",
        "ioscheduler",
        "uid",
        "gid",
    ]),
    Row::refused("lockmem", "halfpower pins no memory beside its buffers"),
];
