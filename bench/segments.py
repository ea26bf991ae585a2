#!/usr/bin/env python3
"""Shows in how many segments of the machine's memory requests in ordinary pages lie, and what that makes of their rate.

    bench/segments.py [--mib 0,288,480] [--runtime 0.3] [--fios 3] [--halfpower target/release/halfpower] FILE

The kernel hands out the smallest stretches of free memory first. Before each run of halfpower somebody else takes so many MiB of
ordinary pages and holds them, so that the run gets what comes after. Then fio runs as often as asked, with the same requests, and
its buffer is looked at. FILE has to hold data, and is only read. Where pages lie the kernel tells root alone.
"""
import argparse
import json
import mmap
import os
import struct
import subprocess
import time

PAGE = mmap.PAGESIZE
BS, DEPTH = 1 << 20, 8
PRESENT, FRAME = 1 << 63, (1 << 55) - 1


def held(mib):
    """So much memory in ordinary pages, touched."""
    if not mib:
        return None
    memory = mmap.mmap(-1, mib << 20)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, len(memory), PAGE):
        memory[at] = 1
    return memory


def halfpower(args, mib):
    memory = held(mib)
    text = subprocess.run([args.halfpower, "run", args.file, "--rw", "randread", "--bs", str(BS), "--iodepth", str(DEPTH), "--runtime",
                           f"{args.runtime}s", "--json"], capture_output=True, text=True, check=True).stdout
    del memory
    report = json.loads(text)
    if report["buffer_segments"] is None:
        raise SystemExit("the kernel does not tell where pages lie: root may ask")
    return report["buffer_segments"], report["mbps"]


def frames(process, begin, end):
    with open(f"/proc/{process}/pagemap", "rb") as file:
        file.seek(begin // PAGE * 8)
        entries = struct.unpack(f"{(end - begin) // PAGE}Q", file.read((end - begin) // PAGE * 8))
    return [entry & FRAME for entry in entries if entry & PRESENT]


def fio(args):
    """The segments of a request's length of fio's buffer, which is the mapping that is touched from end to end, and the rate."""
    job = subprocess.Popen(["fio", "--name=cell", f"--filename={args.file}", "--rw=randread", f"--bs={BS}", f"--iodepth={DEPTH}",
                            "--direct=1", "--ioengine=libaio", "--thread", "--time_based", f"--runtime={args.runtime + 1:.0f}s",
                            "--output-format=json"], stdout=subprocess.PIPE, text=True)
    time.sleep(0.8)
    segments = None
    with open(f"/proc/{job.pid}/maps") as file:
        for fields in map(str.split, file):
            begin, end = (int(word, 16) for word in fields[0].split("-"))
            if len(fields) == 5 and BS * DEPTH <= end - begin <= 2 * BS * DEPTH:
                of_buffer = frames(job.pid, begin, end)
                if len(of_buffer) * PAGE >= BS * DEPTH:
                    follows = sum(one + 1 == next for one, next in zip(of_buffer, of_buffer[1:]))
                    segments = (len(of_buffer) - follows) / DEPTH
    report = json.loads(job.communicate()[0])
    return segments, report["jobs"][0]["read"]["bw_bytes"] / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("--mib", default="0,288,480")
    parser.add_argument("--runtime", type=float, default=0.3)
    parser.add_argument("--fios", type=int, default=3)
    parser.add_argument("--halfpower", default=os.path.join(os.path.dirname(__file__), "../target/release/halfpower"))
    args = parser.parse_args()
    print("| random reads of 1 MiB, 8 deep, ordinary pages | segments a request | MB/s |")
    print("|---|---|---|")
    for mib in map(int, args.mib.split(",")):
        segments, mbps = halfpower(args, mib)
        print(f"| halfpower, {mib} MiB taken before | {segments:.1f} | {mbps:,.0f} |", flush=True)
    for number in range(args.fios):
        segments, mbps = fio(args)
        print(f"| fio, run {number + 1} | {'not found' if segments is None else f'{segments:.1f}'} | {mbps:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
