//! Works out where a bucket is asked for, and how its keys are written in requests.

use halfpower_spec::{Endpoint, ShareAddress};

/// Where a bucket is.
#[derive(Debug, Clone)]
pub(crate) struct Site {
    pub is_tls: bool,
    /// The server to connect to.
    pub host: String,
    pub port: u16,
    /// The field `Host` of requests.
    pub authority: String,
    /// The bucket, as far as the path of requests names it: empty, or `/bucket`.
    pub root: String,
    pub bucket: String,
    /// What our keys begin with: empty, or folders with a `/` behind each.
    pub prefix: String,
}

impl Site {
    /// Of the endpoint that `address` names, whose paths begin with the bucket; else Amazon's of this region.
    pub fn of(address: &ShareAddress, region: &str) -> Self {
        let bucket = address.host.clone();
        let prefix = address.path.iter().map(|part| format!("{part}/")).collect();
        let (endpoint, root) = match &address.endpoint {
            Some(endpoint) => (endpoint.clone(), format!("/{bucket}")),
            None => {
                let server = format!("s3.{region}.amazonaws.com");
                // A certificate for all buckets is for no name with a dot.
                let is_name = !bucket.contains('.');
                let host = if is_name { format!("{bucket}.{server}") } else { server };
                let endpoint = Endpoint { is_tls: true, host, port: None };
                (endpoint, if is_name { String::new() } else { format!("/{bucket}") })
            }
        };
        let (port, authority) = (endpoint.reached_port(), endpoint.authority());
        Self { is_tls: endpoint.is_tls, host: endpoint.host, port, authority, root, bucket, prefix }
    }

    /// The path of a request for `key`.
    pub fn path(&self, key: &str) -> String {
        format!("{}/{}", self.root, encoded(key, true))
    }
}

/// The text as the path or the query of a request has it; `/` stays where it parts folders.
pub(crate) fn encoded(text: &str, is_path: bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || is_path && byte == b'/' {
            shown.push(byte as char);
        } else {
            shown.push_str(&format!("%{byte:02X}"));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use halfpower_spec::Target;

    use super::*;

    fn site(text: &str) -> Site {
        match Target::parse(text, |_| Err(std::io::Error::other("none"))) {
            Ok(Target::Share(address)) => Site::of(&address, "eu-west-2"),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_endpoint_has_buckets_in_its_paths_and_amazon_in_its_names() {
        let own = site("s3://lab/a%20b/c?endpoint=http://nas:9000");
        assert_eq!((own.host.as_str(), own.port, own.authority.as_str(), own.is_tls), ("nas", 9000, "nas:9000", false));
        assert_eq!(own.path(&format!("{}x+y", own.prefix)), "/lab/a%20b/c/x%2By");
        let amazon = site("s3://lab");
        assert_eq!((amazon.authority.as_str(), amazon.port), ("lab.s3.eu-west-2.amazonaws.com", 443));
        assert_eq!(amazon.path("k"), "/k");
        assert_eq!(site("s3://lab.data").path("k"), "/lab.data/k");
        assert_eq!(site("s3://lab.data").host, "s3.eu-west-2.amazonaws.com");
    }
}
