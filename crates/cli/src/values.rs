//! Parses the values of flags that need more than a type's own parser, and words their help.

use std::path::Path;

use halfpower_spec::{Bytes, EngineName, Experiment, ParseError, Target};

pub fn parse<T: std::str::FromStr<Err = ParseError>>(text: &str) -> Result<T, ParseError> {
    text.parse()
}

/// A help text that ends with the words to choose from.
pub fn listed(what: &str, words: &[impl std::fmt::Display]) -> String {
    let words: Vec<String> = words.iter().map(ToString::to_string).collect();
    format!("{what}: {}", words.join(", "))
}

/// The engines that can be chosen; the others come with their targets.
pub fn engines_of_storage() -> Vec<EngineName> {
    let comes_with_its_target = [EngineName::Null, EngineName::Simulated, EngineName::Memory];
    EngineName::ALL.iter().copied().filter(|engine| !comes_with_its_target.contains(engine)).collect()
}

pub fn target(text: &str) -> Result<Target, ParseError> {
    Target::parse(text, system_text)
}

/// The TOML of a simulated machine: a shipped one's by its name, else a file's.
fn system_text(path: &Path) -> std::io::Result<String> {
    let shipped = halfpower_model::systems().iter().find(|system| Path::new(system.name) == path);
    match shipped {
        Some(system) => Ok(system.text.to_string()),
        None if path.extension().is_some_and(|ending| ending == "toml") => std::fs::read_to_string(path),
        None => Err(std::io::Error::other(
            "there is no machine of this name; `halfpower systems` lists them, and a file of your own ends in .toml",
        )),
    }
}

pub fn one_size(text: &str) -> Result<Bytes, ParseError> {
    match text.parse()? {
        Bytes(0) => Err(ParseError::new(text, 0, "a size must be at least one byte")),
        size => Ok(size),
    }
}

/// Experiments by name; `all` is every one of them.
pub fn experiments(text: &str) -> Result<Vec<Experiment>, ParseError> {
    let mut experiments = halfpower_spec::list(text, |item| match item {
        "all" => Ok(Experiment::ALL.to_vec()),
        name => match name.parse() {
            Ok(experiment) => Ok(vec![experiment]),
            Err(_) => {
                let words: Vec<&str> = Experiment::ALL.iter().map(|experiment| experiment.word()).collect();
                Err(ParseError::new(
                    name,
                    0,
                    format!("there is no such experiment; write all, or some of {}", words.join(", ")),
                ))
            }
        },
    })?;
    experiments.sort_unstable();
    experiments.dedup();
    Ok(experiments)
}

pub fn price(text: &str) -> Result<f64, ParseError> {
    match text.trim().parse::<f64>() {
        Ok(price) if price > 0.0 && price.is_finite() => Ok(price),
        _ => Err(ParseError::new(text, 0, "write a price above 0, such as 209 or 534.50")),
    }
}

pub fn prices(text: &str) -> Result<[f64; 2], ParseError> {
    let prices = halfpower_spec::list(text, |item| price(item).map(|price| vec![price]))?;
    prices.try_into().map_err(|_| ParseError::new(text, 0, "write two prices, of A and of B, such as 534,209"))
}

pub fn one_count(text: &str) -> Result<u32, ParseError> {
    match halfpower_spec::count_axis(text)?.as_slice() {
        [count] => Ok(*count),
        _ => Err(ParseError::new(text, 0, "write a single depth; only `study` takes a range")),
    }
}
