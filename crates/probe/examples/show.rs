//! What does `probe` see of the paths on the command line? Prints each as it is.

use std::path::Path;

fn main() {
    for path in std::env::args().skip(1) {
        match probe::probe_path(&probe::Root::live(), Path::new(&path)) {
            Ok(environment) => println!("{path}: {environment:#?}"),
            Err(error) => eprintln!("{error}"),
        }
    }
}
