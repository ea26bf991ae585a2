//! Reads a crate's modules: their items, their imports, and the paths that they name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Keywords before the name of an item.
const ITEMS: [&str; 9] = ["fn", "struct", "enum", "union", "trait", "type", "const", "static", "mod"];

/// One module, without its test-only items.
#[derive(Default)]
pub struct Module {
    pub file: PathBuf,
    pub parent: Option<usize>,
    pub children: BTreeMap<String, usize>,
    pub items: BTreeSet<String>,
    pub imports: Vec<Import>,
    /// Paths that its code names, including private imports, without re-exports.
    pub paths: BTreeSet<Vec<String>>,
}

/// `use path as name`; a glob is named `*`.
pub struct Import {
    pub name: String,
    pub path: Vec<String>,
    pub is_public: bool,
}

/// All modules of a crate; the first is its root.
pub fn modules_of(root: &Path) -> Vec<Module> {
    let mut modules = Vec::new();
    read_file(root, None, &mut modules);
    modules
}

fn read_file(file: &Path, parent: Option<usize>, modules: &mut Vec<Module>) -> usize {
    let text = fs::read_to_string(file).unwrap();
    let tokens: TokenStream = text.parse().unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    add_module(file, tokens, parent, modules)
}

fn add_module(file: &Path, tokens: TokenStream, parent: Option<usize>, modules: &mut Vec<Module>) -> usize {
    let own = modules.len();
    modules.push(Module { file: file.to_path_buf(), parent, ..Module::default() });
    let tokens = without_tests(tokens);
    read_items(&tokens, own, modules);
    own
}

/// The tokens without attributes and without test-only items.
fn without_tests(tokens: TokenStream) -> Vec<TokenTree> {
    let mut kept = Vec::new();
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        let is_attribute = is_punct(&token, '#') && matches!(tokens.peek(), Some(next) if is_attribute_body(next));
        if !is_attribute {
            kept.push(token);
            continue;
        }
        let text = tokens.next().unwrap().to_string().replace(' ', "");
        if text.starts_with("[cfg(test") || text.starts_with("[cfg(all(test") || text == "[test]" {
            let ends = |token: &TokenTree| is_punct(token, ';') || is_braces(token);
            tokens.by_ref().find(ends);
        }
    }
    kept
}

fn is_attribute_body(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket)
}

fn is_braces(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace)
}

fn is_punct(token: &TokenTree, mark: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark)
}

fn ident(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(ident)) => Some(ident.to_string()),
        _ => None,
    }
}

/// Reads the items at the top of a module, and the paths within them.
fn read_items(tokens: &[TokenTree], own: usize, modules: &mut Vec<Module>) {
    let mut at = 0;
    while at < tokens.len() {
        let word = ident(tokens.get(at)).unwrap_or_default();
        let name = ident(tokens.get(at + 1));
        match (word.as_str(), name) {
            // `use<>` in the type of a function names lifetimes.
            ("use", _) if !tokens.get(at + 1).is_some_and(|token| is_punct(token, '<')) => {
                at = read_use(tokens, at, modules, own);
                continue;
            }
            ("macro_rules", _) => modules[own].items.extend(ident(tokens.get(at + 2))),
            ("mod", Some(name)) => {
                let child = match tokens.get(at + 2) {
                    Some(TokenTree::Group(body)) => {
                        let file = modules[own].file.clone();
                        add_module(&file, body.stream(), Some(own), modules)
                    }
                    _ => read_file(&file_of_child(own, &name, modules), Some(own), modules),
                };
                modules[own].children.insert(name, child);
                at += 3;
                continue;
            }
            (keyword, Some(name)) if ITEMS.contains(&keyword) => drop(modules[own].items.insert(name)),
            _ => {}
        }
        at = read_path(tokens, at, &mut modules[own].paths);
    }
}

/// The file of `mod name;`: beside the root or a `mod.rs`, or else in the folder named after the module.
fn file_of_child(own: usize, name: &str, modules: &[Module]) -> PathBuf {
    let file = &modules[own].file;
    let is_root = modules[own].parent.is_none();
    let folder =
        if is_root || file.ends_with("mod.rs") { file.parent().unwrap().into() } else { file.with_extension("") };
    let beside = folder.join(format!("{name}.rs"));
    if beside.exists() { beside } else { folder.join(name).join("mod.rs") }
}

/// Reads `use ...;` of a module; returns where the next item begins.
fn read_use(tokens: &[TokenTree], at: usize, modules: &mut [Module], own: usize) -> usize {
    let is_public = at > 0
        && (ident(tokens.get(at - 1)).as_deref() == Some("pub")
            || at > 1 && ident(tokens.get(at - 2)).as_deref() == Some("pub"));
    let end = at + tokens[at..].iter().position(|token| is_punct(token, ';')).unwrap();
    let mut imported = Vec::new();
    read_tree(&tokens[at + 1..end], &[], &mut imported);
    for (name, path) in imported {
        if !is_public {
            modules[own].paths.insert(path.clone());
        }
        modules[own].imports.push(Import { name, path, is_public });
    }
    end + 1
}

/// Reads the names and paths of a tree of imports.
fn read_tree(tokens: &[TokenTree], prefix: &[String], imported: &mut Vec<(String, Vec<String>)>) {
    for branch in tokens.split(|token| is_punct(token, ',')) {
        let mut path = prefix.to_vec();
        let mut name = None;
        let mut words = branch.iter();
        while let Some(token) = words.next() {
            match token {
                TokenTree::Ident(word) if word == "as" => name = ident(words.next()),
                TokenTree::Ident(word) if word == "self" && !path.is_empty() => {}
                TokenTree::Ident(word) => path.push(word.to_string()),
                TokenTree::Punct(mark) if mark.as_char() == '*' => path.push("*".to_string()),
                TokenTree::Group(group) => {
                    let within: Vec<TokenTree> = group.stream().into_iter().collect();
                    read_tree(&within, &path, imported);
                    path.clear();
                }
                _ => {}
            }
        }
        if let Some(last) = path.last() {
            imported.push((name.unwrap_or_else(|| last.clone()), path));
        }
    }
}

/// Reads the path or the group at `at`; returns where the next token begins.
fn read_path(tokens: &[TokenTree], at: usize, paths: &mut BTreeSet<Vec<String>>) -> usize {
    match &tokens[at] {
        TokenTree::Group(group) => {
            read_within(&without_tests(group.stream()), paths);
            at + 1
        }
        TokenTree::Ident(_) => {
            let mut path = vec![ident(tokens.get(at)).unwrap()];
            let mut next = at + 1;
            let joined = |next: usize| {
                [next, next + 1].iter().all(|at| tokens.get(*at).is_some_and(|token| is_punct(token, ':')))
            };
            while let (true, Some(word)) = (joined(next), ident(tokens.get(next + 2))) {
                path.push(word);
                next += 3;
            }
            paths.insert(path);
            next
        }
        _ => at + 1,
    }
}

/// Reads the paths within an item.
fn read_within(tokens: &[TokenTree], paths: &mut BTreeSet<Vec<String>>) {
    let mut at = 0;
    while at < tokens.len() {
        if ident(tokens.get(at)).as_deref() == Some("use") {
            let end = tokens[at..].iter().position(|token| is_punct(token, ';')).map_or(tokens.len(), |end| at + end);
            let mut imported = Vec::new();
            read_tree(&tokens[at + 1..end], &[], &mut imported);
            paths.extend(imported.into_iter().map(|(_, path)| path));
            at = end + 1;
        } else {
            at = read_path(tokens, at, paths);
        }
    }
}
