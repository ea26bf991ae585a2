//! Replaces the variables and keywords in a value of a job file: `${NAME}`, `$ncpus`, `$pagesize` and `$mb_memory`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Replaces `${NAME}` from the environment and fio's keywords by this machine's numbers. The product or the sum that a
/// value with a keyword is, such as `8*$ncpus`, becomes its result.
///
/// # Errors
/// If a variable is not set, or a keyword is not known.
pub(super) fn replaced(value: &[u8]) -> Result<OsString, String> {
    let mut whole = Vec::new();
    let mut has_keyword = false;
    let mut rest = value;
    while let Some(at) = rest.iter().position(|byte| *byte == b'$') {
        whole.extend_from_slice(&rest[..at]);
        let after = &rest[at + 1..];
        if let Some(braced) = after.strip_prefix(b"{") {
            let end = braced.iter().position(|byte| *byte == b'}');
            let end = end.ok_or_else(|| format!("`{}` has no closing brace", String::from_utf8_lossy(value)))?;
            let name = OsStr::from_bytes(&braced[..end]);
            let content = std::env::var_os(name)
                .ok_or_else(|| format!("the variable {} is not set in the environment", name.display()))?;
            whole.extend_from_slice(content.as_bytes());
            rest = &braced[end + 1..];
            continue;
        }
        let keyword = ["ncpus", "pagesize", "mb_memory"].into_iter().find(|word| after.starts_with(word.as_bytes()));
        match keyword {
            Some(keyword) => {
                whole.extend_from_slice(number_of(keyword)?.to_string().as_bytes());
                has_keyword = true;
                rest = &after[keyword.len()..];
            }
            None => {
                whole.push(b'$');
                rest = after;
            }
        }
    }
    whole.extend_from_slice(rest);
    let computed = std::str::from_utf8(&whole).ok().filter(|_| has_keyword).and_then(computed);
    Ok(computed.map_or_else(|| OsString::from_vec(whole), OsString::from))
}

/// The number that a keyword stands for.
fn number_of(keyword: &str) -> Result<u64, String> {
    match keyword {
        "ncpus" => Ok(std::thread::available_parallelism().map_or(1, |count| count.get() as u64)),
        "pagesize" => Ok(page_bytes()),
        _ => {
            let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
            let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
            kib.map(|kib| kib / 1024).ok_or_else(|| "the kernel does not tell how much memory there is".to_string())
        }
    }
}

/// Bytes of a page, as the kernel told this process (`AT_PAGESZ` of getauxval(3)): machines with ARM or POWER may have
/// pages of 16 or 64 KiB. 4096 if that cannot be read.
fn page_bytes() -> u64 {
    const AT_PAGESZ: u64 = 6;
    let told = std::fs::read("/proc/self/auxv").unwrap_or_default();
    let word = |bytes: &[u8]| <[u8; 8]>::try_from(bytes).map_or(0, u64::from_ne_bytes);
    let mut pairs = told.chunks_exact(16).map(|pair| (word(&pair[..8]), word(&pair[8..])));
    pairs.find(|(kind, bytes)| *kind == AT_PAGESZ && *bytes > 0).map_or(4096, |(_, bytes)| bytes)
}

/// The result of whole numbers with `*`, `/`, `+` and `-` between them, the first two first; `None` if it is none.
fn computed(text: &str) -> Option<String> {
    let mut sum: u64 = 0;
    let mut adds = true;
    let mut rest = text.trim();
    loop {
        let end = rest.find(['+', '-']).unwrap_or(rest.len());
        let mut product: Option<u64> = None;
        let mut multiplies = true;
        let mut factors = &rest[..end];
        loop {
            let stop = factors.find(['*', '/']).unwrap_or(factors.len());
            let factor: u64 = factors[..stop].trim().parse().ok()?;
            product = match product {
                None => Some(factor),
                Some(product) if multiplies => Some(product.checked_mul(factor)?),
                Some(product) => Some(product.checked_div(factor)?),
            };
            if stop == factors.len() {
                break;
            }
            multiplies = factors[stop..].starts_with('*');
            factors = &factors[stop + 1..];
        }
        sum = if adds { sum.checked_add(product?)? } else { sum.checked_sub(product?)? };
        if end == rest.len() {
            return Some(sum.to_string());
        }
        adds = rest[end..].starts_with('+');
        rest = &rest[end + 1..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_become_numbers_and_are_computed_with() {
        let of = |value: &str| replaced(value.as_bytes()).map(|value| value.into_string().unwrap());
        let processors = std::thread::available_parallelism().unwrap().get();
        assert_eq!(of("$ncpus"), Ok(processors.to_string()));
        assert_eq!(of("8*$ncpus+1"), Ok((8 * processors + 1).to_string()));
        assert_eq!(of("$pagesize"), Ok(page_bytes().to_string()));
        assert!(page_bytes() >= 4096 && page_bytes().is_power_of_two(), "{}", page_bytes());
        assert!(of("$mb_memory").unwrap().parse::<u64>().unwrap() > 0);
        assert_eq!(of("4k-8k"), Ok("4k-8k".to_string()), "nothing is computed where no keyword stands");
        assert_eq!(of("data$jobnum"), Ok("data$jobnum".to_string()));
        assert!(of("${NOT_SET_ANYWHERE}").unwrap_err().contains("NOT_SET_ANYWHERE is not set"));
        assert!(of("${x").unwrap_err().contains("closing brace"));
        assert_eq!(
            (computed("7/2*3"), computed("2-3"), computed("1/0"), computed("x")),
            (Some("9".into()), None, None, None)
        );
    }
}
