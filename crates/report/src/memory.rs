//! Prints the speed of memory as a table, or as an object for programs.

use std::io::{self, Write};

use halfpower_experiments::MemoryRow;
use halfpower_spec::Kernel;
use halfpower_spec::format::{thousands, two_digits};
use serde_json::{Value, json};

use crate::columns::{Column, lines};

/// The object `{"memory":[...]}`: kernel, threads, MB/s and the ends of its interval.
pub fn memory_json(memory: &[MemoryRow]) -> Value {
    json!({ "memory": memory })
}

/// Prints a table of the kernels, and how to read it. `loop_ns_per_kib` is the loop's own time, which the rates
/// exclude.
///
/// # Errors
/// Those of `out`.
pub fn memory_text(memory: &[MemoryRow], loop_ns_per_kib: Option<f64>, out: &mut dyn Write) -> io::Result<()> {
    let of = |cell: fn(&MemoryRow) -> String| memory.iter().map(cell);
    let columns = vec![
        Column::left("kernel", 0, of(|row| row.kernel.to_string())),
        Column::right("threads", 0, of(|row| row.threads.to_string())),
        Column::right("MB/s", 0, of(|row| thousands(row.mbps))),
        Column::right("95% interval", 0, of(|row| format!("{} to {}", thousands(row.low), thousands(row.high)))),
        Column::left("what it does", 0, of(|row| description(row.kernel).to_string())),
    ];
    lines(columns, usize::MAX).iter().try_for_each(|line| writeln!(out, "{line}"))?;
    writeln!(out, "\nA byte copied counts once, as in memspeed; STREAM's copy figure is twice that.")?;
    if let Some(ns) = loop_ns_per_kib {
        writeln!(out, "The loop alone takes {} ns a KiB, which is taken off halfpower's own loops.", two_digits(ns))?;
    }
    Ok(())
}

/// Describes a kernel in a few words.
pub(crate) fn description(kernel: Kernel) -> &'static str {
    match kernel {
        Kernel::Null => "the loop alone",
        Kernel::Read => "reads 64 bits at a time",
        Kernel::Write => "writes 64 bits at a time",
        Kernel::ReadVector => "reads the widest vectors",
        Kernel::WriteVector => "writes the widest vectors",
        Kernel::WriteStream => "writes vectors past the caches",
        Kernel::Copy => "the C library's memcpy, 8 MiB a call",
        Kernel::CopyVector => "copies vectors",
        Kernel::CopyStream => "copies vectors past the caches",
        Kernel::FileRead => "reads a cached file, 64 KiB a call",
        Kernel::FileWrite => "writes a cached file, 64 KiB a call",
    }
}
