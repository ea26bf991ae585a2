//! Checks requests in flight to a bucket in memory: bytes, depth, our own objects, and a server that fails.

use std::sync::Arc;
use std::time::Duration;

use halfpower_share::{
    Access, Credentials, Done, LaneOptions, Op, Order, PipelineSource, Pipelines, Purpose, Share, ShareError,
};
use halfpower_spec::{ShareAddress, Target};

use crate::carrying::{Slots, carry, lane, orders};
use crate::memory_s3::{BUCKET, KEY, MemoryS3, Mood, SECRET};

const PART_BYTES: usize = 8 << 20;

pub fn address(text: &str) -> ShareAddress {
    match Target::parse(text, |_| Err(std::io::Error::other("none"))) {
        Ok(Target::Share(address)) => address,
        other => panic!("{other:?}"),
    }
}

pub fn credentials(user: &str, password: &str) -> Credentials {
    let user = user.to_string();
    let password = password.to_string();
    let region = "eu-west-2".to_string();
    Credentials { user, password, region, ..Credentials::default() }
}

/// How long answers may take: longer than any that comes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn connect_as(server: &MemoryS3, user: &str, password: &str) -> Result<Share, ShareError> {
    connect_for(server, (user, password), PATIENCE)
}

fn connect_for(server: &MemoryS3, (user, password): (&str, &str), timeout: Duration) -> Result<Share, ShareError> {
    let access = Access { credentials: credentials(user, password), timeout, stop: Arc::default() };
    Share::connect(&address(&server.address()), &access)
}

fn connect(server: &MemoryS3) -> Share {
    connect_as(server, KEY, SECRET).unwrap()
}

fn byte(at: usize) -> u8 {
    (at % 251) as u8
}

/// Lays out an object of this many bytes, in parts.
pub fn lay_out(share: &Share, bytes: usize) {
    laid_out(share, bytes).unwrap();
}

fn laid_out(share: &Share, bytes: usize) -> Result<(), String> {
    let part_bytes = share.begin_layout(bytes as u64).map_err(|error| error.to_string())?;
    assert_eq!(part_bytes, Some(PART_BYTES as u64));
    let options = LaneOptions { purpose: Purpose::LayOut, ..lane(false, 1, PART_BYTES as u32) };
    let mut pipeline = share.pipeline(options).map_err(|error| error.to_string())?;
    for from in (0..bytes).step_by(PART_BYTES) {
        let part = from..bytes.min(from + PART_BYTES);
        let mut slots = Slots(vec![part.clone().map(byte).collect()]);
        let order = Order { slot: 0, op: Op::Write, offset: from as u64, length: part.len() as u32 };
        let done = carry(&mut pipeline, &mut slots, &[order])?;
        assert_eq!(done[0].result, Ok(part.len() as u32));
    }
    share.end_layout().map_err(|error| error.to_string())
}

/// Carries out orders, each on its own connection.
fn carry_all(pipelines: &mut Pipelines, slots: &mut Slots, orders: &[Order]) -> Result<Vec<Done>, String> {
    orders.iter().for_each(|order| pipelines.order(*order));
    let mut done = Vec::new();
    pipelines.push(slots).map_err(|error| error.to_string())?;
    while done.len() < orders.len() {
        pipelines.advance(slots, &mut done).map_err(|error| error.to_string())?;
        if done.len() < orders.len() {
            pipelines.wait(Some(Duration::from_millis(2))).unwrap();
            pipelines.check_silence().map_err(|error| error.to_string())?;
        }
    }
    done.sort_by_key(|done| done.slot);
    Ok(done)
}

#[test]
fn what_was_laid_out_is_read_and_what_was_written_is_read_back() {
    let server = MemoryS3::start();
    let share = connect(&server);
    let bytes = 2 * PART_BYTES + 5000;
    lay_out(&share, bytes);
    assert!(share.facts().contains("eu-west-2") && !share.facts().contains(KEY), "{}", share.facts());
    for (length, depth) in [(512, 1), (4099, 3), (4096, 64), (65536, 16), (1 << 20, 8)] {
        let mut slots = Slots(vec![vec![0; length as usize]; depth as usize]);
        let mut pipelines = Pipelines::open(&share, depth, lane(false, depth, length)).unwrap();
        let done = carry_all(&mut pipelines, &mut slots, &orders(Op::Read, depth, length, 777)).unwrap();
        assert!(done.iter().all(|done| done.result == Ok(length)), "{length} x {depth}: {done:?}");
        let there = |slot: u32, at: usize| byte(777 + slot as usize * length as usize + at);
        let is_right = |slot: u32| slots.0[slot as usize].iter().enumerate().all(|(at, byte)| *byte == there(slot, at));
        assert!((0..depth).all(is_right), "{length} x {depth}");
        let pattern = |slot: u32| (0..length).map(|byte| (byte * 7 + slot * 31) as u8).collect::<Vec<u8>>();
        slots.0 = (0..depth).map(pattern).collect();
        let done = carry_all(&mut pipelines, &mut slots, &orders(Op::Write, depth, length, 0)).unwrap();
        assert!(done.iter().all(|done| done.result == Ok(length)), "{length} x {depth}: {done:?}");
        slots.0.iter_mut().for_each(|slot| slot.fill(0));
        let options = LaneOptions { purpose: Purpose::ReadBack, ..lane(false, depth, length) };
        let mut pipelines = Pipelines::open(&share, depth, options).unwrap();
        let done = carry_all(&mut pipelines, &mut slots, &orders(Op::Read, depth, length, 0)).unwrap();
        assert!(done.iter().all(|done| done.result == Ok(length)), "{done:?}");
        assert!((0..depth).all(|slot| slots.0[slot as usize] == pattern(slot)), "{length} x {depth}");
    }
    let mut pipeline = share.pipeline(lane(false, 1, 4096)).unwrap();
    let mut slots = Slots(vec![vec![0; 4096]]);
    for (from, got) in [(bytes as u64 - 100, 100), (bytes as u64, 0)] {
        let done = carry(&mut pipeline, &mut slots, &orders(Op::Read, 1, 4096, from)).unwrap();
        assert_eq!(done[0].result, Ok(got), "the object ends there");
    }
}

#[test]
fn what_killed_processes_left_in_a_bucket_goes_with_the_next_study() {
    let server = MemoryS3::start();
    let young = ".halfpower-0badf00d-77-0-01234567";
    let old = ".halfpower-0badf00d-77-0-01d01d01";
    let kept = [
        "a folder/theirs".to_string(),
        "a folder/.halfpower-notes/file".to_string(),
        format!("a folder/{young}/file"),
        format!("another folder/{old}/file"),
    ];
    {
        let mut store = server.store.lock().unwrap();
        store.objects.extend(kept.iter().map(|key| (key.clone(), vec![1; 9])));
        // More than one list has.
        store.objects.extend((0..1500).map(|block| (format!("a folder/{old}/blocks/{block:04}"), vec![1; 9])));
        for (id, key) in [("theirs", "a folder/theirs".to_string()), ("old", format!("a folder/{old}/file"))] {
            store.uploads.insert(id.to_string(), std::collections::BTreeMap::new());
            store.upload_keys.insert(id.to_string(), key);
        }
    }
    let one = connect(&server);
    lay_out(&one, PART_BYTES);
    let other = connect(&server);
    assert_eq!(server.store.lock().unwrap().objects.len(), kept.len() + 1, "each that lives has its own");
    drop((one, other));
    let store = server.store.lock().unwrap();
    let mut kept = kept.to_vec();
    kept.sort_unstable();
    assert_eq!(store.objects.keys().cloned().collect::<Vec<_>>(), kept);
    assert_eq!(store.uploads.keys().collect::<Vec<_>>(), ["theirs"]);
}

#[test]
fn a_single_connection_carries_its_requests_in_turn() {
    let server = MemoryS3::start();
    let share = connect(&server);
    lay_out(&share, PART_BYTES);
    let mut pipeline = share.pipeline(lane(false, 8, 4096)).unwrap();
    let mut slots = Slots(vec![vec![0; 4096]; 8]);
    let done = carry(&mut pipeline, &mut slots, &orders(Op::Read, 8, 4096, 0)).unwrap();
    assert!(done.iter().all(|done| done.result == Ok(4096)), "{done:?}");
}

#[test]
fn objects_are_ours_and_go_with_us() {
    let server = MemoryS3::start();
    server.store.lock().unwrap().objects.insert("a folder/theirs".to_string(), b"theirs".to_vec());
    let share = connect(&server);
    assert_eq!(server.store.lock().unwrap().uploads.len(), 1, "what may be made is known");
    lay_out(&share, PART_BYTES);
    let mut pipelines = Pipelines::open(&share, 6, lane(false, 6, 4096)).unwrap();
    carry_all(&mut pipelines, &mut Slots(vec![vec![1; 4096]; 6]), &orders(Op::Write, 6, 4096, 0)).unwrap();
    let keys: Vec<String> = server.store.lock().unwrap().objects.keys().cloned().collect();
    assert_eq!(keys.len(), 8);
    let process = format!("-{}-", std::process::id());
    let is_ours = |key: &&String| key.starts_with("a folder/.halfpower-") && key.contains(&process);
    assert!(keys.iter().filter(is_ours).count() == 7, "{keys:?}");
    share.begin_layout(1 << 20).unwrap();
    drop((pipelines, share));
    let store = server.store.lock().unwrap();
    assert_eq!(store.objects.keys().collect::<Vec<_>>(), ["a folder/theirs"]);
    assert!(store.uploads.is_empty(), "an upload that has begun is given up");
}

/// A bucket that keeps versions also keeps those of objects that are deleted, and each object that is put again.
#[test]
fn no_version_of_an_object_stays() {
    for versioning in ["Enabled", "Suspended"] {
        let server = MemoryS3::start();
        {
            let mut store = server.store.lock().unwrap();
            store.versioning = Some(versioning);
            store.put("a folder/theirs".to_string(), b"theirs".to_vec());
        }
        let share = connect(&server);
        // Laid out twice, and each block put three times.
        lay_out(&share, PART_BYTES);
        lay_out(&share, PART_BYTES);
        let mut pipelines = Pipelines::open(&share, 6, lane(false, 6, 4096)).unwrap();
        for _ in 0..3 {
            carry_all(&mut pipelines, &mut Slots(vec![vec![1; 4096]; 6]), &orders(Op::Write, 6, 4096, 0)).unwrap();
        }
        assert_eq!(server.store.lock().unwrap().versions.len(), 1 + 2 + 3 * 6, "{versioning}");
        drop((pipelines, share));
        let store = server.store.lock().unwrap();
        let kept: Vec<&str> = store.versions.keys().map(|(key, _)| key.as_str()).collect();
        assert_eq!(kept, ["a folder/theirs"], "{versioning}");
        assert_eq!(store.objects.keys().collect::<Vec<_>>(), ["a folder/theirs"]);
    }
}

#[test]
fn versions_that_a_killed_process_left_go_with_the_next_study() {
    let server = MemoryS3::start();
    let [young, old] = ["01234567", "01d01d01"].map(|end| format!("a folder/.halfpower-0badf00d-77-0-{end}/blocks/"));
    {
        let mut store = server.store.lock().unwrap();
        store.versioning = Some("Enabled");
        store.put(format!("{young}0"), vec![1; 9]);
        // More than one list has, of a single block.
        (0..2500).for_each(|_| store.put(format!("{old}0"), vec![1; 9]));
    }
    drop(connect(&server));
    let store = server.store.lock().unwrap();
    assert_eq!(store.versions.keys().map(|(key, _)| key).collect::<Vec<_>>(), [&format!("{young}0")]);
}

#[test]
fn a_server_that_ends_connections_is_asked_on_others() {
    let server = MemoryS3::start();
    let share = connect(&server);
    lay_out(&share, PART_BYTES);
    for depth in [1, 8] {
        server.be(Mood::Closing);
        let mut pipelines = Pipelines::open(&share, depth, lane(false, depth, 4096)).unwrap();
        let mut slots = Slots(vec![vec![0; 4096]; depth as usize]);
        let before = server.store.lock().unwrap().connections;
        for op in [Op::Read, Op::Write, Op::Read] {
            let done = carry_all(&mut pipelines, &mut slots, &orders(op, depth, 4096, 0)).unwrap();
            assert!(done.iter().all(|done| done.result == Ok(4096)), "{done:?}");
        }
        assert!(server.store.lock().unwrap().connections >= before + 2 * u64::from(depth));
        server.be(Mood::Well);
    }
}

#[test]
fn a_server_with_too_much_to_do_is_an_error_of_requests() {
    let server = MemoryS3::start();
    let share = connect(&server);
    lay_out(&share, PART_BYTES);
    server.be(Mood::SlowDown);
    let mut pipelines = Pipelines::open(&share, 6, lane(false, 6, 4096)).unwrap();
    let mut slots = Slots(vec![vec![0; 4096]; 6]);
    for op in [Op::Read, Op::Write] {
        let done = carry_all(&mut pipelines, &mut slots, &orders(op, 6, 4096, 0)).unwrap();
        let (busy, well): (Vec<&Done>, Vec<&Done>) = done.iter().partition(|done| done.result == Err(16));
        assert!(busy.len() == 3 && well.iter().all(|done| done.result == Ok(4096)), "{done:?}");
    }
}

#[test]
fn an_answer_that_ends_with_its_connection_is_an_error_of_its_request() {
    let server = MemoryS3::start();
    let share = connect(&server);
    lay_out(&share, PART_BYTES);
    server.be(Mood::Unmeasured);
    for depth in [1, 6] {
        let mut pipelines = Pipelines::open(&share, depth, lane(false, depth, 4096)).unwrap();
        let mut slots = Slots(vec![vec![0; 4096]; depth as usize]);
        for op in [Op::Read, Op::Write] {
            let done = carry_all(&mut pipelines, &mut slots, &orders(op, depth, 4096, 0)).unwrap();
            assert!(done.iter().all(|done| done.result == Err(16)), "{done:?}");
        }
    }
}

#[test]
fn a_connection_that_ended_while_it_waited_for_its_first_request_is_replaced() {
    let server = MemoryS3::start();
    let share = connect(&server);
    lay_out(&share, PART_BYTES);
    server.be(Mood::Impatient);
    let before = server.store.lock().unwrap().connections;
    let mut pipelines = Pipelines::open(&share, 4, lane(false, 4, 4096)).unwrap();
    while server.store.lock().unwrap().connections < before + 4 {
        std::thread::yield_now();
    }
    server.be(Mood::Well);
    let mut slots = Slots(vec![vec![0; 4096]; 4]);
    let done = carry_all(&mut pipelines, &mut slots, &orders(Op::Read, 4, 4096, 0)).unwrap();
    assert!(done.iter().all(|done| done.result == Ok(4096)), "{done:?}");
}

#[test]
fn an_object_whose_making_nobody_confirmed_goes_too() {
    let server = MemoryS3::start();
    let share = connect(&server);
    share.begin_layout(PART_BYTES as u64).unwrap();
    let options = LaneOptions { purpose: Purpose::LayOut, ..lane(false, 1, PART_BYTES as u32) };
    let mut pipelines = Pipelines::open(&share, 1, options).unwrap();
    let mut slots = Slots(vec![vec![1; PART_BYTES]]);
    carry_all(&mut pipelines, &mut slots, &orders(Op::Write, 1, PART_BYTES as u32, 0)).unwrap();
    server.be(Mood::Mute);
    assert!(share.end_layout().is_err());
    assert_eq!(server.store.lock().unwrap().objects.len(), 1);
    server.be(Mood::Well);
    drop((pipelines, share));
    assert_eq!(server.store.lock().unwrap().objects.len(), 0);
}

#[test]
fn a_layout_asks_again_where_the_server_has_too_much_to_do() {
    let server = MemoryS3::start();
    let share = connect(&server);
    share.begin_layout(4 * PART_BYTES as u64).unwrap();
    let lay_out = |first: u64| {
        server.be(Mood::Busy(first));
        let options = LaneOptions { purpose: Purpose::LayOut, ..lane(false, 4, PART_BYTES as u32) };
        let mut pipelines = Pipelines::open(&share, 4, options).unwrap();
        let mut slots = Slots((0..4).map(|slot| vec![slot; PART_BYTES]).collect());
        carry_all(&mut pipelines, &mut slots, &orders(Op::Write, 4, PART_BYTES as u32, 0)).unwrap()
    };
    // It gives up after some time.
    let done = lay_out(u64::MAX);
    assert!(done.iter().all(|done| done.result == Err(16)), "{done:?}");
    let asked = server.store.lock().unwrap().requests;
    assert_eq!(asked, 4 * 6, "each part was asked for six times");
    let done = lay_out(asked + 7);
    assert!(done.iter().all(|done| done.result == Ok(PART_BYTES as u32)), "{done:?}");
    assert_eq!(server.store.lock().unwrap().requests, asked + 7 + 4);
    share.end_layout().unwrap();
    let store = server.store.lock().unwrap();
    let object = store.objects.values().next().unwrap();
    assert!(object.chunks(PART_BYTES).zip(0..4).all(|(part, slot)| part.iter().all(|byte| *byte == slot)));
}

/// An upload over a slow line may take longer than the timeout.
#[test]
fn who_takes_an_upload_a_little_at_a_time_is_not_silent() {
    const BYTES: u32 = 64 << 20;
    let server = MemoryS3::start();
    let share = connect(&server);
    share.begin_layout(u64::from(BYTES)).unwrap();
    server.be(Mood::Slow);
    let options = LaneOptions { purpose: Purpose::LayOut, ..lane(false, 1, BYTES) };
    let mut pipelines = Pipelines::open(&share, 1, options).unwrap();
    let mut slots = Slots(vec![vec![1; BYTES as usize]]);
    let done = carry_all(&mut pipelines, &mut slots, &orders(Op::Write, 1, BYTES, 0)).unwrap();
    assert_eq!(done[0].result, Ok(BYTES));
}

/// An upload has at most 10,000 parts.
#[test]
fn an_object_of_terabytes_is_laid_out_in_larger_parts() {
    const TIB: u64 = 1 << 40;
    let server = MemoryS3::start();
    let share = connect(&server);
    let part_bytes = share.begin_layout(TIB).unwrap().unwrap();
    assert!(part_bytes * 10_000 >= TIB && part_bytes > 64 << 20, "{part_bytes}");
    let length = part_bytes as u32;
    let options = LaneOptions { purpose: Purpose::LayOut, ..lane(false, 1, length) };
    let mut pipelines = Pipelines::open(&share, 1, options).unwrap();
    let mut slots = Slots(vec![vec![1; length as usize]]);
    for part in 0..2 {
        let order = Order { slot: 0, op: Op::Write, offset: part * part_bytes, length };
        let done = carry_all(&mut pipelines, &mut slots, &[order]).unwrap();
        assert_eq!(done[0].result, Ok(length));
    }
    share.end_layout().unwrap();
    let store = server.store.lock().unwrap();
    assert_eq!(store.objects.values().map(|object| object.len() as u64).collect::<Vec<_>>(), [2 * part_bytes]);
}

#[test]
fn a_server_that_fails_ends_the_connection_with_a_sentence() {
    let server = MemoryS3::start();
    let opened = |depth, seconds: &u64| {
        let share = connect_for(&server, (KEY, SECRET), Duration::from_secs(*seconds)).ok()?;
        laid_out(&share, PART_BYTES).ok()?;
        let pipelines = Pipelines::open(&share, depth, lane(false, depth, 4096)).ok()?;
        Some((share, pipelines))
    };
    for (mood, words) in [(Mood::Gone, "was lost"), (Mood::Garbage, "no answer of S3"), (Mood::Silent, "--timeout")] {
        // Only silence waits for a timeout to pass. What the server says before comes as late as the machine is busy.
        let timeouts = if words == "--timeout" { &[1, 5, 25, 125][..] } else { &[125] };
        for depth in [2, 8] {
            let opened = timeouts.iter().find_map(|seconds| opened(depth, seconds));
            let (_share, mut pipelines) = opened.expect("the server answers in time");
            server.be(mood);
            let mut slots = Slots(vec![vec![1; 4096]; depth as usize]);
            let said = carry_all(&mut pipelines, &mut slots, &orders(Op::Read, depth, 4096, 0)).unwrap_err();
            assert!(said.contains(words) && said.contains("s3://bucket/a%20folder"), "{mood:?}: {said}");
            server.be(Mood::Well);
        }
    }
}

#[test]
fn who_is_not_let_in_is_told_why() {
    let server = MemoryS3::start();
    let refused = |user: &str, password: &str| connect_as(&server, user, password).err().unwrap().to_string();
    for (user, password, word) in [
        ("", "", "nobody is signed in"),
        ("AKIAOTHER", SECRET, "does not know the access key"),
        (KEY, "another", "is not that of the access key"),
    ] {
        let said = refused(user, password);
        assert!(said.contains(word) && !said.contains(SECRET) && !said.contains("another"), "{said}");
    }
    server.be(Mood::ReadOnly);
    assert!(refused(KEY, SECRET).contains("no object may be made there"), "{}", refused(KEY, SECRET));
    server.be(Mood::Well);
    let access = Access { credentials: credentials(KEY, SECRET), timeout: PATIENCE, stop: Arc::default() };
    let said = |text: &str| Share::connect(&address(text), &access).err().unwrap().to_string();
    let nowhere = said(&format!("s3://nowhere?endpoint={}", server.endpoint()));
    assert!(nowhere.contains("there is no bucket nowhere"), "{nowhere}");
    assert!(said(&format!("s3://{BUCKET}?endpoint=http://127.0.0.1:1")).contains("takes no connection"));
    if cfg!(not(feature = "s3")) {
        let said = said(&format!("s3://{BUCKET}?endpoint=https://127.0.0.1:{}", server.port));
        assert!(said.contains("cargo build --release --features s3"), "{said}");
    }
    assert!(server.store.lock().unwrap().uploads.is_empty());
}
