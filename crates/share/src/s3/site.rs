//! Determines the server and the request paths of a bucket.

use halfpower_spec::{Endpoint, ShareAddress};

/// The location of a bucket.
#[derive(Debug, Clone)]
pub(crate) struct BucketLocation {
    pub is_tls: bool,
    /// The server to connect to.
    pub host: String,
    pub port: u16,
    /// The `Host` field of requests.
    pub authority: String,
    /// The bucket in the path of requests: `/bucket`, or empty if the host name contains it.
    pub root: String,
    pub bucket: String,
    /// Prefix of our keys: empty, or folders with a `/` after each.
    pub prefix: String,
}

impl BucketLocation {
    /// The bucket at the endpoint of `address`, with the bucket in the path; without an endpoint, at Amazon in this
    /// region.
    pub fn of(address: &ShareAddress, region: &str) -> Self {
        let bucket = address.host.clone();
        let prefix = address.path.iter().map(|part| format!("{part}/")).collect();
        let (endpoint, root) = match &address.endpoint {
            Some(endpoint) => (endpoint.clone(), format!("/{bucket}")),
            None => {
                let server = format!("s3.{region}.amazonaws.com");
                // Amazon's wildcard certificate does not cover bucket names with a dot.
                let is_name = !bucket.contains('.');
                let host = if is_name { format!("{bucket}.{server}") } else { server };
                let endpoint = Endpoint { is_tls: true, host, port: None };
                (endpoint, if is_name { String::new() } else { format!("/{bucket}") })
            }
        };
        let port = endpoint.reached_port();
        let authority = endpoint.authority();
        Self { is_tls: endpoint.is_tls, host: endpoint.host, port, authority, root, bucket, prefix }
    }

    /// The path of a request for `key`.
    pub fn path(&self, key: &str) -> String {
        format!("{}/{}", self.root, encoded(key, true))
    }
}

/// Percent-encodes text for the path or the query of a request; in a path, `/` stays.
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

    fn site(text: &str) -> BucketLocation {
        match Target::parse(text, |_| Err(std::io::Error::other("none"))) {
            Ok(Target::Share(address)) => BucketLocation::of(&address, "eu-west-2"),
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
