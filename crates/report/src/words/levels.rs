//! Writes the names of levels, and the sources of their figures.

use halfpower_analyse::{LevelId, LevelKind, LevelSource, LinkCeiling, SharedBy};
use halfpower_spec::format;

/// A level's name, with its direction if the level has only one: `controller and link (read)`.
pub(crate) fn name(id: &LevelId) -> String {
    let short = short_name(id);
    match id.direction {
        Some(direction) if !short.contains(direction.word()) => format!("{short} ({direction})"),
        _ => short,
    }
}

/// A level's name without its direction.
pub(crate) fn short_name(id: &LevelId) -> String {
    let name = id.name.as_deref();
    let known = match id.kind {
        LevelKind::Memory => "memory",
        LevelKind::Processor => "processor",
        LevelKind::PageCache => "page cache",
        LevelKind::Device => "device",
        LevelKind::DataSheet => "data sheet",
        LevelKind::ControllerAndLink => "controller and link",
        LevelKind::SharedPath => "shared path",
        LevelKind::SustainedLimit => "sustained limit",
        LevelKind::UnnamedCeiling => "unnamed ceiling",
        LevelKind::Part | LevelKind::FileServer => name.unwrap_or("unnamed part"),
        LevelKind::Wire => "wire or the server's link",
        LevelKind::OurClient => return format!("our {} client", name.unwrap_or("own")),
        LevelKind::RoundTrip => "network's round trip",
        LevelKind::FarProcessors => "far end's processors",
        LevelKind::FarDisk => "far end's disk",
    };
    known.to_string()
}

/// The source of a level's figure, or why it is missing.
pub(crate) fn source(source: &LevelSource) -> String {
    match source {
        LevelSource::Environment(words) => words.clone(),
        LevelSource::DataSheet => "the data sheet, as given with --peak".to_string(),
        LevelSource::Unadvertised => "no advertised figure is known".to_string(),
        LevelSource::SeenInResults => "seen in the results; nothing advertises it".to_string(),
        LevelSource::MemoryCopy(copy) => {
            let threads = if copy.threads == 1 { "1 thread".to_string() } else { format!("{} threads", copy.threads) };
            format!("nothing advertises it; measured: {} by {threads}", copy.kernel)
        }
        LevelSource::SameBlocks { link, limited_by } => {
            let how = same_blocks(link);
            match limited_by {
                Some((level, share)) => {
                    format!("{how}: {} of what the {} lets through", format::percent(*share), name(level))
                }
                None => how,
            }
        }
        LevelSource::Members(shared) => format!(
            "measured by {}: {} {} together reach {} in {} {}s, of {} each alone",
            if shared.by == SharedBy::Hosts { "hosts" } else { "scaling" },
            shared.members,
            if shared.by == SharedBy::Hosts { "hosts" } else { "members" },
            format::mbps(shared.mbps),
            shared.pattern,
            shared.rw,
            format::mbps(shared.alone_mbps)
        ),
        LevelSource::Sustained(limit) => {
            let bytes = limit.mbps.map(format::mbps);
            let requests = limit.iops.map(|iops| format!("{} requests a second", format::thousands(iops)));
            let limits: Vec<String> = [bytes, requests].into_iter().flatten().collect();
            format!("measured by credit: {} went on", limits.join(" and "))
        }
    }
}

fn same_blocks(link: &LinkCeiling) -> String {
    let on = if link.members > 1 { format!(" on each of {} members", link.members) } else { String::new() };
    let at = format!("{}, {} deep{on}", format::size(link.bs_bytes as f64), link.iodepth);
    let how = format!("measured by burst: the same blocks again at {} ({at})", format::mbps(link.mbps));
    if link.answered { how } else { format!("{how}, no faster than new ones") }
}
