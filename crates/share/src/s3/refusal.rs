//! Turns refusals of an S3 server into sentences, which repeat nothing of its answer but the error code.

use super::client::{Client, Reply};
use super::listing::text_of;
use crate::error::ShareError;

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
