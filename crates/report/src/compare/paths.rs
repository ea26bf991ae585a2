//! Lists the paths that studies share with a baseline.

use halfpower_analyse::{Comparison, PathSettings};

/// All paths that any study shares with the baseline.
pub(super) fn common_paths(comparisons: &[Comparison]) -> Vec<PathSettings> {
    let mut paths: Vec<PathSettings> = Vec::new();
    for path in comparisons.iter().flat_map(|comparison| &comparison.paths).map(|one| one.path) {
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    paths
}
