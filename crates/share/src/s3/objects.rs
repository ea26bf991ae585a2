//! Creates and removes our own objects in a bucket: one to read, laid out in parts, and one for each write.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use halfpower_spec::ShareAddress;

use super::client::{Asking, Client, Reply, connect};
use super::listing::{AT_ONCE, Listing, Stored, completion, deletion, refusal, text_of};
use super::requests::{Objects, S3Requests, Upload};
use super::site::{BucketLocation, encoded};
use crate::credentials::Credentials;
use crate::peer::Peer;
use crate::pipeline::{LaneOptions, Purpose};
use crate::protocol::{Limits, Opened, Outcome};

/// Most bytes of a request: a common part size, and within the limit of an answer.
const MOST_BYTES: u32 = 64 << 20;
/// Smallest part of an upload except for the last (the S3 reference requires 5 MiB), and the most parts of an upload.
const PART_BYTES: u64 = 8 << 20;
const MOST_PARTS: u64 = 10_000;
/// Free space to report, because S3 servers do not say how much they have.
const ROOM: u64 = 1 << 60;
/// How long removing may take in all: as many timeouts, and this much for each object that was put.
const REMOVAL_TIMEOUTS: u32 = 20;
const REMOVAL_OF_ONE: Duration = Duration::from_millis(20);
/// Length limit of the ID of an upload.
const MOST_ID: usize = 4096;

/// A folder of a bucket.
pub(crate) struct S3Share {
    pub(super) site: BucketLocation,
    peer: Peer,
    credentials: Credentials,
}

/// Our own objects in that folder; dropping this removes them.
pub(crate) struct S3File {
    state: Mutex<State>,
    site: BucketLocation,
    /// Prefix of all their keys, with a `/` at the end.
    pub(super) folder: String,
}

pub(super) struct State {
    pub client: Client,
    /// The list that holds all that the bucket stores.
    pub listing: Listing,
    /// The upload in progress.
    upload: Option<Upload>,
    /// How many times the object to read may have been made, and whether requests may have made others.
    layouts: u64,
    has_lanes: bool,
    /// Objects that each open connection has put, each counted by its connection alone; and those of closed ones.
    puts: Vec<Arc<AtomicU64>>,
    puts_before: u64,
}

impl State {
    /// A counter for the objects that a further connection puts.
    fn counter(&mut self) -> Arc<AtomicU64> {
        let closed = self.puts.extract_if(.., |count| Arc::strong_count(count) == 1);
        self.puts_before += closed.map(|count| count.load(Ordering::Relaxed)).sum::<u64>();
        let count = Arc::<AtomicU64>::default();
        self.puts.push(Arc::clone(&count));
        count
    }

    /// Objects that were put, also the same one again.
    fn all_puts(&self) -> u64 {
        self.puts_before + self.puts.iter().map(|count| count.load(Ordering::Relaxed)).sum::<u64>()
    }
}

impl S3Share {
    /// The bucket of `address`; sends no request yet.
    pub fn new(peer: Peer, address: &ShareAddress, credentials: Credentials) -> Self {
        let site = BucketLocation::of(address, &credentials.region);
        let peer = Peer { host: site.host.as_str().into(), ..peer };
        Self { site, peer, credentials }
    }

    /// Begins an upload under a folder called `name`, which must be unique.
    ///
    /// # Errors
    /// If the server cannot be reached, does not accept the keys, or does not allow uploads.
    pub fn create(&mut self, name: &str) -> Outcome<Option<S3File>> {
        let folder = format!("{}{name}/", self.site.prefix);
        let client = Client::new(self.site.clone(), self.peer.clone(), &self.credentials);
        let listing = Listing::Objects;
        let puts = Vec::new();
        let state = State { client, listing, upload: None, layouts: 0, has_lanes: false, puts, puts_before: 0 };
        let file = S3File { state: Mutex::new(state), site: self.site.clone(), folder };
        file.begin(PART_BYTES)?;
        file.ask_for_versions()?;
        Ok(Some(file))
    }

    /// Opens a connection for one request in flight.
    ///
    /// # Errors
    /// If the server accepts no further connection.
    pub fn open(&self, file: &S3File, options: LaneOptions) -> Outcome<Opened> {
        let channel = connect(&self.site, &self.peer)?;
        let mut state = file.state();
        let objects = match (options.purpose, &state.upload) {
            (Purpose::LayOut, Some(upload)) => Objects::Parts(upload.clone()),
            (Purpose::ReadBack, _) => Objects::Blocks,
            _ => Objects::FileAndBlocks(state.counter()),
        };
        state.has_lanes |= matches!(objects, Objects::FileAndBlocks(_));
        let anew = Some((self.site.clone(), self.peer.clone()));
        let protocol = S3Requests::new(&self.credentials, (&self.site, &file.folder), objects, anew);
        Ok(Opened { channel, protocol: Box::new(protocol) })
    }

    /// Whether messages are encrypted.
    pub fn is_tls(&self) -> bool {
        self.site.is_tls
    }

    /// Whether requests are signed.
    pub fn signs(&self) -> bool {
        !self.credentials.user.is_empty()
    }

    /// The server's name and port.
    pub fn server(&self) -> (&str, u16) {
        (&self.site.host, self.site.port)
    }

    /// Most bytes of a request.
    pub fn limits(&self) -> Limits {
        Limits { read_bytes: MOST_BYTES, write_bytes: MOST_BYTES }
    }

    /// Facts about the server, for the report.
    pub fn facts(&self) -> String {
        let BucketLocation { is_tls, authority, .. } = &self.site;
        let over = if *is_tls { "https, encrypted" } else { "http, not encrypted" };
        let signed = if !self.signs() {
            "requests are anonymous".to_string()
        } else {
            format!(
                "requests are signed (Version 4, region {}), what they carry is not hashed",
                self.credentials.region
            )
        };
        format!(
            "S3 at {authority} over {over}; {signed}; each request in flight has a connection of its own, so depth counts \
             connections; reads are ranges of one object; each write is an object of its own, durable once it is \
             answered, so --cache device and --cache none are the same here, and no flush follows"
        )
    }
}

impl S3File {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The key of the object to read.
    fn key(&self) -> String {
        format!("{}file", self.folder)
    }

    /// Free space in bytes; a large constant, because S3 servers do not report it.
    pub fn free_bytes(&self) -> u64 {
        ROOM
    }

    /// Prepares to lay out the object anew with `bytes`; returns the size of each part except for the last.
    ///
    /// # Errors
    /// If the server does not allow uploads.
    pub fn begin_layout(&self, bytes: u64) -> Outcome<u64> {
        let part_bytes = bytes.div_ceil(MOST_PARTS).next_multiple_of(1 << 20).max(PART_BYTES);
        let mut state = self.state();
        let is_fresh = |upload: &Upload| upload.etags.lock().unwrap_or_else(PoisonError::into_inner).is_empty();
        match &mut state.upload {
            Some(upload) if is_fresh(upload) => {
                upload.part_bytes = part_bytes;
                return Ok(part_bytes);
            }
            _ => self.abort(&mut state)?,
        }
        drop(state);
        self.begin(part_bytes)?;
        Ok(part_bytes)
    }

    fn begin(&self, part_bytes: u64) -> Outcome<()> {
        let mut state = self.state();
        let reply = state.client.ask(Asking { method: "POST", key: &self.key(), query: "uploads=", body: b"" })?;
        if !reply.is_well() {
            return Err(refusal(&state.client, &reply, "no object may be made there"));
        }
        let id = text_of(&reply.body, "UploadId").filter(|id| (1..=MOST_ID).contains(&id.len()));
        let Some(id) = id else { return Err(state.client.peer.garbage("an upload without a name of usual length")) };
        state.upload = Some(Upload { id: encoded(&id, false), part_bytes, etags: Arc::default() });
        Ok(())
    }

    /// Learns whether the bucket keeps versions. A server that does not tell is taken for one that keeps none.
    fn ask_for_versions(&self) -> Outcome<()> {
        let mut state = self.state();
        let reply = state.client.ask(Asking { method: "GET", key: "", query: "versioning=", body: b"" })?;
        if reply.is_well() {
            state.listing = Listing::of(&reply.body);
        }
        Ok(())
    }

    /// Completes the upload: joins the written parts into one object.
    ///
    /// # Errors
    /// If the server fails to.
    pub fn end_layout(&self) -> Outcome<()> {
        let mut state = self.state();
        let Some(upload) = state.upload.take() else { return Ok(()) };
        let etags = upload.etags.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let body = completion(etags.iter().map_while(|etag| etag.as_deref()));
        let query = format!("uploadId={}", upload.id);
        // The object may exist even if the answer is lost.
        state.layouts += 1;
        let reply = state.client.ask(Asking { method: "POST", key: &self.key(), query: &query, body: body.as_bytes() });
        // The server may answer with status 200 and report an error in the body.
        let is_whole = |reply: &Reply| reply.is_well() && text_of(&reply.body, "Code").is_none();
        match reply {
            Ok(reply) if is_whole(&reply) => Ok(()),
            other => {
                state.upload = Some(upload);
                let reply = other?;
                Err(refusal(&state.client, &reply, "the object that was laid out is not taken"))
            }
        }
    }

    /// Aborts the upload in progress, if any.
    fn abort(&self, state: &mut State) -> Outcome<()> {
        let Some(Upload { id, .. }) = state.upload.take() else { return Ok(()) };
        let query = format!("uploadId={id}");
        let reply = state.client.ask(Asking { method: "DELETE", key: &self.key(), query: &query, body: b"" })?;
        if reply.is_well() || reply.status == 404 {
            return Ok(());
        }
        Err(refusal(&state.client, &reply, "the parts that were uploaded cannot be given up"))
    }

    /// The most that may be stored under our own folder.
    fn most_stored(state: &State) -> usize {
        let puts = usize::try_from(state.all_puts()).unwrap_or(usize::MAX);
        match state.listing {
            // The object to read, and one that a lost connection may have put twice under another key.
            Listing::Objects => puts.saturating_add(2),
            // Each that was made, perhaps twice where its connection was lost.
            Listing::Versions => {
                let layouts = usize::try_from(state.layouts).unwrap_or(usize::MAX);
                puts.saturating_add(layouts).saturating_add(1).saturating_mul(2)
            }
        }
    }

    /// Removes everything under our own folder. It ends whatever the server lists: with more than was put, with
    /// nothing that is new, or with its time.
    fn remove(&self, state: &mut State) -> Outcome<()> {
        let most = Self::most_stored(state);
        let of_all = REMOVAL_OF_ONE.saturating_mul(u32::try_from(most).unwrap_or(u32::MAX));
        let allowed = state.client.peer.timeout.saturating_mul(REMOVAL_TIMEOUTS).saturating_add(of_all);
        let began = Instant::now();
        let mut removed = HashSet::new();
        loop {
            if began.elapsed() > allowed {
                return Err(state.client.peer.silent(allowed));
            }
            let query = state.listing.query(&self.folder, false, None);
            let reply = state.client.ask(Asking { method: "GET", key: "", query: &query, body: b"" })?;
            let Some(found) = state.listing.page(&reply.body).filter(|_| reply.is_well()) else {
                // Without permission to list, remove at least the object whose key we know. Its versions stay.
                delete(&mut state.client, &Stored::object(self.key()))?;
                let what = match state.listing {
                    Listing::Objects if !state.has_lanes => return Ok(()),
                    Listing::Objects => "its list is refused",
                    Listing::Versions => "the bucket keeps versions, and their list is refused",
                };
                return Err(refusal(&state.client, &reply, what));
            };
            let ours = found.stored.into_iter().map(|(stored, _)| stored);
            let ours: Vec<Stored> = ours.filter(|stored| stored.key.starts_with(&self.folder)).take(AT_ONCE).collect();
            if ours.is_empty() {
                return Ok(());
            }
            let before = removed.len();
            removed.extend(ours.iter().cloned());
            if removed.len() == before {
                return Err(state.client.peer.refused("what was removed is still there"));
            }
            if removed.len() > most {
                return Err(state.client.peer.refused("the server lists more objects than were made"));
            }
            delete_all(&mut state.client, &ours, |client| match began.elapsed() > allowed {
                true => Err(client.peer.silent(allowed)),
                false => Ok(()),
            })?;
        }
    }
}

/// Removes all these: at once, or one by one where the server refuses that and as long as `goes_on`.
pub(super) fn delete_all(client: &mut Client, all: &[Stored], goes_on: impl Fn(&Client) -> Outcome<()>) -> Outcome<()> {
    let body = deletion(all);
    let reply = client.ask(Asking { method: "POST", key: "", query: "delete=", body: body.as_bytes() })?;
    if reply.is_well() && text_of(&reply.body, "Code").is_none() {
        return Ok(());
    }
    all.iter().try_for_each(|stored| {
        goes_on(client)?;
        delete(client, stored)
    })
}

fn delete(client: &mut Client, Stored { key, version }: &Stored) -> Outcome<()> {
    let query = version.as_ref().map_or(String::new(), |version| format!("versionId={}", encoded(version, false)));
    let reply = client.ask(Asking { method: "DELETE", key, query: &query, body: b"" })?;
    if reply.is_well() || reply.status == 404 { Ok(()) } else { Err(refusal(client, &reply, "nothing may be removed")) }
}

impl Drop for S3File {
    fn drop(&mut self) {
        let mut state = self.state();
        state.client.cleans_up();
        let aborted = self.abort(&mut state);
        let has_objects = state.layouts > 0 || state.has_lanes;
        let removed = if has_objects { self.remove(&mut state) } else { Ok(()) };
        let bucket = &self.site.bucket;
        let folder = &self.folder;
        let versions = if state.listing == Listing::Versions { ", with all versions" } else { "" };
        let key = self.key();
        if let Err(error) = aborted {
            crate::told::tell(&format!(
                "halfpower: {error}; give up the unfinished upload of {key} in the bucket {bucket}"
            ));
        }
        if let Err(error) = removed {
            crate::told::tell(&format!(
                "halfpower: {error}; remove what begins with {folder} from the bucket {bucket}{versions}"
            ));
        }
    }
}
