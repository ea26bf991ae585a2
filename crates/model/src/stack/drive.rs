//! Simulates when a drive has finished reading or writing a command's data.
//!
//! A read from the buffer is ready at once; a read that continues the current stream is ready when the head gets there;
//! any other read waits for the arm. A write-through command waits for the arm too. A write-back command completes when
//! its data are in the buffer. The arm writes them later: when enough has gathered, when the buffer is full, or when
//! there is nothing else to do.
//!
//! A drive reads ahead: the frontier of a [`Stream`] moves at the rate of the medium until it is as far ahead as the
//! buffer allows. There the head parks, and reading continues at the next turn once half of the buffer has been taken.

use std::collections::VecDeque;

use super::geometry::{Geometry, moment, ps};
use crate::Moment;
use crate::system::{Disk, Gather, Reorder};

const KIB: u64 = 1024;
const PS_PER_US: f64 = 1e6;

/// A command to the drive.
#[derive(Debug, Clone, Copy)]
pub struct Job {
    pub command: u32,
    pub write: bool,
    pub offset: u64,
    pub length: u32,
    /// Whether the drive may read ahead after it.
    pub ahead: bool,
    /// When the drive received it.
    pub arrived: Moment,
}

impl Job {
    fn end(&self) -> u64 {
        self.offset + u64::from(self.length)
    }
}

/// A message from the drive to the adapter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Word {
    /// The last byte of a read is in the buffer at this moment.
    Ready(u32, Moment),
    /// A write is on the medium at this moment.
    Written(u32, Moment),
    /// There is room now for the data of a write that was held back.
    Room(u32),
    /// The drive must be woken at this moment, to use the arm again.
    Wake(Moment),
}

/// Writes taken in one pass, without losing a turn between them.
#[derive(Debug, Clone, Copy, Default)]
struct Pass {
    began: Moment,
    last_began: Moment,
    ended: Moment,
    /// End of its data, unless the arm has done something else since.
    end: Option<u64>,
}

/// A drive.
#[derive(Debug, Clone)]
pub struct Drive {
    geometry: Geometry,
    overhead_ps: u64,
    turnaround_ps: f64,
    ahead: u64,
    keep: u64,
    buffer: u64,
    segments: usize,
    batch: u64,
    merged: u32,
    write_pace: f64,
    gather: Gather,
    lead_ps: u64,
    from_anywhere: bool,
    reorder: Reorder,
    reorder_buffered: Reorder,
    patience_ps: u64,
    lost_ps: f64,
    write_cache: bool,

    stream: Stream,
    jobs: VecDeque<Job>,
    dirty: VecDeque<Job>,
    dirty_bytes: u64,
    /// Bytes of the buffer that are reserved, arriving, dirty or being written.
    taken_bytes: u64,
    /// Segments reserved for arriving data, and the end of the last of these data.
    arriving: usize,
    expected: Option<u64>,
    /// Bytes of the buffered write in progress.
    writing: u64,
    held: VecDeque<Job>,
    destaging: bool,
    flushing: bool,
    batch_written: u64,
    /// Position of the arm: its place, and the next byte.
    head: f64,
    head_end: u64,
    pass: Pass,
    /// The arm is committed until then.
    committed: Moment,
    awake: bool,
}

impl Drive {
    pub fn new(disk: &Disk, write_cache: bool) -> Self {
        let geometry = Geometry::new(disk);
        let ahead = disk.read_ahead_kib * KIB;
        Self {
            overhead_ps: (disk.overhead_us * PS_PER_US) as u64,
            turnaround_ps: disk.turnaround_us * PS_PER_US,
            ahead,
            keep: if disk.keeps_read { ahead } else { 0 },
            buffer: disk.write_buffer_kib * KIB,
            segments: disk.write_segments as usize,
            batch: disk.write_batch_kib * KIB,
            merged: disk.write_merge_kib * KIB as u32,
            write_pace: disk.write_pace,
            gather: if write_cache { disk.back } else { disk.through },
            lead_ps: (disk.write_lead_ms * 1000.0 * PS_PER_US) as u64,
            from_anywhere: disk.writes_from_anywhere && !write_cache,
            reorder: disk.reorder,
            reorder_buffered: disk.reorder_buffered,
            patience_ps: (disk.patience_ms * 1000.0 * PS_PER_US) as u64,
            lost_ps: if write_cache { f64::from(disk.lost_turns) * geometry.turn_ps() } else { 0.0 },
            write_cache,
            geometry,
            stream: Stream::default(),
            jobs: VecDeque::new(),
            dirty: VecDeque::new(),
            dirty_bytes: 0,
            taken_bytes: 0,
            arriving: 0,
            expected: None,
            writing: 0,
            held: VecDeque::new(),
            destaging: false,
            flushing: false,
            batch_written: 0,
            head: 0.0,
            head_end: 0,
            pass: Pass::default(),
            committed: Moment::default(),
            awake: false,
        }
    }

    /// Time that it spends on a command before any data move.
    pub fn overhead_ps(&self) -> u64 {
        self.overhead_ps
    }

    /// Whether writes complete when their data are in the buffer.
    pub fn write_cache(&self) -> bool {
        self.write_cache
    }

    /// Whether the data of a write may be sent now; if not, [`Word::Room`] follows later.
    pub fn admits(&mut self, job: &Job, words: &mut Vec<Word>) -> bool {
        if self.held.is_empty() && self.room(job) {
            self.take(job);
            return true;
        }
        self.held.push_back(*job);
        self.go_on(job.arrived, words);
        false
    }

    fn room(&self, job: &Job) -> bool {
        let segment = self.segments_taken() < self.segments || self.shares_segment(job);
        self.taken_bytes == 0 || segment && self.taken_bytes + u64::from(job.length) <= self.buffer
    }

    /// Whether the data of a write share a segment with those that reserved room before.
    fn shares_segment(&self, job: &Job) -> bool {
        self.merged > 0 && self.expected == Some(job.offset)
    }

    fn segments_taken(&self) -> usize {
        self.dirty.len() + self.arriving + usize::from(self.writing > 0)
    }

    fn take(&mut self, job: &Job) {
        self.arriving += usize::from(!self.shares_segment(job));
        self.expected = Some(job.end());
        self.taken_bytes += u64::from(job.length);
    }

    pub fn read(&mut self, job: Job, words: &mut Vec<Word>) {
        let now = job.arrived;
        let idle = self.jobs.is_empty() && !self.awake;
        let at_hand = self.stream.holds(now, job.offset, job.end());
        if at_hand || idle && self.stream.leads_to(now, job.offset) {
            self.give(now, &job, words);
        } else {
            self.jobs.push_back(job);
            self.go_on(now, words);
        }
    }

    /// The data of a write are in the drive.
    pub fn write(&mut self, job: Job, words: &mut Vec<Word>) {
        if self.write_cache {
            self.dirty_bytes += u64::from(job.length);
            match self.dirty.back_mut() {
                // A write that continues the one before shares its segment.
                Some(last) if last.end() == job.offset && last.length < self.merged => {
                    last.length += job.length;
                }
                _ => {
                    self.arriving = self.arriving.saturating_sub(1);
                    self.dirty.push_back(job);
                }
            }
        } else {
            self.jobs.push_back(job);
        }
        self.go_on(job.arrived, words);
    }

    /// Writes everything in the buffer, before any other work.
    pub fn flush(&mut self, now: Moment, words: &mut Vec<Word>) {
        self.flushing = true;
        self.go_on(now, words);
    }

    /// Whether all written data are on the medium.
    pub fn is_clean(&self) -> bool {
        self.dirty.is_empty() && self.writing == 0
    }

    /// Wakes the drive at the moment of [`Word::Wake`].
    pub fn wake(&mut self, now: Moment, words: &mut Vec<Word>) {
        self.awake = false;
        if self.writing > 0 {
            self.taken_bytes -= std::mem::take(&mut self.writing);
            while let Some(&job) = self.held.front()
                && self.room(&job)
            {
                self.held.pop_front();
                self.take(&job);
                words.push(Word::Room(job.command));
            }
        }
        self.go_on(now, words);
    }

    fn go_on(&mut self, now: Moment, words: &mut Vec<Word>) {
        if self.awake {
            return;
        }
        while self.committed <= now && self.writing == 0 {
            if self.destage_is_due() {
                self.destage(now);
            } else if let Some(job) = self.next_job(now) {
                self.serve(now, job, words);
            } else {
                return;
            }
        }
        // A read that continues the current stream would be next anyway, so it need not wait for the arm.
        while self.writing == 0 && !self.destage_is_due() {
            match self.jobs.front() {
                Some(&job) if !job.write && job.offset == self.head_end && self.stream.leads_to(now, job.offset) => {
                    self.jobs.pop_front();
                    self.give(now, &job, words);
                }
                _ => break,
            }
        }
        if self.writing > 0 || !self.jobs.is_empty() || self.destage_is_due() {
            self.awake = true;
            words.push(Word::Wake(self.committed));
        }
    }

    fn destage_is_due(&mut self) -> bool {
        let full = self.dirty_bytes >= self.batch || self.segments_taken() >= self.segments || !self.held.is_empty();
        self.flushing &= !self.dirty.is_empty();
        let due = full || self.flushing;
        // Waiting reads get a turn after each buffer's worth of writes, however fast writes arrive.
        let patient = self.jobs.is_empty() || self.batch_written < self.buffer;
        self.destaging = !self.dirty.is_empty() && (self.destaging || due) && patient;
        if !self.destaging {
            self.batch_written = 0;
        }
        self.destaging
    }

    fn destage(&mut self, now: Moment) {
        let next = self.dirty.iter().position(|job| Some(job.offset) == self.pass.end);
        let place = match (next, self.reorder_buffered) {
            (Some(next), _) => next,
            (None, Reorder::None) => 0,
            (None, Reorder::Nearest) => {
                self.nearest(self.dirty.iter().enumerate().filter(|(_, job)| self.begins_a_run(job)))
            }
        };
        let job = self.dirty.remove(place).expect("a destage is due only while something is dirty");
        self.dirty_bytes -= u64::from(job.length);
        self.batch_written += u64::from(job.length);
        self.writing = u64::from(job.length);
        self.write_now(now, &job);
    }

    fn next_job(&mut self, now: Moment) -> Option<Job> {
        // The oldest job is in front. It is not postponed for ever, however much work is nearby.
        let oldest = self.jobs.front()?;
        let is_due = oldest.offset == self.head_end || oldest.arrived.after_ps(self.patience_ps) <= now;
        let place = match self.reorder {
            Reorder::Nearest if self.jobs.len() > 1 && !is_due => self.nearest(self.jobs.iter().enumerate()),
            _ => 0,
        };
        self.jobs.remove(place)
    }

    /// Whether no other buffered write ends where this one begins. A drive writes what follows one another in one go,
    /// and one that began in the middle would have to come back for the rest: the write cache "allows the drive to
    /// perform fewer and larger media writes" (Riedel, van Ingen and Gray, 1998, section 3).
    fn begins_a_run(&self, job: &Job) -> bool {
        !self.dirty.iter().any(|other| other.offset < job.offset && other.end() == job.offset)
    }

    /// The place of the job that the arm reaches first.
    fn nearest<'jobs>(&self, jobs: impl Iterator<Item = (usize, &'jobs Job)>) -> usize {
        let mut best = (f64::INFINITY, 0);
        for (place, job) in jobs {
            let distance = (self.geometry.place(job.offset) - self.head).abs();
            if distance < best.0 {
                best = (distance, place);
            }
        }
        best.1
    }

    fn serve(&mut self, now: Moment, job: Job, words: &mut Vec<Word>) {
        if job.write {
            self.write_now(now, &job);
            words.push(Word::Written(job.command, self.committed));
        } else if self.stream.holds(now, job.offset, job.end()) || self.stream.leads_to(now, job.offset) {
            self.give(now, &job, words);
        } else {
            let from = self.stream.missing(now, job.offset, job.end());
            let place = self.geometry.place(from);
            let there_ps = ps(now) + self.geometry.seek_ps(self.head, place);
            let begin_ps = self.geometry.under_head(place, there_ps);
            let ahead = if job.ahead { self.ahead } else { 0 };
            let ready = moment(self.stream.begin(&self.geometry, from, begin_ps, job.end(), ahead));
            self.finish_read(&job, ready, words);
        }
    }

    fn give(&mut self, now: Moment, job: &Job, words: &mut Vec<Word>) {
        let ahead = if job.ahead { self.ahead } else { 0 };
        let ready = moment(self.stream.give(&self.geometry, now, job.end(), ahead, self.keep)).max(now);
        self.finish_read(job, ready, words);
    }

    fn finish_read(&mut self, job: &Job, ready: Moment, words: &mut Vec<Word>) {
        if ready > self.committed {
            self.committed = ready;
            self.head = self.geometry.place(job.end());
            self.head_end = job.end();
            self.pass.end = None;
        }
        if !job.ahead {
            self.stream.park();
        }
        words.push(Word::Ready(job.command, ready));
    }

    /// Writes a job now; the arm is committed until the data are on the medium.
    fn write_now(&mut self, now: Moment, job: &Job) {
        self.stream.leave(now);
        let place = self.geometry.place(job.offset);
        let turns = self.geometry.place(job.end()) - place;
        let pass = self.pass;
        let follows = pass.end == Some(job.offset) && pass.ended == now;
        let gathered = match self.gather {
            Gather::One => false,
            Gather::Waiting => job.arrived <= pass.began,
            Gather::Arriving => job.arrived <= pass.last_began && job.arrived.after_ps(self.lead_ps) <= now,
        };
        let turn_ps = self.geometry.turn_ps();
        let written_ps = turns * turn_ps / self.write_pace;
        let (begin_ps, end_ps) = if follows && gathered {
            (ps(now), ps(now) + written_ps)
        } else {
            // What lies ready for the same go needs no time besides that of the arm.
            let ready_ps = if gathered && pass.ended == now { 0.0 } else { self.turnaround_ps };
            let there_ps = ps(now) + ready_ps.max(self.geometry.seek_ps(self.head, place));
            if self.from_anywhere && self.geometry.past(place, there_ps) < turns {
                (there_ps, there_ps + turn_ps.max(written_ps))
            } else {
                let begin_ps = self.geometry.under_head(place, there_ps);
                (begin_ps, begin_ps + written_ps)
            }
        };
        let last_began = moment(begin_ps);
        let began = if follows && gathered { pass.began } else { last_began };
        self.committed = moment(end_ps + self.lost_ps);
        self.head = place + turns;
        self.head_end = job.end();
        self.pass = Pass { began, last_began, ended: self.committed, end: Some(job.end()) };
    }
}

/// One sequential stream.
#[derive(Debug, Clone, Default)]
pub struct Stream {
    /// First byte still in the buffer.
    low: u64,
    /// The frontier at `since`.
    base: u64,
    since_ps: f64,
    ps_per_byte: f64,
    /// Where the rate of the medium changes.
    band_end: u64,
    /// Reading continues up to here.
    limit: u64,
    /// End of the data that the host has requested.
    asked: u64,
    running: bool,
    /// Whether the arm has been used for something else.
    away: bool,
}

impl Stream {
    /// Starts a new stream: the head is above `from` at `at_ps`, and the host has requested data up to `to`; returns
    /// the moment at which `to` has been read.
    pub fn begin(&mut self, geometry: &Geometry, from: u64, at_ps: f64, to: u64, ahead: u64) -> f64 {
        let kept = if from <= self.frontier(at_ps) && from >= self.low { self.low } else { from };
        *self = Self { low: kept, base: from, asked: to, limit: to + ahead, ..Self::default() };
        self.run(geometry, at_ps);
        self.at_frontier_ps(to)
    }

    fn run(&mut self, geometry: &Geometry, at_ps: f64) {
        let (ps_per_byte, band_end) = geometry.pace(self.base);
        (self.ps_per_byte, self.band_end, self.since_ps, self.running) = (ps_per_byte, band_end, at_ps, true);
    }

    fn at_frontier_ps(&self, to: u64) -> f64 {
        self.since_ps + (to as f64 - self.base as f64) * self.ps_per_byte
    }

    fn frontier(&self, at_ps: f64) -> u64 {
        if !self.running {
            return self.base;
        }
        let read = (at_ps - self.since_ps).max(0.0) / self.ps_per_byte;
        (self.base + read as u64).min(self.limit)
    }

    /// Whether all of a range is in the buffer.
    pub fn holds(&self, now: Moment, from: u64, to: u64) -> bool {
        from >= self.low && to <= self.frontier(ps(now))
    }

    /// Whether a range continues the stream, so that the head only has to read on.
    pub fn leads_to(&self, now: Moment, from: u64) -> bool {
        !self.away && self.ps_per_byte > 0.0 && from >= self.low && from <= self.asked.max(self.frontier(ps(now)))
    }

    /// The first byte of a range that the buffer does not hold.
    pub fn missing(&self, now: Moment, from: u64, to: u64) -> u64 {
        let frontier = self.frontier(ps(now));
        if from >= self.low && from <= frontier { frontier.min(to) } else { from }
    }

    /// Gives the range that ends at `to` to the host; returns the moment at which all of it has been read.
    ///
    /// The stream must [hold](Self::holds) the range or [lead to](Self::leads_to) it.
    pub fn give(&mut self, geometry: &Geometry, now: Moment, to: u64, ahead: u64, keep: u64) -> f64 {
        let now_ps = ps(now);
        let frontier = self.frontier(now_ps);
        self.asked = self.asked.max(to);
        self.low = self.low.max(self.asked.saturating_sub(keep));
        if self.away {
            return now_ps;
        }
        if self.running && (frontier == self.limit || frontier >= self.band_end) {
            self.base = frontier;
            self.since_ps = now_ps;
            if frontier == self.limit {
                self.running = false;
            } else {
                self.run(geometry, now_ps);
            }
        }
        self.limit = self.limit.max(self.asked + ahead);
        if !self.running && (to > self.base || self.base - self.asked.min(self.base) <= ahead / 2) {
            let again_ps = geometry.under_head(geometry.place(self.base), now_ps);
            self.run(geometry, again_ps);
        }
        if to <= self.base { now_ps } else { self.at_frontier_ps(to).max(now_ps) }
    }

    /// Stops reading at the end of what the host has requested.
    pub fn park(&mut self) {
        if self.running {
            (self.base, self.limit, self.running) = (self.asked, self.asked, false);
        }
    }

    /// Moves the arm elsewhere: data already read stay in the buffer.
    pub fn leave(&mut self, now: Moment) {
        (self.base, self.running, self.away) = (self.frontier(ps(now)), false, true);
    }
}
