//! Keeps `docs/schema` in step with what `--json` prints: each key with its types, as JSON Schema.
//!
//! The schemas are read off the output itself, of simulated targets, which print the same on every machine. With
//! `HALFPOWER_BLESS=1` they are written again.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::program::{folder, run};

const DISK: &str = "sim:fixed=80us,rate=500MB/s,noise=2%";
/// Objects that differ from machine to machine, or whose keys are data; docs/study-file.md tells what they hold.
const OPEN: [&str; 5] = ["machine", "filesystem", "device", "environment", "errors_by_kind"];

/// What is known of the values in one place.
#[derive(Default)]
struct Shape {
    types: BTreeSet<&'static str>,
    objects: usize,
    /// By key: how many of the objects have it, and the values.
    members: BTreeMap<String, (usize, Shape)>,
    items: Option<Box<Shape>>,
}

impl Shape {
    fn add(&mut self, value: &Value) {
        self.types.insert(match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        });
        match value {
            Value::Array(values) => values.iter().for_each(|value| self.items.get_or_insert_default().add(value)),
            Value::Object(members) => {
                self.objects += 1;
                for (key, value) in members {
                    let (count, shape) = self.members.entry(key.clone()).or_default();
                    *count += 1;
                    shape.add(value);
                }
            }
            _ => {}
        }
    }

    /// What every figure, word and object may be: that, or `null` where it is not known. Where none of these studies
    /// knew it, nothing is said.
    fn schema(&self) -> Map<String, Value> {
        let mut schema = Map::new();
        let mut types = self.types.clone();
        if types.contains("number") {
            types.remove("integer");
        }
        if ["number", "integer", "string", "object"].iter().any(|known| types.contains(known)) {
            types.insert("null");
        }
        if types.len() > 1 || !types.contains("null") {
            schema.insert("type".into(), types.into_iter().collect());
        }
        if self.objects > 0 {
            let property = |(key, (_, shape)): (&String, &(usize, Shape))| match OPEN.contains(&key.as_str()) {
                true => (key.clone(), json!({ "type": ["object", "null"] })),
                false => (key.clone(), Value::Object(shape.schema())),
            };
            let always = self.members.iter().filter(|(_, (count, _))| *count == self.objects);
            schema.insert("required".into(), always.map(|(key, _)| key.as_str()).collect());
            schema.insert("properties".into(), Value::Object(self.members.iter().map(property).collect()));
        }
        schema.extend(self.items.iter().map(|items| ("items".to_string(), Value::Object(items.schema()))));
        schema
    }
}

/// What a command prints, as JSON; a threshold that was crossed is no failure.
fn printed(folder: &Path, words: &str) -> Value {
    let output = run(folder, &words.split(' ').collect::<Vec<_>>());
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code < 2), "{words}: {complaint}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{words}: {error}"))
}

/// Compares the schema of these documents with the one that is kept.
fn check(name: &str, documents: &[Value]) {
    let mut shape = Shape::default();
    documents.iter().for_each(|document| shape.add(document));
    let mut schema = Map::new();
    schema.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("title".into(), format!("halfpower {name} --json").into());
    schema.extend(shape.schema());
    schema["properties"]["schema"] = json!({ "const": documents[0]["schema"] });
    let schema = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/schema/{name}.json"));
    if std::env::var_os("HALFPOWER_BLESS").is_some() {
        fs::write(&path, &schema).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let differs = schema.lines().zip(kept.lines()).position(|(now, kept)| now != kept);
    assert!(
        schema == kept,
        "{name} --json has other keys than docs/schema/{name}.json, from line {:?} on: where a key went away or changed \
         its meaning, raise its `schema`; then write the file again with HALFPOWER_BLESS=1",
        differs.map(|line| line + 1)
    );
}

#[test]
fn a_run_keeps_to_its_schema() {
    let folder = folder();
    let words = [
        format!("run {DISK} --rw randread --bs 4KiB -d 100ms --json"),
        format!("run {DISK} --rw randrw --bs 4KiB -d 100ms --rate-iops 1000 --json"),
        "run sim:win2k-atlas10k --rw write --cache both --bs 64KiB -d 1s --json".to_string(),
    ];
    check("run", &words.map(|words| printed(folder.path(), &words)));
}

#[test]
fn a_report_keeps_to_its_schema() {
    let folder = folder();
    let words = [
        format!("study {DISK} --budget 60s --peak 3.5GB/s --output a.halfpower --json"),
        "study sim:fixed=80us,rate=500MB/s,noise=2%,disks=2,shared=700MB/s --experiments all --price 209 --budget 60s \
         --output b.halfpower --json"
            .to_string(),
        "study sim:win2k-atlas10k --experiments buffered,allocation,durability,processors --budget 8m \
         --output c.halfpower --json"
            .to_string(),
        "study sim:win2k-atlas10k --set disks=2 --experiments mirror --budget 20m --output d.halfpower --json"
            .to_string(),
        "study sim:size=64MiB,errors=2%,short=2% --experiments engines --budget 20s --output e.halfpower --json"
            .to_string(),
    ];
    check("report", &words.map(|words| printed(folder.path(), &words)));
}

#[test]
fn a_comparison_keeps_to_its_schema() {
    let folder = folder();
    let study =
        |name: &str, disk: &str| printed(folder.path(), &format!("study {disk} --budget 60s --output {name} --json"));
    study("a.halfpower", DISK);
    study("b.halfpower", "sim:fixed=95us,rate=400MB/s,noise=2%");
    let compare = |more: &[&str]| {
        let output = run(folder.path(), &[&["compare", "a.halfpower", "b.halfpower", "--json"], more].concat());
        assert!(output.status.code().is_some_and(|code| code < 2), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    check("compare", &[compare(&[]), compare(&["--price", "209,300", "--fail-if", "random read peak < -5%"])]);
}
