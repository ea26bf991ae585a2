//! Prints a system's curves of throughput and cost, by size and by depth.
//!
//! `cargo run --release -p halfpower-model --example curves -- win2k-atlas10k`

use halfpower_model::reproduction::{Load, LoadOrder, run};
use halfpower_model::{Array, Setting, System, SystemError, systems};

const DEPTHS: [u32; 7] = [1, 2, 3, 4, 8, 16, 32];

fn main() -> Result<(), SystemError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let name = arguments.first().map_or("win2k-atlas10k", String::as_str);
    let Some(shipped) = systems().iter().find(|system| system.name == name) else {
        let names: Vec<&str> = systems().iter().map(|system| system.name).collect();
        println!("no such system; there are {}", names.join(", "));
        return Ok(());
    };
    let system = System::from_toml(shipped.text)?;
    println!("{}", system.about);
    let disks = arguments.get(1).and_then(|disks| disks.parse().ok()).unwrap_or(1);
    let stripes = if disks > 1 { Array::SoftwareStripe } else { Array::Separate };
    for (buffered, write_cache) in [(false, true), (false, false), (true, true), (true, false)] {
        let array = if arguments.iter().any(|word| word == "hw") { Array::HardwareStripe } else { stripes };
        let setting = Setting { buffered, write_cache, disks, array, ..Setting::default() };
        for write in [false, true] {
            for order in [LoadOrder::Sequential, LoadOrder::Random] {
                print_curve(&system, &setting, write, order)?;
            }
        }
    }
    Ok(())
}

fn print_curve(system: &System, setting: &Setting, write: bool, order: LoadOrder) -> Result<(), SystemError> {
    let Setting { buffered, write_cache, .. } = setting;
    println!("\n{order:?} write={write} buffered={buffered} write_cache={write_cache}");
    for power in if order == LoadOrder::Random { 13..=13 } else { 11..=20 } {
        let bytes = 1 << power;
        print!("{:>5} KB", bytes / 1024);
        for depth in DEPTHS {
            let mut stack = system.path(setting, 1)?;
            let load = Load { order, write, bytes, depth, separate_disks: 0, file_bytes: 0 };
            let count =
                if order == LoadOrder::Random { 2000 } else { u64::from((30_000_000 / bytes).clamp(100, 5000)) };
            let warm_up = if *buffered { 12_000_000 / u64::from(bytes) + 10 } else { count / 4 };
            let outcome = run(&mut stack, &load, warm_up, count, 1);
            if order == LoadOrder::Random {
                print!(" {:>7.1}/s", outcome.iops());
            } else {
                print!(" {:>7.2}", outcome.mbps());
            }
        }
        println!();
    }
    Ok(())
}
