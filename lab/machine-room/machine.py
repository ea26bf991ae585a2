"""Boots one scenario on one kernel in QEMU, and tells what it gave.

The emulation is pure (no KVM), so that it is the same on every machine and needs no right.
"""

import json
import os
import re
import shlex
import socket
import stat
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import image

DISK_BYTES = 512 << 20

# A disk: what it hangs on, which is there once, and itself. `{n}` is its number among the scenario's disks.
DISKS = {
    "nvme": ([], "nvme,drive=d{n},id=disk{n},bus=port{n},max_ioqpairs=4,ioeventfd=off"),
    "virtio": ([], "virtio-blk-pci,drive=d{n},id=disk{n},bus=port{n}"),
    "scsi": (["virtio-scsi-pci,id=vscsi"], "scsi-hd,drive=d{n},id=disk{n},bus=vscsi.0"),
    "sata": ([], "ide-hd,drive=d{n},id=disk{n},bus=ide.{n}"),
    "ide": ([], "ide-hd,drive=d{n},id=disk{n},bus=ide.{n}"),
    "parallel-scsi": (["lsi53c895a,id=lsi"], "scsi-hd,drive=d{n},id=disk{n},bus=lsi.0"),
    "usb": (["qemu-xhci,id=usb"], "usb-storage,drive=d{n},id=disk{n},bus=usb.0"),
}
# These hang on a port of PCI Express each, which they can be pulled from.
ON_PORTS = {"nvme", "virtio"}


@dataclass
class Scenario:
    """A file of checks, and what it asks of the machine in `#room:` lines at its top."""

    name: str
    text: str
    what: str = ""
    kernels: list = field(default_factory=lambda: list(image.SERIES))
    machine: str = "q35"
    icount: str = ""
    processors: int = 1
    nodes: int = 1
    memory: int = 1024
    timeout: int = 600
    append: str = ""
    load: str = ""
    disks: list = field(default_factory=list)
    expects: str = "held"

    @classmethod
    def read(cls, path):
        """Reads a scenario; a line that is not understood is an error that names it."""
        lines = path.read_text().splitlines()
        scenario = cls(path.stem, "\n".join(lines) + "\n")
        if not lines or not lines[0].startswith("# "):
            raise image.Unable(f"{path.name} must open with one comment that says what must be seen")
        scenario.what = lines[0][2:]
        for line in lines:
            if line.startswith("#room:"):
                key, *words = shlex.split(line.removeprefix("#room:"))
                scenario.set(key, words)
        return scenario

    def set(self, key, words):
        if key == "kernels":
            self.kernels = words
        elif key == "disk" and words and words[0] in DISKS:
            self.disks.append(words)
        elif key in ("processors", "nodes", "memory", "timeout"):
            setattr(self, key, int(words[0]))
        elif key in ("machine", "icount", "append", "load", "expects"):
            setattr(self, key, " ".join(words))
        else:
            raise image.Unable(f"{self.name}: nothing is known of the line #room: {key} {' '.join(words)}")

    def devices(self, folder):
        """QEMU's words for the disks, each an empty sparse file in a folder."""
        words, there = [], set()
        for node in range(1, self.nodes):
            words += ["-device", f"pxb-pcie,id=of-node{node},bus_nr={64 * node},numa_node={node}"]
        for n, (kind, *properties) in enumerate(self.disks):
            holders, device = DISKS[kind]
            # A bus of its own tells the memory node of what hangs on it.
            node = next((word.removeprefix("node=") for word in properties if word.startswith("node=")), None)
            properties = [word for word in properties if not word.startswith("node=")]
            bus = f",bus=of-node{node}" if node else ""
            for holder in holders:
                if holder not in there:
                    there.add(holder)
                    words += ["-device", holder]
            if kind in ON_PORTS:
                words += ["-device", f"pcie-root-port,id=port{n},chassis={n + 1},slot={n + 1},x-speed=16,x-width=4{bus}"]
            disk = folder / f"disk{n}"
            with open(disk, "wb") as sparse:
                sparse.truncate(DISK_BYTES)
            words += ["-drive", f"if=none,id=d{n},file={disk},format=raw,cache=unsafe,file.locking=off"]
            if not any(word.startswith("serial=") for word in properties):
                properties = [*properties, f"serial={kind}{n}"]
            words += ["-device", ",".join([device.format(n=n), *properties])]
        return words


@dataclass
class Outcome:
    """What a boot gave: the verdict, seconds of the wall and of the guest, MiB of QEMU, and what was seen."""

    scenario: Scenario
    series: str
    verdict: str
    seen: str
    wall_s: float
    guest_s: float | None
    memory_mib: float
    log: Path


def halfpower():
    """The program that the guest runs: the one that HALFPOWER names, or one that is built now."""
    if named := os.environ.get("HALFPOWER"):
        return Path(named).resolve()
    subprocess.run(["cargo", "build", "--release", "--locked", "--quiet"], cwd=image.TOP, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", image.TOP / "target")) / "release" / "halfpower"


def own_files(scenario, program):
    """An archive of what is of this boot alone: halfpower, the checks, the scenario."""
    archive = image.Archive()
    archive.file("init", (image.HERE / "guest" / "init").read_bytes(), executable=True)
    archive.file("checks", (image.HERE / "guest" / "checks").read_bytes())
    archive.file("scenario", scenario.text.encode())
    archive.file("load", scenario.load.encode() + b"\n")
    archive.file("bin/halfpower", program.read_bytes(), executable=True)
    # A program with features beyond the default may need more than the guest has.
    needed = subprocess.run(["ldd", str(program)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode()
    for path in re.findall(r"=> (/\S+)", needed):
        if not re.match(r"(libc|libm|libgcc_s)\.so", os.path.basename(path)):
            archive.file(f"lib/x86_64-linux-gnu/{os.path.basename(path)}", Path(path).read_bytes(), executable=True)
    # Nodes that the console needs before anything is mounted.
    archive.add("dev/console", stat.S_IFCHR | 0o600)
    return archive


def boot(scenario, series, program, echo=None):
    """Runs a scenario on a kernel, and judges it by its checks."""
    place = image.KEPT / series
    logs = image.KEPT / "logs"
    logs.mkdir(exist_ok=True)
    log = logs / f"{scenario.name}-{series}.log"
    with tempfile.TemporaryDirectory(prefix="run-", dir=image.KEPT) as folder:
        folder = Path(folder)
        with open(folder / "initrd", "wb") as initrd:
            for part in (image.KEPT / "programs.cpio", place / "modules.cpio"):
                initrd.write(part.read_bytes())
            initrd.write(own_files(scenario, program).bytes())
        lines, wall_s, memory_mib, timed_out = run_qemu(words_of(scenario, place, folder), scenario, folder, log, echo)
    verdict, seen, guest_s = judge(scenario, lines, timed_out)
    return Outcome(scenario, series, verdict, seen, wall_s, guest_s, memory_mib, log)


def words_of(scenario, place, folder):
    """QEMU's command line."""
    kind = "single" if scenario.icount else "multi"
    append = ("console=ttyS0 quiet loglevel=3 panic=-1 nokaslr mitigations=off no_timer_check cryptomgr.notests "
              f"random.trust_cpu=on tsc=reliable rdinit=/init {scenario.append}")
    words = ["qemu-system-x86_64", "-accel", f"tcg,thread={kind}", "-machine", scenario.machine, "-cpu", "max"]
    if scenario.icount:
        words += ["-icount", f"shift={scenario.icount},sleep=off"]
    words += ["-smp", str(scenario.processors), "-m", str(scenario.memory), "-seed", "1", "-nodefaults"]
    if scenario.nodes > 1:
        words += memory_nodes(scenario)
    words += ["-rtc", "base=2026-11-01T00:00:00,clock=vm", "-display", "none", "-serial", "stdio", "-no-reboot"]
    words += ["-qmp", f"unix:{folder}/qmp,server=on,wait=off", "-monitor", "none"]
    words += ["-kernel", str(place / "vmlinux"), "-initrd", str(folder / "initrd"), "-append", append]
    return words + scenario.devices(folder)


def memory_nodes(scenario):
    """QEMU's words for memory nodes (NUMA), which share processors and memory evenly; a scenario's disks say `node=1`."""
    each, memory, words = scenario.processors // scenario.nodes, scenario.memory // scenario.nodes, []
    for node in range(scenario.nodes):
        words += ["-object", f"memory-backend-ram,id=memory{node},size={memory}M"]
        words += ["-numa", f"node,nodeid={node},cpus={node * each}-{node * each + each - 1},memdev=memory{node}"]
    return words


def run_qemu(words, scenario, folder, log, echo):
    """Runs QEMU to its end or the scenario's limit: the guest's lines, seconds, MiB at most, and whether it was ended."""
    began = time.monotonic()
    process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    ended = threading.Event()
    timer = threading.Timer(scenario.timeout, lambda: (ended.set(), process.kill()))
    timer.start()
    lines = []
    with open(log, "w") as kept:
        for line in process.stdout:
            line = line.decode(errors="replace").replace("\r", "").rstrip("\n")
            lines.append(line)
            print(f"{time.monotonic() - began:6.1f}  {line}", file=kept, flush=True)
            if echo:
                echo(line)
            if asked := re.match(r"room: pull d(\d+)$", line):
                pull(folder / "qmp", f"disk{asked[1]}")
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    timer.cancel()
    return lines, time.monotonic() - began, usage.ru_maxrss / 1024, ended.is_set()


def pull(path, disk):
    """Takes a disk out of the running machine, over QEMU's monitor."""
    with socket.socket(socket.AF_UNIX) as qmp:
        qmp.connect(str(path))
        answers = qmp.makefile("rw")
        answers.readline()
        for command in ({"execute": "qmp_capabilities"}, {"execute": "device_del", "arguments": {"id": disk}}):
            answers.write(json.dumps(command) + "\n")
            answers.flush()
            while not {"return", "error"} & json.loads(answers.readline()).keys():
                pass


def judge(scenario, lines, timed_out):
    """The verdict of a boot by its lines, what was seen in words, and the guest's seconds."""
    failed = [line.removeprefix("FAILED").strip() for line in lines if line.startswith("FAILED")]
    ends = [match for line in lines if (match := re.match(r"room: (\w+) after ([0-9.]+) s, (\d+) held, (\d+) failed", line))]
    held = sum(line.startswith("ok ") for line in lines)
    guest_s = float(ends[0][2]) if ends else None
    if timed_out:
        verdict, seen = "missed", f"not ended within {scenario.timeout} s"
    elif not ends and lines and "terminating on signal" in lines[-1]:
        verdict, seen = "not decided", "it was stopped"
    elif not ends:
        verdict, seen = "missed", f"the guest stopped: {lines[-1] if lines else 'it said nothing'}"
    elif ends[0][1] != "ended":
        verdict, seen = "missed", "the scenario died midway"
    elif failed or int(ends[0][4]):
        verdict, seen = "missed", f"{len(failed)} of {held + len(failed)} checks failed: {failed[0] if failed else ''}"
    elif not held or held != int(ends[0][3]):
        verdict, seen = "missed", f"{held} checks were seen of {ends[0][3]}"
    elif undecided := [line.removeprefix("room: cannot ") for line in lines if line.startswith("room: cannot ")]:
        verdict, seen = "not decided", undecided[0]
    else:
        verdict, seen = "held", f"{held} checks"
    if scenario.expects != "held":
        right = verdict == "missed" and scenario.expects in seen
        verdict, seen = ("held" if right else "missed"), f"{verdict}, as it must be: {seen}" if right else f"{verdict}: {seen}"
    return verdict, seen, guest_s
