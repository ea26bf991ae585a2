#!/usr/bin/env python3
"""Writes an image of the program for containers: one archive in the OCI image layout, made without a daemon.

packaging/image.py PROGRAM ARCHIVE --version V [--revision COMMIT] [--created EPOCH] [--document FILE]...

PROGRAM is a static one (packaging/static.sh): there is nothing else to run in the image. The same files and words give the
same bytes. `skopeo copy oci-archive:ARCHIVE ...`, `podman load`, `docker load` and containerd's `ctr image import` read it.
"""

import argparse
import hashlib
import io
import json
import os
import platform
import tarfile
import time

# The numbers say that they are of no user of the machine; Kubernetes asks for numbers to see that it is not root.
USER = 65532
ACCOUNTS = f"root:x:0:0:root:/:/sbin/nologin\nhalfpower:x:{USER}:{USER}:halfpower:/work:/sbin/nologin\n"
GROUPS = f"root:x:0:\nhalfpower:x:{USER}:\n"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
# Not compressed, since what a compressor makes differs between its versions; registries' clients compress it by themselves.
LAYER = "application/vnd.oci.image.layer.v1.tar"


def packed(entries, created):
    """A tar archive of entries (path, mode, owner, content; no content is a folder), without anything of this machine."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path, mode, owner, content in entries:
            entry = tarfile.TarInfo(path)
            entry.type = tarfile.DIRTYPE if content is None else tarfile.REGTYPE
            entry.mode, entry.uid, entry.gid, entry.mtime = mode, owner, owner, created
            entry.size = len(content or b"")
            archive.addfile(entry, io.BytesIO(content or b""))
    return buffer.getvalue()


def places(created):
    """The lower layer, alike in all versions: users, and the folders to mount on."""
    return packed(
        [
            ("data", 0o1777, 0, None),
            ("etc", 0o755, 0, None),
            ("etc/group", 0o644, 0, GROUPS.encode()),
            ("etc/passwd", 0o644, 0, ACCOUNTS.encode()),
            ("tmp", 0o1777, 0, None),
            ("work", 0o1777, USER, None),
        ],
        created,
    )


def program(options):
    """The upper layer: the program and its licences."""

    def read(path):
        with open(path, "rb") as file:
            return file.read()

    documents = "usr/share/doc/halfpower"
    entries = [(path, 0o755, 0, None) for path in ("usr", "usr/bin")]
    entries.append(("usr/bin/halfpower", 0o755, 0, read(options.program)))
    entries += [(path, 0o755, 0, None) for path in ("usr/share", "usr/share/doc", documents)]
    for path in sorted(options.document, key=os.path.basename):
        entries.append((f"{documents}/{os.path.basename(path)}", 0o644, 0, read(path)))
    return packed(entries, options.created)


def digest(blob):
    return "sha256:" + hashlib.sha256(blob).hexdigest()


def descriptor(media_type, blob, **more):
    return {"mediaType": media_type, "digest": digest(blob), "size": len(blob), **more}


def as_json(value):
    return json.dumps(value, indent=1, sort_keys=True).encode() + b"\n"


def when(epoch):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))


def config(options, architecture, labels, layers):
    """What runs in the image, as whom, and where."""
    return {
        "architecture": architecture,
        "os": "linux",
        "created": when(options.created),
        "config": {
            "User": f"{USER}:{USER}",
            "Entrypoint": ["/usr/bin/halfpower"],
            "Cmd": ["--help"],
            "WorkingDir": "/work",
            "Env": ["PATH=/usr/bin", "HOME=/work"],
            "Labels": labels,
        },
        "rootfs": {"type": "layers", "diff_ids": [digest(layer) for layer in layers]},
        "history": [
            {"created": when(0), "created_by": "packaging/image.py: users and folders"},
            {"created": when(options.created), "created_by": "packaging/image.py: the program"},
        ],
    }


def files(options):
    """All files of the archive, by name."""
    architecture = ARCHITECTURES[options.machine]
    prefix = "org.opencontainers.image."
    labels = {
        prefix + "title": "halfpower",
        prefix + "description": "Takes a storage path apart: how fast it can go, what stops it, which settings get there",
        prefix + "licenses": "MIT OR Apache-2.0",
        prefix + "version": options.version,
        prefix + "revision": options.revision,
        prefix + "created": when(options.created),
    }
    layers = [places(0), program(options)]
    configuration = as_json(config(options, architecture, labels, layers))
    manifest = as_json(
        {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": descriptor(CONFIG, configuration),
            "layers": [descriptor(LAYER, layer) for layer in layers],
            "annotations": labels,
        }
    )
    # One name wherever it is loaded: podman reads the first annotation, containerd the second, docker the list below.
    name = f"localhost/halfpower:{options.version}"
    named = {prefix + "ref.name": name, "io.containerd.image.name": name}
    image = descriptor(MANIFEST, manifest, platform={"architecture": architecture, "os": "linux"}, annotations=named)
    blobs = {digest(blob): blob for blob in (configuration, manifest, *layers)}
    path = {key: "blobs/" + key.replace(":", "/") for key in blobs}
    # What `docker load` of before version 25 reads beside it.
    for_docker = [
        {
            "Config": path[digest(configuration)],
            "RepoTags": [name],
            "Layers": [path[digest(layer)] for layer in layers],
        }
    ]
    return {
        "oci-layout": as_json({"imageLayoutVersion": "1.0.0"}),
        "index.json": as_json({"schemaVersion": 2, "mediaType": INDEX, "manifests": [image]}),
        "manifest.json": as_json(for_docker),
        **{path[key]: blob for key, blob in sorted(blobs.items())},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("archive")
    parser.add_argument("--version", required=True)
    parser.add_argument("--revision", default="unknown")
    parser.add_argument("--created", type=int, default=0, metavar="EPOCH")
    parser.add_argument("--machine", choices=ARCHITECTURES, default=platform.machine())
    parser.add_argument("--document", action="append", default=[], metavar="FILE")
    options = parser.parse_args()
    if options.machine not in ARCHITECTURES:
        parser.error(f"--machine {options.machine}: an image is made for {' or '.join(ARCHITECTURES)}")
    folders = [(folder, 0o755, 0, None) for folder in ("blobs", "blobs/sha256")]
    held = [(path, 0o644, 0, content) for path, content in files(options).items()]
    archive = packed(folders + held, options.created)
    begun = options.archive + ".part"
    with open(begun, "wb") as file:
        file.write(archive)
    os.replace(begun, options.archive)


main()
