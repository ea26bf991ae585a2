//! Reads the XML of S3 answers, and writes that of requests.

use roxmltree::{Document, Node};

/// The text of the first element of this name.
pub(crate) fn text_of(xml: &[u8], name: &str) -> Option<String> {
    let xml = std::str::from_utf8(xml).ok()?;
    let document = Document::parse(xml.trim_start()).ok()?;
    let found = document.descendants().find(|node| node.tag_name().name() == name)?;
    Some(found.text().unwrap_or("").to_string())
}

/// The keys in a page of `ListObjectsV2`; `None` if it is not such a page.
pub(crate) fn keys(xml: &[u8]) -> Option<Vec<String>> {
    let document = Document::parse(std::str::from_utf8(xml).ok()?.trim_start()).ok()?;
    let root = document.root_element();
    if root.tag_name().name() != "ListBucketResult" {
        return None;
    }
    let objects = root.children().filter(|node| node.tag_name().name() == "Contents");
    let key = |object: Node<'_, '_>| {
        let found = object.children().find(|child| child.tag_name().name() == "Key")?;
        Some(found.text().unwrap_or("").to_string())
    };
    Some(objects.filter_map(key).collect())
}

/// The body of a `DeleteObjects` request.
pub(crate) fn deletion(keys: &[String]) -> String {
    let objects: String = keys.iter().map(|key| format!("<Object><Key>{}</Key></Object>", escaped(key))).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_keys_is_read() {
        let xml = b"<?xml version=\"1.0\"?>\n<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
            <IsTruncated>true</IsTruncated><Contents><Key>a&amp;b</Key><Size>1</Size></Contents>\
            <Contents><Key>c</Key></Contents></ListBucketResult>";
        assert_eq!(keys(xml), Some(vec!["a&b".to_string(), "c".to_string()]));
        assert_eq!(keys(b"<Error><Code>X</Code></Error>"), None);
        assert_eq!(text_of(b"<Error><Code>X</Code></Error>", "Code").as_deref(), Some("X"));
        assert_eq!(text_of(b"<html>", "Code"), None);
    }

    #[test]
    fn keys_and_marks_are_escaped() {
        assert!(deletion(&["a<b".to_string()]).contains("<Key>a&lt;b</Key>"));
        assert!(completion(["\"x\""].into_iter()).contains("<PartNumber>1</PartNumber><ETag>&quot;x&quot;</ETag>"));
    }
}
