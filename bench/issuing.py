#!/usr/bin/env python3
"""Compares the ways of handing requests to the kernel: halfpower's --iomem and --iodepth-batch, and fio as it comes and tuned.

    bench/issuing.py [--pairs 7] [--runtime 1] [--halfpower target/release/halfpower] [--control] [--grid | --cells randread:4k:32,...] FILE

FILE has to hold data; a cell that writes overwrites it. All programs run each cell in turn, round after round, and who
begins moves on from round to round. A row gives medians over the rounds; its ratio is the median of the round's ratios to
the best of fio with the same kind of memory, with the least and the greatest. The best of several is the luckiest of them:
`--control` runs halfpower's default and a second copy of each fio instead, and the copy of the best one shows which ratio
an equal program gets. The last lines sum up halfpower's default over all cells. `loud` is the largest share of the machine
that others had right before a run. fio gets huge pages from the kernel's pool, which takes root; they are given back.
"""
import argparse
import json
import os
import statistics
import subprocess
import time

POOL = "/proc/sys/vm/nr_hugepages"
DEFAULT_CELLS = "randread:4k:1,randread:4k:32,randwrite:4k:1,randwrite:4k:32,read:64k:8,read:1m:1,read:1m:16,write:1m:1,write:1m:16"
GRID = [f"{rw}:{bs}:{depth}" for rw in ("randread", "randwrite") for bs in ("4k", "64k", "1m") for depth in (1, 8, 32)]
TUNED = ["--ioengine=io_uring", "--fixedbufs=1", "--registerfiles=1", "--nonvectored=1"]
# Name, memory, halfpower's flags or fio's.
PROGRAMS = [
    ("halfpower, batch 1", "pages", "halfpower", ["--iodepth-batch", "1"]),
    ("halfpower, batch 2", "pages", "halfpower", ["--iodepth-batch", "2"]),
    ("halfpower, batch 4", "pages", "halfpower", ["--iodepth-batch", "4"]),
    ("halfpower, all", "pages", "halfpower", ["--iodepth-batch", "0"]),
    ("halfpower libaio, batch 1", "pages", "halfpower", ["--iodepth-batch", "1", "--engine", "libaio"]),
    ("fio libaio", "pages", "fio", ["--ioengine=libaio"]),
    ("fio io_uring", "pages", "fio", ["--ioengine=io_uring"]),
    ("fio io_uring, tuned", "pages", "fio", TUNED),
    ("halfpower, batch 1", "huge", "halfpower", ["--iodepth-batch", "1"]),
    ("fio io_uring, tuned", "huge", "fio", TUNED),
]
DEFAULT = "halfpower, batch 1"
# Of these the default of halfpower, and every fio twice.
AGAIN = ", again"
# The ratio that the default should have everywhere.
ENOUGH = 0.98
CONTROL = [program for program in PROGRAMS if program[0] == DEFAULT or program[2] == "fio"]
CONTROL += [(name + AGAIN, *rest) for name, *rest in CONTROL if name.startswith("fio")]


def busy():
    with open("/proc/stat") as file:
        ticks = [int(field) for field in file.readline().split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def others():
    before = busy()
    time.sleep(0.2)
    after = busy()
    return (after[0] - before[0]) / max(1, after[1] - before[1])


def command(args, program, cell):
    _, memory, kind, flags = program
    rw, bs, depth = cell
    if kind == "halfpower":
        return [args.halfpower, "run", args.file, "--overwrite", "--rw", rw, "--bs", bs, "--iodepth", depth, "--iomem", memory,
                *flags, "--runtime", f"{args.runtime}s", "--json"]
    huge = ["--iomem=shmhuge"] if memory == "huge" else []
    return ["fio", "--name=cell", f"--filename={args.file}", f"--rw={rw}", f"--bs={bs}", f"--iodepth={depth}", "--direct=1",
            *flags, *huge, "--time_based", f"--runtime={args.runtime * 1000:.0f}ms", "--output-format=json"]


def measure(args, program, cell):
    """Requests a second, charged microseconds a request, median latency in microseconds."""
    text = subprocess.run(command(args, program, cell), capture_output=True, text=True, check=True).stdout
    report = json.loads(text[text.index("{"):])
    if program[2] == "halfpower":
        return report["iops"], report["cpu"]["charged_us"], report["latency_ns"]["p50"] / 1e3
    job = report["jobs"][0]
    side = job["read"] if job["read"]["total_ios"] else job["write"]
    charged = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] * 1e3 / side["total_ios"]
    return side["iops"], charged, side["clat_ns"]["percentile"]["50.000000"] / 1e3


def rows(args, cell, programs):
    """Prints the rows of a cell; yields the ratios of halfpower's default and of the best fio's copy, by memory."""
    found, loud = {program[:2]: [] for program in programs}, 0
    for round_number in range(args.pairs):
        turn = round_number % len(programs)
        for program in programs[turn:] + programs[:turn]:
            loud = max(loud, others())
            found[program[:2]].append(measure(args, program, cell))
    for memory in ("pages", "huge"):
        theirs = [found[key] for key in found if key[1] == memory and key[0].startswith("fio") and not key[0].endswith(AGAIN)]
        best = max(theirs, key=lambda runs: statistics.median(run[0] for run in runs), default=None)
        medians = {}
        for key in (key for key in found if key[1] == memory):
            iops, charged, p50 = (statistics.median(column) for column in zip(*found[key]))
            ratios = [mine[0] / their[0] for mine, their in zip(found[key], best)] if best else [1]
            medians[key[0]] = statistics.median(ratios)
            ratio = f"{medians[key[0]]:.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
            print(f"| {' '.join(cell)} | {memory} | {key[0]} | {iops:,.0f} | {ratio} | {charged:.1f} | {p50:.0f} | {loud:.0%} |", flush=True)
        if best:
            copy = next(key[0] for key in found if found[key] is best) + AGAIN
            yield memory, medians[DEFAULT], medians.get(copy)


def summary(memory, ours, copies):
    """What the default's ratios over all cells come to, beside those of the best fio's copy where there is one."""
    print(f"{memory}: halfpower {statistics.geometric_mean(ours):.3f} (geometric mean), 0.98 or above in "
          f"{sum(ratio >= ENOUGH for ratio in ours)} of {len(ours)} cells", end="")
    if copies:
        below = [ratio >= copy for ratio, copy in zip(ours, copies) if ratio < ENOUGH]
        print(f", at or above the copy in {sum(below)} of the other {len(below)}; copy of the best fio "
              f"{statistics.geometric_mean(copies):.3f}, 0.98 or above in {sum(copy >= ENOUGH for copy in copies)}", end="")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--runtime", type=float, default=1)
    parser.add_argument("--grid", action="store_true", help="4 KiB to 1 MiB, 1 to 32 deep, read and write, instead of --cells")
    parser.add_argument("--control", action="store_true", help="halfpower's default and two copies of each fio")
    parser.add_argument("--cells", default=DEFAULT_CELLS)
    parser.add_argument("--halfpower", default=os.path.join(os.path.dirname(__file__), "../target/release/halfpower"))
    args = parser.parse_args()
    before = open(POOL).read()
    programs = everything = CONTROL if args.control else PROGRAMS
    try:
        try:
            with open(POOL, "w") as pool:
                pool.write(str(int(before) + 40))
        except PermissionError:
            programs = [program for program in programs if program[1] == "pages"]
        print("| cell | memory | program | IOPS | ratio to the best fio | charged us | p50 us | loud |")
        print("|---|---|---|---|---|---|---|---|")
        ratios = {}
        for cell in GRID if args.grid else args.cells.split(","):
            for memory, ours, copy in rows(args, cell.split(":"), programs):
                ratios.setdefault(memory, []).append((ours, copy))
        for memory, pairs in ratios.items():
            ours, copies = zip(*pairs)
            summary(memory, ours, [copy for copy in copies if copy])
    finally:
        if programs is everything:
            with open(POOL, "w") as pool:
                pool.write(before)


if __name__ == "__main__":
    main()
