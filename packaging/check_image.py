#!/usr/bin/env python3
"""Holds an image archive against the OCI image specification and unpacks it: packaging/check_image.py ARCHIVE ROOT PROGRAM

ROOT, which must not be there, gets what a container of the image has below /. PROGRAM is the one that has to be in it.
Anything that is not as the specification says (image-layout.md, manifest.md, config.md, layer.md and descriptor.md of
opencontainers/image-spec 1.1) ends it with a sentence.
"""

import hashlib
import json
import os
import re
import sys
import tarfile

INDEX = "application/vnd.oci.image.index.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
TAG = re.compile(r"[A-Za-z0-9]+([-._:@/+][A-Za-z0-9]+|--[A-Za-z0-9]+)*")


def must(holds, what):
    if not holds:
        sys.exit(f"packaging/check_image.py: {what}")


class Layout:
    """The files of the archive, by name."""

    def __init__(self, path):
        self.files, self.used = {}, set()
        with tarfile.open(path, mode="r:") as archive:
            for entry in archive:
                must(entry.isreg() or entry.isdir(), f"{entry.name} is neither a file nor a folder")
                must(entry.name not in self.files, f"{entry.name} is there twice")
                if entry.isreg():
                    self.files[entry.name] = archive.extractfile(entry).read()

    def json(self, name):
        must(name in self.files, f"the layout lacks {name}")
        return json.loads(self.files[name])

    def blob(self, descriptor, media_type):
        """The bytes that a descriptor names, if it tells their type, digest and size as they are."""
        told = descriptor.get("mediaType")
        must(told == media_type, f"a descriptor says {told}, not {media_type}")
        digest = descriptor.get("digest", "")
        must(re.fullmatch("sha256:[0-9a-f]{64}", digest), f"{digest} is no digest")
        name = "blobs/" + digest.replace(":", "/")
        must(name in self.files, f"the layout lacks {name}")
        blob = self.files[name]
        self.used.add(name)
        must("sha256:" + hashlib.sha256(blob).hexdigest() == digest, f"{name} has another digest")
        must(descriptor.get("size") == len(blob), f"{name} has {len(blob)} bytes, not {descriptor.get('size')}")
        return blob


def check_config(config, layers):
    must(config.get("os") == "linux" and config.get("architecture") in ("amd64", "arm64"), "the config names no platform")
    must(TIME.fullmatch(config.get("created", "")), "the config tells no time")
    rootfs = config.get("rootfs", {})
    digests = ["sha256:" + hashlib.sha256(layer).hexdigest() for layer in layers]
    must(rootfs.get("type") == "layers" and rootfs.get("diff_ids") == digests, "diff_ids are not those of the layers")
    filled = [step for step in config.get("history", []) if not step.get("empty_layer")]
    must(len(filled) == len(layers), "the history has not one step a layer")
    run = config.get("config", {})
    user = re.fullmatch(r"(\d+):(\d+)", run.get("User", ""))
    must(user and int(user[1]) > 0, "the user is no number, or root")
    must(run.get("Entrypoint") == ["/usr/bin/halfpower"], "the entry point is another")
    must(run.get("WorkingDir", "").startswith("/"), "the working folder is no path from /")
    must(all("=" in word for word in run.get("Env", [])), "a word of the environment has no value")
    labels = run.get("Labels", {})
    for name in ("title", "description", "version", "revision", "licenses", "created"):
        must(labels.get("org.opencontainers.image." + name), f"the label {name} is empty")
    return labels


def unpack(layers, root, created):
    """Unpacks layers over each other, as a container's root."""
    os.mkdir(root)
    for layer in layers:
        path = root + ".layer"
        with open(path, "wb") as file:
            file.write(layer)
        with tarfile.open(path, mode="r:") as archive:
            for entry in archive:
                name = entry.name
                inside = not name.startswith("/") and ".." not in name.split("/")
                must(inside and (entry.isreg() or entry.isdir()), f"a layer has {name}")
                must(not os.path.basename(name).startswith(".wh."), f"a layer removes {name}")
                must((entry.uname, entry.gname) == ("", ""), f"{name} names a user of the machine it was made on")
                must(entry.mtime in (0, created), f"{name} has a time of its own")
                place = os.path.join(root, name)
                if entry.isdir():
                    os.makedirs(place, exist_ok=True)
                else:
                    with open(place, "wb") as file:
                        file.write(archive.extractfile(entry).read())
                os.chmod(place, entry.mode)
        os.remove(path)


def main():
    archive, root, program = sys.argv[1:]
    layout = Layout(archive)
    must(layout.json("oci-layout") == {"imageLayoutVersion": "1.0.0"}, "oci-layout is no version 1.0.0")
    index = layout.json("index.json")
    must(index.get("schemaVersion") == 2 and index.get("mediaType") == INDEX, "index.json is no index")
    must(len(index.get("manifests", [])) == 1, "the index has not one image")
    image = index["manifests"][0]
    must(TAG.fullmatch(image.get("annotations", {}).get("org.opencontainers.image.ref.name", "")), "the image has no tag")
    manifest = json.loads(layout.blob(image, MANIFEST))
    must(manifest.get("schemaVersion") == 2 and manifest.get("mediaType") == MANIFEST, "the manifest is none")
    config_blob = layout.blob(manifest["config"], CONFIG)
    config = json.loads(config_blob)
    layers = [layout.blob(layer, LAYER) for layer in manifest.get("layers", [])]
    labels = check_config(config, layers)
    must(manifest.get("annotations") == labels, "the manifest's annotations are not the labels")
    wanted = {key: config[key] for key in ("architecture", "os")}
    must(image.get("platform") == wanted, "the index names another platform than the config")
    for_docker = layout.json("manifest.json")
    paths = ["blobs/" + digest["digest"].replace(":", "/") for digest in (manifest["config"], *manifest["layers"])]
    must([for_docker[0]["Config"], *for_docker[0]["Layers"]] == paths, "manifest.json names other blobs")
    blobs = {name for name in layout.files if name.startswith("blobs/")}
    must(blobs == layout.used, f"nothing names {', '.join(sorted(blobs - layout.used))}")

    with tarfile.open(archive, mode="r:") as whole:
        created = whole.getmember("index.json").mtime
    unpack(layers, root, created)
    inside = os.path.join(root, config["config"]["Entrypoint"][0].lstrip("/"))
    with open(inside, "rb") as one, open(program, "rb") as other:
        must(one.read() == other.read(), "the program in the image is another")
    must(os.access(inside, os.X_OK), "the program in the image may not be run")
    for folder in ("data", "work", "tmp"):
        must(os.stat(os.path.join(root, folder)).st_mode & 0o7777 == 0o1777, f"not everybody may write to /{folder}")


main()
