//! Checks that the bytes of a target are followed down a stack to their places on each device.

use std::path::Path;

use crate::tree::Tree;
use halfpower_os::extents::Piece;
use halfpower_probe::{Descent, DeviceNumber, descend};

const MIB: u64 = 1 << 20;

fn number(text: &str) -> DeviceNumber {
    DeviceNumber::parse(text).unwrap()
}

/// Follows the first `mib` MiB of this device, where files lie 5 MiB into the device 8:1.
fn followed(tree: &Tree, top: &str, mib: u64) -> Descent {
    let places = |file: &Path, pieces: &[Piece]| {
        assert_eq!(file, Path::new("/images/a.img"));
        let moved = |piece: &Piece| Piece { at: piece.at, on: piece.on.start + 5 * MIB..piece.on.end + 5 * MIB };
        Some((number("8:1"), pieces.iter().map(moved).collect()))
    };
    descend(&tree.root(), number(top), vec![Piece { at: 0, on: 0..mib * MIB }], &places)
}

/// Name, kind, devices side by side, and the first piece in MiB.
fn told(descent: &Descent) -> Vec<(String, String, u32, u64, u64)> {
    let layers = descent.layers.iter().map(|layer| {
        let on = &layer.pieces[0].on;
        (layer.name.clone(), layer.what.clone(), layer.side_by_side, on.start / MIB, on.end / MIB)
    });
    layers.collect()
}

fn row(name: &str, what: &str, side_by_side: u32, from: u64, to: u64) -> (String, String, u32, u64, u64) {
    (name.to_string(), what.to_string(), side_by_side, from, to)
}

fn disk_with_partition(tree: &Tree) {
    let sda = "sys/devices/pci0000:00/0000:00:17.0/ata1/host1/target1:0:0/1:0:0:0/block/sda";
    tree.disk(sda, "8:0");
    tree.partition(&format!("{sda}/sda1"), "8:1");
    tree.file(&format!("{sda}/sda1/start"), "4096\n");
}

#[test]
fn an_encrypted_volume_on_a_loop_device_is_followed_to_the_disk() {
    let tree = Tree::bare_metal();
    disk_with_partition(&tree);
    let loop0 = "sys/devices/virtual/block/loop0";
    tree.disk(loop0, "7:0");
    tree.file(&format!("{loop0}/loop/backing_file"), "/images/a.img\n");
    tree.file(&format!("{loop0}/loop/offset"), "1048576\n");
    let dm = "sys/devices/virtual/block/dm-0";
    tree.disk(dm, "253:0");
    tree.file(&format!("{dm}/dm/name"), "home\n");
    tree.file(&format!("{dm}/dm/uuid"), "CRYPT-LUKS2-0-home\n");
    tree.stands_on(dm, loop0);
    let stops = followed(&tree, "253:0", 10);
    assert_eq!(stops.layers.len(), 1);
    assert!(stops.ends.unwrap().contains("root alone"));
    tree.file("mapping/253:0", "crypt aes-xts-plain64 :64:logon:cryptsetup:x 0 7:0 32768\n");
    let whole = followed(&tree, "253:0", 10);
    assert_eq!(whole.ends, None);
    let expected = [
        row("dm-0", "encrypted volume home", 1, 0, 10),
        row("loop0", "loop device", 1, 16, 26),
        row("sda1", "partition", 1, 22, 32),
        row("sda", "disk", 1, 24, 34),
    ];
    assert_eq!(told(&whole), expected);
}

#[test]
fn parts_that_the_table_does_not_place_end_the_way_with_the_reason() {
    let tree = Tree::bare_metal();
    let dm = "sys/devices/virtual/block/dm-0";
    tree.disk(dm, "253:0");
    tree.file(&format!("{dm}/dm/uuid"), "LVM-x\n");
    disk_with_partition(&tree);
    for (table, why) in [
        ("linear 8:0 0\nlinear 8:0 4096\n", "several parts"),
        ("thin 253:7 1\n", "thin"),
        ("linear 9:9 0\n", "linear"),
        ("crypt\n", "crypt"),
    ] {
        tree.file("mapping/253:0", table);
        let found = followed(&tree, "253:0", 1);
        assert_eq!(found.layers.len(), 1, "{table}");
        assert!(found.ends.as_ref().is_some_and(|ends| ends.contains(why)), "{table}: {:?}", found.ends);
    }
    tree.file("mapping/253:0", "linear 8:0 2048\n");
    assert_eq!(told(&followed(&tree, "253:0", 1)).last(), Some(&row("sda", "disk", 1, 1, 2)));
}

/// An array of md with four disks in chunks of 512 KiB; data begins 8 MiB into each.
fn array(tree: &Tree, level: &str, layout: &str) {
    let md = "sys/devices/virtual/block/md0";
    tree.disk(md, "9:0");
    for (file, text) in [("level", level), ("raid_disks", "4"), ("chunk_size", "524288"), ("layout", layout)] {
        tree.file(&format!("{md}/md/{file}"), format!("{text}\n"));
    }
    for disk in 0..4 {
        let sys = format!("sys/devices/virtual/block/nullb{disk}");
        tree.disk(&sys, &format!("250:{disk}"));
        tree.stands_on(md, &sys);
        tree.link(&format!("{md}/md/rd{disk}/block"), &sys);
        tree.file(&format!("{md}/md/rd{disk}/offset"), "16384\n");
    }
}

#[test]
fn each_disk_of_an_array_holds_its_part_of_the_rows() {
    for (level, layout, side_by_side, mib) in [
        ("raid0", "0", 4, 3),
        ("raid5", "2", 4, 4),
        ("raid6", "2", 4, 6),
        ("raid10", "258", 4, 6),
        // Three copies on four disks; a far copy in a half of its own, and one in the row after.
        ("raid10", "259", 4, 9),
        ("raid10", "513", 4, 3),
        ("raid10", "66049", 4, 6),
        ("raid1", "0", 1, 12),
    ] {
        let tree = Tree::bare_metal();
        array(&tree, level, layout);
        let found = followed(&tree, "9:0", 12);
        let expected = [row("md0", &format!("md {level}"), 1, 0, 12), row("nullb0", "disk", side_by_side, 8, 8 + mib)];
        assert_eq!(told(&found), expected, "{level} {layout}");
    }
}

#[test]
fn full_stripes_hold_the_chunks_of_all_disks_but_those_of_parity() {
    let parity = |level: &str| {
        let tree = Tree::bare_metal();
        array(&tree, level, "2");
        let found = followed(&tree, "9:0", 12);
        found.layers[0].parity.as_ref().map(|array| (array.what.clone(), array.chunk_bytes, array.row_bytes()))
    };
    assert_eq!(parity("raid5"), Some(("md raid5".to_string(), MIB / 2, 3 * MIB / 2)));
    assert_eq!(parity("raid6"), Some(("md raid6".to_string(), MIB / 2, MIB)));
    assert_eq!(parity("raid0").or_else(|| parity("raid1")).or_else(|| parity("raid10")), None);
    let tree = Tree::bare_metal();
    let dm = "sys/devices/virtual/block/dm-3";
    tree.disk(dm, "253:3");
    tree.file(&format!("{dm}/dm/uuid"), "LVM-x\n");
    tree.file("mapping/253:3", "raid raid5_ls 3 128 region_size 4096 3 253:4 253:5 253:6 253:7 253:8 253:9\n");
    let found = followed(&tree, "253:3", 1);
    let array = found.layers[0].parity.as_ref().unwrap();
    assert_eq!((array.what.as_str(), array.chunk_bytes, array.row_bytes()), ("LVM raid5", 65536, 131_072));
}
