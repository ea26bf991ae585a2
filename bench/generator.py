#!/usr/bin/env python3
"""How light is the generator? Pairs halfpower with fio and with a bare loop, in turn, and prints a table of ratios.

    bench/generator.py [--only WORD] [--pairs N] [--runtime SECONDS] [--size MIB] [--tiny] [FOLDER]

Each row is one cell: both sides run one after the other, PAIRS times, and who goes first changes from pair to pair. The
ratio is the median over the pairs, with the least and the greatest. A pair during which others took more than a tenth
of the machine is run again, up to five times as many pairs as asked for; the table says how many were kept in spite of
that. FOLDER (default: this one) takes a file, which is removed again. Needs fio and a C compiler.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
HALFPOWER = os.environ.get("HALFPOWER", os.path.join(HERE, "../target/release/halfpower"))
OTHERS_MOST = 0.10


class Sides:
    """The three programs, each giving requests, seconds and charged processor seconds of one run."""

    def __init__(self, folder, runtime, size_mib):
        self.runtime, self.size = runtime, size_mib << 20
        self.scratch = tempfile.mkdtemp()
        self.bare_program = os.path.join(self.scratch, "bare")
        subprocess.run(["cc", "-O2", "-o", self.bare_program, os.path.join(HERE, "bare.c")], check=True)
        descriptor, self.data = tempfile.mkstemp(prefix="generator.", dir=folder)
        with os.fdopen(descriptor, "wb") as data:
            for _ in range(size_mib):
                data.write(os.urandom(1 << 20))
            data.flush()
            os.fsync(descriptor)

    def close(self):
        for path in (self.data, self.bare_program):
            os.unlink(path)
        os.rmdir(self.scratch)

    def halfpower(self, target, *flags):
        command = [HALFPOWER, "run", target, "--json", "--runtime", f"{round(self.runtime * 1000)}ms", *flags]
        record = json.loads(output(command))
        if record["errors"]:
            sys.exit(f"errors in {command}: {record['errors']}")
        charged = (record["cpu"]["user_ms"] + record["cpu"]["system_ms"]) / 1e3
        return record["ios"], record["seconds"], charged

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
        return self.fio(f"--filename={self.data}", f"--size={self.size}", "--ioengine=io_uring", f"--rw={rw}",
                        f"--bs={bs}", f"--iodepth={depth}", f"--direct={int(direct)}", "--invalidate=0",
                        "--fixedbufs=1", "--registerfiles=1", "--nonvectored=1", f"--iodepth_batch_submit={batch}",
                        "--iodepth_batch_complete_min=1", f"--iodepth_batch_complete_max={depth}")


def output(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr or done.stdout}")
    return done.stdout


def ns_a_request(run):
    ios, seconds, _ = run
    return seconds / ios * 1e9


def charged_us(run):
    ios, _, charged = run
    return charged / ios * 1e6


def cells(sides):
    """Name; our side; the other side; what is compared; how; the target."""
    data, runtime = sides.data, str(sides.runtime)
    rate = ("requests/s of theirs", lambda ours, theirs: ns_a_request(theirs) / ns_a_request(ours))
    time_ratio = ("time a request of theirs", lambda ours, theirs: ns_a_request(ours) / ns_a_request(theirs))
    charge = ("charged time a request of theirs", lambda ours, theirs: charged_us(ours) / charged_us(theirs))

    def null(depth, *flags):
        return lambda: sides.halfpower("null:", "--bs", "4KiB", "-o", str(depth), *flags)

    for depth in (1, 32, 128):
        fio_null = lambda depth=depth: sides.fio("--ioengine=null", "--size=1g", "--bs=4k", f"--iodepth={depth}")
        yield f"null engine, depth {depth}, and fio's", null(depth), fio_null, [time_ratio], ns_a_request
    yield "null engine, two threads and one", null(32, "-t", "2"), null(32), [rate], ns_a_request
    for depth in (1, 32, 128):
        ring = null(depth, "--engine", "io_uring")
        yield (f"io_uring no-ops, depth {depth}, and the bare ring", ring,
               lambda depth=depth: sides.bare("nop", str(depth), runtime), [time_ratio], ns_a_request)

    warm = ["--rw", "randread", "--cache", "both", "--page-cache", "warm"]
    for bs in (512, 4096):
        for depth in (32, 128):
            ours = lambda bs=bs, depth=depth: sides.halfpower(
                data, *warm, "--engine", "io_uring", "--bs", str(bs), "-o", str(depth))
            bare = lambda bs=bs, depth=depth: sides.bare("ring", data, str(bs), str(depth), runtime)
            fio = lambda bs=bs, depth=depth: sides.fio_ring("randread", bs, depth, False, 32)
            yield f"cached reads, {bs} B, depth {depth}, and the bare ring", ours, bare, [rate], ns_a_request
            yield f"cached reads, {bs} B, depth {depth}, and fio tuned", ours, fio, [rate], ns_a_request
    difference = ("ns more than theirs", lambda ours, theirs: ns_a_request(ours) - ns_a_request(theirs))
    yield ("cached reads by pread, 4096 B, and the bare loop",
           lambda: sides.halfpower(data, *warm, "--engine", "sync", "--bs", "4096", "-o", "1"),
           lambda: sides.bare("pread", data, "4096", runtime), [difference], ns_a_request)

    for rw in ("randread", "randwrite"):
        for bs in (4096, 65536):
            for depth in (32, 128):
                ours = lambda rw=rw, bs=bs, depth=depth: sides.halfpower(
                    data, "--overwrite", "--rw", rw, "--engine", "io_uring", "--bs", str(bs), "-o", str(depth))
                fio = lambda rw=rw, bs=bs, depth=depth: sides.fio_ring(rw, bs, depth, True, 16)
                yield f"direct {rw}, {bs >> 10} KiB, depth {depth}, and fio tuned", ours, fio, [rate, charge], ns_a_request


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


def wait_for_quiet(patience):
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline and with_others(lambda: time.sleep(0.2))[1] > OTHERS_MOST:
        pass


def pair_up(ours, theirs, pairs, patience):
    kept, disturbed = [], []
    while len(kept) < pairs and len(kept) + len(disturbed) < 5 * pairs:
        wait_for_quiet(patience)
        first_is_ours = (len(kept) + len(disturbed)) % 2 == 0
        order = (ours, theirs) if first_is_ours else (theirs, ours)
        pair, others = with_others(lambda: [side() for side in order])
        pair = pair if first_is_ours else pair[::-1]
        (kept if others <= OTHERS_MOST or not patience else disturbed).append((others, pair))
    in_spite = sorted(disturbed, key=lambda one: one[0])[:pairs - len(kept)]
    return [pair for _, pair in kept + in_spite], len(in_spite)


def row(name, pairs, in_spite, comparison, figure):
    what, compare = comparison
    values = [compare(*pair) for pair in pairs]
    mine, other = (statistics.median(figure(side) for side in both) for both in zip(*pairs))
    digits = 0 if "ns more" in what else 2
    note = f"; {in_spite} disturbed" if in_spite else ""
    return (f"| {name} | {mine:.1f} | {other:.1f} | **{statistics.median(values):.{digits}f}** {what} | "
            f"{min(values):.{digits}f} to {max(values):.{digits}f} ({len(pairs)} pairs{note}) |")


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
    sides = Sides(args.folder, args.runtime, args.size)
    try:
        print("| cell | halfpower, ns a request | the other side | ratio | least to greatest |\n|---|---|---|---|---|")
        for name, ours, theirs, comparisons, figure in cells(sides):
            if args.only in name:
                pairs, in_spite = pair_up(ours, theirs, args.pairs, 0 if args.tiny else 30)
                for comparison in comparisons:
                    print(row(name, pairs, in_spite, comparison, figure), flush=True)
    finally:
        sides.close()


if __name__ == "__main__":
    main()
