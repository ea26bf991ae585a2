//! Prints what `probe` finds for each path on the command line.

use std::path::Path;

fn main() {
    for path in std::env::args().skip(1) {
        match halfpower_probe::probe_path(&halfpower_probe::Root::live(), Path::new(&path)) {
            Ok(environment) => println!("{path}: {environment:#?}"),
            Err(error) => eprintln!("{error}"),
        }
    }
}
