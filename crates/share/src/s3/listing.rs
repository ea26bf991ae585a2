//! Reads the XML of S3 answers, writes that of requests, and turns refusals into sentences, which repeat nothing of an
//! answer but the error code.

use halfpower_spec::UtcTime;
use roxmltree::{Document, Node};

use super::client::{Client, Reply};
use super::site::encoded;
use crate::error::ShareError;

/// The text of the first element of this name.
pub(crate) fn text_of(xml: &[u8], name: &str) -> Option<String> {
    let xml = std::str::from_utf8(xml).ok()?;
    let document = Document::parse(xml.trim_start()).ok()?;
    let found = document.descendants().find(|node| node.tag_name().name() == name)?;
    Some(found.text().unwrap_or("").to_string())
}

/// What a list of a bucket holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Listing {
    /// The objects (`ListObjectsV2`).
    Objects,
    /// All versions of objects, and the marks that stand for deleted ones (`ListObjectVersions`). In a bucket that keeps
    /// versions these are what is stored, and objects alone are what is not deleted.
    Versions,
}

/// What can be removed: an object, or one version of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Stored {
    pub key: String,
    /// The version, in a list of versions.
    pub version: Option<String>,
}

impl Stored {
    /// The object of this key, as it is now.
    pub fn object(key: String) -> Self {
        Self { key, version: None }
    }
}

/// Where a page of a list begins.
pub(crate) struct Mark {
    /// A token of the server's; the last key before it, in a list of versions.
    at: String,
    /// The last version of that key before it; empty in a list of objects.
    version: String,
}

/// A page of a list.
pub(crate) struct Page {
    /// What is stored, each with the time of its last change in seconds since 1970; `None` if the server did not tell.
    pub stored: Vec<(Stored, Option<u64>)>,
    /// Beginnings that keys have in common.
    pub folders: Vec<String>,
    /// Where the next page begins.
    pub next: Option<Mark>,
}

/// Keys of a page: the most that the S3 reference allows, also to be removed with one request.
pub(super) const AT_ONCE: usize = 1000;

impl Listing {
    /// The list that holds all that a bucket stores, by its answer to `GetBucketVersioning`: versions stay also where
    /// keeping them is suspended.
    pub fn of(versioning: &[u8]) -> Self {
        let status = text_of(versioning, "Status");
        let keeps = matches!(status.as_deref(), Some("Enabled" | "Suspended"));
        if keeps { Self::Versions } else { Self::Objects }
    }

    /// The query of a page of the keys that begin like this. With `as_folders`, keys with a `/` after this beginning are told
    /// as folders. Its names are sorted, as signatures need them.
    pub fn query(self, begin: &str, as_folders: bool, from: Option<&Mark>) -> String {
        let encoded = |text: &str| encoded(text, false);
        let folders = as_folders.then(|| "delimiter=%2F".to_string());
        let most = Some(format!("max-keys={AT_ONCE}"));
        let prefix = Some(format!("prefix={}", encoded(begin)));
        let parts = match self {
            Self::Objects => {
                let token = from.map(|from| format!("continuation-token={}", encoded(&from.at)));
                [token, folders, Some("list-type=2".to_string()), most, prefix, None]
            }
            Self::Versions => {
                let key = from.map(|from| format!("key-marker={}", encoded(&from.at)));
                let version = from.filter(|from| !from.version.is_empty());
                let version = version.map(|from| format!("version-id-marker={}", encoded(&from.version)));
                [folders, key, most, prefix, version, Some("versions=".to_string())]
            }
        };
        parts.into_iter().flatten().collect::<Vec<String>>().join("&")
    }

    /// Reads a page; `None` if it is none.
    pub fn page(self, xml: &[u8]) -> Option<Page> {
        let document = Document::parse(std::str::from_utf8(xml).ok()?.trim_start()).ok()?;
        let root = document.root_element();
        let (name, kinds): (_, &[&str]) = match self {
            Self::Objects => ("ListBucketResult", &["Contents"]),
            Self::Versions => ("ListVersionsResult", &["Version", "DeleteMarker"]),
        };
        if root.tag_name().name() != name {
            return None;
        }
        let is_stored = |node: &Node<'_, '_>| kinds.contains(&node.tag_name().name());
        let stored = root.children().filter(is_stored).filter_map(|node| self.stored(node)).collect();
        let folders = children(root, "CommonPrefixes").filter_map(|folder| child(folder, "Prefix")).collect();
        let text = |name| child(root, name).filter(|text| !text.is_empty());
        let next = match self {
            Self::Objects => text("NextContinuationToken").map(|at| Mark { at, version: String::new() }),
            Self::Versions => {
                let version = text("NextVersionIdMarker").unwrap_or_default();
                text("NextKeyMarker").map(|at| Mark { at, version })
            }
        };
        Some(Page { stored, folders, next })
    }

    /// What stands in one entry of a list, and when it was changed.
    fn stored(self, entry: Node<'_, '_>) -> Option<(Stored, Option<u64>)> {
        let version = match self {
            Self::Objects => None,
            Self::Versions => Some(child(entry, "VersionId")?),
        };
        let changed_s = child(entry, "LastModified").and_then(|text| unix_s(&text));
        Some((Stored { key: child(entry, "Key")?, version }, changed_s))
    }
}

/// An upload that has not ended.
pub(crate) struct UnfinishedUpload {
    pub key: String,
    pub id: String,
    /// When it was begun, in seconds since 1970; `None` if the server did not tell.
    pub begun_s: Option<u64>,
}

/// Reads a page of `ListMultipartUploads`; `None` if it is not such a page.
pub(crate) fn uploads(xml: &[u8]) -> Option<Vec<UnfinishedUpload>> {
    let document = Document::parse(std::str::from_utf8(xml).ok()?.trim_start()).ok()?;
    let root = document.root_element();
    if root.tag_name().name() != "ListMultipartUploadsResult" {
        return None;
    }
    let upload = |upload| {
        let begun_s = child(upload, "Initiated").and_then(|text| unix_s(&text));
        Some(UnfinishedUpload { key: child(upload, "Key")?, id: child(upload, "UploadId")?, begun_s })
    };
    Some(children(root, "Upload").filter_map(upload).collect())
}

fn children<'a, 'input: 'a>(node: Node<'a, 'input>, name: &'static str) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children().filter(move |child| child.tag_name().name() == name)
}

/// The text of the first child of this name.
fn child(node: Node<'_, '_>, name: &'static str) -> Option<String> {
    Some(children(node, name).next()?.text().unwrap_or("").to_string())
}

/// Seconds since 1970 of a time such as `2009-10-12T17:50:30.000Z`.
fn unix_s(text: &str) -> Option<u64> {
    let (date, rest) = text.split_once('T')?;
    UtcTime::unix_s_of(&format!("{date} {}", rest.get(..8)?))
}

/// The body of a `DeleteObjects` request.
pub(crate) fn deletion(of: &[Stored]) -> String {
    let object = |Stored { key, version }: &Stored| {
        let version = version.as_ref().map(|version| format!("<VersionId>{}</VersionId>", escaped(version)));
        format!("<Object><Key>{}</Key>{}</Object>", escaped(key), version.unwrap_or_default())
    };
    let objects: String = of.iter().map(object).collect();
    format!("<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>true</Quiet>{objects}</Delete>")
}

/// The body of a `CompleteMultipartUpload` request: the entity tags of the parts, in order.
pub(crate) fn completion<'a>(etags: impl Iterator<Item = &'a str>) -> String {
    let part = |(number, etag): (u32, &str)| {
        format!("<Part><PartNumber>{number}</PartNumber><ETag>{}</ETag></Part>", escaped(etag))
    };
    let parts: String = (1..).zip(etags).map(part).collect();
    format!(
        "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">{parts}</CompleteMultipartUpload>"
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// Length limit of a code that is repeated.
const MOST_CODE: usize = 64;

/// The error for an answer that is not a success; `to` says what failed, such as "no object may be made there".
pub(crate) fn refusal(client: &Client, reply: &Reply, to: &str) -> ShareError {
    let code = text_of(&reply.body, "Code").filter(|code| is_code(code));
    let is_silent_answer = reply.body.is_empty() && matches!(reply.status, 301 | 403 | 404 | 503);
    if code.is_none() && !is_silent_answer {
        return client.peer.garbage(format!("HTTP status {} without a code of S3", reply.status));
    }
    let code = code.unwrap_or_default();
    let shown = if code.is_empty() { format!("HTTP {}", reply.status) } else { code.clone() };
    client.peer.refused(format!("{} ({shown})", sentence(client, reply, &code, to)))
}

fn sentence(client: &Client, reply: &Reply, code: &str, to: &str) -> String {
    match (code, reply.status) {
        ("InvalidAccessKeyId", _) => {
            "the server does not know the access key; look at AWS_ACCESS_KEY_ID, the profile or --credentials"
                .to_string()
        }
        ("SignatureDoesNotMatch", _) => {
            "the secret key is not that of the access key; look at AWS_SECRET_ACCESS_KEY, the profile or --credentials"
                .to_string()
        }
        ("ExpiredToken" | "InvalidToken" | "TokenRefreshRequired", _) => {
            "the session token is not valid, or not any more; get a new one (AWS_SESSION_TOKEN)".to_string()
        }
        ("RequestTimeTooSkewed", _) => "the clocks of server and client differ too much; set them".to_string(),
        ("NoSuchBucket", _) | ("", 404) => {
            format!("there is no bucket {}; name one that there is, or make it", client.site.bucket)
        }
        ("AuthorizationHeaderMalformed" | "PermanentRedirect" | "IllegalLocationConstraintException", _)
        | ("", 301) => {
            let region =
                text_of(&reply.body, "Region").or_else(|| reply.region.clone()).filter(|region| is_code(region));
            let named = region.map_or("its region".to_string(), |region| region);
            format!("the bucket is in another region; set AWS_REGION to {named}")
        }
        ("SlowDown" | "ServiceUnavailable" | "TooManyRequests", _) | ("", 503) => {
            "the server has too much to do; try again later".to_string()
        }
        ("NotImplemented" | "MethodNotAllowed", _) => {
            format!("{to}: the server lacks that; see that it serves objects")
        }
        ("QuotaExceeded" | "XMinioStorageFull" | "InsufficientCapacity" | "EntityTooLarge", _) | ("", 507) => {
            format!("{to}: there is no room for it; free some, or ask for a smaller --size")
        }
        ("AccessDenied" | "AllAccessDisabled" | "AccountProblem", _) | ("", 403) if !client.signer.signs() => format!(
            "{to}, since nobody is signed in; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a profile with \
             AWS_PROFILE, or a file with --credentials"
        ),
        ("AccessDenied" | "AllAccessDisabled" | "AccountProblem", _) | ("", 403) => {
            format!("{to}; look at the rights that the access key has there")
        }
        _ => format!("{to}; look at the bucket and its settings"),
    }
}

/// Whether a word may be repeated: it is short, and has no characters that could do harm in our output.
fn is_code(word: &str) -> bool {
    (1..=MOST_CODE).contains(&word.len())
        && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_keys_is_read() {
        let xml = b"<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
        <IsTruncated>true</IsTruncated><Contents><Key>a&amp;b</Key><Size>1</Size></Contents>\
        <Contents><Key>c</Key></Contents></ListBucketResult>";
        let page = Listing::Objects.page(xml).unwrap();
        let keys: Vec<&str> = page.stored.iter().map(|(stored, _)| stored.key.as_str()).collect();
        assert_eq!((keys, page.next.is_none()), (vec!["a&b", "c"], true));
        assert!(Listing::Objects.page(b"<Error><Code>X</Code></Error>").is_none());
        assert!(Listing::Versions.page(xml).is_none(), "no list of versions");
        assert_eq!(text_of(b"<Error><Code>X</Code></Error>", "Code").as_deref(), Some("X"));
        assert_eq!(text_of(b"<html>", "Code"), None);
    }

    #[test]
    fn folders_times_and_uploads_are_read() {
        let xml = b"<ListBucketResult><NextContinuationToken>next</NextContinuationToken>\
        <CommonPrefixes><Prefix>a/b/</Prefix></CommonPrefixes>\
        <Contents><Key>c</Key><LastModified>1970-01-02T00:00:01.000Z</LastModified></Contents>\
        <Contents><Key>d</Key><LastModified>yesterday</LastModified></Contents></ListBucketResult>";
        let Page { stored, folders, next } = Listing::Objects.page(xml).unwrap();
        let object = |key: &str| Stored::object(key.to_string());
        assert_eq!(stored, [(object("c"), Some(86_401)), (object("d"), None)]);
        assert_eq!(folders, ["a/b/"]);
        let query = Listing::Objects.query("a b/", true, next.as_ref());
        assert_eq!(query, "continuation-token=next&delimiter=%2F&list-type=2&max-keys=1000&prefix=a%20b%2F");
        let xml = b"<ListMultipartUploadsResult><Upload><Key>k</Key><UploadId>7</UploadId>\
        <Initiated>1970-01-01T00:01:00Z</Initiated></Upload><Upload><Key>l</Key></Upload></ListMultipartUploadsResult>";
        let found = uploads(xml).unwrap();
        assert_eq!(
            (found.len(), found[0].key.as_str(), found[0].id.as_str(), found[0].begun_s),
            (1, "k", "7", Some(60))
        );
        assert!(uploads(b"<ListBucketResult/>").is_none() && Listing::Objects.page(b"<Upload/>").is_none());
    }

    #[test]
    fn versions_and_marks_of_deleted_objects_are_read() {
        let xml = b"<ListVersionsResult><NextKeyMarker>b</NextKeyMarker><NextVersionIdMarker>2</NextVersionIdMarker>\
        <Version><Key>a</Key><VersionId>1</VersionId><LastModified>1970-01-01T00:01:00Z</LastModified></Version>\
        <DeleteMarker><Key>a</Key><VersionId>null</VersionId></DeleteMarker><Version><Key>b</Key></Version>\
        <CommonPrefixes><Prefix>a/b/</Prefix></CommonPrefixes></ListVersionsResult>";
        let Page { stored, folders, next } = Listing::Versions.page(xml).unwrap();
        let version = |version: &str| Stored { key: "a".to_string(), version: Some(version.to_string()) };
        assert_eq!(stored, [(version("1"), Some(60)), (version("null"), None)]);
        assert_eq!(folders, ["a/b/"]);
        let query = Listing::Versions.query("a", false, next.as_ref());
        assert_eq!(query, "key-marker=b&max-keys=1000&prefix=a&version-id-marker=2&versions=");
        assert!(deletion(&[version("1")]).contains("<Object><Key>a</Key><VersionId>1</VersionId></Object>"));
        let of = |status: &str| {
            Listing::of(format!("<VersioningConfiguration>{status}</VersioningConfiguration>").as_bytes())
        };
        assert_eq!([of("<Status>Enabled</Status>"), of("<Status>Suspended</Status>")], [Listing::Versions; 2]);
        assert_eq!([of(""), Listing::of(b"<ListBucketResult/>"), Listing::of(b"no")], [Listing::Objects; 3]);
    }

    #[test]
    fn keys_and_marks_are_escaped() {
        assert!(deletion(&[Stored::object("a<b".to_string())]).contains("<Object><Key>a&lt;b</Key></Object>"));
        assert!(completion(["\"x\""].into_iter()).contains("<PartNumber>1</PartNumber><ETag>&quot;x&quot;</ETag>"));
    }
}
