#!/usr/bin/env python3
"""Checks the Kubernetes Job and the CI snippets, and runs their commands: packaging/check_yaml.py PROGRAM FOLDER

Every file has to fit the schema that its reader publishes: Kubernetes' API of the oldest and the newest release that
kubernetes-validate knows, GitHub's workflows and GitLab's CI as check-jsonschema has them. Every field has to be one of those
below, too, of its type: the subset that these files use, where what is safe is the only choice. The commands then run as they
stand, with PROGRAM, in FOLDER; a study measures a simulated disk instead of the target, so that it takes a second. Needs
PyYAML, kubernetes-validate and check-jsonschema.
"""

import os
import re
import shutil
import subprocess
import sys

try:
    import kubernetes_validate
    import yaml
    from kubernetes_validate.utils import all_versions
except ImportError as error:
    sys.exit(f"packaging/check_yaml.py: {error}: pip install pyyaml kubernetes-validate check-jsonschema")

HERE = os.path.dirname(os.path.abspath(__file__))
SLOW = "sim:fixed=80us,rate=500MB/s"
FAST = "sim:fixed=40us,rate=900MB/s"
NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


class Maybe:
    """A field that may be left out."""

    def __init__(self, kind):
        self.kind = kind


class Map:
    """Any names, each with a value of this kind."""

    def __init__(self, kind):
        self.kind = kind


# A dict has these fields and no others; a list holds any number of its first; a set is the values that may stand there; a
# pattern is text that it matches as a whole.
QUANTITY = re.compile(r"\d+(\.\d+)?(m|[kMGT]|[KMGT]i)?")
METADATA = {"name": NAME}
RESOURCES = {"requests": Maybe(Map(QUANTITY)), "limits": Maybe(Map(QUANTITY))}
CONTAINER = {
    "name": NAME,
    "image": re.compile(r"[a-z0-9./:-]+:[\w.-]+"),
    "args": [str],
    "envFrom": Maybe([{"configMapRef": {"name": NAME}}]),
    "resources": RESOURCES,
    "securityContext": {
        "allowPrivilegeEscalation": {False},
        "readOnlyRootFilesystem": {True},
        "capabilities": {"drop": [{"ALL"}]},
    },
    "volumeMounts": [{"name": NAME, "mountPath": re.compile("/.+")}],
}
VOLUME = {
    "name": NAME,
    "emptyDir": Maybe({"sizeLimit": QUANTITY}),
    "persistentVolumeClaim": Maybe({"claimName": NAME}),
}
POD = {
    "restartPolicy": {"Never", "OnFailure"},
    "automountServiceAccountToken": {False},
    "securityContext": {
        "runAsNonRoot": {True},
        "runAsUser": int,
        "runAsGroup": int,
        "fsGroup": int,
        "seccompProfile": {"type": {"RuntimeDefault"}},
    },
    "initContainers": [CONTAINER],
    "containers": [CONTAINER],
    "volumes": [VOLUME],
}
KUBERNETES = {
    "ConfigMap": {"apiVersion": {"v1"}, "kind": str, "metadata": METADATA, "data": Map(str)},
    "PersistentVolumeClaim": {
        "apiVersion": {"v1"},
        "kind": str,
        "metadata": METADATA,
        "spec": {
            "storageClassName": NAME,
            "accessModes": [{"ReadWriteOnce", "ReadWriteOncePod", "ReadWriteMany"}],
            "resources": RESOURCES,
        },
    },
    "Job": {
        "apiVersion": {"batch/v1"},
        "kind": str,
        "metadata": METADATA,
        "spec": {"backoffLimit": int, "activeDeadlineSeconds": int, "template": {"spec": POD}},
    },
}
GITHUB = {
    "name": str,
    # YAML 1.1 reads the word `on` as true.
    True: {
        "schedule": [{"cron": re.compile(r"[\d*/,-]+( [\d*/,-]+){4}")}],
        "workflow_dispatch": {"inputs": Map({"description": str, "type": {"boolean"}, "default": bool})},
    },
    "permissions": {"contents": {"read"}},
    "concurrency": {"group": str},
    "jobs": Map(
        {
            "runs-on": [str],
            "timeout-minutes": int,
            "env": Map(str),
            "defaults": {"run": {"shell": {"bash"}}},
            "steps": [
                {
                    "name": str,
                    "id": Maybe(str),
                    "if": Maybe(str),
                    "run": Maybe(str),
                    "uses": Maybe(re.compile(r"actions/[\w/-]+@v\d+")),
                    "with": Maybe(Map(str)),
                }
            ],
        }
    ),
}
GITLAB = Map(
    {
        "tags": [str],
        "rules": [{"if": str}],
        "resource_group": str,
        "timeout": str,
        "variables": Map(str),
        "cache": {"key": str, "paths": [str]},
        "script": [str],
        "artifacts": {"when": {"always", "on_success", "on_failure"}, "expire_in": str, "paths": [str]},
    }
)


def must(holds, what):
    if not holds:
        sys.exit(f"packaging/check_yaml.py: {what}")


def fits(value, kind, place):
    """Ends with a sentence if a value is not of its kind."""
    if isinstance(kind, Map):
        must(isinstance(value, dict), f"{place} is no mapping")
        for name, one in value.items():
            fits(one, kind.kind, f"{place}.{name}")
    elif isinstance(kind, dict):
        must(isinstance(value, dict), f"{place} is no mapping")
        for name in value:
            must(name in kind, f"{place} has the unknown field {name}")
        for name, inner in kind.items():
            must(name in value or isinstance(inner, Maybe), f"{place} lacks {name}")
            if name in value:
                fits(value[name], inner.kind if isinstance(inner, Maybe) else inner, f"{place}.{name}")
    elif isinstance(kind, list):
        must(isinstance(value, list) and value, f"{place} is no list, or empty")
        for at, one in enumerate(value):
            fits(one, kind[0], f"{place}[{at}]")
    elif isinstance(kind, (set, frozenset)):
        must(value in kind, f"{place} is {value!r}, not of {sorted(kind, key=str)}")
    elif isinstance(kind, re.Pattern):
        must(isinstance(value, str) and kind.fullmatch(value), f"{place} is {value!r}, not as {kind.pattern}")
    else:
        must(type(value) is kind, f"{place} is {value!r}, no {kind.__name__}")


def fits_kubernetes(document):
    """Ends with a sentence if a document is not as the API of the oldest or the newest release says."""
    known = sorted(all_versions(), key=lambda version: [int(part) for part in version.split(".")])
    for version in (known[0], known[-1]):
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            place = ".".join(str(part) for part in error.path)
            must(False, f"{document['kind']} does not fit Kubernetes {version}: {place}: {error.message}")
        except kubernetes_validate.SchemaNotFoundError:
            must(False, f"Kubernetes {version} has no {document['kind']} of {document['apiVersion']}")


def fits_schema(name, schema):
    """Ends with what is wrong if a file does not fit a schema that check-jsonschema brings."""
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, os.path.join(HERE, name)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    must(done.returncode == 0, f"{name} does not fit {schema}: {done.stdout}{done.stderr}")


def documents(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return list(yaml.safe_load_all(file))


class Runner:
    """Runs commands of the files with the program, in a folder of their own."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        os.makedirs(self.folder)

    def words(self, words, expected):
        done = subprocess.run([self.program, *words], cwd=self.folder, capture_output=True, text=True, check=False)
        told = f"halfpower {' '.join(words)}: exit code {done.returncode}, not {expected}: {done.stderr}"
        must(done.returncode == expected, told)
        return done.stdout

    def script(self, text, simulated, variables):
        """Runs a script as a runner does; what it studies is simulated. Returns its exit code and what it said."""
        tools = os.path.join(self.folder, ".tools")
        os.makedirs(tools, exist_ok=True)
        # What doctor finds on this machine is none of the script's faults; that it could not look would be.
        stand_in = """#!/bin/bash
words=()
for word; do
  if [ "$1" = study ] && [ "$word" = "$TARGET" ]; then word=$SIMULATED; fi
  words+=("$word")
done
"$PROGRAM" "${words[@]}"
status=$?
if [ "$1" = doctor ] && [ $status = 1 ]; then exit 0; fi
exit $status
"""
        with open(os.path.join(tools, "halfpower"), "w", encoding="utf-8") as file:
            file.write(stand_in)
        os.chmod(file.name, 0o755)
        path = f"{tools}:{os.environ['PATH']}"
        ours = {"PATH": path, "PROGRAM": self.program, "SIMULATED": simulated, "HOME": self.folder}
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text]
        done = subprocess.run(shell, cwd=self.folder, env={**ours, **variables}, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr


def check_kubernetes(program, folder):
    held = documents("kubernetes/storage-classes.yaml")
    for at, document in enumerate(held):
        must(document.get("kind") in KUBERNETES, f"document {at} is of the unknown kind {document.get('kind')}")
        fits(document, KUBERNETES[document["kind"]], document["kind"])
        fits_kubernetes(document)
    job = next(document for document in held if document["kind"] == "Job")
    pod = job["spec"]["template"]["spec"]
    settings = {one["metadata"]["name"]: one["data"] for one in held if one["kind"] == "ConfigMap"}
    claims = {one["metadata"]["name"]: one["spec"] for one in held if one["kind"] == "PersistentVolumeClaim"}
    volumes = {one["name"]: one for one in pod["volumes"]}
    user = pod["securityContext"]
    must(min(user["runAsUser"], user["runAsGroup"], user["fsGroup"]) > 0, "the Job runs as root")
    for volume in volumes.values():
        must(len(volume) == 2, f"the volume {volume['name']} is not of one kind")
        claim = volume.get("persistentVolumeClaim")
        must(claim is None or claim["claimName"] in claims, f"nothing claims {claim}")
    containers = pod["initContainers"] + pod["containers"]
    must(len({one["name"] for one in containers}) == len(containers), "two containers have one name")
    must(len({one["image"] for one in containers}) == 1, "the containers are of several images")
    mounted = {mount["name"] for one in containers for mount in one["volumeMounts"]}
    must(mounted == set(volumes), f"volumes {sorted(set(volumes) ^ mounted)} are mounted or named only")
    studied = [run for run in pod["initContainers"] if run["args"][0] == "study"]
    must(len(studied) == len(claims), "not every class is studied once")

    for count, simulated in enumerate(([SLOW, FAST], [FAST, SLOW])):
        runner = Runner(program, os.path.join(folder, f"kubernetes-{count}"))
        disks = dict(zip((one["name"] for one in studied), simulated))
        for one in containers:
            mounts = {mount["mountPath"]: mount["name"] for mount in one["volumeMounts"]}
            known = {}
            for source in one.get("envFrom", []):
                known.update(settings[source["configMapRef"]["name"]])
            words = [re.sub(r"\$\((\w+)\)", lambda name: known[name[1]], word) for word in one["args"]]
            if words[0] == "study":
                must(words[1] in mounts, f"{one['name']} studies {words[1]}, which is no volume")
                words[1] = disks[one["name"]]
            must("/work" in mounts, f"{one['name']} does not see the results")
            words = [re.sub("(^|=)/work/", rf"\1{runner.folder}/", word) for word in words]
            # The second class is the slower one the second time, which the conditions find.
            crosses = count == 1 and "--fail-if" in words
            page = runner.words(words, 1 if crosses else 0)
            must("--html" not in words or page.startswith("<!DOCTYPE html>"), "the page is not what is printed")


def check_ci(name, program, folder, steps, variables):
    """A first run keeps a baseline, an equal one passes, a slower one fails, and that is the baseline if it is asked for.

    `steps` are scripts, and `restore` and `save` where the runner fetches and keeps what is cached, .halfpower.
    """
    runner = Runner(program, folder)
    target, here, cache = (os.path.join(folder, one) for one in ("target", ".halfpower", "cache"))
    os.makedirs(target)
    for variable in ("TARGET", "BUDGET", "XDG_DATA_HOME"):
        must(variable in variables, f"{name} lacks {variable}")
    known = {**variables, "TARGET": target, "XDG_DATA_HOME": here}
    turns = [(FAST, "false", 0), (FAST, "false", 0), (SLOW, "false", 1), (SLOW, "true", 0), (SLOW, "false", 0)]
    for turn, (simulated, new, expected) in enumerate(turns):
        status, said = 0, ""
        for step in steps:
            if step == "restore":
                shutil.rmtree(here, ignore_errors=True)
                if os.path.exists(cache):
                    shutil.copytree(cache, here)
            elif step == "save" and status == 0:
                shutil.rmtree(cache, ignore_errors=True)
                shutil.copytree(here, cache)
            elif step != "save" and status == 0:
                # One turn with the budget as it stands.
                short = {"BUDGET": "30s"} if turn else {}
                status, told = runner.script(step, simulated, {**known, **short, "NEW_BASELINE": new})
                said += told
        must(status == expected, f"{name}, turn {turn}: exit code {status}, not {expected}: {said}")
        must(("` holds" in said) == (expected == 1), f"{name}, turn {turn}: {said}")
        kept = os.path.join(cache, "halfpower/baselines/main.halfpower")
        must(os.path.exists(kept), f"{name}, turn {turn}: no baseline is kept")
    must(os.path.exists(os.path.join(folder, "compare.html")), f"{name} writes no page")


def check_github(program, folder):
    fits_schema("ci/github.yml", "vendor.github-workflows")
    (workflow,) = documents("ci/github.yml")
    fits(workflow, GITHUB, "github.yml")
    (job,) = workflow["jobs"].values()
    for step in job["steps"]:
        must(("run" in step) != ("uses" in step), f"the step {step['name']} has not one of run and uses")
    of_cache = re.compile("actions/cache/(restore|save)@")
    steps = []
    for step in job["steps"]:
        cached = of_cache.match(step.get("uses", ""))
        must(not cached or step["with"]["path"] == ".halfpower", "github.yml caches something else than the baseline")
        steps += [step["run"]] if "run" in step else [cached[1]] if cached else []
    summary = {"GITHUB_STEP_SUMMARY": os.path.join(folder, "summary.md")}
    check_ci("github.yml", program, folder, steps, {**job["env"], **summary})


def check_gitlab(program, folder):
    fits_schema("ci/gitlab.yml", "vendor.gitlab-ci")
    (snippet,) = documents("ci/gitlab.yml")
    fits(snippet, GITLAB, "gitlab.yml")
    (job,) = snippet.values()
    must(job["cache"]["paths"] == [".halfpower/"], "gitlab.yml caches something else than the baseline")
    check_ci("gitlab.yml", program, folder, ["restore", "\n".join(job["script"]), "save"], job["variables"])


def main():
    program, folder = (os.path.abspath(word) for word in sys.argv[1:])
    check_kubernetes(program, folder)
    check_github(program, os.path.join(folder, "github"))
    check_gitlab(program, os.path.join(folder, "gitlab"))


main()
