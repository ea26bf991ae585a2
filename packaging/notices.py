#!/usr/bin/env python3
"""Prints the licence texts of everything that is linked into the program, as packages have to carry them.

packaging/notices.py >FILE      needs cargo; reads the sources that cargo has fetched
"""

import json
import os
import platform
import re
import subprocess

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
TEXTS = re.compile(r"(licen[sc]e|copying|copyright|notice|unlicense)", re.IGNORECASE)


def metadata():
    filtered = ["--filter-platform", f"{platform.machine()}-unknown-linux-gnu"]
    command = ["cargo", "metadata", "--format-version", "1", "--locked", *filtered]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout)


def linked(metadata):
    """Packages that the program is made of: no tests, and nothing that only the compiler runs."""
    packages = {package["id"]: package for package in metadata["packages"]}
    dependencies = {node["id"]: node["deps"] for node in metadata["resolve"]["nodes"]}

    def runs_in_compiler(id):
        return any("proc-macro" in target["kind"] for target in packages[id]["targets"])

    found, waiting = set(), [id for id, package in packages.items() if package["name"] == "halfpower"]
    while waiting:
        id = waiting.pop()
        if id in found or runs_in_compiler(id):
            continue
        found.add(id)
        used = (it for it in dependencies[id] if any(kind["kind"] != "dev" for kind in it["dep_kinds"]))
        waiting += [it["pkg"] for it in used]
    return [packages[id] for id in found if packages[id]["source"]]


def texts(package):
    """The texts of a package; of a choice of licences, MIT alone."""
    folder = os.path.dirname(package["manifest_path"])
    names = sorted(name for name in os.listdir(folder) if TEXTS.match(name))
    names = [name for name in names if name.upper().startswith("LICENSE-MIT")] or names
    for name in names:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                yield file.read().strip().replace("\r\n", "\n")


def main():
    by_text = {}
    for package in sorted(linked(metadata()), key=lambda package: (package["name"], package["version"])):
        name = f"{package['name']} {package['version']} ({package['license']})"
        for text in list(texts(package)) or ["Its sources hold no text beside the name of the licence."]:
            by_text.setdefault(text, []).append(name)
    print("halfpower is linked with the following libraries.")
    for text, names in by_text.items():
        print("\n" + "-" * 80 + "\n" + "\n".join(names) + "\n\n" + text)


main()
