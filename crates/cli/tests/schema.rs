//! Checks that `docs/schema` matches the types that `--json` prints, and that printed documents match the schemas.
//!
//! `HALFPOWER_BLESS=1` writes the schemas anew. Python's jsonschema validates printed documents (`HALFPOWER_PYTHON`
//! names the interpreter).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::program::{folder, run, skip};

const DISK: &str = "sim:fixed=80us,rate=500MB/s,noise=2%";

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/schema/{name}.json"))
}

#[test]
fn the_schemas_are_those_of_what_is_printed() {
    for (name, schema) in halfpower_report::schemas() {
        let schema = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        if std::env::var_os("HALFPOWER_BLESS").is_some() {
            fs::write(kept(name), &schema).unwrap();
        }
        let before = fs::read_to_string(kept(name)).unwrap_or_default();
        let differs = schema.lines().zip(before.lines()).position(|(now, before)| now != before);
        assert!(
            schema == before,
            "{name} --json has other keys than docs/schema/{name}.json, from line {:?} on: where a key went away or \
             changed its meaning, raise its `schema`; then write the file again with HALFPOWER_BLESS=1",
            differs.map(|line| line + 1)
        );
        let mut silent = Vec::new();
        undescribed(&serde_json::from_str(&schema).unwrap(), name, &mut silent);
        assert!(silent.is_empty(), "nobody says what these keys mean: {silent:#?}");
    }
}

#[test]
fn the_program_writes_the_schemas_that_are_kept() {
    let folder = folder();
    assert!(run(folder.path(), &["generate", "schema", "made"]).status.success());
    let made = folder.path().join("made");
    assert_eq!(fs::read_dir(&made).unwrap().count(), halfpower_report::schemas().len());
    for (name, _) in halfpower_report::schemas() {
        let written = fs::read(made.join(format!("{name}.json"))).unwrap();
        // Blessing writes the files after the program was built of them.
        assert!(std::env::var_os("HALFPOWER_BLESS").is_some() || written == fs::read(kept(name)).unwrap(), "{name}");
    }
}

/// Collects keys without description; the only key of an object is described by the object.
fn undescribed(schema: &Value, place: &str, silent: &mut Vec<String>) {
    let properties = schema["properties"].as_object().filter(|properties| properties.len() > 1);
    for (key, property) in properties.into_iter().flatten() {
        if property["description"].is_null() && property["const"].is_null() {
            silent.push(format!("{place}.{key}"));
        }
    }
    match schema {
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            let place = if key == "properties" { place.to_string() } else { format!("{place}/{key}") };
            undescribed(value, &place, silent);
        }),
        Value::Array(values) => values.iter().for_each(|value| undescribed(value, place, silent)),
        _ => {}
    }
}

/// Writes the output of each command to a file in this folder.
fn print(folder: &Path, name: &str, lines: &[&str]) {
    for (number, line) in lines.iter().enumerate() {
        let output = run(folder, &line.split(' ').collect::<Vec<_>>());
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code().is_some_and(|code| code < 2), "{line}: {complaint}");
        fs::write(folder.join(format!("{name}-{number}.json")), output.stdout).unwrap();
    }
}

/// Validates every document of the folder against the schema of its name.
const JUDGE: &str = "
import glob, json, sys, jsonschema
seen = 0
for path in glob.glob('*-*.json'):
    schema = json.load(open(f'{sys.argv[1]}/{path.split(\"-\")[0]}.json'))
    jsonschema.Draft202012Validator.check_schema(schema)
    errors = list(jsonschema.Draft202012Validator(schema).iter_errors(json.load(open(path))))
    for error in errors:
        print(path, list(error.absolute_path), error.message[:300])
    seen += 1
print('documents:', seen)
";

/// What strace says of a program that reads, writes and syncs.
const TRACE: &str = "100 1700000000.000000 openat(AT_FDCWD, \"/srv/a\", O_RDWR) = 3 <0.000010>
100 1700000000.001000 pread64(3, \"\"..., 4096, 0) = 4096 <0.000100>
100 1700000000.002000 pwrite64(3, \"\"..., 4096, 4096) = 4096 <0.000020>
100 1700000000.003000 fdatasync(3) = 0 <0.001000>
";
/// Lines that print documents, by their schema.
const PRINTED: [(&str, &[&str]); 8] = [
    (
        "run",
        &[
            "run DISK --rw randread --bs 4KiB -d 100ms --json",
            "run DISK --rw randrw --bs 4KiB -d 100ms --rate-iops 1000 --json",
            "run sim:win2k-atlas10k --rw write --cache both --bs 64KiB -d 1s --json",
            "run . --size 64MiB --rw randread --bs 4KiB -d 100ms --percentiles 50,99 --json",
        ],
    ),
    (
        "report",
        &[
            "study DISK --budget 60s --peak 3.5GB/s --output a.halfpower --json",
            "study sim:fixed=80us,rate=500MB/s,noise=2%,disks=2,shared=700MB/s --experiments all --price 209 --sustain-bytes 1g --p99 1ms --budget 60s \
         --output b.halfpower --json",
            "study sim:win2k-atlas10k --experiments buffered,allocation,durability,processors --budget 8m \
         --output c.halfpower --json",
            "study sim:win2k-atlas10k --set disks=2 --experiments mirror --budget 20m --output d.halfpower --json",
            "study sim:size=64MiB,errors=2%,short=2% --experiments engines --budget 20s --output e.halfpower --json",
            "study . --size 64MiB --budget 5s --output f.halfpower --json",
            "study . --size 64MiB --experiments all --budget 10s --output g.halfpower --json",
            "study . --size 64MiB --budget 5s --output f.halfpower --json",
            "study DISK --budget 60s --set fixed=95us --output h.halfpower --json",
        ],
    ),
    (
        "compare",
        &[
            "compare a.halfpower h.halfpower --json",
            "compare a.halfpower h.halfpower --price 209,300 --fail-if random\u{a0}read\u{a0}peak<-5% --json",
        ],
    ),
    (
        "history",
        &[
            "history a.halfpower h.halfpower --no-index --target 1 --json",
            "history a.halfpower --no-index --fail-if random\u{a0}read\u{a0}iops<-5% --json",
        ],
    ),
    (
        "duet",
        &[
            "compare --live DISK sim:fixed=90us,rate=500MB/s,noise=2% --json",
            "compare --live sim: sim: --cell --rw\u{a0}randrw\u{a0}--bs\u{a0}4k --budget 100ms --json",
            "compare --live DISK DISK --fail-if random\u{a0}read\u{a0}iops<-5% --json",
        ],
    ),
    ("doctor", &["doctor . --json", "doctor each:.,.. --json --fail-if warn"]),
    ("predict", &["predict app.capture --on DISK,flush=1ms --json"]),
    ("replay", &["run --workload app.capture . --time 1s --json"]),
];

#[test]
#[ignore = "gate: other programs read it"]
fn what_is_printed_keeps_to_the_schemas() {
    let python = std::env::var_os("HALFPOWER_PYTHON").unwrap_or_else(|| "python3".into());
    let import = Command::new(&python).args(["-c", "import jsonschema"]).output();
    if !import.is_ok_and(|output| output.status.success()) {
        return skip("no Python with jsonschema; name one in HALFPOWER_PYTHON");
    }
    let folder = folder();
    let folder = folder.path();
    fs::write(folder.join("trace"), TRACE).unwrap();
    let imported = run(folder, &["import", "trace", "-o", "app.capture"]);
    assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
    for (name, lines) in PRINTED {
        let lines: Vec<String> = lines.iter().map(|line| line.replace("DISK", DISK)).collect();
        print(folder, name, &lines.iter().map(String::as_str).collect::<Vec<_>>());
    }
    // Machines that are alike to the last digit.
    fs::create_dir(folder.join("fleet")).unwrap();
    for machine in 0..8 {
        fs::copy(folder.join("a.halfpower"), folder.join(format!("fleet/m{machine}.halfpower"))).unwrap();
    }
    print(folder, "alike", &["compare fleet --json"]);
    let schemas = kept("run");
    let judged = Command::new(python).current_dir(folder).args(["-c", JUDGE]).arg(schemas.parent().unwrap()).output();
    let judged = judged.unwrap();
    let said = String::from_utf8_lossy(&judged.stdout);
    assert_eq!(said.trim(), "documents: 25", "{}", String::from_utf8_lossy(&judged.stderr));
}
