//! Removes the objects and the uploads that killed processes of ours left in a folder of a bucket.
//!
//! No server removes them itself. What cannot be listed or removed stays: another study tries again.

use std::time::{Duration, Instant};

use super::client::{Asking, Client};
use super::listing::{AT_ONCE, Listing, Mark, Page, Stored, uploads};
use super::objects::{S3File, S3Share, delete_all};
use super::signer::now;
use super::site::encoded;
use crate::own_names::{PREFIX, is_left_over};
use crate::protocol::Outcome;

/// Answers after which the rest of a long list is not looked at.
const MOST_PAGES: u32 = 64;
/// How long the removal of what was left may take; the rest is for the next study.
const LONGEST: Duration = Duration::from_secs(60);

/// A search below the prefix of a share.
struct Search<'a> {
    client: &'a mut Client,
    /// The list that holds all that the bucket stores.
    listing: Listing,
    /// Prefix of all keys there: empty, or folders with a `/` after each.
    prefix: &'a str,
    /// The folder of this process.
    own: &'a str,
    /// The time now in seconds since 1970; `None` if it is not known to be the server's.
    now_s: Option<u64>,
    until: Instant,
}

impl S3Share {
    /// Removes folders and uploads of our names whose owners are gone, but not `own`.
    pub(crate) fn remove_left_over(&self, own: &S3File) {
        let mut state = own.state();
        // The server takes signatures of its own time alone.
        let now_s = state.client.signer.signs().then(now);
        let listing = state.listing;
        let client = &mut state.client;
        let prefix = self.site.prefix.as_str();
        let mut search = Search { client, listing, prefix, own: &own.folder, now_s, until: Instant::now() + LONGEST };
        let _ = search.give_up_uploads();
        let _ = search.remove_folders();
    }
}

impl Search<'_> {
    fn remove_folders(&mut self) -> Outcome<()> {
        for folder in self.folders()? {
            let Some(name) = folder.strip_prefix(self.prefix).and_then(|rest| rest.strip_suffix('/')) else {
                continue;
            };
            if folder == self.own || !self.is_left_over(name, &folder)? {
                continue;
            }
            let removed = self.remove(&folder)?;
            if removed > 0 {
                let what = if self.listing == Listing::Versions { "versions of objects" } else { "objects" };
                self.tell(&format!("removed {removed} {what} of {name}"));
            }
        }
        Ok(())
    }

    fn tell(&self, what: &str) {
        let address = &self.client.peer.address;
        crate::told::tell(&format!("halfpower: {address}: {what}, which a killed halfpower left there"));
    }

    /// Time since a moment that the server told in seconds since 1970; none if anything about it is unknown.
    fn age(&self, changed_s: Option<u64>) -> Duration {
        let age_s = self.now_s.zip(changed_s).map(|(now_s, changed_s)| now_s.saturating_sub(changed_s));
        Duration::from_secs(age_s.unwrap_or(0))
    }

    /// Checks that the search may go on.
    fn goes_on(&self) -> bool {
        Instant::now() < self.until && !self.client.peer.is_stopped()
    }

    /// Folders of names like ours.
    fn folders(&mut self) -> Outcome<Vec<String>> {
        let begin = format!("{}{PREFIX}", self.prefix);
        let mut folders = Vec::new();
        let mut from = None;
        for _ in 0..MOST_PAGES {
            let Some(page) = self.page(&begin, true, from.as_ref())? else { break };
            folders.extend(page.folders.into_iter().filter(|folder| folder.starts_with(&begin)));
            from = page.next;
            if from.is_none() || !self.goes_on() {
                break;
            }
        }
        Ok(folders)
    }

    /// Whether the owner of a folder is gone, by its name or by the youngest of its objects.
    fn is_left_over(&mut self, name: &str, folder: &str) -> Outcome<bool> {
        // Where age decides nothing, no object has to be looked at.
        let is_gone = is_left_over(name, Duration::ZERO);
        if is_gone || !is_left_over(name, Duration::MAX) {
            return Ok(is_gone);
        }
        let mut from = None;
        for _ in 0..MOST_PAGES {
            let Some(page) = self.page(folder, false, from.as_ref())? else { return Ok(false) };
            let are_old = page.stored.iter().all(|(_, changed_s)| is_left_over(name, self.age(*changed_s)));
            if page.stored.is_empty() || !are_old {
                return Ok(false);
            }
            from = page.next;
            if from.is_none() {
                return Ok(true);
            }
            if !self.goes_on() {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Removes what is stored in a folder, as far as there is time; returns how much.
    fn remove(&mut self, folder: &str) -> Outcome<usize> {
        let until = self.until;
        let mut removed = 0;
        let mut last = Vec::new();
        while self.goes_on() {
            let Some(page) = self.page(folder, false, None)? else { break };
            let stored = page.stored.into_iter().map(|(stored, _)| stored);
            let stored: Vec<Stored> = stored.filter(|stored| stored.key.starts_with(folder)).collect();
            // What the server goes on listing is not removed by asking again.
            if stored.is_empty() || stored == last {
                break;
            }
            delete_all(self.client, &stored, |client| match Instant::now() >= until || client.peer.is_stopped() {
                true => Err(crate::ShareError::Interrupted),
                false => Ok(()),
            })?;
            removed += stored.len();
            last = stored;
        }
        Ok(removed)
    }

    /// A page of the list, as [`Listing::query`] asks for it; `None` if the server refuses it.
    fn page(&mut self, begin: &str, as_folders: bool, from: Option<&Mark>) -> Outcome<Option<Page>> {
        let query = self.listing.query(begin, as_folders, from);
        let reply = self.client.ask(Asking { method: "GET", key: "", query: &query, body: b"" })?;
        Ok(self.listing.page(&reply.body).filter(|_| reply.is_well()))
    }

    fn give_up_uploads(&mut self) -> Outcome<()> {
        let begin = format!("{}{PREFIX}", self.prefix);
        let query = format!("max-uploads={AT_ONCE}&prefix={}&uploads=", encoded(&begin, false));
        let reply = self.client.ask(Asking { method: "GET", key: "", query: &query, body: b"" })?;
        let Some(found) = uploads(&reply.body).filter(|_| reply.is_well()) else { return Ok(()) };
        for upload in found {
            let Some(below) = upload.key.strip_prefix(self.prefix) else { continue };
            let name = below.split('/').next().unwrap_or_default();
            if upload.key.starts_with(self.own) || !is_left_over(name, self.age(upload.begun_s)) {
                continue;
            }
            if !self.goes_on() {
                break;
            }
            let query = format!("uploadId={}", encoded(&upload.id, false));
            let reply = self.client.ask(Asking { method: "DELETE", key: &upload.key, query: &query, body: b"" })?;
            if reply.is_well() {
                self.tell(&format!("gave up the upload of {}", upload.key));
            }
        }
        Ok(())
    }
}
