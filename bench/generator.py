#!/usr/bin/env python3
"""How light is the generator? Pairs halfpower with fio and with a bare loop, in turn, and prints a table of ratios.

    bench/generator.py [--only WORD] [--pairs N] [--runtime SECONDS] [--size MIB] [--tiny] [FOLDER]

Each row is one cell: both sides run one after the other, and who goes first changes from pair to pair. While others
take more than a tenth of the machine, up to three times as many pairs are run as asked for, and the quietest are kept.
The ratio is the median over the pairs, with the least and the greatest: of the time a request takes, and of the
processor time it is charged, which others disturb less. Where a side never waits (all but direct I/O) the two are the
same on a machine that is left alone. FOLDER (default: this one) takes a file, which is removed again. Needs fio and a C
compiler. Where T_IO_URING names fio's t/io_uring, which no package has, it is held against as well.
"""

import argparse
import json
import os
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
HALFPOWER = os.environ.get("HALFPOWER", os.path.join(HERE, "../target/release/halfpower"))
OTHERS_MOST = 0.10
# Small enough for the processor's caches: the kernel's copy costs least there, and the generator shows most.
CACHED_MIB = 16
# Requests that one system call submits at most, on both sides; the first is the default of t/io_uring.
CACHED_BATCH, DIRECT_BATCH = 32, 16
T_IO_URING = os.environ.get("T_IO_URING")


class Sides:
    """The three programs, each giving requests, seconds and charged processor seconds of one run."""

    def __init__(self, folder, runtime, size_mib):
        self.runtime = runtime
        self.scratch = tempfile.mkdtemp()
        self.bare_program = os.path.join(self.scratch, "bare")
        subprocess.run(["cc", "-O2", "-o", self.bare_program, os.path.join(HERE, "bare.c")], check=True)
        self.data = new_file(folder, size_mib)
        self.cached = new_file(folder, min(size_mib, CACHED_MIB))

    def close(self):
        for path in (self.data, self.cached, self.bare_program):
            os.unlink(path)
        os.rmdir(self.scratch)

    def halfpower(self, target, *flags):
        command = [HALFPOWER, "run", target, "--json", "--runtime", f"{round(self.runtime * 1000)}ms", *flags]
        record = json.loads(output(command))
        if record["errors"]:
            sys.exit(f"errors in {command}: {record['errors']}")
        cpu = record["cpu"]
        return record["ios"], record["elapsed_ns"] / 1e9, cpu["charged_ns"] / 1e9

    def bare(self, *words):
        ios, seconds, charged = output([self.bare_program, *words]).split()
        return int(ios), float(seconds), float(charged)

    def fio(self, *flags):
        command = ["fio", "--name=cell", "--output-format=json", "--thread", "--time_based", "--norandommap",
                   "--randrepeat=0", f"--runtime={round(self.runtime * 1000)}ms", *flags]
        job = json.loads(output(command))["jobs"][0]
        ios = job["read"]["total_ios"] + job["write"]["total_ios"]
        seconds = max(job["read"]["runtime"], job["write"]["runtime"]) / 1e3
        return ios, seconds, (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] / 1e3

    def fio_ring(self, rw, bs, depth, direct, batch):
        data = self.data if direct else self.cached
        return self.fio(f"--filename={data}", f"--size={os.path.getsize(data)}", "--ioengine=io_uring", f"--rw={rw}",
                        f"--bs={bs}", f"--iodepth={depth}", f"--direct={int(direct)}", "--invalidate=0",
                        "--fixedbufs=1", "--registerfiles=1", "--nonvectored=1", f"--iodepth_batch_submit={batch}",
                        "--iodepth_batch_complete_min=1", f"--iodepth_batch_complete_max={depth}")

    def t_io_uring(self, *flags):
        """Whole seconds; its rate is told from the second one on, its charge by the process as a whole."""
        before, seconds = charged_to_children(), max(2, round(self.runtime))
        said = output([T_IO_URING, "-p0", "-O0", f"-r{seconds}", *flags, self.cached])
        iops = re.search(r"Maximum IOPS=([0-9.]+)([KM]?)", said)
        ios = float(iops[1]) * {"": 1, "K": 1e3, "M": 1e6}[iops[2]] * seconds
        return ios, seconds, charged_to_children() - before


def together(batch):
    """Our words for so many requests a call; by itself halfpower submits one."""
    return ["--iodepth-batch", str(batch)]


def charged_to_children():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def new_file(folder, mib):
    descriptor, path = tempfile.mkstemp(prefix="generator.", dir=folder)
    with os.fdopen(descriptor, "wb") as data:
        for _ in range(mib):
            data.write(os.urandom(1 << 20))
        data.flush()
        os.fsync(descriptor)
    return path


def output(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr or done.stdout}")
    return done.stdout


def ns_a_request(run):
    ios, seconds, _ = run
    return seconds / ios * 1e9


def charged_ns(run):
    ios, _, charged = run
    return charged / ios * 1e9


def cells(sides):
    """Name; our side; the other side."""
    data, cached, runtime = sides.data, sides.cached, str(sides.runtime)

    def null(depth, *flags):
        return lambda: sides.halfpower("null:", "--bs", "4KiB", "-o", str(depth), *flags)

    for depth in (1, 32, 128):
        fio_null = lambda depth=depth: sides.fio("--ioengine=null", "--size=1g", "--bs=4k", f"--iodepth={depth}")
        yield f"null engine, depth {depth}, and fio's", null(depth), fio_null
    yield "null engine, two threads and one", null(32, "-t", "2"), null(32)
    for depth in (1, 32, 128):
        ring = null(depth, "--engine", "io_uring", *together(CACHED_BATCH))
        yield (f"io_uring no-ops, depth {depth}, and the bare ring", ring,
               lambda depth=depth: sides.bare("nop", str(depth), runtime))
        if T_IO_URING:
            yield (f"io_uring no-ops, depth {depth}, and t/io_uring", ring,
                   lambda depth=depth: sides.t_io_uring("-N1", f"-d{depth}"))

    warm = ["--rw", "randread", "--cache", "both", "--page-cache", "warm"]
    for bs in (512, 4096):
        for depth in (32, 128):
            ours = lambda bs=bs, depth=depth: sides.halfpower(
                cached, *warm, "--engine", "io_uring", "--bs", str(bs), "-o", str(depth), *together(CACHED_BATCH))
            bare = lambda bs=bs, depth=depth: sides.bare("ring", cached, str(bs), str(depth), runtime)
            fio = lambda bs=bs, depth=depth: sides.fio_ring("randread", bs, depth, False, CACHED_BATCH)
            yield f"cached reads, {bs} B, depth {depth}, and the bare ring", ours, bare
            yield f"cached reads, {bs} B, depth {depth}, and fio tuned", ours, fio
            if T_IO_URING:
                theirs = lambda bs=bs, depth=depth: sides.t_io_uring(f"-b{bs}", f"-d{depth}")
                yield f"cached reads, {bs} B, depth {depth}, and t/io_uring", ours, theirs
    yield ("cached reads by pread, 4096 B, and the bare loop",
           lambda: sides.halfpower(cached, *warm, "--engine", "sync", "--bs", "4096", "-o", "1"),
           lambda: sides.bare("pread", cached, "4096", runtime))

    for rw in ("randread", "randwrite"):
        for bs in (4096, 65536):
            for depth in (32, 128):
                ours = lambda rw=rw, bs=bs, depth=depth: sides.halfpower(
                    data, "--overwrite", "--rw", rw, "--engine", "io_uring", "--bs", str(bs), "-o", str(depth),
                    *together(DIRECT_BATCH))
                fio = lambda rw=rw, bs=bs, depth=depth: sides.fio_ring(rw, bs, depth, True, DIRECT_BATCH)
                yield f"direct {rw}, {bs >> 10} KiB, depth {depth}, and fio tuned", ours, fio


def machine_seconds():
    """Busy and all processor seconds since the machine started."""
    with open("/proc/stat", encoding="ascii") as stat:
        ticks = [int(word) for word in stat.readline().split()[1:9]]
    idle = ticks[3] + ticks[4]
    return (sum(ticks) - idle) / os.sysconf("SC_CLK_TCK"), sum(ticks) / os.sysconf("SC_CLK_TCK")


def own_seconds():
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in usage)


def with_others(work):
    """What `work` gives, and the share of the machine that others took meanwhile."""
    (busy, whole), own = machine_seconds(), own_seconds()
    result = work()
    (busy_then, whole_then), own_then = machine_seconds(), own_seconds()
    return result, max(0.0, (busy_then - busy) - (own_then - own)) / max(whole_then - whole, 1e-9)


def pair_up(ours, theirs, pairs):
    """Pairs of runs, the quietest ones, and how much of the machine others had in the loudest of them."""
    kept = []
    for turn in range(3 * pairs):
        order = (ours, theirs) if turn % 2 == 0 else (theirs, ours)
        pair, others = with_others(lambda: [side() for side in order])
        kept.append((others, pair if turn % 2 == 0 else pair[::-1]))
        if sum(others <= OTHERS_MOST for others, _ in kept) == pairs:
            break
    kept = sorted(kept, key=lambda one: one[0])[:pairs]
    return [pair for _, pair in kept], kept[-1][0]


def ratio(pairs, figure):
    values = [figure(ours) / figure(theirs) for ours, theirs in pairs]
    return f"**{statistics.median(values):.2f}** ({min(values):.2f} to {max(values):.2f})"


def row(name, pairs, others):
    mine, other = (statistics.median(ns_a_request(side) for side in both) for both in zip(*pairs))
    charged = [statistics.median(charged_ns(side) for side in both) for both in zip(*pairs)]
    return (f"| {name} | {mine:.0f} / {other:.0f} | {ratio(pairs, ns_a_request)} | {charged[0]:.1f} / {charged[1]:.1f} | "
            f"{ratio(pairs, charged_ns)} | {others:.0%} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", default=".")
    parser.add_argument("--only", default="", help="cells whose name holds this")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--runtime", type=float, default=0.5)
    parser.add_argument("--size", type=int, default=256, help="MiB of the file")
    parser.add_argument("--tiny", action="store_true", help="once through everything, for its own sake")
    args = parser.parse_args()
    if args.tiny:
        args.pairs, args.runtime, args.size = 1, 0.05, 8
    # So that its files are removed as well when somebody ends it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sides = Sides(args.folder, args.runtime, args.size)
    try:
        print("| cell: ours / theirs | ns a request | ratio | charged ns a request | ratio | others, most |")
        print("|---|---|---|---|---|---|")
        for name, ours, theirs in cells(sides):
            if args.only in name:
                print(row(name, *pair_up(ours, theirs, args.pairs)), flush=True)
    finally:
        sides.close()


if __name__ == "__main__":
    main()
