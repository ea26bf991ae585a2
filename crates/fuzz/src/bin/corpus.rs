//! Unpacks the corpus of an entry into a folder, or packs a folder into the corpus: `corpus unpack|pack ENTRY FOLDER`.
//! `corpus entries` lists them.

use std::fs;
use std::io;
use std::path::Path;

use halfpower_fuzz::{ENTRIES, entry, escaped, unescaped};

/// Longest input in bytes that the corpus keeps; the corpus is part of the repository.
const LONGEST: usize = 2048;
const USAGE: &str = "write `corpus unpack ENTRY FOLDER`, `corpus pack ENTRY FOLDER` or `corpus entries`";

fn unpack(name: &str, folder: &Path) -> io::Result<()> {
    let entry = entry(name);
    fs::create_dir_all(folder)?;
    let kept = entry.corpus.lines().map(unescaped);
    for (number, input) in (entry.seeds)().into_iter().chain(kept).enumerate() {
        fs::write(folder.join(format!("{number:05}")), input)?;
    }
    Ok(())
}

fn pack(name: &str, folder: &Path) -> io::Result<()> {
    let mut lines = Vec::new();
    for file in fs::read_dir(folder)? {
        let input = fs::read(file?.path())?;
        if input.len() <= LONGEST {
            lines.push(escaped(&input) + "\n");
        }
    }
    lines.sort();
    lines.dedup();
    fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(format!("{name}.txt")), lines.concat())
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["unpack", name, folder] => unpack(name, folder.as_ref()),
        ["pack", name, folder] => pack(name, folder.as_ref()),
        ["entries"] => {
            for entry in ENTRIES {
                println!("{}", entry.name);
            }
            Ok(())
        }
        _ => Err(io::Error::other(USAGE)),
    }
}
