#!/usr/bin/env bash
# Does a study name in a tenth of the time what an exhaustive grid names? Both on one real folder, over the same axes:
# the grid is every cell, RUNS runs of RUNTIME seconds each, in shuffled rounds; the study gets a tenth of its time.
# Two grids are made unless GRIDS=1: how far they are apart is what no study can do better than.
#
#   bench/time-to-answer.sh [FOLDER]    BS=4KiB,32KiB,256KiB,1MiB DEPTHS=1,8,32 RUNS=3 RUNTIME=5 HALFPOWER=...
#
# Needs python3. FOLDER (default: this one) takes a file of SIZE, which is removed again. With the default axes of a
# study the grid takes hours; what is set here takes RUNS x RUNTIME x 4 x sizes x depths, for each grid.
set -euo pipefail
folder=${1:-.}
export BS=${BS:-4KiB,32KiB,256KiB,1MiB} DEPTHS=${DEPTHS:-1,8,32} RUNS=${RUNS:-3} RUNTIME=${RUNTIME:-5}
export SIZE=${SIZE:-1GiB} GRIDS=${GRIDS:-2} SEED=${SEED:-1}
export HALFPOWER=${HALFPOWER:-$(dirname "$0")/../target/release/halfpower}
work=$(mktemp -d "$folder/time-to-answer.XXXXXX")
trap 'rm -rf "$work"' EXIT
exec 3>&1
python3 - "$work" <<'PYTHON'
import json, os, random, statistics, subprocess, sys, time

work = sys.argv[1]
halfpower, size = os.environ["HALFPOWER"], os.environ["SIZE"]
sizes, depths = os.environ["BS"].split(","), [int(depth) for depth in os.environ["DEPTHS"].split(",")]
runs, runtime, grids = int(os.environ["RUNS"]), float(os.environ["RUNTIME"]), int(os.environ["GRIDS"])
patterns = ["read", "write", "randread", "randwrite"]
units = {"KiB": 1 << 10, "MiB": 1 << 20}
bytes_of = {text: int(text[:-3]) * units[text[-3:]] for text in sizes}
data = os.path.join(work, "data")

def say(*words):
    print(*words, flush=True)

def halfpower_json(*words):
    done = subprocess.run([halfpower, *words, "--json"], cwd=work, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)

def lay_out():
    block = os.urandom(1 << 20)
    with open(data, "wb") as file:
        for _ in range((1 << 30) // len(block)):
            file.write(block)
        os.fsync(file.fileno())

def grid(seed):
    """Every cell's mean MB/s and processor nanoseconds a byte; each direction in a block of its own in each round."""
    chance, seen = random.Random(seed), {}
    for _ in range(runs):
        for way in (["read", "randread"], ["write", "randwrite"]):
            cells = [(rw, depth, bs) for rw in way for depth in depths for bs in sizes]
            chance.shuffle(cells)
            for rw, depth, bs in cells:
                record = halfpower_json("run", "data", "--overwrite", "--rw", rw, "--bs", bs, "-o", str(depth), "-d", f"{runtime}s")
                spent_ns = record["cpu"]["charged_ns"]
                seen.setdefault((rw, depth, bytes_of[bs]), []).append((record["mbps"], spent_ns / max(record["bytes"], 1)))
    return {cell: tuple(map(statistics.mean, zip(*values))) for cell, values in seen.items()}

def answer_of_grid(cells):
    answer = {}
    for rw in patterns:
        own = {(depth, bs): value for (kind, depth, bs), value in cells.items() if kind == rw}
        best = max(mbps for mbps, _ in own.values())
        near = {at: cost for at, (mbps, cost) in own.items() if mbps >= 0.95 * best}
        advised = min(at for at, cost in near.items() if cost <= 1.05 * min(near.values()))
        half = {}
        for depth in depths:
            curve = sorted((bs, mbps) for (at, bs), (mbps, _) in own.items() if at == depth)
            peak = max(mbps for _, mbps in curve)
            half[depth] = (peak, next(bs for bs, mbps in curve if mbps >= peak / 2))
        answer[rw] = (best, advised, half)
    return answer

def answer_of_study(findings):
    name = lambda finding: ("" if finding["pattern"] == "sequential" else "rand") + finding["rw"]
    answer = {}
    for advice in findings["advice"]:
        half = {curve["iodepth"]: (curve["peak_mbps"], curve["half_power_bs_bytes"]) for curve in findings["curves"] if name(curve) == name(advice)}
        settings = advice["settings"]
        answer[name(advice)] = (max(peak for peak, _ in half.values()), (settings["iodepth"], settings["bs"]), half)
    return answer

def compare(title, found, cells, reference):
    say(f"\n{title}")
    say(f"{'':10}{'peak MB/s':>22}  {'advised (its MB/s, ns a byte in the grid)':58}half power in KiB, by depth")
    for rw in patterns:
        (best, advised, half), (other, asked, other_half) = found[rw], reference[rw]
        words = lambda at: f"{at[1] >> 10} KiB {at[0]} deep ({cells[(rw, *at)][0]:.0f}, {cells[(rw, *at)][1]:.3f})"
        sizes_of = lambda half: ",".join(str(half[depth][1] >> 10) for depth in depths if depth in half)
        say(f"{rw:10}{best:8.0f} {other:7.0f} {best / other - 1:+6.1%}  {words(advised) + ' / ' + words(asked):58}{sizes_of(half)} / {sizes_of(other_half)}")

lay_out()
whole_s = len(patterns) * len(sizes) * len(depths) * runs * runtime
say(f"{len(patterns) * len(sizes) * len(depths)} cells, {runs} runs of {runtime} s each: {whole_s:.0f} s a grid, and {whole_s / 10:.0f} s for the study")
seeds = [int(os.environ["SEED"]) + number for number in range(grids)]
tables = [grid(seeds[0])]
began = time.monotonic()
study = halfpower_json("study", "data", "--overwrite", "--cache", "device", "--bs", ",".join(sizes), "--iodepth", ",".join(map(str, depths)), "--budget", f"{whole_s / 10}s")
took_s = time.monotonic() - began
tables += [grid(seed) for seed in seeds[1:]]
reference = answer_of_grid(tables[0])
compare(f"study of {study['runs']} runs in {took_s:.0f} s / grid", answer_of_study(study), tables[0], reference)
for table in tables[1:]:
    compare("a second grid / the first", answer_of_grid(table), tables[0], reference)
PYTHON
