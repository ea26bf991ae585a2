//! Reads what strace printed (`strace -f -y -ttt -T`) as operations on files.
//!
//! Calls are followed from the one that opens a file to the one that closes it. Whether a read found its bytes in the page
//! cache is not told: a buffered read that took no longer than copying does is taken as found there.

mod descriptors;
mod line;

use std::collections::{BTreeMap, HashMap};

use halfpower_record::OperationKind;

use crate::captures::collected::{Broken, Collected, Seen, Text};
use crate::foreign_run::FileError;
use descriptors::{Descriptors, Open};
use line::{Call, call, descriptor, name_of, number, stamped, took_ns, whose};

/// Lines at the beginning that are looked at to find out what a file is.
const LOOKED_AT: usize = 50;
const DAY_NS: u64 = 86_400_000_000_000;
/// A buffered read that takes longer than this, and one nanosecond for each two bytes, needed a disk.
const QUICK_READ_NS: u64 = 50_000;
/// Since 2001: times before it are not Unix time.
const UNIX_TIME_NS: u64 = 1_000_000_000_000_000_000;

/// Calls whose lines have to be whole.
const KNOWN: [&str; 18] = [
    "read",
    "readv",
    "pread64",
    "preadv",
    "preadv2",
    "write",
    "writev",
    "pwrite64",
    "pwritev",
    "pwritev2",
    "fsync",
    "fdatasync",
    "sync_file_range",
    "syncfs",
    "open",
    "openat",
    "lseek",
    "close",
];

const USAGE: &str = "trace with `strace -f -y -ttt -T -s 0 -e trace=desc,process -o FILE COMMAND`";
const ASYNCHRONOUS: &str = "requests of io_uring or libaio, whose operations strace does not show";
const COPIES: &str = "calls that copy from one descriptor to another";
const NAMELESS: &str = "calls of sync and msync, which name no file";

/// Paths that are no files, by their beginning.
const NO_FILES: [&str; 13] = [
    "/proc/",
    "/sys/",
    "/memfd:",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/pts/",
    "/dev/ptmx",
    "/dev/console",
    "/dev/kmsg",
];

/// Whether a text is strace's.
pub(crate) fn is_it(text: &str) -> bool {
    let is_line = |content: &str| match stamped(content) {
        Some(line) => name_of(line.rest).is_some() || line.rest.starts_with("<... "),
        None => is_known(whose(content).1),
    };
    text.lines().filter(|line| !line.trim().is_empty()).take(LOOKED_AT).any(is_line)
}

fn is_known(text: &str) -> bool {
    name_of(text).is_some_and(|name| KNOWN.contains(&name))
}

/// Reads the texts of one trace: one, or several of the same time, as `strace -ff` writes them.
pub(crate) fn read(texts: &[Text<'_>], collected: &mut Collected) -> Result<(), Broken> {
    let mut events = events(texts)?;
    if texts.len() > 1 {
        events.sort_by_key(|event| event.end_ns);
    }
    let mut reader = Reader {
        collected,
        descriptors: Descriptors::new(),
        unfinished: HashMap::new(),
        programs: HashMap::new(),
        operations_of: BTreeMap::new(),
    };
    for event in &events {
        reader.event(event).map_err(|message| (event.file, FileError::at(event.line, message)))?;
    }
    reader.name_subject();
    Ok(())
}

/// A line with a time.
struct Event<'a> {
    file: usize,
    line: usize,
    who: u64,
    at_ns: u64,
    end_ns: u64,
    rest: &'a str,
    is_last: bool,
}

fn events<'a>(texts: &[Text<'a>]) -> Result<Vec<Event<'a>>, Broken> {
    let mut events = Vec::new();
    for (file, text) in texts.iter().enumerate() {
        // `strace -ff -o FILE` writes FILE.1234 for the thread 1234.
        let own = text.file.rsplit_once('.').and_then(|(_, who)| who.parse().ok());
        let own = own.unwrap_or(file as u64);
        let mut day_ns = 0_u64;
        let mut last_ns = 0_u64;
        for (number, content) in text.text.lines().enumerate() {
            let line = number + 1;
            let Some(found) = stamped(content) else {
                if is_known(whose(content).1) {
                    return Err((file, FileError::at(line, format!("this call has no time with a fraction: {USAGE}"))));
                }
                continue;
            };
            let mut at_ns = found.at_ns.saturating_add(day_ns);
            if found.is_of_day && at_ns.saturating_add(DAY_NS / 2) < last_ns {
                day_ns = day_ns.saturating_add(DAY_NS);
                at_ns = at_ns.saturating_add(DAY_NS);
            }
            last_ns = at_ns;
            let end_ns = at_ns.saturating_add(took_ns(found.rest).unwrap_or(0));
            let who = found.who.unwrap_or(own);
            events.push(Event { file, line, who, at_ns, end_ns, rest: found.rest, is_last: false });
        }
        if let Some(last) = events.last_mut() {
            last.is_last = true;
        }
    }
    Ok(events)
}

/// Follows the calls.
struct Reader<'a, 'c> {
    collected: &'c mut Collected,
    descriptors: Descriptors,
    /// Calls that another thread's line came between, by thread: when they began, and their first part.
    unfinished: HashMap<u64, (u64, &'a str)>,
    /// What each process runs.
    programs: HashMap<u64, String>,
    /// Operations of each program.
    operations_of: BTreeMap<String, u64>,
}

impl<'a> Reader<'a, '_> {
    fn event(&mut self, event: &Event<'a>) -> Result<(), String> {
        if self.collected.started_unix_ms == 0 && event.at_ns > UNIX_TIME_NS {
            self.collected.started_unix_ms = event.at_ns / 1_000_000;
        }
        let who = event.who;
        if let Some(begun) = event.rest.strip_suffix("<unfinished ...>") {
            if name_of(begun).is_some_and(makes_child) {
                self.descriptors.expect_child(who, shares_descriptors(begun));
            }
            self.unfinished.insert(who, (event.at_ns, begun));
            return Ok(());
        }
        if let Some(resumed) = event.rest.strip_prefix("<... ") {
            let Some((_, rest)) = resumed.split_once(" resumed>") else { return Ok(()) };
            let Some((at_ns, begun)) = self.unfinished.remove(&who) else { return Ok(()) };
            let whole = format!("{begun}{rest}");
            return match call(&whole) {
                Some(call) => self.call(&call, who, at_ns, Some(event.at_ns)),
                None => cut_off(&whole, event),
            };
        }
        match call(event.rest) {
            Some(call) => self.call(&call, who, event.at_ns, None),
            None => cut_off(event.rest, event),
        }
    }

    /// Follows a call that began at `at_ns`; `ended_ns` is when it ended, if the trace tells that apart from its length.
    fn call(&mut self, call: &Call<'_>, who: u64, at_ns: u64, ended_ns: Option<u64>) -> Result<(), String> {
        let Some(result) = call.result else { return Ok(()) };
        let timed = || {
            let took_ns = call.took_ns.or_else(|| ended_ns.map(|ended_ns| ended_ns.saturating_sub(at_ns)));
            let end_ns = took_ns.map(|took_ns| at_ns.saturating_add(took_ns));
            end_ns.ok_or_else(|| format!("{} does not tell how long it took: {USAGE}", call.name))
        };
        match call.name {
            "read" | "readv" | "pread64" | "preadv" | "preadv2" => self.moved(call, who, (at_ns, timed()?), false),
            "write" | "writev" | "pwrite64" | "pwritev" | "pwritev2" => self.moved(call, who, (at_ns, timed()?), true),
            // A sync of the file system makes the file durable, too; one of a range of pages does not.
            "fsync" | "syncfs" => self.synced(call, who, (at_ns, timed()?), OperationKind::Fsync),
            "fdatasync" => self.synced(call, who, (at_ns, timed()?), OperationKind::Fdatasync),
            "sync_file_range" => self.synced(call, who, (at_ns, timed()?), OperationKind::OtherSync),
            "open" | "creat" | "openat" | "openat2" => self.opened(call, who, result),
            "close" => self.closed(call, who, false),
            "close_range" => self.closed(call, who, true),
            "dup" | "dup2" | "dup3" => self.duplicated(call, who, result),
            "fcntl" | "fcntl64" => match call.arguments.get(1) {
                Some(what) if what.starts_with("F_DUPFD") => self.duplicated(call, who, result),
                Some(&"F_SETFL") => self.reset(call, who),
                _ => {}
            },
            "lseek" => self.sought(call, who, result),
            "_llseek" => {
                let position = call.arguments.get(2).and_then(|position| number(position));
                self.sought(call, who, position.unwrap_or(0));
            }
            "fstat" | "fstat64" | "newfstatat" | "statx" => self.looked_at(call, who),
            "ftruncate" | "ftruncate64" | "fallocate" => self.resized(call, who),
            name if makes_child(name) => self.made_child(call, who, result),
            "execve" | "execveat" => self.executed(call, who),
            "pipe" | "pipe2" | "socketpair" => {
                for argument in call.arguments.iter().filter(|argument| argument.starts_with('[')) {
                    for end in argument.trim_matches(['[', ']']).split(',') {
                        self.opened_no_file(descriptor(end.trim()).map(|(end, _)| end), who);
                    }
                }
            }
            "socket" | "accept" | "accept4" | "eventfd" | "eventfd2" | "epoll_create" | "epoll_create1"
            | "timerfd_create" | "signalfd" | "signalfd4" | "inotify_init" | "inotify_init1" | "memfd_create"
            | "pidfd_open" | "io_uring_setup" => self.opened_no_file(u32::try_from(result).ok(), who),
            "io_submit" => self.collected.leave_out(ASYNCHRONOUS, result),
            "io_uring_enter" => {
                let submitted = call.arguments.get(1).and_then(|count| number(count));
                self.collected.leave_out(ASYNCHRONOUS, submitted.unwrap_or(0));
            }
            "sendfile" | "sendfile64" | "copy_file_range" | "splice" if result > 0 => {
                self.collected.leave_out(COPIES, 1)
            }
            "sync" | "msync" => self.collected.leave_out(NAMELESS, 1),
            _ => {}
        }
        Ok(())
    }

    /// A read or a write from `times.0` to `times.1`.
    fn moved(&mut self, call: &Call<'_>, who: u64, times: (u64, u64), writes: bool) {
        let bytes = call.result.unwrap_or(0);
        let Some(index) = self.found(who, call).filter(|_| bytes > 0) else { return };
        let open = self.descriptors.at(index);
        let Some(file) = open.file else { return };
        // An offset of -1 means the place of the stream.
        let given = call.arguments.get(3).filter(|_| call.name.starts_with('p')).and_then(|offset| number(offset));
        let offset = match given {
            Some(offset) => {
                self.collected.prove(file);
                offset
            }
            None => {
                let offset = if writes && open.appends { self.collected.reach(file) } else { open.position };
                open.position = offset.saturating_add(bytes);
                offset
            }
        };
        let flags = call.arguments.get(4).copied().unwrap_or_default();
        let is_durable = open.is_durable || has(flags, "RWF_DSYNC") || has(flags, "RWF_SYNC");
        let kind = match (writes, is_durable) {
            (false, _) => OperationKind::Read,
            (true, false) => OperationKind::Write,
            (true, true) => OperationKind::DurableWrite,
        };
        let is_buffered = !self.collected.is_direct(file);
        let took_ns = times.1 - times.0;
        let cached = match kind {
            OperationKind::Read => is_buffered && took_ns <= QUICK_READ_NS.saturating_add(bytes / 2),
            _ => is_buffered && !is_durable,
        };
        self.add(Seen { who, begin_ns: times.0, end_ns: times.1, kind, file, offset, bytes, cached });
    }

    fn synced(&mut self, call: &Call<'_>, who: u64, times: (u64, u64), kind: OperationKind) {
        let Some(file) = self.found(who, call).and_then(|index| self.descriptors.at(index).file) else { return };
        self.collected.prove(file);
        self.add(Seen { who, begin_ns: times.0, end_ns: times.1, kind, file, offset: 0, bytes: 0, cached: false });
    }

    fn add(&mut self, seen: Seen) {
        if let Some(program) = self.programs.get(&seen.who) {
            *self.operations_of.entry(program.clone()).or_default() += 1;
        }
        self.collected.add(seen);
    }

    fn opened(&mut self, call: &Call<'_>, who: u64, result: u64) {
        let Ok(number) = u32::try_from(result) else { return };
        let at = usize::from(call.name.starts_with("openat"));
        let flags = match call.name {
            "creat" => "O_WRONLY|O_CREAT|O_TRUNC",
            _ => call.arguments.get(at + 1).copied().unwrap_or_default(),
        };
        let name = match call.result_path {
            Some(path) => path.to_string(),
            None => self.path(call, who, at),
        };
        let file =
            (is_file(&name) && !has(flags, "O_PATH")).then(|| self.collected.file(&name, has(flags, "O_DIRECT")));
        let is_new = has(flags, "O_TRUNC") || has(flags, "O_EXCL") || has(flags, "O_TMPFILE");
        if let Some(file) = file.filter(|_| is_new) {
            self.collected.sized(file, 0);
        }
        let is_durable = has(flags, "O_DSYNC") || has(flags, "O_SYNC");
        let appends = has(flags, "O_APPEND");
        self.descriptors.open(who, number, Open { file, name, opener: Some(who), position: 0, is_durable, appends });
    }

    /// The path that a call names; a relative one as it is, unless its folder is known.
    fn path(&mut self, call: &Call<'_>, who: u64, at: usize) -> String {
        let quoted = call.arguments.get(at).copied().unwrap_or_default();
        let name = quoted.trim_matches('"');
        let folder = call.arguments.first().filter(|_| at > 0 && !name.starts_with('/'));
        let folder =
            folder.and_then(|folder| descriptor(folder)).and_then(|(folder, _)| self.descriptors.find(who, folder));
        match folder {
            Some(folder) => format!("{}/{name}", self.descriptors.at(folder).name),
            None => name.to_string(),
        }
    }

    fn opened_no_file(&mut self, number: Option<u32>, who: u64) {
        if let Some(number) = number {
            self.descriptors.open(who, number, Open { opener: Some(who), ..Open::default() });
        }
    }

    fn closed(&mut self, call: &Call<'_>, who: u64, is_range: bool) {
        let first = call.arguments.first().and_then(|first| descriptor(first)).map(|(first, _)| first);
        let Some(first) = first else { return };
        // `~0U` and the like mean all that follow.
        let last = call.arguments.get(1).filter(|_| is_range).map(|last| number(last).unwrap_or(u64::MAX));
        let last = last.map_or(first, |last| u32::try_from(last).unwrap_or(u32::MAX));
        self.descriptors.close(who, first, last);
    }

    fn duplicated(&mut self, call: &Call<'_>, who: u64, result: u64) {
        // Also what was open before the trace has a duplicate.
        self.found(who, call);
        let from = call.arguments.first().and_then(|from| descriptor(from));
        if let (Some((from, _)), Ok(to)) = (from, u32::try_from(result)) {
            self.descriptors.duplicate(who, from, to);
        }
    }

    /// `fcntl(F_SETFL)`, which sets whether the page cache is passed by, and whether writes go to the end.
    fn reset(&mut self, call: &Call<'_>, who: u64) {
        let Some(index) = self.found(who, call) else { return };
        let flags = call.arguments.get(2).copied().unwrap_or_default();
        let open = self.descriptors.at(index);
        open.appends = has(flags, "O_APPEND");
        let direct = has(flags, "O_DIRECT");
        if let Some(file) = open.file.filter(|file| self.collected.is_direct(*file) != direct) {
            let bytes = self.collected.reach(file);
            let other = self.collected.file(&open.name, direct);
            self.collected.grown(other, bytes);
            open.file = Some(other);
        }
    }

    fn sought(&mut self, call: &Call<'_>, who: u64, position: u64) {
        let Some(index) = self.found(who, call) else { return };
        let open = self.descriptors.at(index);
        open.position = position;
        let Some(file) = open.file else { return };
        self.collected.prove(file);
        if call.arguments.get(2) == Some(&"SEEK_END") && call.arguments.get(1) == Some(&"0") {
            self.collected.sized(file, position);
        }
    }

    /// A call that tells the kind and the size of an open file.
    fn looked_at(&mut self, call: &Call<'_>, who: u64) {
        let names_another = !call.name.starts_with("fstat") && call.arguments.get(1) != Some(&"\"\"");
        let told = call.arguments.iter().copied().find(|told| told.contains("_mode="));
        let Some(told) = told.filter(|_| !names_another) else { return };
        let Some(index) = self.found(who, call) else { return };
        let open = self.descriptors.at(index);
        let Some(file) = open.file else { return };
        if ["S_IFSOCK", "S_IFIFO", "S_IFCHR"].iter().any(|kind| told.contains(kind)) {
            open.file = None;
        } else if told.contains("S_IFREG") {
            self.collected.prove(file);
            let size = told.split_once("_size=").map_or("", |(_, size)| size);
            let digits = size.find(|c: char| !c.is_ascii_digit()).unwrap_or(size.len());
            if let Ok(size) = size[..digits].parse() {
                self.collected.sized(file, size);
            }
        } else if told.contains("S_IFBLK") {
            self.collected.prove(file);
        }
    }

    fn resized(&mut self, call: &Call<'_>, who: u64) {
        let Some(file) = self.found(who, call).and_then(|index| self.descriptors.at(index).file) else { return };
        let argument = |at: usize| call.arguments.get(at).and_then(|argument| number(argument));
        if call.name != "fallocate" {
            if let Some(bytes) = argument(1) {
                self.collected.sized(file, bytes);
            }
        } else if let (Some(0), Some(offset), Some(bytes)) = (argument(1), argument(2), argument(3)) {
            self.collected.grown(file, offset.saturating_add(bytes));
        }
        self.collected.prove(file);
    }

    fn made_child(&mut self, call: &Call<'_>, who: u64, child: u64) {
        let shares = call.arguments.iter().any(|argument| argument.contains("CLONE_FILES"));
        self.descriptors.child(who, child, shares);
        if let Some(program) = self.programs.get(&who).cloned() {
            self.programs.entry(child).or_insert(program);
        }
    }

    fn executed(&mut self, call: &Call<'_>, who: u64) {
        let path = call.arguments.iter().find(|argument| argument.starts_with('"'));
        let name = path.and_then(|path| path.trim_matches('"').rsplit('/').next());
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            self.programs.insert(who, name.to_string());
        }
    }

    /// What the call's first argument leads to. What the trace has not seen opened is taken by the name that `-y` gives, or
    /// by its number.
    fn found(&mut self, who: u64, call: &Call<'_>) -> Option<usize> {
        let (number, path) = descriptor(call.arguments.first()?)?;
        if let Some(index) = self.descriptors.find(who, number) {
            let open = self.descriptors.at(index);
            // A file that was renamed since is still the one that this thread opened.
            if path.is_none_or(|path| path == open.name || open.opener == Some(who)) {
                return Some(index);
            }
        }
        let name = match path {
            Some(path) => path.to_string(),
            None if self.descriptors.is_of_first(who) => format!("fd:{number}"),
            None => format!("fd:{number} of process {who}"),
        };
        let is_file = if path.is_some() { name.starts_with('/') && is_file(&name) } else { number > 2 };
        let file = is_file.then(|| self.collected.file(&name, false));
        if let Some(file) = file.filter(|_| path.is_none()) {
            self.collected.doubt(file);
        }
        Some(self.descriptors.open(who, number, Open { file, name, ..Open::default() }))
    }

    /// The program with the most operations.
    fn name_subject(&mut self) {
        let most = self.operations_of.iter().max_by_key(|(_, count)| **count);
        if let Some((program, _)) = most {
            self.collected.subject = program.clone();
        }
    }
}

fn cut_off(text: &str, event: &Event<'_>) -> Result<(), String> {
    // What a kill or the end of the trace cuts off is no operation.
    let has_ended = event.is_last || ["<detached ...>", "<unfinished ...>)"].iter().any(|mark| text.contains(mark));
    match is_known(text) && !has_ended {
        true => Err("this line of strace is not whole; trace into a file with -o, and import it as it is".to_string()),
        false => Ok(()),
    }
}

fn is_file(name: &str) -> bool {
    !name.is_empty() && !NO_FILES.iter().any(|beginning| name.starts_with(beginning))
}

fn makes_child(name: &str) -> bool {
    ["clone", "clone2", "clone3", "fork", "vfork"].contains(&name)
}

fn shares_descriptors(arguments: &str) -> bool {
    arguments.contains("CLONE_FILES")
}

/// Whether `flags` has this word.
fn has(flags: &str, flag: &str) -> bool {
    flags.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').any(|word| word == flag)
}
