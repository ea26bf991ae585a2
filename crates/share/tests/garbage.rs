//! Checks that a server that sends random answers neither hangs nor crashes the client.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use halfpower_share::{Access, Credentials, Share};
use halfpower_spec::{ShareAddress, ShareProtocol};

/// Starts a server whose answers begin correctly and go on with random bytes; returns its port.
fn server(seed: u64, protocol: ShareProtocol) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let mut state = seed | 1;
        let mut next = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for mut stream in listener.incoming().flatten() {
            let mut asked = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut asked) {
                let length = (next() % 300) as usize;
                let mut answer: Vec<u8> =
                    (0..length).map(|_| next() as u8 & if next() % 2 == 0 { 0xff } else { 1 }).collect();
                match protocol {
                    // The head of the request, as an answer with any status.
                    ShareProtocol::Smb if next() % 8 > 0 && count > 68 && length > 64 => {
                        answer[..64].copy_from_slice(&asked[4..68]);
                        answer[16] |= 1;
                        let status: u32 = [0, 0xC000_0016, 0xC000_006D][(next() % 3) as usize];
                        answer[8..12].copy_from_slice(&status.to_le_bytes());
                    }
                    ShareProtocol::Nfs if next() % 8 > 0 && count > 8 && length > 24 => {
                        answer[..4].copy_from_slice(&asked[4..8]);
                        answer[4..24].copy_from_slice(&[[0, 0, 0, 1], [0; 4], [0; 4], [0; 4], [0; 4]].concat());
                    }
                    _ => {}
                }
                let last = if protocol == ShareProtocol::Nfs { 0x8000_0000 } else { 0 };
                let mark = if next() % 16 == 0 { next() as u32 } else { last | answer.len() as u32 };
                let mut whole = [&mark.to_be_bytes()[..], &answer].concat();
                if protocol == ShareProtocol::S3 && next() % 8 > 0 {
                    let status = [200, 206, 301, 403, 503, 100][(next() % 6) as usize];
                    let kind = ["Content-Length: ", "Transfer-Encoding: chunked\r\nX: "][(next() % 2) as usize];
                    let length = if next() % 4 == 0 { next() as u32 } else { answer.len() as u32 };
                    let head = format!("HTTP/1.1 {status} Said\r\n{kind}{length}\r\n\r\n<a><UploadId>{length:x}\r\n");
                    whole = [head.as_bytes(), &answer].concat();
                }
                if stream.write_all(&whole).is_err() || next() % 16 == 0 {
                    break;
                }
            }
        }
    });
    port
}

#[test]
fn a_server_that_answers_anything_gives_an_error_in_time() {
    for protocol in [ShareProtocol::Smb, ShareProtocol::Nfs, ShareProtocol::S3] {
        for seed in 0..40 {
            let port = server(seed * 0x9e37_79b9 + 77, protocol);
            let host = "127.0.0.1".to_string();
            let path = vec!["share".to_string()];
            let endpoint = (protocol == ShareProtocol::S3).then(|| format!("http://{host}:{port}").parse().unwrap());
            let address = ShareAddress { protocol, domain: None, user: None, host, port: Some(port), path, endpoint };
            let user = "ann".to_string();
            let password = "hidden-word".to_string();
            let credentials = Credentials { user, password, ..Credentials::default() };
            let access = Access { credentials, timeout: Duration::from_millis(20), stop: Arc::default() };
            for _ in 0..5 {
                if let Err(error) = Share::connect(&address, &access) {
                    let said = format!("{error} {error:?}");
                    assert!(!said.contains("hidden-word"), "{said}");
                }
            }
        }
    }
}
