#!/usr/bin/env python3
"""When has the growing screen of a study on a real path its first right row?

    bench/first-row.py [--budget 120s] [--studies 1] [--keep FILE] [--json] [--halfpower target/release/halfpower] [TARGET...]

Studies each TARGET (a folder, default: this one) on a terminal of 120 columns, and keeps every frame with the time when it
came, counted from the start of the command, so that laying out counts. At the end each rate of each frame is held against
the figure of the same cell in the finished study. A row is right if it has an interval (+- on the screen, which rounds it to
whole percent) that holds that figure; it stands from the frame on after which it is right in all. Of a target it shows the
first row with a rate, with an interval, right, and right within 10%; when each row of the last screen stood; and how many of
all intervals that were shown hold the figure. The finished study errs, too: its own interval is in the table.

--keep FILE keeps the frames, a JSON object a line: studies that were made can be looked at again, --frames FILE --study FILE.
"""
import argparse
import fcntl
import json
import os
import pathlib
import pty
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time

# A frame stands between these: lines are not wrapped meanwhile (crates/report/src/terminal/in_place.rs).
FRAME = re.compile(rb"\x1b\[\?7l(.*?)\x1b\[\?7h", re.DOTALL)
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
ROW = re.compile(
    r"\s+(?P<pattern>random|seq\.|sequential) +(?P<rw>read|write)(?P<cache> buffered| durable)? +(?P<bs>\d+(?:\.\d+)? [KMG]?i?B)"
    r" +(?P<depth>(?:\d+ x )?\d+) deep +(?P<rate>[\d.,]+) (?P<unit>IOPS|MB/s)(?: ±(?P<reach>>?\d+)%)?"
)
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
# What the screen rounds an interval to.
ROUNDED = 0.005
# Half of an interval that tells something.
NARROW = 0.1


def frames_of(command, here):
    """Runs a command on a terminal; yields the seconds and the bytes of what it writes there."""
    person, programs = pty.openpty()
    fcntl.ioctl(programs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=here, env=environment, stdin=programs, stdout=subprocess.DEVNULL, stderr=programs)
    os.close(programs)
    held, frames, said = b"", [], b""
    while True:
        try:
            bytes_ = os.read(person, 1 << 16)
        except OSError:  # Nobody has the other side open any more.
            break
        if not bytes_:
            break
        held += bytes_
        said = (said + bytes_)[-2000:]
        end = 0
        for found in FRAME.finditer(held):
            text = ESCAPE.sub("", found[1].decode("utf-8", "replace")).replace("\r", "")
            frames.append({"seconds": round(time.monotonic() - began, 3), "text": text})
            end = found.end()
        held = held[end:]
    os.close(person)
    if process.wait() not in (0, 1):
        sys.exit(f"bench/first-row.py: {' '.join(command)}: {ESCAPE.sub('', said.decode('utf-8', 'replace')).strip()}")
    return frames, time.monotonic() - began


def bytes_of(text):
    count, unit = text.split()
    return round(float(count) * UNITS[unit])


def rows_of(frame):
    """The rows with a rate of a frame: what they are of, the figure, and half of its interval as a share if it has one."""
    for found in map(ROW.match, frame["text"].split("\n")):
        if found is None:
            continue
        pattern = "random" if found["pattern"] == "random" else "sequential"
        threads, depth = found["depth"].split(" x ") if " x " in found["depth"] else (1, found["depth"])
        cell = (pattern, found["rw"], (found["cache"] or "").strip(), bytes_of(found["bs"]), int(threads), int(depth))
        reach = None if found["reach"] is None or found["reach"].startswith(">") else int(found["reach"]) / 100
        yield cell, float(found["rate"].replace(",", "")), found["unit"], reach


def finals_of(report):
    """The rate of each cell of a finished study, in both units, with its interval."""
    caches = {"device": "", "none": "", "os": "buffered", "both": "buffered"}
    finals = {}
    for cell in report["cells"]:
        name = (cell["pattern"], cell["rw"], caches.get(cell["cache"], ""), cell["bs_bytes"], cell["threads"], cell["iodepth"])
        mbps = cell["mbps"]
        per_request = 1e6 / cell["bs_bytes"]
        finals[name] = {
            "MB/s": (mbps["value"], mbps["low"], mbps["high"]),
            "IOPS": tuple(end and end * per_request for end in (mbps["value"], mbps["low"], mbps["high"])),
        }
    return finals


def name_of(cell):
    pattern, rw, cache, bs_bytes, threads, depth = cell
    size = next(f"{bs_bytes // size} {unit}" for unit, size in reversed(UNITS.items()) if bs_bytes >= size)
    return f"{pattern} {rw}{' ' + cache if cache else ''}, {size}, {f'{threads} x ' if threads > 1 else ''}{depth} deep"


def judged(frames, finals):
    """What the frames said, held against the finished study."""
    shown = []
    for frame in frames:
        for cell, rate, unit, reach in rows_of(frame):
            final = finals.get(cell)
            if final is None or reach is None:
                continue
            truth = final[unit][0]
            is_right = abs(truth - rate) <= rate * (reach + ROUNDED)
            shown.append({"seconds": frame["seconds"], "cell": cell, "rate": rate, "unit": unit, "reach": reach, "right": is_right})
    last = {cell: (rate, unit) for cell, rate, unit, _ in rows_of(frames[-1])} if frames else {}
    stood = {}
    for cell, (_, unit) in last.items():
        of_cell = [one for one in shown if one["cell"] == cell]
        wrong = [at for at, one in enumerate(of_cell) if not one["right"]]
        after = of_cell[wrong[-1] + 1:] if wrong else of_cell
        value, low, high = finals.get(cell, {unit: (None, None, None)})[unit]
        stood[name_of(cell)] = {
            "first_s": next((one["seconds"] for one in of_cell), None),
            "stood_s": after[0]["seconds"] if after else None,
            "final": value,
            "low": low,
            "high": high,
            "unit": unit,
        }
    first = lambda rows: {**rows[0], "cell": name_of(rows[0]["cell"])} if rows else None
    return {
        "frames": len(frames),
        "first_screen_s": next((frame["seconds"] for frame in frames if any(True for _ in rows_of(frame))), None),
        "first_interval": first(shown),
        "first_right": first([one for one in shown if one["right"]]),
        "first_narrow": first([one for one in shown if one["right"] and one["reach"] <= NARROW]),
        "intervals": len(shown),
        "right": sum(one["right"] for one in shown),
        "rows": stood,
    }


def told(target, found, took_s):
    at = lambda seconds: "never" if seconds is None else f"{seconds:.1f} s"
    row = lambda one: "never" if one is None else f"{at(one['seconds'])}: {one['cell']}, {one['rate']:,.6g} {one['unit']} ±{one['reach']:.0%}"
    print(f"{target}: {found['frames']} frames in {took_s:.1f} s")
    print(f"  first row with a rate      {at(found['first_screen_s'])}")
    print(f"  first row with an interval {row(found['first_interval'])}")
    print(f"  first right row            {row(found['first_right'])}")
    print(f"  first one within 10%       {row(found['first_narrow'])}")
    print(f"  intervals that were shown  {found['intervals']}, of which {found['right']} hold the figure at the end")
    print("  | row of the last screen | at the end | first interval | right from then on |\n  |---|---|---|---|")
    for name, one in found["rows"].items():
        reach = "" if not one["final"] or one["low"] is None else f" ±{(one['high'] - one['low']) / 2 / one['final']:.0%}"
        final = "-" if one["final"] is None else f"{one['final']:,.0f} {one['unit']}{reach}"
        print(f"  | {name} | {final} | {at(one['first_s'])} | {at(one['stood_s'])} |")
    sys.stdout.flush()


def report_of(halfpower, study):
    done = subprocess.run([halfpower, "report", study, "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", default="120s")
    parser.add_argument("--studies", type=int, default=1, help="of each target, one after the other")
    parser.add_argument("--size", help="bytes of the file that a study lays out, as its own --size")
    parser.add_argument("--keep", metavar="FILE", help="append the frames to this file, a JSON object a line")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON instead")
    parser.add_argument("--frames", metavar="FILE", help="look at frames that --keep kept, with --study")
    parser.add_argument("--study", metavar="FILE", help="the finished study of these frames")
    parser.add_argument("--halfpower", default=pathlib.Path(__file__).parent.parent / "target/release/halfpower")
    parser.add_argument("targets", nargs="*", default=["."])
    options = parser.parse_args()
    if bool(options.frames) != bool(options.study):
        parser.error("--frames and --study belong together")
    halfpower = shutil.which(str(options.halfpower)) or parser.error(f"there is no program {options.halfpower}: name it by --halfpower")
    halfpower = os.path.abspath(halfpower)
    if options.frames:
        with open(options.frames, encoding="utf-8") as file:
            frames = [json.loads(line) for line in file]
        found = judged(frames, finals_of(report_of(halfpower, options.study)))
        return print(json.dumps(found)) if options.json else told(options.study, found, frames[-1]["seconds"] if frames else 0.0)
    firsts = []
    for target in (target for target in options.targets for _ in range(options.studies)):
        with tempfile.TemporaryDirectory() as here:
            study = os.path.join(here, "study.halfpower")
            path = target if ":" in target else os.path.abspath(target)
            size = ["--size", options.size] if options.size else []
            frames, took_s = frames_of([halfpower, "study", path, "--budget", options.budget, *size, "--output", study], here)
            found = judged(frames, finals_of(report_of(halfpower, study)))
        if options.keep:
            with open(options.keep, "a", encoding="utf-8") as file:
                file.writelines(json.dumps(frame) + "\n" for frame in frames)
        if options.json:
            print(json.dumps({"target": target, "took_s": round(took_s, 3), **found}), flush=True)
        else:
            told(target, found, took_s)
        firsts.append(found["first_right"] and found["first_right"]["seconds"])
    known = [seconds for seconds in firsts if seconds is not None]
    if len(firsts) > 1 and not options.json:
        middle = f"{statistics.median(known):.1f} s in the median" if known else "never"
        print(f"first right row of {len(known)} of {len(firsts)} studies: {middle}")
    return None


main()
