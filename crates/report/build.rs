//! Deflates the charting library for reports once, when halfpower is built.
//!
//! plotly.js is inside the `plotly` crate, which only this script needs. The program then holds a third of the
//! library's size and compresses nothing when it writes a report; the page unpacks the library.

use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;

/// The banner at the start of plotly.js, which distinguishes it from the formula renderer beside it.
const BANNER: &str = "plotly.js v";

/// The content of the script element with plotly.js, from a sequence of script elements.
fn plotly_script(elements: &str) -> Option<&str> {
    elements.split("<script").skip(1).find_map(|element| {
        let start = element.find('>')? + 1;
        let body = element[start..].split("</script>").next()?;
        let head: String = body.chars().take(200).collect();
        head.contains(BANNER).then_some(body)
    })
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let elements = plotly::Plot::offline_js_sources();
    let script = plotly_script(&elements).expect("the plotly crate carries plotly.js in a script element of its own");
    let mut packed = GzEncoder::new(Vec::new(), Compression::best());
    packed.write_all(script.as_bytes()).expect("writing to memory does not fail");
    let packed = packed.finish().expect("writing to memory does not fail");
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it for a build script"));
    std::fs::write(folder.join("plotly.js.gz"), packed).expect("cargo's output folder is ours");
}
