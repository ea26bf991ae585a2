//! Deflates the charting library for reports, once, when halfpower is built.
//!
//! plotly.js comes inside the `plotly` crate, which is needed here alone: the program carries a third of the
//! library's size, and a report is written without compressing anything. The page unpacks it.

use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;

/// The banner that plotly.js opens with; it tells the library from the formula renderer beside it.
const BANNER: &str = "plotly.js v";

/// The text of the script element that holds plotly.js, out of a run of script elements.
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
