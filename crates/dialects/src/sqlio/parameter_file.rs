//! Reads SQLIO's parameter file: one line per file with its threads, a processor mask and its size in MiB.

use halfpower_spec::Bytes;

use super::asked::ParsedOptions;

/// Reads the file into `asked`.
///
/// # Errors
/// The line that is refused, and why.
pub(super) fn read(asked: &mut ParsedOptions, path: &str) -> Result<(), String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path} cannot be read: {error}"))?;
    let mut threads = None;
    let mut size = None;
    for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line.trim())) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let place = |why: String| format!("{path}, line {number}: {why}");
        let fields: Vec<&str> = line.split_whitespace().collect();
        let whole = |at: usize, what: &str| match fields.get(at) {
            None => Ok(None),
            Some(field) => field.parse::<u64>().map(Some).map_err(|_| place(format!("`{field}` is no {what}"))),
        };
        if let Some(mask) = fields.get(2).filter(|mask| !["0", "0x0"].contains(mask)) {
            return Err(place(format!("the mask {mask} cannot be taken; write 0x0, and use taskset")));
        }
        for (kept, here, what) in [
            (&mut threads, whole(1, "number of threads")?, "number of threads"),
            (&mut size, whole(3, "size in MiB")?, "size"),
        ] {
            if asked.run.files.is_empty() {
                *kept = here;
            } else if *kept != here {
                return Err(place(format!("all files need the same {what}")));
            }
        }
        asked.run.files.push(fields[0].into());
    }
    if asked.run.files.is_empty() {
        return Err(format!("{path} names no file"));
    }
    threads.iter().for_each(|threads| asked.run.set("--threads", threads));
    asked.run.size = size.map(|mib| Bytes(mib.saturating_mul(1 << 20)));
    asked.shown.size_mib = size;
    asked.shown.parameter_file = Some(path.to_string());
    Ok(())
}
