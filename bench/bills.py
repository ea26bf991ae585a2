#!/usr/bin/env python3
"""What does a request cost the processors, by each program's own account and by the machine's? halfpower and fio read
one file with equal settings, in turn; who goes first changes from pair to pair.

    bench/bills.py [--pairs 5] [--runtime 2] [--halfpower target/release/halfpower] FILE

FILE is read only and has to hold data. The machine's account is /proc/stat over the middle of a run, when both programs
have long begun, less what the machine spent right before; it counts whole clock ticks, so it needs seconds, and an
otherwise idle machine: the last column is the share of it that others had before the runs.
"""
import argparse
import json
import os
import statistics
import subprocess
import time

# Cells: name, halfpower's engine, fio's flags, depth. Both read 4 KiB at random.
ENGINES = [
    ("sync", "sync", ["--ioengine=psync"], 1),
    ("io_uring", "io_uring", ["--ioengine=io_uring", "--fixedbufs=1", "--registerfiles=1"], 32),
    ("SQPOLL", "io_uring_sqpoll", ["--ioengine=io_uring", "--fixedbufs=1", "--registerfiles=1", "--sqthread_poll=1"], 32),
]
# Seconds in which a program has surely begun, and after which it surely goes on.
BEGUN = 1.5


def machine():
    """Busy and all processor time so far, in seconds over all processors."""
    with open("/proc/stat") as file:
        ticks = [int(field) for field in file.readline().split()[1:9]]
    user, nice, system, idle, iowait, irq, softirq, steal = ticks
    a_second = os.sysconf("SC_CLK_TCK")
    return (user + nice + system + irq + softirq) / a_second, sum(ticks) / a_second


def halfpower(args, engine, fio_flags, depth, direct, seconds):
    del fio_flags
    return [args.halfpower, "run", args.file, "--engine", engine, "--rw", "randread", "--bs", "4KiB", "--iodepth", str(depth),
            "--cache", "device" if direct else "both", "--runtime", f"{seconds}s", "--json"]


def fio(args, engine, fio_flags, depth, direct, seconds):
    del engine
    return ["fio", "--name=cell", f"--filename={args.file}", "--readonly", "--rw=randread", "--bs=4k", f"--iodepth={depth}",
            f"--direct={int(direct)}", *fio_flags, f"--iodepth_batch_submit={depth}", "--iodepth_batch_complete_min=1",
            f"--iodepth_batch_complete_max={depth}", "--time_based", f"--runtime={seconds}", "--output-format=json"]


def own_account(program, report):
    """Microseconds a request by the program's own account, and its requests a second."""
    report = json.loads(report[report.index("{"):])
    if program is halfpower:
        return report["cpu"]["charged_us"], report["iops"]
    job = report["jobs"][0]
    spent_us = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] * 1e3
    return spent_us / job["read"]["total_ios"], job["read"]["iops"]


def bill(args, program, cell, direct):
    """Own account and the machine's, in microseconds a request, requests a second, and what others had before."""
    busy, everything = machine()
    time.sleep(args.runtime / 2)
    busy_then, everything_then = machine()
    others = (busy_then - busy) / (everything_then - everything)
    command = program(args, *cell[1:], direct, args.runtime + 2 * BEGUN)
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    time.sleep(BEGUN)
    busy, everything = machine()
    began = time.monotonic()
    time.sleep(args.runtime)
    busy_then, everything_then = machine()
    seconds = time.monotonic() - began
    report, _ = child.communicate()
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed")
    own_us, iops = own_account(program, report)
    spent = busy_then - busy - others * (everything_then - everything)
    return own_us, spent * 1e6 / (iops * seconds), iops, others


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--runtime", type=float, default=2)
    parser.add_argument("--halfpower", default=os.path.join(os.path.dirname(__file__), "../target/release/halfpower"))
    args = parser.parse_args()
    print("Processor time a request in microseconds, 4 KiB random reads: by the program's own account and by the machine's; "
          "medians over pairs.\n")
    print("| engine | cache | depth | halfpower's own | machine's | share | fio's own | machine's | share | IOPS, both | others, most |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for direct in (True, False):
        for cell in ENGINES:
            bills = {halfpower: [], fio: []}
            for pair in range(args.pairs):
                for program in (halfpower, fio) if pair % 2 else (fio, halfpower):
                    bills[program].append(bill(args, program, cell, direct))
            columns, rates = [], []
            for program in (halfpower, fio):
                own, truth, iops = (statistics.median(column) for column in list(zip(*bills[program]))[:3])
                columns += [f"{own:.1f}", f"{truth:.1f}", f"{own / truth:.2f}" if truth > 0 else "-"]
                rates.append(f"{iops:,.0f}")
            others = max(bill[3] for program in bills for bill in bills[program])
            cache = "direct" if direct else "buffered"
            print(f"| {cell[0]} | {cache} | {cell[3]} | {' | '.join(columns)} | {' / '.join(rates)} | {others:.0%} |", flush=True)


if __name__ == "__main__":
    main()
