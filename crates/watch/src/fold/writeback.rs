//! Remembers when the kernel was writing pages back to each disk by itself.

use std::collections::VecDeque;

use super::spans::Span;

/// Times of a disk that are remembered: more than pass while one operation waits.
const REMEMBERED: usize = 4096;

/// One disk.
#[derive(Debug, Default)]
struct Disk {
    open: u32,
    since_ns: u64,
    past: VecDeque<Span>,
}

/// When each disk had requests of the kernel's writeback.
#[derive(Debug, Default)]
pub(crate) struct Writeback {
    disks: Vec<Disk>,
}

impl Writeback {
    /// A request of the writeback was queued.
    pub(crate) fn began(&mut self, disk: usize, at_ns: u64) {
        if self.disks.len() <= disk {
            self.disks.resize_with(disk + 1, Disk::default);
        }
        let disk = &mut self.disks[disk];
        if disk.open == 0 {
            disk.since_ns = at_ns;
        }
        disk.open += 1;
    }

    /// One was done.
    pub(crate) fn ended(&mut self, disk: usize, at_ns: u64) {
        let Some(disk) = self.disks.get_mut(disk).filter(|disk| disk.open > 0) else { return };
        disk.open -= 1;
        if disk.open == 0 {
            if disk.past.len() >= REMEMBERED {
                disk.past.pop_front();
            }
            disk.past.push_back(Span::new(disk.since_ns, at_ns));
        }
    }

    /// The times of writeback to these disks (a bit each) that overlap a time.
    pub(crate) fn during(&self, disks: u64, time: Span) -> impl Iterator<Item = Span> + '_ {
        let asked = self.disks.iter().enumerate().filter(move |(at, _)| *at < 64 && disks >> at & 1 == 1);
        asked.flat_map(move |(_, disk)| {
            let first = disk.past.partition_point(|span| span.to_ns <= time.from_ns);
            let past = disk.past.range(first..).copied().take_while(move |span| span.from_ns < time.to_ns);
            past.chain((disk.open > 0).then_some(Span::new(disk.since_ns, u64::MAX)))
        })
    }

    /// Forgets all.
    pub(crate) fn cut(&mut self) {
        self.disks.clear();
    }
}
