//! Serves one S3 bucket from memory: checks signatures, reads objects by range, writes them whole or in parts.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

pub const BUCKET: &str = "bucket";
pub const KEY: &str = "AKIAMEMORY";
pub const SECRET: &str = "hidden-word-17";
/// Pause between the bytes of an answer.
const SLOWLY: Duration = Duration::from_millis(5);

/// How it behaves once an object is read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mood {
    /// As it should.
    Well,
    /// Never answers.
    Silent,
    /// Answers with bytes that are not HTTP.
    Garbage,
    /// Ends the connection.
    Gone,
    /// Announces and closes the connection after each answer.
    Closing,
    /// Refuses every second request, in chunks.
    SlowDown,
    /// Refuses this many requests at first.
    Busy(u64),
    /// Refuses as some proxies do: the answer has no length and ends with the connection.
    Unmeasured,
    /// Closes connections before they carry a request.
    Impatient,
    /// Completes an upload, and closes the connection instead of answering.
    Mute,
    /// Refuses writes.
    ReadOnly,
    /// Receives uploads slowly, a little at a time.
    Slow,
    /// Sends every answer a byte at a time.
    Trickle,
    /// Never answers anything.
    Dumb,
    /// Lists ever new objects, or the same ones again and again.
    ListsWithoutEnd,
    ListsAgain,
    /// Announces answers to requests for bytes, and closes the connection instead.
    Announces,
    /// Sends answers in chunks that never end.
    Endless,
    /// Reads bring nothing.
    Empty,
    /// Refuses to list versions.
    HidesVersions,
}

#[derive(Default)]
pub struct Store {
    pub objects: BTreeMap<String, Vec<u8>>,
    /// Parts of unfinished uploads, by ID.
    pub uploads: BTreeMap<String, BTreeMap<u64, Vec<u8>>>,
    /// Keys of all uploads that were ever begun, by ID.
    pub upload_keys: BTreeMap<String, String>,
    /// What the bucket says of its versions, if it keeps them: `Enabled` or `Suspended`.
    pub versioning: Option<&'static str>,
    /// All versions that it keeps, by key and number: whether each is the mark of a deleted object.
    pub versions: BTreeMap<(String, u64), bool>,
    /// Versions that it ever kept.
    kept: u64,
    /// Number of requests that move object bytes, and of connections.
    pub requests: u64,
    pub connections: u64,
}

impl Store {
    /// Takes an object, as a further version where it keeps them.
    pub fn put(&mut self, key: String, bytes: Vec<u8>) {
        self.keep(&key, false);
        self.objects.insert(key, bytes);
    }

    /// Removes a version, or the object: of that it keeps the versions, and a mark.
    fn delete(&mut self, key: &str, version: Option<&str>) {
        match version {
            None => {
                self.objects.remove(key);
                self.keep(key, true);
            }
            Some(version) => {
                let number = version.strip_prefix("v/").and_then(|number| number.parse().ok()).unwrap();
                self.versions.remove(&(key.to_string(), number));
                if self.versions.range((key.to_string(), 0)..=(key.to_string(), u64::MAX)).next().is_none() {
                    self.objects.remove(key);
                }
            }
        }
    }

    fn keep(&mut self, key: &str, is_mark: bool) {
        if self.versioning.is_some() {
            self.kept += 1;
            self.versions.insert((key.to_string(), self.kept), is_mark);
        }
    }
}

/// A server that lives until the process ends.
#[derive(Clone)]
pub struct MemoryS3 {
    pub port: u16,
    pub store: Arc<Mutex<Store>>,
    mood: Arc<Mutex<Mood>>,
}

struct Asked {
    method: String,
    path: String,
    query: String,
    fields: BTreeMap<String, String>,
    body: Vec<u8>,
}

struct Answer {
    status: u16,
    fields: String,
    body: Vec<u8>,
}

fn answer(status: u16, body: impl Into<Vec<u8>>) -> Answer {
    Answer { status, fields: String::new(), body: body.into() }
}

fn refuse(status: u16, code: &str) -> Answer {
    answer(status, format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>{SECRET}</Message></Error>"))
}

impl MemoryS3 {
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Self { port, store: Arc::default(), mood: Arc::new(Mutex::new(Mood::Well)) };
        let shared = server.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = shared.clone();
                server.store.lock().unwrap().connections += 1;
                if server.mood() == Mood::Impatient {
                    continue;
                }
                std::thread::spawn(move || {
                    let _ = stream.set_nodelay(true);
                    server.serve(stream)
                });
            }
        });
        server
    }

    pub fn address(&self) -> String {
        format!("s3://{BUCKET}/a%20folder?endpoint={}", self.endpoint())
    }

    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    fn mood(&self) -> Mood {
        *self.mood.lock().unwrap()
    }

    /// Pauses before receiving more, if the server is slow.
    fn rest(&self) {
        if self.mood() == Mood::Slow {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub fn be(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    /// Answers on a connection until it ends.
    pub fn serve(&self, mut stream: impl Read + Write) -> Option<()> {
        let mut there = Vec::new();
        loop {
            let asked = next(&mut stream, &mut there, &|| self.rest())?;
            let mood = self.mood();
            let of_bucket = ["list-type", "uploads=", "versioning=", "versions="];
            let is_list = of_bucket.iter().any(|word| asked.query.contains(word));
            let is_data = matches!(asked.method.as_str(), "GET" | "PUT") && !is_list;
            let number = if is_data { self.count() } else { 0 };
            match instead(&mut stream, mood, is_data) {
                Some(true) => continue,
                Some(false) => return None,
                None => {}
            }
            let refused = is_data
                && match mood {
                    Mood::SlowDown => number.is_multiple_of(2) && !asked.query.contains("part"),
                    Mood::Busy(first) => number <= first,
                    _ => false,
                };
            let listed = listed(&asked.query, mood, || self.count());
            let Answer { status, mut fields, body } = match () {
                () if listed.is_some() => listed.expect("it is there"),
                () if mood == Mood::Empty && asked.method == "GET" && is_data => answer(206, ""),
                () if refused => refuse(503, "SlowDown"),
                () if mood == Mood::ReadOnly && asked.method != "GET" => refuse(403, "AccessDenied"),
                () if mood == Mood::HidesVersions && asked.query.ends_with("versions=") => refuse(403, "AccessDenied"),
                () => self.answer(&asked),
            };
            if mood == Mood::Mute && asked.method == "POST" {
                return None;
            }
            if mood == Mood::Closing {
                fields += "Connection: close\r\n";
            }
            let head = format!("HTTP/1.1 {status} Said\r\n{fields}");
            let whole = if refused {
                let chunk = format!("{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n", body.len());
                [chunk.as_bytes(), &body, b"\r\n0\r\n\r\n"].concat()
            } else {
                [format!("{head}Content-Length: {}\r\n\r\n", body.len()).as_bytes(), &body].concat()
            };
            for part in whole.chunks(if mood == Mood::Trickle { 1 } else { whole.len() }) {
                stream.write_all(part).ok()?;
                std::thread::sleep(if mood == Mood::Trickle { SLOWLY } else { Duration::ZERO });
            }
            stream.flush().ok()?;
            if mood == Mood::Closing {
                return None;
            }
        }
    }

    fn count(&self) -> u64 {
        let mut store = self.store.lock().unwrap();
        store.requests += 1;
        store.requests
    }

    fn answer(&self, asked: &Asked) -> Answer {
        if let Err(code) = checked(asked) {
            return refuse(403, code);
        }
        let Some(key) = asked.path.strip_prefix(&format!("/{BUCKET}/")) else { return refuse(404, "NoSuchBucket") };
        let key = decoded(key);
        let query: BTreeMap<&str, String> = asked
            .query
            .split('&')
            .filter_map(|part| part.split_once('='))
            .map(|(name, value)| (name, decoded(value)))
            .collect();
        let mut store = self.store.lock().unwrap();
        match asked.method.as_str() {
            "POST" if query.contains_key("uploads") => {
                let id = format!("up/load+{}", store.upload_keys.len());
                store.uploads.insert(id.clone(), BTreeMap::new());
                store.upload_keys.insert(id.clone(), key);
                answer(
                    200,
                    format!("<InitiateMultipartUploadResult><UploadId>{id}</UploadId></InitiateMultipartUploadResult>"),
                )
            }
            "POST" if query.contains_key("delete") => {
                let text = String::from_utf8_lossy(&asked.body);
                let of = |object: &str, name: &str| {
                    let rest = object.split(&format!("<{name}>")).nth(1)?;
                    rest.split("</").next().map(str::to_string)
                };
                for object in text.split("<Object>").skip(1) {
                    store.delete(&of(object, "Key").unwrap(), of(object, "VersionId").as_deref());
                }
                answer(200, "<DeleteResult/>")
            }
            "POST" => complete(&mut store, key, &query["uploadId"], &asked.body),
            "PUT" if query.contains_key("partNumber") => {
                let number = query["partNumber"].parse().unwrap();
                let Some(parts) = store.uploads.get_mut(&query["uploadId"]) else { return refuse(404, "NoSuchUpload") };
                parts.insert(number, asked.body.clone());
                Answer { fields: format!("ETag: \"part-{number}\"\r\n"), ..answer(200, "") }
            }
            "PUT" => {
                store.put(key, asked.body.clone());
                answer(200, "")
            }
            "DELETE" => {
                match query.get("uploadId") {
                    Some(id) => drop(store.uploads.remove(id)),
                    None => store.delete(&key, query.get("versionId").map(String::as_str)),
                }
                answer(204, "")
            }
            _ if query.contains_key("versioning") => {
                let status = store.versioning.map_or(String::new(), |status| format!("<Status>{status}</Status>"));
                answer(200, format!("<VersioningConfiguration>{status}</VersioningConfiguration>"))
            }
            _ if query.contains_key("versions") => {
                answer(200, format!("<ListVersionsResult>{}</ListVersionsResult>", listing_of_versions(&store, &query)))
            }
            _ if query.contains_key("list-type") => {
                answer(200, format!("<ListBucketResult>{}</ListBucketResult>", listing(&store, &query)))
            }
            _ if query.contains_key("uploads") => {
                let of = |id: &String| store.upload_keys.get(id).filter(|key| key.starts_with(&query["prefix"]));
                let uploads = store.uploads.keys().filter_map(|id| Some((id, of(id)?)));
                let uploads: String = uploads
                    .map(|(id, key)| {
                        let begun = changed(key);
                        format!(
                            "<Upload><Key>{key}</Key><UploadId>{id}</UploadId><Initiated>{begun}</Initiated></Upload>"
                        )
                    })
                    .collect();
                answer(200, format!("<ListMultipartUploadsResult>{uploads}</ListMultipartUploadsResult>"))
            }
            _ => ranged(store.objects.get(&key), asked.fields.get("range")),
        }
    }
}

/// A page of a thousand keys, or of the folders that they lie in.
fn listing(store: &Store, query: &BTreeMap<&str, String>) -> String {
    let prefix = &query["prefix"];
    let after = query.get("continuation-token").map_or("", String::as_str);
    let ours = store.objects.keys().filter(|key| key.starts_with(prefix) && key.as_str() > after);
    if query.contains_key("delimiter") {
        return folders(prefix, ours);
    }
    let ours: Vec<&String> = ours.take(1000).collect();
    let next = ours.last().filter(|_| ours.len() == 1000);
    let next = next.map_or(String::new(), |key| format!("<NextContinuationToken>{key}</NextContinuationToken>"));
    let contents = ours
        .iter()
        .map(|key| format!("<Contents><Key>{key}</Key><LastModified>{}</LastModified></Contents>", changed(key)));
    contents.collect::<String>() + &next
}

/// A page of a thousand versions, or of the folders that their objects lie in.
fn listing_of_versions(store: &Store, query: &BTreeMap<&str, String>) -> String {
    let prefix = &query["prefix"];
    let number = query.get("version-id-marker").and_then(|mark| mark.strip_prefix("v/")?.parse().ok());
    let after = query.get("key-marker").map(|key| (key.clone(), number.unwrap_or(u64::MAX)));
    let is_after = |version: &(String, u64)| after.as_ref().is_none_or(|after| version > after);
    let ours = store.versions.iter().filter(|(version, _)| version.0.starts_with(prefix) && is_after(version));
    if query.contains_key("delimiter") {
        return folders(prefix, ours.map(|((key, _), _)| key));
    }
    let ours: Vec<_> = ours.take(1000).collect();
    let next = ours.last().filter(|_| ours.len() == 1000);
    let next = next.map_or(String::new(), |((key, number), _)| {
        format!("<NextKeyMarker>{key}</NextKeyMarker><NextVersionIdMarker>v/{number}</NextVersionIdMarker>")
    });
    let entry = |((key, number), is_mark): &(&(String, u64), &bool)| {
        let kind = if **is_mark { "DeleteMarker" } else { "Version" };
        let changed = changed(key);
        format!(
            "<{kind}><Key>{key}</Key><VersionId>v/{number}</VersionId><LastModified>{changed}</LastModified></{kind}>"
        )
    };
    ours.iter().map(entry).collect::<String>() + &next
}

/// The folders below a prefix that these keys lie in.
fn folders<'a>(prefix: &str, keys: impl Iterator<Item = &'a String>) -> String {
    let folder = |key: &String| Some(format!("{prefix}{}/", key[prefix.len()..].split_once('/')?.0));
    let folders: BTreeSet<String> = keys.filter_map(folder).collect();
    folders.iter().map(|folder| format!("<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>")).collect()
}

/// When an object was changed: long ago if its key says so, else not yet.
fn changed(key: &str) -> &'static str {
    if key.contains("01d01d01") { "2001-01-01T00:00:00.000Z" } else { "2999-01-01T00:00:00.000Z" }
}

/// What it does instead of answering: whether the connection goes on. `None` if it answers.
fn instead(stream: &mut impl Write, mood: Mood, is_data: bool) -> Option<bool> {
    if mood == Mood::Dumb {
        std::thread::park();
    }
    if !is_data {
        return None;
    }
    let goes_on = match mood {
        Mood::Gone => false,
        Mood::Garbage => stream.write_all(b"SSH-2.0-OpenSSH_9.6\r\n").is_ok(),
        Mood::Announces => {
            let _ = stream.write_all(b"HTTP/1.1 100 Continue\r\nConnection: close\r\n\r\n");
            false
        }
        Mood::Unmeasured => {
            let _ = stream.write_all(b"HTTP/1.1 503 Said\r\nConnection: close\r\n\r\n<html>\r\n\r\nbusy</html>");
            false
        }
        Mood::Endless => {
            let _ = stream.write_all(b"HTTP/1.1 503 Said\r\nTransfer-Encoding: chunked\r\n\r\n");
            while stream.write_all(b"1\r\nx\r\n").is_ok() {
                std::thread::sleep(SLOWLY);
            }
            false
        }
        Mood::Silent => {
            std::thread::park();
            return None;
        }
        _ => return None,
    };
    Some(goes_on)
}

/// A list that does not end; `None` for any other request, and in any other mood.
fn listed(query: &str, mood: Mood, count: impl FnOnce() -> u64) -> Option<Answer> {
    if !query.contains("list-type") {
        return None;
    }
    let number = match mood {
        Mood::ListsWithoutEnd => count(),
        Mood::ListsAgain => count() % 2,
        _ => return None,
    };
    let prefix = decoded(query.split("prefix=").nth(1)?);
    let contents = format!("<Contents><Key>{prefix}blocks/{number}</Key></Contents>");
    Some(answer(200, format!("<ListBucketResult>{contents}</ListBucketResult>")))
}

/// Joins all parts into one object; their tags must match, and all except for the last must be large.
fn complete(store: &mut Store, key: String, id: &str, body: &[u8]) -> Answer {
    let Some(parts) = store.uploads.remove(id) else { return refuse(404, "NoSuchUpload") };
    let named = String::from_utf8_lossy(body).matches("&quot;part-").count();
    let small = parts.values().rev().skip(1).any(|part| part.len() < 5 << 20);
    if named != parts.len() || small || !parts.keys().copied().eq(1..=parts.len() as u64) {
        return refuse(400, if small { "EntityTooSmall" } else { "InvalidPart" });
    }
    store.put(key, parts.into_values().collect::<Vec<_>>().concat());
    answer(200, "<CompleteMultipartUploadResult/>")
}

fn ranged(object: Option<&Vec<u8>>, range: Option<&String>) -> Answer {
    let Some(object) = object else { return refuse(404, "NoSuchKey") };
    let Some((first, last)) = range.and_then(|range| range.strip_prefix("bytes=")?.split_once('-')) else {
        return answer(200, object.clone());
    };
    let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
    match object.get(first..object.len().min(last + 1)) {
        Some(bytes) if !bytes.is_empty() => answer(206, bytes),
        _ => refuse(416, "InvalidRange"),
    }
}

fn next(stream: &mut impl Read, there: &mut Vec<u8>, rest: &dyn Fn()) -> Option<Asked> {
    let mut part = vec![0; 64 << 10];
    let mut more = |there: &mut Vec<u8>| {
        rest();
        let came = stream.read(&mut part).ok().filter(|came| *came > 0)?;
        there.extend_from_slice(&part[..came]);
        Some(())
    };
    let end = loop {
        match there.windows(4).position(|window| window == b"\r\n\r\n") {
            Some(end) => break end,
            None => more(there)?,
        }
    };
    let text = String::from_utf8(there[..end].to_vec()).ok()?;
    there.drain(..end + 4);
    let mut lines = text.lines();
    let mut words = lines.next()?.split(' ');
    let method = words.next()?.to_string();
    let target = words.next()?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = path.to_string();
    let query = query.to_string();
    let fields: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_string()))
        .collect();
    let length = fields.get("content-length").map_or(0, |length| length.parse().unwrap());
    while there.len() < length {
        more(there)?;
    }
    let body = there.drain(..length).collect();
    Some(Asked { method, path, query, fields, body })
}

/// Checks that the request is signed by the known user.
fn checked(asked: &Asked) -> Result<(), &'static str> {
    let Some(authorization) = asked.fields.get("authorization") else { return Err("AccessDenied") };
    let of = |name: &str| authorization.split(name).nth(1).and_then(|rest| rest.split(',').next()).unwrap_or("");
    let credential = of("Credential=");
    let names = of("SignedHeaders=");
    let signature = of("Signature=");
    let Some((KEY, scope)) = credential.split_once('/') else { return Err("InvalidAccessKeyId") };
    let field = |name: &str| asked.fields.get(name).map_or("", String::as_str);
    let signed: String = names.split(';').map(|name| format!("{name}:{}\n", field(name))).collect();
    let hash = |bytes: &[u8]| hex(&Sha256::digest(bytes));
    let Asked { method, path, query, .. } = asked;
    let payload = field("x-amz-content-sha256");
    let request = format!("{method}\n{path}\n{query}\n{signed}\n{names}\n{payload}");
    let text = format!("AWS4-HMAC-SHA256\n{}\n{scope}\n{}", field("x-amz-date"), hash(request.as_bytes()));
    let mut key = format!("AWS4{SECRET}").into_bytes();
    for part in scope.split('/').chain([text.as_str()]) {
        let mut mac = <Hmac<Sha256>>::new_from_slice(&key).unwrap();
        mac.update(part.as_bytes());
        key = mac.finalize().into_bytes().to_vec();
    }
    if hex(&key) == signature { Ok(()) } else { Err("SignatureDoesNotMatch") }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = (*first == b'%').then(|| u8::from_str_radix(std::str::from_utf8(&after[..2]).unwrap(), 16).unwrap());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap()
}
