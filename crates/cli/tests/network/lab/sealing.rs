//! Checks packets to Samba with signing or encryption, and the errors if the server offers neither.

use crate::lab_alone;

/// Runs a command and prints the forms of SMB messages on the wire: reads and writes (plain or signed), and encrypted
/// messages. It inspects messages at the start of a segment, and ignores the few messages of the layout.
const LOOK: &str = r#"
import socket, subprocess, sys, threading
wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)
wire.bind(("near", 0))
wire.settimeout(0.5)
counts = {"plain": 0, "signed": 0, "encrypted": 0}
over = threading.Event()
def look():
    while True:
        try: frame = wire.recv(65536)
        except TimeoutError:
            if over.is_set(): return
            continue
        if frame[12:14] != b"\x08\x00" or frame[23] != 6: continue
        tcp = 14 + (frame[14] & 15) * 4
        if 445 not in (int.from_bytes(frame[tcp:tcp + 2], "big"), int.from_bytes(frame[tcp + 2:tcp + 4], "big")): continue
        message = frame[tcp + (frame[tcp + 12] >> 4) * 4 + 4:]
        if message[:4] == b"\xfdSMB": counts["encrypted"] += 1
        elif message[:4] == b"\xfeSMB" and message[12] in (8, 9):
            counts["signed" if message[16] & 8 and any(message[48:64]) else "plain"] += 1
watcher = threading.Thread(target=look)
watcher.start()
said = subprocess.run(sys.argv[2:], capture_output=True, text=True)
over.set()
watcher.join()
print("wire", sys.argv[1], *(key for key, count in counts.items() if count > 50), "code", said.returncode)
print(said.stdout, said.stderr)
"#;

/// Runs `script` with the command `look SEALING COMMAND...` defined.
fn looking(script: &str) -> Option<String> {
    lab_alone(&format!("cat >look.py <<'PYTHON'\n{LOOK}\nPYTHON\nlook() {{ python3 look.py \"$@\"; }}\n{script}"))
}

#[test]
#[ignore = "lab: a server and a wire of its own"]
fn what_is_to_be_signed_or_encrypted_is_so_on_the_wire() {
    let script = "for sealing in as-asked signed encrypted; do \
                  look $sealing $HP run $SMB --size 4MiB --sealing $sealing --rw write --verify --bs 4k --iodepth 4 --runtime 3s; done";
    let Some(text) = looking(script) else { return };
    for line in ["wire as-asked plain code 0", "wire signed signed code 0", "wire encrypted encrypted code 0"] {
        assert!(text.lines().any(|said| said == line), "{line}: {text}");
    }
    assert_eq!(text.matches("no data were wrong").count(), 3, "{text}");
}

#[test]
#[ignore = "lab: a server of its own"]
fn what_samba_does_not_offer_is_refused_in_a_sentence() {
    let script = "server stop; server start 'server smb encrypt=off'\n\
                  $HP run $SMB --size 16MiB --sealing encrypted; echo \"code $?\"\n\
                  $HP run $SMB --size 16MiB --sealing signed --runtime 1s; echo \"code $?\"\n\
                  $HP run $NFS --size 16MiB --sealing signed; echo \"code $?\"\n\
                  server stop; server start 'server max protocol=SMB2_10'\n\
                  $HP run $SMB --size 16MiB --sealing encrypted; echo \"code $?\"\n\
                  $HP run $SMB --size 16MiB --sealing signed --runtime 1s; echo \"code $?\"\n\
                  server stop; server start 'server smb encrypt=required'\n\
                  $HP run $SMB --size 16MiB --sealing signed; echo \"code $?\"";
    let Some(text) = lab_alone(script) else { return };
    let codes: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("code ")).collect();
    assert_eq!(codes, ["2", "0", "2", "2", "0", "2"], "{text}");
    assert_eq!(text.matches("--sealing encrypted: the server offers no encryption").count(), 2, "{text}");
    assert!(text.contains("--sealing signed: messages of NFS are neither signed nor encrypted"), "{text}");
    assert!(text.contains("--sealing signed: this server or share wants all messages encrypted"), "{text}");
}

#[test]
#[ignore = "lab: a server of its own"]
fn the_experiment_says_what_sealing_costs_at_both_ends() {
    let script = "$HP study $SMB --size 64MiB --budget 90s --experiments network --far-end \"$WITNESS\" --output s.study; \
                  echo \"code $?\"; $HP report s.study --full; $HP report s.study --json";
    let Some(text) = lab_alone(script) else { return };
    assert!(text.contains("code 0") && !text.contains("cost is not known"), "{text}");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for what in ["Signed reads have", "Encrypted reads have", "Signed writes have", "Encrypted writes have"] {
        assert!(words.contains(what), "{what}: {text}");
    }
    assert!(words.contains("the rate of plain ones with") && words.contains("\"sealing\": \"encrypted\""));
}
