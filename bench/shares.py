#!/usr/bin/env python3
"""Compares halfpower on a share with the usual clients: smbclient's get and put, libnfs's nfs-cp.

    bench/shares.py [--pairs 7] [--size 256] [--runtime 1] [--halfpower target/release/halfpower] [smb://user@server/share] [nfs://server/export]

Each pair moves --size MiB with the client and measures halfpower for --runtime seconds, 1 MiB blocks, 8 deep; who begins
changes from pair to pair. The ratio is the median of the pairs' ratios, with the least and the greatest. The client's
time is its transfer alone: smbclient tells it, and of nfs-cp the time of an empty file is taken off. Its local side is
/dev/null or a file in /dev/shm. halfpower's writes are taken without their closing flush, which the clients do not send.
The SMB password comes from HALFPOWER_SMB_PASSWORD. The share gets files of its own, which are removed, but for nfs-cp's.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from urllib.parse import unquote, urlsplit

NAME = f"halfpower-bench-{os.getpid()}"


def halfpower(args, address, rw):
    command = [args.halfpower, "run", address, "--rw", rw, "--bs", "1MiB", "--iodepth", "8", "--size", f"{args.size}MiB",
               "--runtime", f"{args.runtime}s", "--json"]
    record = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return record["bytes"] / (record["elapsed_ns"] - record.get("flush_ns", 0)) * 1e3


class Smb:
    name = "smbclient"

    def __init__(self, address):
        parts = urlsplit(address)
        share, *folders = [unquote(part) for part in parts.path.split("/") if part]
        user = ["-U", unquote(parts.username)] if parts.username else ["-N"]
        self.command = ["smbclient", f"//{parts.hostname}/{share}", *user, "-p", str(parts.port or 445)]
        self.folder = "".join(f"cd \"{folder}\"; " for folder in folders)

    def tell(self, words):
        environment = {**os.environ, "PASSWD": os.environ.get("HALFPOWER_SMB_PASSWORD", "")}
        done = subprocess.run([*self.command, "-c", self.folder + words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, env=environment, check=True)
        rate = re.search(r"\(([\d.]+) (?:KiloBytes/sec|kb/s)\)", done.stdout)
        return float(rate.group(1)) * 1024 / 1e6 if rate else None

    def put(self, local, _):
        return self.tell(f"put {local} {NAME}")

    def get(self, _):
        return self.tell(f"get {NAME} /dev/null")

    def remove(self):
        self.tell(f"del {NAME}")


class Nfs:
    name = "nfs-cp"

    def __init__(self, address):
        self.remote = f"{address}/{NAME}"
        self.local = f"/dev/shm/{NAME}.copy"
        self.files = 0
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as empty:
            self.copy(empty.name, f"{self.remote}.empty")

    def copy(self, source, to):
        began = time.monotonic()
        subprocess.run(["nfs-cp", source, to], stdout=subprocess.DEVNULL, check=True)
        return time.monotonic() - began

    def start(self):
        """The time of a copy that moves nothing."""
        return self.fetch(f"{self.remote}.empty")

    def fetch(self, source):
        seconds = self.copy(source, self.local)
        os.remove(self.local)
        return seconds

    def put(self, local, size):
        # It writes over no file.
        self.files += 1
        return size / (self.copy(local, f"{self.remote}.{self.files}") - self.start()) / 1e6

    def get(self, size):
        return size / (self.fetch(f"{self.remote}.1") - self.start()) / 1e6

    def remove(self):
        print(f"libnfs has no tool to remove files: remove {self.remote}.* on the server", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", nargs="+")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--size", type=int, default=256, help="MiB")
    parser.add_argument("--runtime", type=float, default=1)
    parser.add_argument("--halfpower", default=os.path.join(os.path.dirname(__file__), "../target/release/halfpower"))
    args = parser.parse_args()
    size = args.size << 20
    print("| share | direction | client | client MB/s | halfpower MB/s | ratio |")
    print("|---|---|---|---|---|---|")
    for address in args.address:
        client = (Smb if address.startswith("smb:") else Nfs)(address)
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as local:
            for _ in range(args.size):
                local.write(os.urandom(1 << 20))
            local.flush()
            os.chmod(local.name, 0o644)
            client.put(local.name, size)
            for rw, theirs in (("read", lambda: client.get(size)), ("write", lambda: client.put(local.name, size))):
                pairs = []
                for turn in range(args.pairs):
                    first = theirs() if turn % 2 == 0 else None
                    own = halfpower(args, address, rw)
                    pairs.append((first if first is not None else theirs(), own))
                ratios = [own / their for their, own in pairs]
                medians = [statistics.median(column) for column in zip(*pairs)]
                print(f"| {address.split('@')[-1]} | {rw} | {client.name} | {medians[0]:,.0f} | {medians[1]:,.0f} | "
                      f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |", flush=True)
            client.remove()


if __name__ == "__main__":
    main()
