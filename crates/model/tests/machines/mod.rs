//! Runs loads on machines, for the tests of curve shapes.

#![allow(dead_code, reason = "each suite uses some of it")]

use halfpower_model::reproduction::{Load, LoadOrder, Outcome, run};
use halfpower_model::{Array, Setting, System, systems};

pub const SIZES_KIB: [u32; 10] = [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
pub const FIRST: usize = 0;

pub struct Machine {
    pub system: System,
    pub setting: Setting,
}

pub fn machine(name: &str) -> Machine {
    let text = systems().iter().find(|system| system.name == name).expect("a shipped system").text;
    Machine { system: System::from_toml(text).unwrap(), setting: Setting::default() }
}

impl Machine {
    pub fn with(mut self, set: impl Fn(&mut Setting)) -> Self {
        set(&mut self.setting);
        self
    }

    pub fn disks(self, disks: u32, array: Array) -> Self {
        self.with(|setting| (setting.disks, setting.array) = (disks, array))
    }

    pub fn buffered(self) -> Self {
        self.with(|setting| setting.buffered = true)
    }

    pub fn through(self) -> Self {
        self.with(|setting| setting.write_cache = false)
    }

    pub fn outcome(&self, order: LoadOrder, write: bool, kib: u32, depth: u32) -> Outcome {
        let mut stack = self.system.path(&self.setting, 1).unwrap();
        let load = Load { order, write, bytes: kib * 1024, depth, separate_disks: 0, file_bytes: 0 };
        let count = if order == LoadOrder::Random { 4000 } else { (30_000 / u64::from(kib)).clamp(150, 6000) };
        let warm_up = if self.setting.buffered { 14_000 / u64::from(kib) } else { count / 4 };
        run(&mut stack, &load, warm_up, count, 1)
    }

    pub fn mbps(&self, write: bool, kib: u32, depth: u32) -> f64 {
        self.outcome(LoadOrder::Sequential, write, kib, depth).mbps()
    }

    pub fn reads(&self, depth: u32) -> Vec<f64> {
        SIZES_KIB.iter().map(|kib| self.mbps(false, *kib, depth)).collect()
    }

    pub fn writes(&self, depth: u32) -> Vec<f64> {
        SIZES_KIB.iter().map(|kib| self.mbps(true, *kib, depth)).collect()
    }

    pub fn random(&self, write: bool, depth: u32) -> f64 {
        self.outcome(LoadOrder::Random, write, 8, depth).iops()
    }
}

pub fn flat(curve: &[f64], within: f64) -> bool {
    let (low, high) = curve.iter().fold((f64::MAX, 0.0), |(low, high): (f64, f64), v| (low.min(*v), high.max(*v)));
    low >= high * (1.0 - within)
}

pub fn rising(curve: &[f64]) -> bool {
    curve.windows(2).all(|pair| pair[1] > pair[0] * 1.02)
}

pub fn near(ours: f64, theirs: f64) -> bool {
    (ours / theirs - 1.0).abs() < 0.05
}
