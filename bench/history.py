#!/usr/bin/env python3
"""Counts what `halfpower history` reads: of thousands of studies the first time, and the next time, from its index.

    bench/history.py [--studies 2000] [--kinds 20] [--budget 5s] [--rounds 5] [--halfpower target/release/halfpower] [FOLDER]

--kinds small studies of one simulated disk, each with noise of its own, are copied until there are --studies, each an hour
younger than the one before. FOLDER (default: this one) takes them and the index, which are removed again: some 140 KiB a
study. Histories without an index and with an empty one are made once, those that find it filled --rounds times, of which the
medians are shown. Bytes and calls are those of all system calls that read, whatever the page cache holds (/proc/PID/io, rchar
and syscr). Opened files are counted in a run of its own with strace, if it is installed. Ends with 1 if the index gives
another answer, or if a study is read again.
"""
import argparse
import collections
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

DISK = "sim:fixed=80us,rate=500MB/s,disks=4,noise=3%"
STUDY = ["--experiments", "random", "--rw", "read", "--cache", "device", "--bs", "4KiB,64KiB", "--iodepth", "1,8"]
HOUR_S = 3600

Cost = collections.namedtuple("Cost", "bytes calls processor_s seconds")


def studies(args, folder):
    """Makes the study files in a folder."""
    kinds = []
    for seed in range(1, args.kinds + 1):
        path = folder.parent / f"kind-{seed}.halfpower"
        words = ["study", DISK, *STUDY, "--budget", args.budget, "--seed", str(seed), "--output", str(path)]
        subprocess.run([args.halfpower, *words], stdout=subprocess.DEVNULL, check=True)
        kinds.append(path)
    folder.mkdir()
    # All of them are older than a file that the index takes for one that may still change.
    first = time.time() - (args.studies + 1) * HOUR_S
    for number in range(args.studies):
        # Neighbours in time are of different kinds, and no kind has a stretch of its own.
        path = shutil.copyfile(kinds[number * 7 % args.kinds], folder / f"{number:06}.halfpower")
        os.utime(path, (first + number * HOUR_S,) * 2)
    return sum(path.stat().st_size for path in folder.iterdir())


def command(args, folder, words):
    return [args.halfpower, "history", str(folder), "--json", *words]


def environment(folder):
    return {**os.environ, "XDG_CACHE_HOME": str(folder.parent / "cache")}


def history(args, folder, words=()):
    """What a history said, and what it cost."""
    with tempfile.TemporaryFile() as out:
        began = time.monotonic()
        process = subprocess.Popen(command(args, folder, words), stdout=out, env=environment(folder))
        # Its counters are there until it is waited for.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        seconds = time.monotonic() - began
        io = dict(line.split(": ") for line in pathlib.Path(f"/proc/{process.pid}/io").read_text().splitlines())
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"halfpower history ended with {process.returncode}")
        out.seek(0)
        return out.read(), Cost(int(io["rchar"]), int(io["syscr"]), used.ru_utime + used.ru_stime, seconds)


def opened(args, folder, words=()):
    """How many study files a history opens; `None` without strace."""
    if not shutil.which("strace"):
        return None
    with tempfile.NamedTemporaryFile("r") as trace:
        strace = ["strace", "-f", "-qq", "-e", "trace=open,openat", "-o", trace.name]
        done = subprocess.run(strace + command(args, folder, words), stdout=subprocess.DEVNULL, env=environment(folder))
        if done.returncode != 0:
            return None
        is_study = lambda line: ".halfpower\"" in line and " = -1 " not in line and "cache/halfpower/" not in line
        return len({line.split('"')[1] for line in trace if is_study(line)})


def row(what, costs, files, count):
    cost = Cost(*(statistics.median(values) for values in zip(*costs)))
    files = "not counted" if files is None else f"{files:,}"
    each = f"{cost.bytes / count:,.0f} | {cost.calls / count:.1f} | {1e6 * cost.processor_s / count:,.0f}"
    print(f"| {what} | {files} | {each} | {cost.seconds:.2f} |", flush=True)
    return cost


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--kinds", type=int, default=20)
    parser.add_argument("--budget", default="5s")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--halfpower", default=os.environ.get("HALFPOWER", "target/release/halfpower"))
    parser.add_argument("folder", nargs="?", default=".")
    args = parser.parse_args()
    args.halfpower = os.path.abspath(args.halfpower)
    with tempfile.TemporaryDirectory(prefix="history.", dir=args.folder) as work:
        folder = pathlib.Path(work).resolve() / "studies"
        size = studies(args, folder)
        index = folder.parent / "cache"
        read, without = history(args, folder, ["--no-index"])
        first_said, first = history(args, folder)
        later = [history(args, folder) for _ in range(args.rounds)]
        count_later = opened(args, folder)
        shutil.rmtree(index)
        count_first = opened(args, folder)
        count_without = opened(args, folder, ["--no-index"])
        print(f"{args.studies:,} studies of {size / args.studies / 1024:,.0f} KiB", file=sys.stderr)
        print("| history | studies opened | bytes read, a study | reading calls, a study | processor µs, a study | s in all |")
        print("|---|---|---|---|---|---|")
        row("without an index", [without], count_without, args.studies)
        row("the first one", [first], count_first, args.studies)
        row("the next ones", [cost for _, cost in later], count_later, args.studies)
    if any(said != read for said in [first_said] + [said for said, _ in later]):
        sys.exit("the index gives another answer than the studies")
    if count_later:
        sys.exit(f"{count_later} studies are opened again")


if __name__ == "__main__":
    main()
