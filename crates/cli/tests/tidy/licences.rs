//! Checks that all dependencies have free licences.

use std::process::Command;

use serde_json::Value;

use super::{complain, root};

/// Licences that only require to include their own text, as SPDX identifiers.
const FREE: [&str; 10] = [
    "MIT",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "0BSD",
    "BSD-3-Clause",
    "BSL-1.0",
    "ISC",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Whether each part of a licence expression allows a free licence.
fn is_free(expression: &str) -> bool {
    let parts = expression.replace(['(', ')'], "").replace(" / ", " OR ").replace('/', " OR ");
    parts.split(" AND ").all(|part| part.split(" OR ").any(|licence| FREE.contains(&licence.trim())))
}

fn metadata() -> Value {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--locked", "--format-version", "1", "--filter-platform", &platform])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn expressions_are_read_as_spdx_means_them() {
    for free in ["MIT", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"] {
        assert!(is_free(free), "{free}");
    }
    for other in ["GPL-3.0", "MIT AND GPL-2.0-only", "", "LGPL-2.1 OR GPL-3.0"] {
        assert!(!is_free(other), "{other}");
    }
}

#[test]
fn every_dependency_is_free() {
    let metadata = metadata();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 20, "cargo names only {} packages", packages.len());
    let others = packages.iter().filter(|package| !package["license"].as_str().is_some_and(is_free));
    let complaints: Vec<String> =
        others.map(|package| format!("{}: {}", package["name"], package["license"])).collect();
    complain("only free licences", &complaints);
}
