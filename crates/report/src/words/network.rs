//! Writes how the client's ceiling, the window over the round trip, and TCP limit a rate on a share.

use halfpower_analyse::{CellFinding, CellSettings, Findings, InFlight, LevelId, StoppedBy};
use halfpower_spec::format;

use super::levels::short_name;
use super::settings;

/// What stops a path there, in a few words; empty if something else stops it.
pub(crate) fn brief(stopped_by: &StoppedBy, level: Option<&LevelId>) -> String {
    match stopped_by {
        StoppedBy::OwnClient { limit_mbps, share } => {
            let client = level.map_or("our client", short_name);
            let (share, mbps) = (format::percent(*share), format::mbps(*limit_mbps));
            format!("{client}: {share} of the {mbps} that it does against memory. Test: --threads 2")
        }
        StoppedBy::Window { in_flight, bytes, round_trip_us, .. } => {
            let what = format!("{} in flight over {}", format::size(*bytes), format::time_us(*round_trip_us));
            match in_flight {
                InFlight::Requests => format!("the network's round trip: {what}; more depth helps"),
                InFlight::TcpWindow => format!("the network's round trip: TCP's window lets {what}"),
            }
        }
        _ => String::new(),
    }
}

/// The same as an observation, to follow a comma or semicolon.
pub(crate) fn evidence(stopped_by: &StoppedBy) -> String {
    match stopped_by {
        StoppedBy::OwnClient { limit_mbps, share } => format!(
            "{} of the {} that the same requests reach against a server in memory, over loopback and in this process: \
             server and network could bring little more",
            format::percent(*share),
            format::mbps(*limit_mbps)
        ),
        StoppedBy::Window { in_flight, bytes, round_trip_us, limit_mbps, share } => {
            let whose = match in_flight {
                InFlight::Requests => "that the requests have in flight",
                InFlight::TcpWindow => "that TCP's window lets be in flight",
            };
            format!(
                "{} of the {} that come of {} {whose} over the network's shortest round trip of {}",
                format::percent(*share),
                format::mbps(*limit_mbps),
                format::size(*bytes),
                format::time_us(*round_trip_us)
            )
        }
        _ => String::new(),
    }
}

/// The observation that would disprove it.
pub(crate) fn falsified_by(stopped_by: &StoppedBy) -> String {
    match stopped_by {
        StoppedBy::Window { in_flight: InFlight::Requests, .. } => "no more from twice the depth".to_string(),
        StoppedBy::Window { .. } => {
            "no more from a larger window (net.ipv4.tcp_rmem and tcp_wmem at both ends) or from --connections 2"
                .to_string()
        }
        _ => "no more from --threads 2, or from another client of the same share".to_string(),
    }
}

/// The heading of [`rows`].
pub(crate) const HEADING: [&str; 5] = ["path", "round trip", "window", "sent again", "of our client's best"];

/// TCP's figures in each direction's representative cell, and that cell's share of the client's ceiling.
pub(crate) fn rows(findings: &Findings) -> Vec<[String; 5]> {
    let cell = |settings: &CellSettings| findings.cells.iter().find(|cell| CellSettings::of(cell) == *settings);
    findings.headline.iter().filter_map(|headline| row(cell(&headline.cell)?)).collect()
}

fn row(cell: &CellFinding) -> Option<[String; 5]> {
    let tcp = cell.tcp.as_ref()?;
    let least = tcp.least_round_trip_us.map(|us| format!(", least {}", format::time_us(us))).unwrap_or_default();
    let client = cell.client_mbps.filter(|mbps| *mbps > 0.0).map_or("unknown".to_string(), |mbps| {
        let share = cell.mbps.value / mbps;
        let share = if share > 1.0 { "more than".to_string() } else { format!("{} of", format::percent(share)) };
        format!("{share} {}", format::mbps(mbps))
    });
    Some([
        settings::cell(&CellSettings::of(cell)).replace(" direct", ""),
        format!("{}{least}", format::time_us(tcp.round_trip_us)),
        format::size(tcp.window_bytes),
        format::percent(tcp.retransmitted_share),
        client,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_and_the_window_are_told_with_their_evidence() {
        let level = LevelId::named("our SMB client", None);
        let client = StoppedBy::OwnClient { limit_mbps: 2000.0, share: 0.91 };
        let reported = brief(&client, Some(&level));
        assert_eq!(reported, "our SMB client: 91% of the 2,000 MB/s that it does against memory. Test: --threads 2");
        assert!(evidence(&client).contains("91% of the 2,000 MB/s that the same requests reach"));
        let window = |in_flight| StoppedBy::Window {
            in_flight,
            bytes: 65_536.0,
            round_trip_us: 10_000.0,
            limit_mbps: 6.55,
            share: 0.97,
        };
        let reported = brief(&window(InFlight::Requests), None);
        assert_eq!(reported, "the network's round trip: 64 KiB in flight over 10 ms; more depth helps");
        assert!(evidence(&window(InFlight::TcpWindow)).contains("64 KiB that TCP's window lets be in flight"));
        assert!(falsified_by(&window(InFlight::TcpWindow)).contains("tcp_rmem"));
    }
}
