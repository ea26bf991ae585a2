//! Checks the notes on mounted shares, with invented mount tables.

use crate::tree::{Tree, assert_pap, level, names};

/// The only note on a share.
fn note(tree: &Tree, point: &str, number: &str) -> String {
    let notes = tree.folder(point, number).notes;
    let on_share: Vec<&String> = notes.iter().filter(|note| note.contains(" is mounted from ")).collect();
    assert_eq!(on_share.len(), 1, "{notes:?}");
    on_share[0].clone()
}

#[test]
fn smb_tells_its_messages_and_caches() {
    let tree = Tree::bare_metal();
    let options =
        "rw,vers=3.1.1,cache=strict,sec=ntlmsspi,seal,addr=10.0.0.2,rsize=4194304,wsize=1048576,bsize=1048576";
    tree.mount("0:51", "/mnt/share", "cifs", "//server/share", options);
    assert_eq!(
        note(&tree, "/mnt/share", "0:51"),
        "/mnt/share is mounted from //server/share: SMB 3.1.1; direct I/O passes the page cache of this machine and not \
         the server's. One message carries 4MiB read and 1MiB written at most; larger requests become several. Messages \
         are signed, which costs both ends. Messages are encrypted, which costs both ends"
    );
    tree.mount("0:52", "/mnt/bare", "smb3", "//server/bare", "rw,cache=none");
    assert!(note(&tree, "/mnt/bare", "0:52").contains("nothing is cached on this machine, direct or not"));
}

#[test]
fn nfs_tells_its_connections_and_read_ahead() {
    let tree = Tree::bare_metal();
    tree.mount(
        "0:44",
        "/net",
        "nfs4",
        "server:/export",
        "rw,vers=4.2,rsize=1048576,wsize=1048576,proto=tcp,nconnect=4,sync",
    );
    tree.mount("0:45", "/old", "nfs", "server:/old", "rw,vers=3,rsize=32768,wsize=32768");
    tree.file(
        "proc/self/mountstats",
        "device proc mounted on /proc with fstype proc\n\
         device server:/old mounted on /old with fstype nfs statvers=1.1\n\topts:\trw\n\txprt:\ttcp 0 1 2 0 0 9 9 0\n\
         device server:/export mounted on /net with fstype nfs4 statvers=1.1\n\tage:\t9\n\
         \txprt:\ttcp 0 0 2 0 0 9 9 0\n\txprt:\ttcp 0 0 2 0 0 9 9 0\n\tper-op statistics\n\tREAD: 1 1 0 9 9 0 0 0\n",
    );
    tree.file("sys/class/bdi/0:44/read_ahead_kb", "8192\n");
    let text = note(&tree, "/net", "0:44");
    assert!(text.ends_with(". Buffered reads read up to 8MiB ahead"), "{text}");
    assert!(text.contains("NFS 4.2 over 2 TCP connections; direct I/O passes"), "{text}");
    assert!(text.contains("1MiB read and 1MiB written") && text.contains("waits for the server (sync)"), "{text}");
    let text = note(&tree, "/old", "0:45");
    assert!(text.contains("NFS 3 over one TCP connection;") && !text.contains("(sync)"), "{text}");
    tree.remove("proc/self/mountstats");
    assert!(note(&tree, "/net", "0:44").contains("NFS 4.2; direct I/O"), "without it the rest is told");
}

#[test]
fn other_shares_say_who_answers() {
    let tree = Tree::bare_metal();
    tree.mount("0:61", "/ssh", "fuse.sshfs", "me@server:/", "rw,user_id=1000,max_read=65536");
    tree.mount("0:62", "/host", "virtiofs", "home", "rw");
    tree.mount("0:63", "/nine", "9p", "nine", "rw,trans=virtio,msize=131072");
    let text = note(&tree, "/ssh", "0:61");
    assert!(
        text.contains("a program serves it (sshfs)") && text.contains("At most 64KiB is what a read of it carries"),
        "{text}"
    );
    assert!(note(&tree, "/host", "0:62").contains("whether the host's answers is the host's setting"));
    let text = note(&tree, "/nine", "0:63");
    assert!(text.contains("9p over virtio;") && text.contains("At most 128KiB is what one message carries"), "{text}");
    tree.mount("0:65", "/bare", "fuse", "x", "rw");
    assert!(note(&tree, "/bare", "0:65").contains("a program serves it. Direct I/O"));
    tree.mount("0:64", "/memory", "tmpfs", "tmpfs", "rw");
    assert!(tree.folder("/memory", "0:64").notes.is_empty(), "that is no share");
}

#[test]
fn the_routes_card_gives_the_peak_and_its_payload() {
    let tree = Tree::bare_metal();
    tree.mount("0:42", "/net", "nfs4", "server:/export", "rw,addr=10.0.0.2");
    let card = |name: &str, speed: &str, is_card: bool| {
        tree.file(&format!("sys/class/net/{name}/speed"), speed);
        tree.file(&format!("sys/class/net/{name}/operstate"), "up\n");
        tree.file(&format!("sys/class/net/{name}/mtu"), "1500\n");
        if is_card {
            tree.file(&format!("sys/class/net/{name}/device/vendor"), "0x8086\n");
        }
    };
    card("eth0", "10000\n", true);
    card("eth1", "1000\n", true);
    card("veth2", "10000\n", false);
    let heading = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\n";
    let route = |name: &str| {
        tree.file("proc/net/route", format!("{heading}{name}\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\n"))
    };
    route("eth1");
    let seen = tree.folder("/net", "0:42");
    assert_eq!(names(&seen), ["memory", "processor", "network", "server"]);
    assert_pap(&seen, "network", 125e6);
    let network = level(&seen, "network");
    let attainable = network.attainable.expect("what is payload").0;
    assert!((attainable - 125e6 * 1448.0 / 1538.0).abs() < 1.0, "{attainable}");
    assert!(
        network.source.contains("10.0.0.2 is reached by eth1 at 1000 Mbit/s; of that 94.1% is payload: 1448 of 1538"),
        "{}",
        network.source
    );
    for (number, (kind, options)) in
        [("cifs", "multichannel,max_channels=2"), ("nfs4", "trunkdiscovery"), ("nfs4", "max_connect=4")]
            .iter()
            .enumerate()
    {
        let (number, point) = (format!("0:7{number}"), format!("/several{number}"));
        tree.mount(&number, &point, kind, "server:/several", &format!("rw,{options},addr=10.0.0.2"));
        let network = level(&tree.folder(&point, &number), "network").clone();
        assert_eq!((network.pap, network.attainable), (None, None), "{options}");
        assert!(network.source.ends_with("no ceiling, since the mount may use further cards"), "{}", network.source);
    }
    route("veth2");
    let seen = tree.folder("/net", "0:42");
    assert_eq!(level(&seen, "network").pap, None, "its speed stands for no line");
    route("eth1");
    tree.file("proc/net/fib_trie", "Local:\n  |-- 10.0.0.2\n     /32 host LOCAL\n");
    let seen = tree.folder("/net", "0:42");
    assert_eq!(level(&seen, "network").pap, None, "the server is this machine");
    assert!(level(&seen, "network").source.contains("10.0.0.2 is reached by lo"));
}
