//! Finds modules of a crate that import each other in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::modules::{Module, modules_of};

/// Longest chain of re-exports that is followed.
const DEEPEST: usize = 16;

/// The target of a path: a module, an item of a module, or an item of another crate.
#[derive(Clone, Copy)]
enum Meaning {
    Module(usize),
    Item(usize),
    Foreign,
}

/// The files that each file of a crate names, and by which path; a re-export counts as the defining file.
pub type Arrows = BTreeMap<PathBuf, BTreeMap<PathBuf, String>>;

pub fn arrows(root: &Path) -> Arrows {
    let modules = modules_of(root);
    let mut arrows = Arrows::new();
    for (own, module) in modules.iter().enumerate() {
        let from = arrows.entry(module.file.clone()).or_default();
        for path in module.paths.iter().filter(|path| names_another(module, path)) {
            let target = match meaning(&modules, own, path, 0) {
                Some(Meaning::Item(target)) => target,
                // A name reached through an imported module is a separate path.
                Some(Meaning::Module(target)) if path.last().is_some_and(|last| last == "*") => target,
                _ => continue,
            };
            let file = &modules[target].file;
            if *file != module.file {
                from.entry(file.clone()).or_insert_with(|| path.join("::"));
            }
        }
    }
    arrows
}

/// Whether a path names another module; a single word names the module's own item, unless a re-export brought it in.
fn names_another(module: &Module, path: &[String]) -> bool {
    path.len() > 1 || module.imports.iter().any(|import| import.is_public && import.name == path[0])
}

fn meaning(modules: &[Module], own: usize, path: &[String], depth: usize) -> Option<Meaning> {
    let mut now = match path[0].as_str() {
        "crate" => Meaning::Module(0),
        "self" => Meaning::Module(own),
        "super" => Meaning::Module(modules[own].parent?),
        word => within(modules, own, word, depth)?,
    };
    for word in &path[1..] {
        let Meaning::Module(at) = now else { return Some(now) };
        now = match word.as_str() {
            "*" => return Some(now),
            "super" => Meaning::Module(modules[at].parent?),
            word => within(modules, at, word, depth).unwrap_or(Meaning::Item(at)),
        };
    }
    Some(now)
}

/// The target of a word in a module.
fn within(modules: &[Module], at: usize, word: &str, depth: usize) -> Option<Meaning> {
    if let Some(child) = modules[at].children.get(word) {
        return Some(Meaning::Module(*child));
    }
    if modules[at].items.contains(word) {
        return Some(Meaning::Item(at));
    }
    if depth == DEEPEST {
        return None;
    }
    let imports = &modules[at].imports;
    // A crate may be imported by its own name.
    let named = imports.iter().filter(|import| import.name == word && import.path != [word]);
    let named = named.map(|import| meaning(modules, at, &import.path, depth + 1).unwrap_or(Meaning::Foreign)).next();
    let by_glob = || {
        let globs = imports.iter().filter(|import| import.name == "*");
        let mut sources = globs.filter_map(|import| meaning(modules, at, &import.path, depth + 1));
        sources.find_map(|source| match source {
            Meaning::Module(source) => within(modules, source, word, depth + 1),
            Meaning::Item(_) | Meaning::Foreign => None,
        })
    };
    named.or_else(by_glob)
}

/// The groups of files that reach each other, each with the arrows within it.
pub fn circles(arrows: &Arrows) -> Vec<BTreeSet<PathBuf>> {
    let reach: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> =
        arrows.keys().map(|file| (file, reached(arrows, file))).collect();
    let mut circles: Vec<BTreeSet<PathBuf>> = Vec::new();
    for file in arrows.keys().filter(|file| reach[file].contains(file)) {
        if circles.iter().all(|circle| !circle.contains(file)) {
            let both = reach[file].iter().filter(|other| reach[**other].contains(file));
            circles.push(both.map(|other| other.to_path_buf()).collect());
        }
    }
    circles
}

fn reached<'a>(arrows: &'a Arrows, from: &'a PathBuf) -> BTreeSet<&'a PathBuf> {
    let mut found = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        open.extend(arrows.get(file).into_iter().flat_map(BTreeMap::keys).filter(|next| found.insert(*next)));
    }
    found
}

#[test]
fn a_circle_is_found_through_a_re_export_and_none_where_there_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("lib.rs", "mod above; mod below; mod names; pub use names::Name;");
    write("above.rs", "use crate::{Name, below::low}; pub fn high(name: Name) { low(name) }");
    write("below.rs", "pub fn low(_: super::Name) {} #[cfg(test)] mod tests { use crate::above::high; }");
    write("names.rs", "pub struct Name;");
    let found = |folder: &Path| circles(&arrows(&folder.join("lib.rs")));
    assert!(found(folder.path()).is_empty(), "tests and re-exports make no circle");
    write("names.rs", "pub struct Name; impl Name { fn lower(self) { crate::below::low(self) } }");
    let circles = found(folder.path());
    let names: Vec<String> = circles[0].iter().map(|file| file.file_stem().unwrap().display().to_string()).collect();
    assert_eq!((circles.len(), names), (1, vec!["below".to_string(), "names".to_string()]));
}
