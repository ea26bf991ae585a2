//! Checks that a server that goes on talking without an answer is not waited for without end, and that answers that
//! belong to something else are refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use halfpower_share::{Access, Credentials, Op, PipelineSource, Share};
use halfpower_spec::{Sealing, ShareAddress, Target};

use crate::carrying::{Slots, carry, lane, orders};
use crate::memory_nfs::{self, MemoryNfs};
use crate::memory_s3::{self, KEY, MemoryS3, SECRET};
use crate::memory_smb::{CLOSE, CREATE, KnownUser, MemorySmb, READ, SIGN_IN, Twist, WRITE};

/// Far longer than any of this may take: a client that takes longer hangs.
const HANGS: Duration = Duration::from_secs(120);
const IMPATIENT: Duration = Duration::from_millis(150);
const USER: KnownUser = KnownUser { dialect: 0x0300, offers_encryption: false, wants_encryption: false };

fn address(text: &str) -> ShareAddress {
    match Target::parse(text, |_| Err(std::io::Error::other("none"))) {
        Ok(Target::Share(address)) => address,
        other => panic!("{text}: {other:?}"),
    }
}

fn of_smb(server: &MemorySmb) -> ShareAddress {
    address(&format!("smb://ann@127.0.0.1:{}/share", server.port))
}

fn access(timeout: Duration, stop: &Arc<AtomicBool>) -> Access {
    let credentials =
        Credentials { user: "ann".to_string(), password: "hidden-word".to_string(), ..Credentials::default() };
    Access { credentials, timeout, stop: Arc::clone(stop) }
}

fn access_to_s3(timeout: Duration, stop: &Arc<AtomicBool>) -> Access {
    let credentials = Credentials {
        user: KEY.to_string(),
        password: SECRET.to_string(),
        region: "r".to_string(),
        ..Credentials::default()
    };
    Access { credentials, timeout, stop: Arc::clone(stop) }
}

/// Signs in, makes a file, and carries out a write and a read; then lets go of all. Returns the error that ended it.
/// `prepared` is called between the connection and the requests.
fn talk(address: &ShareAddress, access: &Access, sealing: Sealing, prepared: impl Fn()) -> Result<(), String> {
    let share = Share::connect(address, access).map_err(|error| error.to_string())?;
    let options = halfpower_share::LaneOptions { sealing, ..lane(false, 2, 4096) };
    let mut pipeline = share.pipeline(options).map_err(|error| error.to_string())?;
    prepared();
    let mut slots = Slots(vec![vec![1; 4096]; 2]);
    for op in [Op::Write, Op::Read] {
        let done = carry(&mut pipeline, &mut slots, &orders(op, 2, 4096, 0))?;
        assert!(done.iter().all(|done| matches!(done.result, Ok(0 | 4096) | Err(2 | 22))), "{done:?}");
    }
    Ok(())
}

/// Calls `said` in a thread of its own, and fails if it hangs.
fn within<T: Send + 'static>(said: impl FnOnce() -> T + Send + 'static) -> T {
    let (sends, ends) = mpsc::channel();
    std::thread::spawn(move || sends.send(said()));
    ends.recv_timeout(HANGS).expect("it does not hang")
}

#[test]
fn an_answer_of_smb_that_never_comes_whole_is_not_waited_for() {
    let mut tried = Vec::new();
    for command in [0, SIGN_IN, 3, CREATE, WRITE, READ, CLOSE] {
        for twist in [Twist::Pending(command), Twist::Trickle(command)] {
            tried.push(std::thread::spawn(move || {
                let said = |timeout: Duration| {
                    let server = MemorySmb::start();
                    server.be(twist);
                    within(move || talk(&of_smb(&server), &access(timeout, &Arc::default()), Sealing::AsAsked, || {}))
                };
                match command {
                    // The end of the connection removes the file all the same. All but that end goes well there, as late as
                    // the machine is busy.
                    CLOSE => {
                        let mut each = [1, 4, 16].map(Duration::from_secs).into_iter().map(said);
                        assert!(each.any(|said| said == Ok(())), "{twist:?}");
                    }
                    _ => {
                        let said = said(IMPATIENT);
                        let words = "in full for 0.15 s";
                        assert!(said.as_ref().is_err_and(|said| said.contains(words)), "{twist:?}: {said:?}");
                    }
                }
            }));
        }
    }
    tried.into_iter().for_each(|tried| tried.join().unwrap());
}

#[test]
fn an_answer_of_nfs_that_comes_a_byte_at_a_time_is_not_waited_for() {
    use memory_nfs::Mood;
    for is_early in [true, false] {
        let server = MemoryNfs::start();
        if is_early {
            server.be(Mood::Trickle);
        }
        let said = within(move || {
            let prepared = || server.be(Mood::Trickle);
            talk(&address(&server.address()), &access(IMPATIENT, &Arc::default()), Sealing::AsAsked, prepared)
        });
        assert!(said.as_ref().is_err_and(|said| said.contains("has not answered in full")), "{said:?}");
    }
}

#[test]
fn an_answer_of_s3_that_never_comes_whole_is_not_waited_for() {
    use memory_s3::Mood;
    for (mood, is_early, words) in [
        (Mood::Trickle, true, "has not answered in full"),
        (Mood::Trickle, false, "has not answered in full"),
        (Mood::Endless, false, "has not answered in full"),
        (Mood::Announces, false, "was lost"),
    ] {
        let server = MemoryS3::start();
        if is_early {
            server.be(mood);
        }
        let timeout = if words == "was lost" { HANGS } else { IMPATIENT };
        let said = within(move || {
            let prepared = || server.be(mood);
            talk(&address(&server.address()), &access_to_s3(timeout, &Arc::default()), Sealing::AsAsked, prepared)
        });
        assert!(said.as_ref().is_err_and(|said| said.contains(words)), "{mood:?}: {said:?}");
    }
}

#[test]
fn a_list_of_s3_that_does_not_end_is_given_up() {
    use memory_s3::Mood;
    for mood in [Mood::ListsWithoutEnd, Mood::ListsAgain] {
        let server = MemoryS3::start();
        let shared = server.clone();
        let said = within(move || {
            let prepared = || shared.be(mood);
            talk(&address(&shared.address()), &access_to_s3(HANGS, &Arc::default()), Sealing::AsAsked, prepared)
        });
        assert_eq!(said, Ok(()), "{mood:?}");
        assert!(server.store.lock().unwrap().requests < 20, "{mood:?}");
    }
}

/// The clients are patient; only the wish to stop ends their waiting.
#[test]
fn who_asks_to_stop_waits_for_no_server() {
    type Talk = Box<dyn FnOnce(Arc<AtomicBool>) -> Result<(), String> + Send>;
    let smb = |twist: Twist| -> Talk {
        Box::new(move |stop| {
            let server = MemorySmb::start();
            server.be(twist);
            talk(&of_smb(&server), &access(HANGS, &stop), Sealing::AsAsked, || {})
        })
    };
    let talks: Vec<Talk> = vec![
        smb(Twist::Silent(SIGN_IN)),
        smb(Twist::Pending(CREATE)),
        smb(Twist::Silent(WRITE)),
        Box::new(|stop| {
            let server = MemoryNfs::start();
            server.be(memory_nfs::Mood::Mute);
            talk(&address(&server.address()), &access(HANGS, &stop), Sealing::AsAsked, || {})
        }),
        Box::new(|stop| {
            let server = MemoryS3::start();
            server.be(memory_s3::Mood::Dumb);
            talk(&address(&server.address()), &access_to_s3(HANGS, &stop), Sealing::AsAsked, || {})
        }),
    ];
    let stop = Arc::new(AtomicBool::new(false));
    let (sends, ends) = mpsc::channel();
    let count = talks.len();
    for talk in talks {
        let stop = Arc::clone(&stop);
        let sends = sends.clone();
        std::thread::spawn(move || sends.send(talk(stop)));
    }
    stop.store(true, Ordering::Relaxed);
    for _ in 0..count {
        assert_eq!(ends.recv_timeout(HANGS), Ok(Err("interrupted".to_string())));
    }
}

#[test]
fn an_answer_that_belongs_to_something_else_is_refused() {
    for (twist, words) in [
        (Twist::OtherCommand(CREATE), "an answer to another command"),
        (Twist::OtherSession(CREATE), "an answer to another session"),
        (Twist::OtherTree(CREATE), "an answer to another share"),
        (Twist::OtherCommand(WRITE), "an answer to another command"),
        (Twist::OtherSession(READ), "an answer to another session"),
        (Twist::OtherTree(READ), "an answer to another share"),
        (Twist::DataInHead, "data from byte 0 on"),
    ] {
        for sealing in [Sealing::AsAsked, Sealing::Signed] {
            let server = MemorySmb::serving(Some(USER));
            server.be(twist);
            let said = talk(&of_smb(&server), &access(HANGS, &Arc::default()), sealing, || {}).unwrap_err();
            assert!(said.contains(words) && said.contains("no answer of SMB"), "{twist:?} {sealing}: {said}");
        }
    }
}

#[test]
fn a_read_that_brings_nothing_moved_nothing() {
    let server = MemorySmb::start();
    server.be(Twist::Empty);
    assert_eq!(talk(&of_smb(&server), &access(HANGS, &Arc::default()), Sealing::AsAsked, || {}), Ok(()));
}

#[test]
fn a_handle_of_nfs_that_is_too_long_is_refused() {
    for procedure in [1, 3, 8] {
        let server = MemoryNfs::start();
        server.be(memory_nfs::Mood::LongHandle(procedure));
        let folder = if procedure == 3 { "/folder" } else { "" };
        let address = address(&format!("{}{folder}", server.address()));
        let said = talk(&address, &access(HANGS, &Arc::default()), Sealing::AsAsked, || {}).unwrap_err();
        assert!(said.contains("longer than it may be"), "{procedure}: {said}");
    }
}

#[test]
fn what_was_agreed_on_is_confirmed_by_the_server() {
    for dialect in [0x0210, 0x0300, 0x0302] {
        let name = Dialects(dialect).to_string();
        for (twist, words) in [
            (Twist::None, None),
            (Twist::KnowsNoConfirmation, None),
            (Twist::ConfirmsAnother, Some("it says something else now")),
            (Twist::ConfirmsUnsigned, Some("not sign")),
            (Twist::EndsWhenAsked, Some("it ended the connection")),
        ] {
            for sealing in [Sealing::AsAsked, Sealing::Signed] {
                let server = MemorySmb::serving(Some(KnownUser { dialect, ..USER }));
                server.be(twist);
                let said = talk(&of_smb(&server), &access(HANGS, &Arc::default()), sealing, || {});
                match (said, words) {
                    (Ok(()), None) => {}
                    (Err(said), Some(words)) => {
                        assert!(said.contains(words) && said.contains(&name), "{twist:?} {sealing}: {said}");
                    }
                    (said, _) => panic!("{twist:?} {sealing}: {said:?}"),
                }
            }
        }
    }
}

/// The name of a dialect in sentences.
struct Dialects(u16);

impl std::fmt::Display for Dialects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            0x0210 => "SMB 2.1",
            0x0300 => "SMB 3.0",
            _ => "SMB 3.0.2",
        })
    }
}
