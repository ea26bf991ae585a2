#!/usr/bin/env python3
"""Do halfpower and IOR see the same path from many processes? Both move the same bytes in the same folder, in turn, with
a file for each process and with one for all; who goes first changes from pair to pair.

    bench/hosts.py [--pairs 5] [--processes 4] [--size 64] [--launcher 'mpirun --oversubscribe'] FOLDER

$HALFPOWER is halfpower built with --features mpi, $IOR is IOR (default: ior); without one of them nothing is done, and
that is said. IOR measures how long all its bytes take, halfpower how many go in a time: give a path whose rate stays, such
as one behind a limit.
"""
import argparse
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile

# Cells: name, reads or writes, IOR's flag and halfpower's.
CELLS = [
    ("read, a file each", "read", ["-F"], []),
    ("write, a file each", "write", ["-F"], []),
    ("read, one file", "read", [], ["--host-layout", "shared"]),
    ("write, one file", "write", [], ["--host-layout", "shared"]),
]
TRANSFER = 64 << 10


def launched(args, words):
    line = [*shlex.split(args.launcher), "-n", str(args.processes), *words]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(line)}: {done.stderr or done.stdout}")
    return done.stdout


def halfpower(args, rw, ior_flags, flags):
    """MB/s of one run: direct, a request at a time in each process, as IOR's POSIX calls."""
    del ior_flags
    text = launched(args, [args.halfpower, "run", args.folder, "--engine", "sync", "--rw", rw, "--bs", str(TRANSFER),
                           "--iodepth", "1", "--cache", "device", "--size", f"{args.size}MiB", "--runtime",
                           f"{args.runtime}s", "--json", *flags])
    return json.loads(text)["mbps"]


def ior(args, rw, ior_flags, flags):
    """The same by IOR, which writes before it reads; -C lets processes read what others wrote, -e flushes."""
    del flags
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        summary = os.path.join(folder, "summary")
        launched(args, [args.ior, "-a", "POSIX", "--posix.odirect", "-t", str(TRANSFER), "-b", f"{args.size}m", "-C", "-e",
                        "-w", "-r", *ior_flags, "-o", os.path.join(folder, "data"), "-O", "summaryFormat=JSON", "-O",
                        f"summaryFile={summary}"])
        with open(summary, encoding="utf-8") as file:
            operations = json.load(file)["summary"]
    return next(found["bwMeanMIB"] for found in operations if found["operation"] == rw) * 1.048576


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--size", type=int, default=64, help="MiB of each process")
    parser.add_argument("--runtime", type=float, default=4)
    parser.add_argument("--launcher", default="mpirun --oversubscribe --bind-to none")
    args = parser.parse_args()
    args.halfpower, args.ior = os.environ.get("HALFPOWER", "halfpower"), os.environ.get("IOR", "ior")
    for program in [args.halfpower, args.ior, shlex.split(args.launcher)[0]]:
        if not shutil.which(program):
            print(f"skipped: {program} is not there; set HALFPOWER and IOR", file=sys.stderr)
            return
    print("| cell | halfpower MB/s | IOR MB/s | ratio |\n|---|---|---|---|")
    for name, rw, ior_flags, flags in CELLS:
        rates = {halfpower: [], ior: []}
        for pair in range(args.pairs):
            for program in [halfpower, ior][:: 1 if pair % 2 else -1]:
                rates[program].append(program(args, rw, ior_flags, flags))
        ratios = [ours / theirs for ours, theirs in zip(rates[halfpower], rates[ior])]
        ours, theirs = (statistics.median(rates[program]) for program in [halfpower, ior])
        print(f"| {name} | {ours:.1f} | {theirs:.1f} | **{statistics.median(ratios):.3f}** "
              f"({min(ratios):.3f} to {max(ratios):.3f}) |", flush=True)


if __name__ == "__main__":
    main()
