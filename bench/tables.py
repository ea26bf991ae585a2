#!/usr/bin/env python3
"""Makes the tables of bench/README.md again: each stands below the command that made it.

    bench/tables.py [WORD...]        all tables, or those whose command holds one of these words

A table begins below a line `<!-- made by: COMMAND -->` and ends at the line `<!-- end -->`. What the command prints is put
between them. A command that fails leaves its table as it was. FILE in a command becomes a file of 1 GiB in the current
folder, which is removed again. Run it alone on the machine, with a release build.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE / "README.md"
TABLE = re.compile(r"(<!-- made by: (?P<command>[^\n]+?) -->\n).*?(<!-- end -->)", re.S)


def carried_out(command):
    """The command with what it printed."""
    with tempfile.TemporaryDirectory(dir=".") as folder:
        if re.search(r"\bFILE\b", command):
            data = os.path.abspath(os.path.join(folder, "data"))
            with open("/dev/urandom", "rb") as random, open(data, "wb") as out:
                for _ in range(1024):
                    out.write(random.read(1 << 20))
                os.fsync(out.fileno())
            command = re.sub(r"\bFILE\b", data, command)
        return subprocess.run(command, shell=True, cwd=HERE.parent, stdout=subprocess.PIPE, text=True)


def main():
    words, failed = sys.argv[1:], []
    for command in [match["command"] for match in TABLE.finditer(PAGE.read_text())]:
        if words and not any(word in command for word in words):
            continue
        print(command, flush=True)
        done = carried_out(command)
        if done.returncode:
            failed.append(command)
            continue

        def made(match, command=command, printed=done.stdout.strip()):
            return f"{match[1]}{printed}\n{match[3]}" if match["command"] == command else match[0]

        # One table at a time, so that what was measured stays when a later command fails or is stopped.
        PAGE.write_text(TABLE.sub(made, PAGE.read_text()))
    if failed:
        sys.exit(f"failed: {'; '.join(failed)}")


if __name__ == "__main__":
    main()
