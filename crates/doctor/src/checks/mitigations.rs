//! Checks which mitigations of processor flaws make every entry into the kernel dearer.

use halfpower_record::Cost;

use crate::check::Check;
use crate::outcome::{Finding, Look, all, published};
use crate::{Outcome, Place};

const FOLDER: &str = "sys/devices/system/cpu/vulnerabilities";
const RETBLEED: &str = "Wikner and Razavi 2022: 14% (AMD) to 39% (Intel) (comsec.ethz.ch/research/microarch/retbleed)";
const MELTDOWN: &str = "Gregg 2018: 0.1% to 6% at his services, more with more system calls \
                        (brendangregg.com/blog/2018-02-09/kpti-kaiser-meltdown-performance.html)";

/// A mitigation that is known to cost: its file, a word of its text, what it does, and the published share.
struct Known {
    file: &'static str,
    word: &'static str,
    what: &'static str,
    share: Option<(f64, f64, &'static str)>,
}

const KNOWN: [Known; 8] = [
    Known {
        file: "retbleed",
        word: "untrained return thunk",
        what: "returns are made safe (retbleed)",
        share: Some((0.0, 0.14, RETBLEED)),
    },
    Known {
        file: "retbleed",
        word: "Mitigation: IBRS",
        what: "branches are restricted in the kernel (retbleed)",
        share: Some((0.0, 0.39, RETBLEED)),
    },
    Known {
        file: "meltdown",
        word: "Mitigation: PTI",
        what: "page tables change at every system call (meltdown)",
        share: Some((0.001, 0.06, MELTDOWN)),
    },
    Known { file: "spec_rstack_overflow", word: "IBPB", what: "branch prediction is emptied (SRSO)", share: None },
    Known { file: "spec_rstack_overflow", word: "Safe RET", what: "returns are made safe (SRSO)", share: None },
    Known {
        file: "mds",
        word: "Clear CPU buffers",
        what: "buffers are cleared at every system call (MDS)",
        share: None,
    },
    Known {
        file: "mmio_stale_data",
        word: "Clear CPU buffers",
        what: "buffers are cleared at every system call (MMIO)",
        share: None,
    },
    Known { file: "gather_data_sampling", word: "Mitigation: Microcode", what: "gathers are slow (GDS)", share: None },
];

pub(crate) const MITIGATIONS: Check = Check {
    code: "mitigations",
    title: "Processor mitigations",
    reads: &["/sys/devices/system/cpu/vulnerabilities/*"],
    applies: "every place; where the kernel reports flaws of the processor",
    costs: "Mitigations lengthen system calls and interrupts, so they cost most where requests are small and many. \
            Published: retbleed 14% on AMD and 39% on Intel, page table isolation 0.1% to 6%. Of others the cost is \
            unknown, and they are notes.",
    source: "https://comsec.ethz.ch/research/microarch/retbleed; \
             https://www.brendangregg.com/blog/2018-02-09/kpti-kaiser-meltdown-performance.html; \
             https://docs.kernel.org/admin-guide/hw-vuln/",
    change: "`mitigations=off` on the kernel's command line leaves the flaws open: only where all code is trusted. \
            Larger batches and fewer system calls (`--iodepth-batch`) help without that.",
    look: mitigations,
};

fn mitigations(place: &Place) -> Vec<Outcome> {
    if place.root.names(FOLDER).is_empty() {
        return vec![Outcome::NotApplicable];
    }
    let found = KNOWN.iter().map(|known| -> Look {
        let path = format!("{FOLDER}/{}", known.file);
        let text = place.fact(&path)?;
        if !text.contains(known.word) {
            return Ok(Outcome::Fine);
        }
        let (finding, cost) = match known.share {
            Some((least, most, source)) => {
                (Finding::warn("", known.what), published(least, most, "small requests", source))
            }
            None => (Finding::note("", known.what), Cost::Unknown),
        };
        finding
            .saw(&path, text.lines().next().unwrap_or_default())
            .costs(cost)
            .change("only where all code is trusted: start the kernel with mitigations=off")
            .end()
    });
    all(found)
}
