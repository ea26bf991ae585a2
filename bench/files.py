#!/usr/bin/env python3
"""Do halfpower, mdtest and fio see the same rates of operations on small files? All work in the same folder, in turn, with
the same number of files of the same size, in a folder for each thread and in one for all; who goes first changes from pair
to pair.

    bench/files.py [--mdtest PROGRAM] [--pairs 5] [--files 8192] [--threads 1,2] [--only WORD] [--tiny] [FOLDER]

$HALFPOWER is halfpower (default: target/release). mdtest and fio are left out where they are missing, and that is said. Each
run has a new folder of its own, far from those of earlier runs: on ext4 without a journal, inodes that they freed slow down
creation (docs/method/experiments/files.md).
"""
import argparse
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
HALFPOWER = os.environ.get("HALFPOWER", os.path.join(HERE, "../target/release/halfpower"))
BYTES = 4096
GET_MDTEST = ("mdtest is not there: build it from https://github.com/hpc/ior (./bootstrap && ./configure && make; needs "
              "autoconf, automake and an MPI), and give --mdtest ior/src/mdtest")
# Operation: the words that mdtest prints its rates under.
MDTEST_NAMES = {"create": "File creation", "durable": "File creation", "stat": "File stat", "remove": "File removal"}
FIO_ENGINES = {"empty": "filecreate", "stat": "filestat", "remove": "filedelete"}


class Sides:
    """The programs. Each gives operations a second of one run, of so many threads or processes."""

    def __init__(self, args):
        self.args = args
        # The top of a tree: ext4 spreads the folders in it over block groups. Other file systems refuse.
        self.place = tempfile.mkdtemp(prefix="files.", dir=args.folder)
        with contextlib.suppress(OSError):
            subprocess.run(["chattr", "+T", self.place], stderr=subprocess.DEVNULL, check=False)

    def close(self):
        shutil.rmtree(self.place, ignore_errors=True)

    @contextlib.contextmanager
    def new_folder(self):
        folder = tempfile.mkdtemp(dir=self.place)
        yield folder
        shutil.rmtree(folder)

    def files_of(self, operation):
        """Files of each thread. One that is made durable takes as long as hundreds that are not."""
        return max(1, self.args.files // 16) if operation == "durable" else self.args.files

    def halfpower(self, operation, threads, folders, by_latency=False):
        """By latency: what one call takes, which is all that fio tells of stat."""
        kind = {"empty": "create", "durable": "create"}.get(operation, operation)
        words = ["--file-operation", kind, "--rw", "read" if kind == "stat" else "write", "--folders", folders,
                 "--file-count", self.files_of(operation), "--threads", threads, "--bs", 1 if operation == "empty" else BYTES,
                 "--cache", "os" if operation == "durable" else "both", "--engine", "sync", "--iodepth", 1,
                 "--runtime", "500ms" if kind == "stat" else "60s"]
        with self.new_folder() as folder:
            record = json.loads(output([HALFPOWER, "run", folder, *map(str, words), "--json"]))
        if record["errors"]:
            sys.exit(f"{kind}: {record['errors']} errors")
        return threads * 1e9 / record["latency_ns"]["mean"] if by_latency else record["iops"]

    def mdtest(self, operation, threads, folders):
        """A process for each thread, with the phases that the operation needs. What its processes say is added up: its own
        sum has how long they wait for each other at the end, which may take longer than all calls of stat."""
        phases = {"create": ["-C"], "durable": ["-C", "-y"], "stat": ["-C", "-T"], "remove": ["-C", "-r"]}[operation]
        with self.new_folder() as folder:
            line = [*shlex.split(self.args.launcher), "-n", str(threads), self.args.mdtest, "-F", *phases, "-n",
                    str(self.files_of(operation)), "-w", str(BYTES), *(["-u"] if folders == "own" else []),
                    "--print-all-procs", "-d", os.path.join(folder, "data")]
            said = output(line, dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1"))
        rates = re.search(rf"^Test {MDTEST_NAMES[operation]} ([0-9.e+,]+)$", said, re.M)[1].split(",")
        return sum(map(float, rates))

    def fio(self, operation, threads, folders):
        """An engine of fio's for files; files that hold bytes are made by its engine sync."""
        with self.new_folder() as folder:
            own = [os.path.join(folder, f"of-{thread}") for thread in range(threads)]
            within = own if folders == "own" else [folder]
            for path in own if folders == "own" else []:
                os.mkdir(path)
            common = ["fio", "--name=cell", f"--directory={':'.join(within)}", "--thread", f"--numjobs={threads}",
                      f"--nrfiles={self.files_of(operation)}", f"--filesize={BYTES}", f"--bs={BYTES}", "--openfiles=1",
                      "--create_on_open=1", "--fallocate=none", "--file_service_type=sequential", "--output-format=json"]
            write = [*common, "--ioengine=sync", "--rw=write"]
            if operation in ("stat", "remove"):
                output(write)
            line = {"create": write, "durable": [*write, "--fsync_on_close=1"]}.get(operation)
            said = output(line or [*common, f"--ioengine={FIO_ENGINES[operation]}", "--rw=read"])
        jobs = json.loads(said[said.index("{"):])["jobs"]
        sides = [max(job["read"], job["write"], key=lambda side: side["total_ios"]) for job in jobs]
        if operation == "stat":
            return sum(1e9 / side["clat_ns"]["mean"] for side in sides)
        return sum(side["total_ios"] for side in sides) / max(side["runtime"] for side in sides) * 1e3


def output(command, environment=None):
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr or done.stdout}")
    return done.stdout


def cells(sides, args):
    """Name; our side; the other side: each takes threads and folders."""
    if args.mdtest:
        for operation, name in [("create", "create, 4 KiB"), ("durable", "create, durable"), ("stat", "stat"),
                                ("remove", "remove")]:
            yield (f"{name}, and mdtest", lambda *at, operation=operation: sides.halfpower(operation, *at),
                   lambda *at, operation=operation: sides.mdtest(operation, *at))
    if args.has_fio:
        for operation, name in [("create", "create, 4 KiB, and fio's sync"), ("durable", "create, durable, and fio's sync"),
                                ("empty", "create, a byte, and fio's filecreate"), ("stat", "stat, and fio's filestat"),
                                ("remove", "remove, and fio's filedelete")]:
            yield (name, lambda *at, operation=operation: sides.halfpower(operation, *at, by_latency=operation == "stat"),
                   lambda *at, operation=operation: sides.fio(operation, *at))


def row(name, ours, theirs, pairs):
    both = []
    for turn in range(pairs):
        order = (ours, theirs) if turn % 2 == 0 else (theirs, ours)
        pair = [side() for side in order]
        both.append(pair if turn % 2 == 0 else pair[::-1])
    ratios = [mine / other for mine, other in both]
    mine, other = (statistics.median(side) for side in zip(*both))
    return (f"| {name} | {mine:,.0f} | {other:,.0f} | **{statistics.median(ratios):.2f}** ({min(ratios):.2f} to "
            f"{max(ratios):.2f}) |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=".")
    parser.add_argument("--mdtest", help="its program (default: mdtest, if it is there)")
    parser.add_argument("--launcher", default="mpirun --oversubscribe --bind-to none", help="starts its processes")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--files", type=int, default=8192, help="of each thread")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--only", default="", help="cells whose name holds this")
    parser.add_argument("--tiny", action="store_true", help="once through everything, for its own sake")
    args = parser.parse_args()
    if args.tiny:
        args.pairs, args.files = 1, 256
    if args.mdtest is not None and not shutil.which(args.mdtest):
        sys.exit(GET_MDTEST)
    args.mdtest = args.mdtest or shutil.which("mdtest")
    if not args.mdtest:
        print(f"skipped: {GET_MDTEST}", file=sys.stderr)
    args.has_fio = shutil.which("fio")
    if not args.has_fio:
        print("skipped: fio is not there: install it", file=sys.stderr)
    # So that its files are removed as well when somebody ends it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sides = Sides(args)
    try:
        print("| files a second | halfpower | the other | ratio |\n|---|---|---|---|")
        for name, ours, theirs in cells(sides, args):
            for threads in map(int, args.threads.split(",")):
                for folders in ["own", "shared"] if threads > 1 else ["own"]:
                    place = "1 thread" if threads == 1 else f"{threads} threads, {'a folder each' if folders == 'own' else 'one folder'}"
                    full = f"{name}, {place}"
                    if args.only in full:
                        print(row(full, lambda: ours(threads, folders), lambda: theirs(threads, folders), args.pairs),
                              flush=True)
    finally:
        sides.close()


if __name__ == "__main__":
    main()
