//! Writes an XML profile of diskspd as the words of a line that asks the same.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use halfpower_record::input;
use roxmltree::{Document, Node};

/// The words of a line that asks what the profile in `file` asks, with the words that stand `beside` it on its line.
///
/// # Errors
/// What of the profile no line asks, and what to do.
pub(super) fn words(file: &Path, beside: &[OsString]) -> Result<Vec<OsString>, String> {
    let shown = file.display();
    let text = input::read_text(file, input::MOST_OF_A_TEXT)
        .map_err(|error| format!("{shown} cannot be read ({error}): name a profile that is there"))?;
    let document = Document::parse(text.trim_start_matches('\u{feff}'))
        .map_err(|error| format!("{shown} is no XML profile of diskspd: {error}"))?;
    let (options, paths) = options_of(document.root_element())?;
    let mut words: Vec<OsString> = options.into_iter().map(OsString::from).collect();
    let is_target = |word: &&OsString| !word.as_bytes().starts_with(b"-");
    for word in beside.iter().filter(|word| !is_target(word)) {
        if !["-R", "-v", "-z", "--"].iter().any(|begin| word.as_bytes().starts_with(begin.as_bytes())) {
            let word = word.display();
            return Err(format!(
                "{word} stands beside it, and the profile says all but -R, -v, -z and --...: leave it out"
            ));
        }
        words.push(word.clone());
    }
    let named: Vec<&OsString> = beside.iter().filter(is_target).collect();
    let is_template = |path: &String| template(path).is_some();
    if !named.is_empty() && !paths.iter().any(is_template) {
        return Err("the profile names its targets itself: name none beside it".to_string());
    }
    for path in paths {
        match template(&path) {
            None => words.push(path.into()),
            Some(number) => match number.checked_sub(1).and_then(|place| named.get(place)) {
                Some(target) => words.push((*target).clone()),
                None => {
                    return Err(format!("the profile has a target {path}: write it after the profile, in its place"));
                }
            },
        }
    }
    Ok(words)
}

/// The number of a target that the line names, `*1`; `None` for a path.
fn template(path: &str) -> Option<usize> {
    path.strip_prefix('*').and_then(|number| number.parse().ok())
}

fn name<'a>(node: &Node<'a, 'a>) -> &'a str {
    node.tag_name().name()
}

fn elements<'a>(of: &Node<'a, 'a>) -> impl Iterator<Item = Node<'a, 'a>> + use<'a> {
    of.children().filter(Node::is_element)
}

fn text<'a>(of: &Node<'a, 'a>) -> &'a str {
    of.text().unwrap_or_default().trim()
}

fn is_true(of: &Node<'_, '_>) -> bool {
    matches!(text(of), "true" | "1")
}

/// An option with the number of an element, unless that is 0.
fn unless_zero(option: &str, of: &Node<'_, '_>) -> Option<String> {
    let number = text(of);
    (!number.trim_start_matches('0').is_empty()).then(|| format!("{option}{number}"))
}

fn unknown(of: &Node<'_, '_>) -> String {
    format!("<{}> of a profile is not read: write the options on the line", name(of))
}

/// The options of a profile with one time span, and the paths of its targets.
fn options_of(profile: Node<'_, '_>) -> Result<(Vec<String>, Vec<String>), String> {
    if name(&profile) != "Profile" {
        return Err(format!("<{}> is no profile of diskspd: it begins with <Profile>", name(&profile)));
    }
    let mut options = Vec::new();
    let mut spans = Vec::new();
    for element in elements(&profile) {
        match name(&element) {
            "TimeSpans" => spans.extend(elements(&element)),
            "ResultFormat" => options.push(format!("-R{}", text(&element))),
            // Files are laid out before a run, and no dots are printed.
            "Verbose" | "Progress" | "PrecreateFiles" => {}
            _ => return Err(unknown(&element)),
        }
    }
    let [span] = spans[..] else {
        return Err(format!("it has {} time spans, and a line has one: write a profile for each", spans.len()));
    };
    let (of_span, targets) = span_of(span)?;
    let Some((first, _)) = targets.first() else { return Err("it names no target".to_string()) };
    if targets.iter().any(|(of_target, _)| of_target != first) {
        return Err("its targets have different options: write a line for each".to_string());
    }
    options.extend(first.iter().cloned().chain(of_span));
    Ok((options, targets.into_iter().map(|(_, path)| path).collect()))
}

/// A target: its options and its path.
type Target = (Vec<String>, String);

/// The options of a time span, and its targets.
fn span_of(span: Node<'_, '_>) -> Result<(Vec<String>, Vec<Target>), String> {
    let mut options = Vec::new();
    let mut targets = Vec::new();
    let mut interval = String::new();
    let mut has_deviation = false;
    for element in elements(&span) {
        match name(&element) {
            "Targets" => {
                for target in elements(&element) {
                    targets.push(target_of(target)?);
                }
            }
            "Duration" => options.push(format!("-d{}", text(&element))),
            "Warmup" => options.push(format!("-W{}", text(&element))),
            "Cooldown" => options.push(format!("-C{}", text(&element))),
            "RandSeed" => options.push(format!("-z{}", text(&element))),
            "ThreadCount" => options.extend(unless_zero("-F", &element)),
            "RequestCount" => options.extend(unless_zero("-O", &element)),
            "MeasureLatency" => options.extend(is_true(&element).then(|| "-L".to_string())),
            "CalculateIopsStdDev" => has_deviation = is_true(&element),
            "IoBucketDuration" => interval = text(&element).to_string(),
            "Affinity" => options.extend(affinity(element)?),
            "DisableAffinity" | "GroupAffinity" | "CompletionRoutines" => {}
            _ => return Err(unknown(&element)),
        }
    }
    if has_deviation {
        options.push(format!("-D{interval}"));
    }
    Ok((options, targets))
}

/// The processors of a time span; `None` if it names none.
fn affinity(list: Node<'_, '_>) -> Result<Option<String>, String> {
    let mut processors = Vec::new();
    for element in elements(&list) {
        let number = match (name(&element), element.attribute("Group")) {
            ("AffinityAssignment", _) => Some(text(&element)),
            ("AffinityGroupAssignment", None | Some("0")) => element.attribute("Processor"),
            _ => None,
        };
        processors.push(number.ok_or_else(|| unknown(&element))?);
    }
    Ok((!processors.is_empty()).then(|| format!("-a{}", processors.join(","))))
}

fn target_of(target: Node<'_, '_>) -> Result<Target, String> {
    let mut path = String::new();
    let mut options = Vec::new();
    let mut caching = String::new();
    let mut stride = None;
    let mut is_interlocked = false;
    for element in elements(&target) {
        let value = text(&element);
        let on = |option: &str| is_true(&element).then(|| option.to_string());
        match name(&element) {
            "Path" => path = value.to_string(),
            "BlockSize" => options.push(format!("-b{value}")),
            "RequestCount" => options.push(format!("-o{value}")),
            "WriteRatio" => options.push(format!("-w{value}")),
            "ThreadsPerFile" => options.extend(unless_zero("-t", &element)),
            "BaseFileOffset" => options.extend(unless_zero("-B", &element)),
            "FileSize" => options.extend(unless_zero("-c", &element)),
            "MaxFileSize" => options.extend(unless_zero("-f", &element)),
            "ThreadStride" => options.extend(unless_zero("-T", &element)),
            "IOPriority" => options.extend(unless_zero("-I", &element)),
            "BurstSize" => options.extend(unless_zero("-i", &element)),
            "ThinkTime" => options.extend(unless_zero("-j", &element)),
            "Throughput" => options.extend(rate(&element)),
            "Random" => options.push(format!("-r{value}")),
            "RandomRatio" => options.push(format!("-rs{value}")),
            "StrideSize" => stride = Some(value),
            "InterlockedSequential" => is_interlocked = is_true(&element),
            "ParallelAsyncIO" => options.extend(on("-p")),
            "SequentialScan" => options.extend(on("-fs")),
            "RandomAccess" => options.extend(on("-fr")),
            "TemporaryFile" => options.extend(on("-ft")),
            "UseLargePages" => options.extend(on("-l")),
            "DisableAllCache" => caching.extend(on("uw")),
            "DisableOSCache" => caching.extend(on("u")),
            "WriteThrough" => caching.extend(on("w")),
            "DisableLocalCache" => caching.extend(on("r")),
            "MemoryMappedIo" => caching.extend(on("m")),
            "FlushType" => options.push(flush(&element)?),
            "WriteBufferContent" => options.extend(content(element)?),
            "Weight" if value == "1" => {}
            _ => return Err(unknown(&element)),
        }
    }
    if path.is_empty() {
        return Err("a target of it has no <Path>".to_string());
    }
    if is_interlocked || stride.is_some() {
        let interlocked = if is_interlocked { "i" } else { "" };
        options.push(format!("-s{interlocked}{}", stride.unwrap_or_default()));
    }
    if !caching.is_empty() {
        options.push(format!("-S{caching}"));
    }
    Ok((options, path))
}

/// A rate, in bytes a millisecond or in requests a second; `None` if there is none.
fn rate(of: &Node<'_, '_>) -> Option<String> {
    let is_of_requests = of.attribute("unit").is_some_and(|unit| unit.eq_ignore_ascii_case("iops"));
    unless_zero("-g", of).map(|option| if is_of_requests { option + "i" } else { option })
}

fn flush(of: &Node<'_, '_>) -> Result<String, String> {
    match text(of) {
        "ViewOfFile" => Ok("-Nv".to_string()),
        "NonVolatileMemory" => Ok("-Nn".to_string()),
        "NonVolatileMemoryNoDrain" => Ok("-Ni".to_string()),
        _ => Err(unknown(of)),
    }
}

/// What is written, if that is not diskspd's default.
fn content(of: Node<'_, '_>) -> Result<Option<String>, String> {
    let mut option = None;
    for element in elements(&of) {
        match (name(&element), text(&element)) {
            ("Pattern", "sequential" | "random") => {}
            ("Pattern", "zero") => option = Some("-Z".to_string()),
            ("RandomDataSource", _) => option = source(&element).or(option),
            _ => return Err(unknown(&element)),
        }
    }
    Ok(option)
}

/// The file that holds what is written, with how many bytes of it are used; `None` if what is written is random.
fn source(of: &Node<'_, '_>) -> Option<String> {
    let told = |key: &str| elements(of).find(|element| name(element) == key).map(|element| text(&element));
    Some(format!("-Z{},{}", told("SizeInBytes")?, told("FilePath")?))
}
