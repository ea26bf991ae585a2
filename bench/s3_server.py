#!/usr/bin/env python3
"""Serves a bucket of S3 from a folder, fast enough that its clients are the limit: nginx gives and takes objects.

    bench/s3_server.py [--port 9000] [FOLDER]

Prints its endpoint once it answers; it ends with its input or by a signal. The bucket is `bench`, and any other that has
a folder below FOLDER (default: a new one in /dev/shm, which goes when this does). nginx answers GET, PUT and DELETE of
whole objects, and GET of ranges. What is not measured is done here: uploads in parts, lists, removals of many. Nobody's
signature is checked, and no object has an MD5 sum: both would make the server slower than its clients. For root the new
folder is in a tmpfs of huge pages that nobody else sees: what is put there costs half as much.
"""
import argparse
import http.server
import os
import re
import shutil
import signal
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape, unescape

CONFIG = """
daemon off; worker_processes 8; pid {work}/pid; error_log {work}/log; {user}
events {{ worker_connections 512; }}
http {{
  access_log off; sendfile on; tcp_nopush on; tcp_nodelay on; keepalive_requests 1000000000;
  client_max_body_size 0; client_body_buffer_size 256k; client_body_temp_path {work}/incoming;
  proxy_temp_path {work}/proxy; fastcgi_temp_path {work}/fastcgi; uwsgi_temp_path {work}/uwsgi; scgi_temp_path {work}/scgi;
  map "$request_method $args" $elsewhere {{ "~^POST " 1; "~[ &](uploads|uploadId|list-type|prefix|location|delete)" 1; }}
  server {{
    listen 127.0.0.1:{port} reuseport; root {folder};
    dav_methods PUT DELETE; create_full_put_path on;
    error_page 418 = @elsewhere;
    location / {{ if ($elsewhere) {{ return 418; }} }}
    location @elsewhere {{ proxy_pass http://unix:{work}/elsewhere; proxy_request_buffering off; proxy_http_version 1.1; }}
  }}
}}
"""

MOUNTS = "HALFPOWER_BENCH_MOUNTS"


class Elsewhere(http.server.BaseHTTPRequestHandler):
    """What nginx cannot do."""

    protocol_version = "HTTP/1.1"
    folder = work = None

    def parts(self, upload):
        return os.path.join(self.work, "parts", re.sub(r"\W", "", upload))

    def do(self):
        target = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(target.query, keep_blank_values=True).items()}
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        bucket, _, key = unquote(target.path).lstrip("/").partition("/")
        if not os.path.isdir(os.path.join(self.folder, bucket)) or ".." in key.split("/"):
            return self.say(404, "<Error><Code>NoSuchBucket</Code></Error>")
        path = os.path.join(self.folder, bucket, key)
        upload = query.get("uploadId")
        if "uploads" in query and self.command == "GET":
            return self.say(200, "<ListMultipartUploadsResult/>")
        if "uploads" in query:
            upload = f"{time.monotonic_ns():x}"
            os.makedirs(self.parts(upload))
            return self.say(200, f"<InitiateMultipartUploadResult><UploadId>{upload}</UploadId>"
                                 "</InitiateMultipartUploadResult>")
        if upload and not os.path.isdir(self.parts(upload)):
            return self.say(404, "<Error><Code>NoSuchUpload</Code></Error>")
        if self.command == "PUT" and upload:
            with open(os.path.join(self.parts(upload), f"{int(query['partNumber']):06}"), "wb") as part:
                part.write(body)
            return self.say(200, "", f"\"part-{query['partNumber']}\"")
        if self.command == "DELETE" and upload:
            shutil.rmtree(self.parts(upload))
            return self.say(204, "")
        if self.command == "POST" and upload:
            return self.complete(self.parts(upload), path)
        if "delete" in query:
            for key in re.findall(r"<Key>(.*?)</Key>", body.decode()):
                remove(os.path.join(self.folder, bucket, unescape(key, {"&quot;": "\"", "&apos;": "'"})))
            return self.say(200, "<DeleteResult/>")
        if "location" in query:
            return self.say(200, "<LocationConstraint/>")
        return self.list(bucket, query)

    do_GET = do_PUT = do_POST = do_DELETE = do

    def complete(self, parts, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(f"{parts}.whole", "wb") as whole:
            for name in sorted(os.listdir(parts)):
                with open(os.path.join(parts, name), "rb") as part:
                    shutil.copyfileobj(part, whole, 1 << 20)
        os.rename(f"{parts}.whole", path)
        shutil.rmtree(parts)
        self.say(200, "<CompleteMultipartUploadResult><ETag>\"whole\"</ETag></CompleteMultipartUploadResult>")

    def list(self, bucket, query):
        root, found = os.path.join(self.folder, bucket), []
        for folder, _, names in os.walk(root):
            for path in (os.path.join(folder, name) for name in names):
                key = os.path.relpath(path, root)
                if key.startswith(query.get("prefix", "")):
                    key = quote(key) if query.get("encoding-type") == "url" else key
                    found.append(f"<Contents><Key>{escape(key)}</Key><Size>{os.path.getsize(path)}</Size><ETag>\"none\""
                                 "</ETag><LastModified>2000-01-01T00:00:00.000Z</LastModified>"
                                 "<StorageClass>STANDARD</StorageClass></Contents>")
        self.say(200, "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
                      f"<KeyCount>{len(found)}</KeyCount><IsTruncated>false</IsTruncated>{''.join(found)}</ListBucketResult>")

    def say(self, status, body, etag=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if etag:
            self.send_header("ETag", etag)
        self.end_headers()
        # nginx has gone once it has an answer without a body.
        if body:
            self.wfile.write(body.encode())

    def address_string(self):
        return "nginx"

    def log_message(self, *_):
        pass


class Threads(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 64


def remove(path):
    try:
        os.remove(path)
    except FileNotFoundError:
        pass


def a_free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def in_huge_pages():
    """Starts again with mounts of its own, unless it has them; gives whether it has."""
    is_within = os.environ.get(MOUNTS) == "own"
    if not is_within and os.getuid() == 0 and subprocess.run(["unshare", "--mount", "true"], check=False).returncode == 0:
        os.environ[MOUNTS] = "own"
        os.execvp("unshare", ["unshare", "--mount", sys.executable, *sys.argv])
    return is_within


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int)
    parser.add_argument("folder", nargs="?")
    args = parser.parse_args()
    is_huge = not args.folder and in_huge_pages()
    port = args.port or a_free_port()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    with tempfile.TemporaryDirectory(dir=args.folder or "/dev/shm", prefix="halfpower-bench-s3-") as work:
        if is_huge:
            is_huge = subprocess.run(["mount", "-t", "tmpfs", "-o", "huge=always", "none", work], check=False).returncode == 0
        folder = os.path.abspath(args.folder or os.path.join(work, "buckets"))
        os.makedirs(os.path.join(folder, "bench"), exist_ok=True)
        os.makedirs(os.path.join(work, "parts"))
        Elsewhere.folder, Elsewhere.work = folder, work
        threading.Thread(target=Threads(f"{work}/elsewhere", Elsewhere).serve_forever, daemon=True).start()
        user = "user root;" if os.getuid() == 0 else ""
        config = os.path.join(work, "nginx.conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write(CONFIG.format(work=work, folder=folder, port=port, user=user))
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        nginx = subprocess.Popen([program, "-c", config, "-e", f"{work}/log"], stdin=subprocess.DEVNULL)
        try:
            while not answers(port):
                if nginx.poll() is not None:
                    sys.exit(f"nginx does not start: {open(f'{work}/log', encoding='utf-8').read()}")
                time.sleep(0.05)
            print(f"http://127.0.0.1:{port}", flush=True)
            sys.stdin.read()
        finally:
            nginx.terminate()
            nginx.wait()
            if is_huge:
                subprocess.run(["umount", "--lazy", work], check=False)


if __name__ == "__main__":
    main()
