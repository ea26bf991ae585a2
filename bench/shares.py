#!/usr/bin/env python3
"""Compares halfpower on a share with the usual clients: smbclient's get and put, libnfs's nfs-cp, S3's curl, rclone and aws.

    bench/shares.py [--pairs 7] [--size 256] [--runtime 1] [--halfpower target/release/halfpower] [smb://user@server/share]
        [nfs://server/export] [s3://bucket?endpoint=http://server:9000]

Each pair moves --size MiB with the client and measures halfpower for --runtime seconds, who begins changes from pair to
pair. The ratio is the median of the pairs' ratios, with the least and the greatest. Blocks are 1 MiB, 8 deep; on S3 they
are whole objects of 8 MiB, 4 at a time, and of 1 MiB, 8 at a time, for the client as for halfpower. The client's time is
its transfer alone: smbclient tells it, of the others the time of one empty file is taken off. Its local side is
/dev/null, or files in /dev/shm. halfpower's writes are taken without their closing flush, which the clients do not send.
The SMB password comes from HALFPOWER_SMB_PASSWORD, S3's keys from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. The share
gets files of its own, which are removed, but for nfs-cp's.
"""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from urllib.parse import parse_qs, unquote, urlsplit

NAME = f"halfpower-bench-{os.getpid()}"
MIB = 1 << 20
REGION = os.environ.get("AWS_REGION", "us-east-1")
# rclone refuses a bundle of certificates, also where it needs none.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "AWS_CA_BUNDLE"}


def halfpower(args, address, rw, client):
    command = [args.halfpower, "run", address, "--rw", rw, "--bs", f"{client.block}MiB", "--iodepth", str(client.depth),
               "--size", f"{args.size}MiB", "--runtime", f"{args.runtime}s", "--json"]
    record = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
    if record["errors"]:
        sys.exit(f"{address}: {record['errors']}")
    return record["bytes"] / (record["elapsed_ns"] - record.get("flush_ns", 0)) * 1e3


def seconds(command, **more):
    began = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, **more)
    return time.monotonic() - began


class Smb:
    name, block, depth = "smbclient", 1, 8

    def __init__(self, address, files):
        parts = urlsplit(address)
        share, *folders = [unquote(part) for part in parts.path.split("/") if part]
        user = ["-U", unquote(parts.username)] if parts.username else ["-N"]
        self.command = ["smbclient", f"//{parts.hostname}/{share}", *user, "-p", str(parts.port or 445)]
        self.folder = "".join(f"cd \"{folder}\"; " for folder in folders)
        self.local = files.one()

    def tell(self, words):
        environment = {**os.environ, "PASSWD": os.environ.get("HALFPOWER_SMB_PASSWORD", "")}
        done = subprocess.run([*self.command, "-c", self.folder + words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, env=environment, check=True)
        rate = re.search(r"\(([\d.]+) (?:KiloBytes/sec|kb/s)\)", done.stdout)
        return float(rate.group(1)) * 1024 / 1e6 if rate else None

    def put(self):
        return self.tell(f"put {self.local} {NAME}")

    def get(self):
        return self.tell(f"get {NAME} /dev/null")

    def remove(self):
        self.tell(f"del {NAME}")


class Nfs:
    name, block, depth = "nfs-cp", 1, 8

    def __init__(self, address, files):
        self.remote = f"{address}/{NAME}"
        self.local, self.bytes = files.one(), files.bytes
        self.to = os.path.join(files.folder, "copy")
        self.files = 0
        self.copy(files.empty(), f"{self.remote}.empty")

    def copy(self, source, to):
        return seconds(["nfs-cp", source, to])

    def start(self):
        """The time of a copy that moves nothing."""
        return self.fetch(f"{self.remote}.empty")

    def fetch(self, source):
        taken = self.copy(source, self.to)
        os.remove(self.to)
        return taken

    def put(self):
        # It writes over no file.
        self.files += 1
        return self.bytes / (self.copy(self.local, f"{self.remote}.{self.files}") - self.start()) / 1e6

    def get(self):
        return self.bytes / (self.fetch(f"{self.remote}.1") - self.start()) / 1e6

    def remove(self):
        print(f"libnfs has no tool to remove files: remove {self.remote}.* on the server", file=sys.stderr)


class S3:
    """Moves folders of objects, each as a whole; what is below moves one folder."""

    def __init__(self, address, files, block, depth):
        parts = urlsplit(address)
        self.block, self.depth, self.bytes = block, depth, files.bytes
        self.endpoint = parse_qs(parts.query)["endpoint"][0].rstrip("/")
        self.bucket, prefix = parts.netloc, parts.path.strip("/")
        self.prefix = f"{prefix}/{NAME}".lstrip("/") + f"-{self.name}-{block}"
        self.full, self.none = files.many(block), os.path.dirname(files.empty())
        self.to = os.path.join(files.folder, "copy")
        self.send(self.none, "none")
        self.send(self.full, "full")

    def rate(self, move, full, none):
        begun = move(*none)
        return self.bytes / (move(*full) - begun) / 1e6

    def put(self):
        # halfpower makes new objects too; to replace one may cost the server more or less.
        self.remove()
        return self.rate(self.send, (self.full, "full"), (self.none, "none"))

    def get(self):
        return self.rate(self.fetch, ("full", self.full), ("none", self.none))

    def fetch(self, what, _):
        taken = self.receive(what)
        shutil.rmtree(self.to, ignore_errors=True)
        return taken


class Curl(S3):
    name = "curl"

    def move(self, words, local, what):
        key, secret = (os.environ[f"AWS_{word}"] for word in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"))
        folder = f"{self.endpoint}/{self.bucket}/{self.prefix}/{what}"
        each = [f"url = \"{folder}/{name}\"\n{words.format(local=local, name=name)}\n"
                f"aws-sigv4 = \"aws:amz:{REGION}:s3\"\nuser = \"{key}:{secret}\"\nfail\n"
                "header = \"x-amz-content-sha256: UNSIGNED-PAYLOAD\"\n" for name in os.listdir(local)]
        command = ["curl", "-sS", "--parallel", "--parallel-immediate", "--parallel-max", str(self.depth), "--config", "-"]
        return seconds(command, input="next\n".join(each).encode(), stderr=subprocess.DEVNULL)

    def send(self, local, what):
        return self.move("upload-file = \"{local}/{name}\"", local, what)

    def fetch(self, what, local):
        return self.move("output = /dev/null", local, what)

    def remove(self):
        for local, what in ((self.full, "full"), (self.none, "none")):
            self.move("request = DELETE", local, what)


class Rclone(S3):
    name = "rclone"

    def move(self, *words):
        options = {"TYPE": "s3", "PROVIDER": "Other", "ENDPOINT": self.endpoint, "ENV_AUTH": "true", "REGION": REGION}
        options = {f"RCLONE_CONFIG_BENCH_{name}": value for name, value in options.items()}
        # What it would hash, ask and look up beside the objects themselves is left out; each is sent whole.
        words = [*words, "--transfers", str(self.depth), "--s3-disable-checksum", "--ignore-checksum", "--no-check-dest",
                 "--s3-no-check-bucket", "--s3-no-head", "--s3-no-head-object", "--no-update-modtime", "--buffer-size", "0",
                 "--s3-upload-cutoff", "1G", "--multi-thread-streams", "0", "--retries", "1"]
        return seconds(["rclone", *words], env={**ENVIRONMENT, "RCLONE_CONFIG": "/dev/null", **options})

    def send(self, local, what):
        return self.move("copy", local, f"bench:{self.bucket}/{self.prefix}/{what}")

    def receive(self, what):
        return self.move("copy", f"bench:{self.bucket}/{self.prefix}/{what}", self.to)

    def remove(self):
        self.move("delete", f"bench:{self.bucket}/{self.prefix}")


class Aws(S3):
    name = "aws"

    def move(self, *words):
        with tempfile.NamedTemporaryFile("w", suffix=".aws") as config:
            config.write(f"[default]\ns3 =\n  max_concurrent_requests = {self.depth}\n  multipart_threshold = 1GB\n"
                         "  addressing_style = path\n  payload_signing_enabled = false\n")
            config.flush()
            command = ["aws", "--endpoint-url", self.endpoint, "--region", REGION, "s3"]
            environment = {**ENVIRONMENT, "AWS_CONFIG_FILE": config.name}
            return seconds([*command, *words, "--recursive", "--only-show-errors"], env=environment)

    def send(self, local, what):
        return self.move("cp", local, f"s3://{self.bucket}/{self.prefix}/{what}")

    def receive(self, what):
        return self.move("cp", f"s3://{self.bucket}/{self.prefix}/{what}", self.to)

    def remove(self):
        self.move("rm", f"s3://{self.bucket}/{self.prefix}")


class Files:
    """What is sent: random bytes in memory."""

    def __init__(self, folder, size):
        self.folder, self.size, self.bytes = folder, size, size * MIB

    def write(self, name, count):
        path = os.path.join(self.folder, name)
        if not os.path.exists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                for _ in range(count):
                    file.write(os.urandom(MIB))
        return path

    def one(self):
        return self.write("one", self.size)

    def empty(self):
        return self.write("none/empty", 0)

    def many(self, block):
        """A folder of files of `block` MiB."""
        paths = [self.write(f"{block}/{number}", block) for number in range(self.size // block)]
        return os.path.dirname(paths[0])


def clients(address, files):
    if address.startswith("s3:"):
        for client in (Curl, Rclone, Aws):
            if shutil.which(client.name):
                yield from (client(address, files, *cell) for cell in ((8, 4), (1, 8)))
            else:
                print(f"left out: there is no {client.name}", file=sys.stderr)
    else:
        yield (Smb if address.startswith("smb:") else Nfs)(address, files)


def compare(args, address, client):
    client.put()
    halfpower(args, address, "write", client)
    shown = f"{address.split('@')[-1].split('?')[0]}, {client.block} MiB x {client.depth}"
    for rw, theirs in (("read", client.get), ("write", client.put)):
        pairs = []
        for turn in range(args.pairs):
            first = theirs() if turn % 2 == 0 else None
            own = halfpower(args, address, rw, client)
            pairs.append((first if first is not None else theirs(), own))
        ratios = [own / their for their, own in pairs]
        medians = [statistics.median(column) for column in zip(*pairs)]
        print(f"| {shown} | {rw} | {client.name} | {medians[0]:,.0f} | {medians[1]:,.0f} | "
              f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) |", flush=True)
    client.remove()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", nargs="+")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--size", type=int, default=256, help="MiB")
    parser.add_argument("--runtime", type=float, default=1)
    parser.add_argument("--halfpower", default=os.path.join(os.path.dirname(__file__), "../target/release/halfpower"))
    args = parser.parse_args()
    print("| share | direction | client | client MB/s | halfpower MB/s | ratio |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix=NAME) as folder:
        os.chmod(folder, 0o755)
        files = Files(folder, args.size)
        for address in args.address:
            for client in clients(address, files):
                compare(args, address, client)


if __name__ == "__main__":
    main()
