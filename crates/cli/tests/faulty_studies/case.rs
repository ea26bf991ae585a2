//! Derives a study from a number: a disk with faults, a question, and the run at which it is interrupted.

use halfpower_spec::{Bytes, Cache, Direction, Experiment, Faults, Nanos, Question, SimulatedDisk, Target};

pub struct Case {
    pub disk: SimulatedDisk,
    pub question: Question,
    /// Whether every run is verified.
    pub verifies: bool,
    interruption: u64,
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn one_of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }

    /// Some of `values`, at least one, in their order.
    fn some_of<T: Copy>(&mut self, values: &[T]) -> Vec<T> {
        let sure = self.below(values.len() as u64) as usize;
        let mut chosen = Vec::new();
        for (index, value) in values.iter().enumerate() {
            if index == sure || self.below(2) == 0 {
                chosen.push(*value);
            }
        }
        chosen
    }
}

/// Every experiment that a simulated disk supports, and some that it does not.
const EXPERIMENTS: [Experiment; 13] = [
    Experiment::Sequential,
    Experiment::Random,
    Experiment::Buffered,
    Experiment::Alignment,
    Experiment::Scaling,
    Experiment::Mirror,
    Experiment::Zones,
    Experiment::Burst,
    Experiment::Durability,
    Experiment::Engines,
    Experiment::Processors,
    Experiment::Streams,
    Experiment::Price,
];

impl Case {
    pub fn of(number: u64) -> Self {
        let mut random = Random(number);
        let disk = SimulatedDisk {
            fixed: Nanos(random.one_of(&[50_000, 200_000, 1_000_000])),
            disks: random.one_of(&[1, 2, 4]),
            noise: random.one_of(&[0.0, 0.03, 0.3]),
            jitter: random.one_of(&[0.0, 0.5]),
            size: Bytes(random.one_of(&[1 << 20, 4 << 20])),
            seed: random.next() >> 16,
            faults: faults(&mut random),
            ..SimulatedDisk::default()
        };
        let mut experiments = vec![random.one_of(&EXPERIMENTS)];
        // Include an experiment that always has runs.
        if experiments[0].pattern().is_none() {
            experiments.insert(0, random.one_of(&EXPERIMENTS[..2]));
        }
        let question = Question {
            experiments,
            directions: random.some_of(&[Direction::Read, Direction::Write]),
            bs: random.some_of(&[Bytes(4096), Bytes(8192), Bytes(65536)]),
            iodepth: random.some_of(&[1, 4, 8]),
            cache: random.some_of(&[Cache::Device, Cache::Both]),
            budget: Nanos(random.one_of(&[100_000_000, 400_000_000])),
            runtime: Some(Nanos(random.one_of(&[2_000_000, 10_000_000]))),
            repeats: random.one_of(&[1, 2, 3]),
            price: Some(100.0),
            seed: random.next() >> 16,
            ..Question::about(Target::Simulated(disk.clone()).to_string())
        };
        Self { disk, question, verifies: random.below(4) > 0, interruption: random.next() }
    }

    /// Index of the run, out of `runs`, at whose start the study is interrupted.
    pub fn interrupted_at(&self, runs: usize) -> usize {
        (self.interruption % runs as u64) as usize
    }
}

/// No fault, one, some or all kinds; sometimes in every request.
fn faults(random: &mut Random) -> Faults {
    let share = random.one_of(&[0.001, 0.01, 0.1]);
    let mut some = || if random.below(3) == 0 { share } else { 0.0 };
    let mut faults = Faults {
        errors: some(),
        short: some(),
        stall: some(),
        flip: some(),
        torn: some(),
        lost: some(),
        misdirect: some(),
        ..Faults::default()
    };
    faults.stall_time = Nanos(random.one_of(&[100_000, 10_000_000, 1_000_000_000]));
    match random.below(40) {
        0 => Faults { errors: 1.0, ..Faults::default() },
        1 => Faults { short: 1.0, ..Faults::default() },
        2 => Faults { stall: 1.0, ..faults_of_stall(faults.stall_time) },
        3 => Faults { lost: 1.0, ..Faults::default() },
        4 => Faults::default(),
        _ => faults,
    }
}

fn faults_of_stall(stall_time: Nanos) -> Faults {
    Faults { stall_time, ..Faults::default() }
}
