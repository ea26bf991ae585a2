//! Checks the network interface through which a server is reached, and TCP.

use crate::check::Check;
use crate::outcome::{Finding, Look, above_bytes, all, computed, only_if};
use crate::{Outcome, Place};

const ABI: &str = "https://docs.kernel.org/admin-guide/abi-testing.html (sysfs-class-net)";
const TCP: &str = "https://docs.kernel.org/networking/ip-sysctl.html";
/// A line in Mbit/s that one connection may not fill.
pub(crate) const FAST_MBIT: f64 = 10_000.0;

/// Speed of the interface to the server in Mbit/s, as its driver reports it.
pub(crate) fn speed_of(place: &Place) -> Option<f64> {
    let interface = place.interface.as_ref()?;
    place.number::<f64>(format!("sys/class/net/{interface}/speed")).filter(|mbit| (1.0..1e9).contains(mbit))
}

/// Name of the interface, and a file of it.
pub(crate) fn card<'a>(place: &'a Place, file: &str) -> Result<(&'a str, String), Outcome> {
    let name = place.interface.as_deref().filter(|name| *name != "lo").ok_or(Outcome::NotApplicable)?;
    Ok((name, format!("sys/class/net/{name}/{file}")))
}

pub(crate) const SPEED: Check = Check {
    code: "line-speed",
    title: "Speed of the line",
    reads: &["/sys/class/net/INTERFACE/{speed,wireless}"],
    applies: "files on a server that is reached by a network card",
    costs: "Below 1 Gbit/s, as after a bad cable: all above that rate. A wireless line: unknown, it changes with the \
            air.",
    source: ABI,
    change: "Another cable or port; `ethtool INTERFACE` shows what both ends offer.",
    look: |place| all([speed(place)]),
};

fn speed(place: &Place) -> Look {
    let (name, file) = card(place, "speed")?;
    let wireless = format!("sys/class/net/{name}/wireless");
    if place.root.exists(&wireless) {
        return Finding::warn(name, "the server is reached by radio")
            .saw(&wireless, "is there")
            .change("use a cable")
            .end();
    }
    only_if(place.root.exists(format!("sys/class/net/{name}/device")))?;
    let Some(mbit) = speed_of(place) else { return Err(Outcome::untold(format!("/{file}"))) };
    if mbit >= 1000.0 {
        return Ok(Outcome::Fine);
    }
    Finding::bad(name, format!("the line runs at {mbit} Mbit/s"))
        .saw(&file, mbit)
        .costs(above_bytes(mbit * 1e6 / 8.0, "reads and writes", "the line's rate"))
        .change(format!("try another cable or port; ethtool {name}"))
        .end()
}

pub(crate) const DUPLEX: Check = Check {
    code: "line-duplex",
    title: "Duplex of the line",
    reads: &["/sys/class/net/INTERFACE/duplex"],
    applies: "files on a server that is reached by a network card",
    costs: "Half duplex: both directions share the line and collide. Unknown, and often most of it, if one end \
            thinks otherwise.",
    source: ABI,
    change: "`ethtool -s INTERFACE autoneg on`, on both ends.",
    look: |place| all([duplex(place)]),
};

fn duplex(place: &Place) -> Look {
    let (name, file) = card(place, "duplex")?;
    match place.fact(&file)?.as_str() {
        "half" => Finding::bad(name, "the line is half duplex")
            .saw(&file, "half")
            .change(format!("ethtool -s {name} autoneg on"))
            .end(),
        "full" => Ok(Outcome::Fine),
        _ => Err(Outcome::untold(format!("/{file}"))),
    }
}

pub(crate) const FRAMES: Check = Check {
    code: "line-frames",
    title: "Size of frames",
    reads: &["/sys/class/net/INTERFACE/{mtu,speed}"],
    applies: "files on a server that is reached by a network card",
    costs: "Below 1,500 bytes: the share of headers grows, computed. 1,500 on a line of 10 Gbit/s or more is a note: \
            frames of 9,000 would carry 5% more, computed, and take fewer interrupts.",
    source: "IEEE 802.3, 3.1 and 4.4.2; RFC 9293",
    change: "`ip link set INTERFACE mtu 9000`, if every device on the way takes it, and back with the old figure.",
    look: |place| all([frames(place)]),
};

/// The share of a line that is payload: of each frame 72 bytes are headers of IPv4 and TCP with time stamps and of
/// Ethernet's own, and 38 more are around it on the line.
fn payload(mtu: f64) -> f64 {
    (mtu - 52.0) / (mtu + 38.0)
}

fn frames(place: &Place) -> Look {
    let (name, file) = card(place, "mtu")?;
    let mtu: f64 = place.figure(&file)?;
    let lost = |better: f64| {
        computed(
            1.0 - payload(mtu) / payload(better),
            1.0 - payload(mtu) / payload(better),
            "the line",
            "headers of each frame",
        )
    };
    let fast = speed_of(place).is_some_and(|mbit| mbit >= FAST_MBIT);
    let finding = match mtu {
        small if (576.0..1500.0).contains(&small) => {
            Finding::warn(name, format!("frames of {mtu} bytes")).costs(lost(1500.0))
        }
        usual if (1500.0..2000.0).contains(&usual) && fast => {
            Finding::note(name, format!("frames of {mtu} bytes on a fast line")).costs(lost(9000.0))
        }
        _ => return Ok(Outcome::Fine),
    };
    let wanted = if mtu < 1500.0 { 1500 } else { 9000 };
    finding
        .saw(&file, mtu)
        .change(format!("ip link set {name} mtu {wanted}, if all on the way take it"))
        .back(format!("ip link set {name} mtu {mtu}"))
        .end()
}

pub(crate) const ERRORS: Check = Check {
    code: "line-errors",
    title: "Errors of the line",
    reads: &["/sys/class/net/INTERFACE/statistics/{rx,tx}_{packets,errors,dropped}"],
    applies: "files on a server that is reached by a network card",
    costs: "Each packet that is lost is sent again after a while, and TCP slows down. Named from one in 10,000 on. \
            Unknown.",
    source: ABI,
    change: "Another cable or port; more buffers of the card: `ethtool -G INTERFACE rx 4096`.",
    look: |place| all([errors(place)]),
};

fn errors(place: &Place) -> Look {
    let (name, folder) = card(place, "statistics")?;
    let count = |file: &str| place.number::<f64>(format!("{folder}/{file}")).unwrap_or(0.0);
    only_if(place.root.exists(format!("{folder}/rx_packets")))?;
    for (way, packets) in [("rx", count("rx_packets")), ("tx", count("tx_packets"))] {
        for kind in ["errors", "dropped"] {
            let lost = count(&format!("{way}_{kind}"));
            if lost > 10.0 && lost * 10_000.0 > packets {
                let what = format!("{lost:.0} of {packets:.0} packets were lost ({way}_{kind})");
                return Finding::warn(name, what)
                    .saw(&format!("{folder}/{way}_{kind}"), format!("{lost:.0}"))
                    .change(format!("try another cable or port; ethtool -S {name}"))
                    .end();
            }
        }
    }
    Ok(Outcome::Fine)
}

pub(crate) const WINDOWS: Check = Check {
    code: "tcp-windows",
    title: "Windows of TCP",
    reads: &["/proc/sys/net/ipv4/{tcp_window_scaling,tcp_sack,tcp_rmem,tcp_wmem}"],
    applies: "files on a server",
    costs: "Without scaling a connection has 64 KiB on the way: 64 KiB a round trip is all it carries. Windows below \
            1 MiB bound it in the same way. Without tcp_sack a loss sends more again. Unknown: it depends on the \
            round trip.",
    source: TCP,
    change: "`sysctl -w net.ipv4.tcp_window_scaling=1 net.ipv4.tcp_rmem='4096 131072 6291456'`, and back with the \
            old figures.",
    look: |place| all([windows(place)]),
};

fn windows(place: &Place) -> Look {
    only_if(place.is_on_server())?;
    let file = |name: &str| format!("proc/sys/net/ipv4/{name}");
    for name in ["tcp_window_scaling", "tcp_sack"] {
        if place.number::<u32>(file(name)) == Some(0) {
            let what = format!("{name} is off");
            return Finding::bad("", what).saw(&file(name), 0).try_set(&file(name), "1", "0").end();
        }
    }
    for (name, usual) in [("tcp_rmem", "4096 131072 6291456"), ("tcp_wmem", "4096 16384 4194304")] {
        let text = place.fact(file(name))?;
        let most: u64 = text.split_whitespace().nth(2).and_then(|word| word.parse().ok()).unwrap_or(u64::MAX);
        if most < 1 << 20 {
            let old = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let what = format!("a connection has at most {} on the way", halfpower_spec::Bytes(most));
            return Finding::warn("", what).saw(&file(name), &old).try_set(&file(name), usual, &old).end();
        }
    }
    Ok(Outcome::Fine)
}
