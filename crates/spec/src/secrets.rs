//! Hides passwords and keys in command lines and addresses, before they are kept or shown.
//!
//! What looks like a secret is replaced by `***`: the value of a variable that is set for a command (`SSHPASS=...`), the
//! value of an option such as `--password`, or `-p` of some commands, a header such as `Authorization:`, the password in an
//! address (`user:...@host`), and what signs an address of S3.
//! Rather too much is hidden than too little: nothing is run from such a text.

use std::borrow::Cow;

use crate::without_password;

/// Stands for a secret.
const HIDDEN: &str = "***";
/// Parts of the names of secrets, in capitals.
const SECRETS: [&str; 5] = ["PASS", "SECRET", "TOKEN", "CREDENTIAL", "SIGNATURE"];
/// Names of secrets that have no such part, in small letters.
const OTHERS: [&str; 3] = ["pwd", "key", "sig"];
/// Options of one letter, or two, whose value is a secret: the commands, the option, and whether the value may be the next word
/// (else it is asked for). sshpass(1), plink(1), mysql(1), curl(1), redis-cli, mongosh, ldapsearch(1), smbclient(1).
const SHORT_OPTIONS: [(&[&str], &str, bool); 7] = [
    (&["sshpass", "mongosh", "mongodump", "mongorestore"], "-p", true),
    (&["plink", "pscp", "psftp"], "-pw", true),
    (&["mysql", "mysqldump", "mysqladmin", "mysqlslap", "mariadb", "mariadb-dump", "mariadb-admin"], "-p", false),
    (&["curl"], "-u", true),
    (&["redis-cli", "redis-benchmark"], "-a", true),
    (&["ldapsearch", "ldapmodify"], "-w", true),
    (&["smbclient"], "-U", true),
];
/// Names of headers of HTTP that hold secrets, beside those that say so, in small letters.
const HEADERS: [&str; 3] = ["authorization", "proxy-authorization", "cookie"];
/// Characters after which a command begins.
const BETWEEN_COMMANDS: [char; 7] = [';', '|', '&', '(', ')', '`', '\n'];

/// The text with `***` for everything that looks like a secret.
pub fn masked(text: &str) -> Cow<'_, str> {
    let mut masking = Masking { begins: true, ..Masking::default() };
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = match c {
            c if BETWEEN_COMMANDS.contains(&c) => masking.between_commands(rest, c),
            c if c.is_whitespace() => masking.through(rest, c),
            c if masking.quotes.contains(&c) => masking.quotes_end(rest, c),
            '\'' | '"' => masking.quotes_begin(rest, c),
            _ => {
                let end = word_end(rest, &masking.quotes);
                masking.word(&rest[..end]);
                &rest[end..]
            }
        };
    }
    if masking.shown == text { Cow::Borrowed(text) } else { Cow::Owned(masking.shown) }
}

/// The text with `***` for the passwords of the addresses in it, for a text that is no command.
pub fn masked_addresses(text: &str) -> Cow<'_, str> {
    if !text.contains("://") {
        return Cow::Borrowed(text);
    }
    let ends = |c: char| c.is_whitespace() || "`'\"()<>".contains(c);
    let words = text.split_inclusive(ends).map(|word| {
        let body = word.trim_end_matches(ends);
        let hidden = without_password(body).map(|shown| shown + &word[body.len()..]);
        hidden.map_or(Cow::Borrowed(word), Cow::Owned)
    });
    Cow::Owned(words.collect())
}

/// A text that is masked from its beginning to its end.
#[derive(Default)]
struct Masking {
    shown: String,
    /// The quotation marks that are open: a quoted text may be a command for another shell.
    quotes: Vec<char>,
    /// Whether a command begins here, so that variables may be set for it.
    begins: bool,
    /// Whether the next word is the value of an option that names a secret.
    is_secret_next: bool,
    /// The option of the present command whose value is a secret, and whether that may be the next word.
    short_option: Option<(&'static str, bool)>,
    /// Whether a header with a secret goes on here.
    in_header: bool,
}

impl Masking {
    fn through<'a>(&mut self, rest: &'a str, c: char) -> &'a str {
        self.shown.push(c);
        &rest[c.len_utf8()..]
    }

    fn between_commands<'a>(&mut self, rest: &'a str, c: char) -> &'a str {
        self.begins = true;
        self.is_secret_next = false;
        self.short_option = None;
        self.in_header &= !self.quotes.is_empty();
        self.through(rest, c)
    }

    fn quotes_end<'a>(&mut self, rest: &'a str, c: char) -> &'a str {
        self.in_header = false;
        while self.quotes.pop().is_some_and(|open| open != c) {}
        self.through(rest, c)
    }

    fn quotes_begin<'a>(&mut self, rest: &'a str, c: char) -> &'a str {
        if std::mem::take(&mut self.is_secret_next) {
            self.shown += HIDDEN;
            return &rest[quoted_end(rest)..];
        }
        self.quotes.push(c);
        self.begins = true;
        self.through(rest, c)
    }

    fn word(&mut self, word: &str) {
        if std::mem::take(&mut self.is_secret_next) {
            self.shown += HIDDEN;
            return;
        }
        if self.hides_header(word) || self.hides_short_option(word) {
            return;
        }
        let begins = self.begins;
        let is_variable = word.split_once('=').is_some_and(|(name, _)| is_variable(name));
        self.begins = begins && (is_variable || goes_before_a_command(word));
        // The first word that is no option is a command, and the next such one that which sshpass starts.
        if begins && !is_variable && !word.starts_with('-') {
            self.short_option = short_option(word);
            self.begins |= word == "sshpass" || word.ends_with("/sshpass");
        }
        self.begins |= word == "--";
        if is_variable && let Some((name, value)) = word.split_once('=') {
            let is_secret = has_secret_name(name, begins) && !value.is_empty();
            self.shown += &if is_secret { format!("{name}={HIDDEN}") } else { format!("{name}={}", address(value)) };
            return;
        }
        self.option(word);
    }

    /// Whether the word belongs to a header with a secret, which is hidden then.
    fn hides_header(&mut self, word: &str) -> bool {
        let is_other = self.quotes.is_empty() && (word.starts_with('-') || word.contains("://"));
        if self.in_header && !is_other {
            self.shown += HIDDEN;
            return true;
        }
        self.in_header = false;
        let Some((name, value)) = word.split_once(':').filter(|(_, value)| !value.starts_with('/')) else {
            return false;
        };
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        if !is_name || !(HEADERS.contains(&name.to_ascii_lowercase().as_str()) || is_secret(name)) {
            return false;
        }
        self.in_header = true;
        self.shown += name;
        self.shown += if value.is_empty() { ":" } else { ":***" };
        true
    }

    /// Whether the word is the option of the present command whose value is a secret, which is hidden then.
    fn hides_short_option(&mut self, word: &str) -> bool {
        let Some((option, may_be_next)) = self.short_option.filter(|(option, _)| word.starts_with(option)) else {
            return false;
        };
        self.is_secret_next = word == option && may_be_next;
        self.shown += option;
        if word != option {
            self.shown += HIDDEN;
        }
        true
    }

    /// An option or any other word.
    fn option(&mut self, word: &str) {
        let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        let is_long = name.starts_with('-') && name.len() > 2 && !name.contains([':', '/', ',']);
        if !is_long || !is_secret_option(name) {
            self.shown += &address(word);
            return;
        }
        self.is_secret_next = value.is_none();
        self.shown += name;
        if value.is_some() {
            self.shown += "=";
            self.shown += HIDDEN;
        }
    }
}

/// The option of this command whose value is a secret.
fn short_option(command: &str) -> Option<(&'static str, bool)> {
    let name = command.rsplit('/').next()?;
    let found = SHORT_OPTIONS.iter().find(|(commands, ..)| commands.contains(&name));
    found.map(|(_, option, may_be_next)| (*option, *may_be_next))
}

/// Whether the name of an option says that its value is a secret, and not the file of one.
fn is_secret_option(name: &str) -> bool {
    let name = name.trim_start_matches('-').to_ascii_lowercase();
    // `--pass plain` of `halfpower run` is a pass over the data, and `--credentials` names a file.
    let is_ours = ["pass", "credentials"].contains(&name.as_str());
    !is_ours && !["file", "path", "stdin"].iter().any(|end| name.ends_with(end)) && is_secret(&name)
}

fn is_secret(name: &str) -> bool {
    let capitals = name.to_ascii_uppercase();
    let small = name.to_ascii_lowercase();
    let ends = |other: &&str| {
        small == **other || small.ends_with(&format!("-{other}")) || small.ends_with(&format!("_{other}"))
    };
    SECRETS.iter().any(|part| capitals.contains(part)) || OTHERS.iter().any(ends)
}

/// Whether a variable of this name holds a secret. Within a command, where other things are written with `=` too, it is
/// one in capitals.
fn has_secret_name(name: &str, begins: bool) -> bool {
    let is_in_capitals = !name.contains(|c: char| c.is_ascii_lowercase());
    let in_list = ["password", "passwd", "pwd", "secret", "token"].contains(&name);
    if is_in_capitals { is_secret(name) || name.contains("KEY") } else { (begins || in_list) && is_secret(name) }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a command still follows this word.
fn goes_before_a_command(word: &str) -> bool {
    word.starts_with('-') || ["env", "sudo", "doas", "export", "exec", "nohup", "time", "command"].contains(&word)
}

/// A word without the password of an address, the values of its parameters that name secrets (`?X-Amz-Signature=...`),
/// and such values in a list of options (`username=a,password=...`).
fn address(word: &str) -> String {
    let word = without_password(word).unwrap_or_else(|| word.to_string());
    let mut shown = String::with_capacity(word.len());
    for part in word.split_inclusive(['?', '&', ',']) {
        let body = part.trim_end_matches(['?', '&', ',']);
        match body.split_once('=') {
            Some((name, value)) if is_secret(name) && !value.is_empty() => {
                shown += name;
                shown += "=";
                shown += HIDDEN;
                shown += &part[body.len()..];
            }
            _ => shown += part,
        }
    }
    shown
}

/// Bytes up to the end of a word, with what is quoted in it. `open` are the quotation marks around it.
fn word_end(text: &str, open: &[char]) -> usize {
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        match c {
            '\\' => at += 1 + text[at + 1..].chars().next().map_or(0, char::len_utf8),
            c if open.contains(&c) => return at,
            '\'' | '"' => at += quoted_end(&text[at..]),
            // A parameter of an address ends with `&`, which only ends a command after white space.
            '&' if text[at + 1..].starts_with(|c: char| c.is_alphanumeric()) && text[..at].contains("://") => at += 1,
            c if c.is_whitespace() || BETWEEN_COMMANDS.contains(&c) => return at,
            c => at += c.len_utf8(),
        }
    }
    at
}

/// Bytes up to the end of the quoted text that begins here; all of them if it does not end.
fn quoted_end(text: &str) -> usize {
    let mark = text.chars().next().expect("it begins with a quotation mark");
    text[1..].find(mark).map_or(text.len(), |at| at + 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_hidden() {
        for (text, shown) in [
            ("SSHPASS=geheim sshpass -e ssh nas halfpower witness", "SSHPASS=*** sshpass -e ssh nas halfpower witness"),
            ("env A=1 DB_TOKEN='a b' ssh nas", "env A=1 DB_TOKEN=*** ssh nas"),
            ("my_secret=x y", "my_secret=*** y"),
            (
                "AWS_SECRET_ACCESS_KEY=a/b+c= cmd; PGPASSWORD=\"x y\" psql",
                "AWS_SECRET_ACCESS_KEY=*** cmd; PGPASSWORD=*** psql",
            ),
            ("sh -c 'SSHPASS=x ssh nas'", "sh -c 'SSHPASS=*** ssh nas'"),
            ("ssh nas \"TOKEN=x halfpower witness\"", "ssh nas \"TOKEN=*** halfpower witness\""),
            ("docker run -e ROOT_PASS=x image", "docker run -e ROOT_PASS=*** image"),
            ("sshpass -p geheim ssh nas", "sshpass -p *** ssh nas"),
            ("/usr/bin/sshpass -v -pgeheim ssh -p 22 nas", "/usr/bin/sshpass -v -p*** ssh -p 22 nas"),
            ("watch -- mysqldump -u a -pgeheim db", "watch -- mysqldump -u a -p*** db"),
            ("mysql -p db", "mysql -p db"),
            ("redis-cli -h a -a geheim ping", "redis-cli -h a -a *** ping"),
            ("plink -pw 'a b' u@h ls", "plink -pw *** u@h ls"),
            ("curl -u a:b https://h/", "curl -u *** https://h/"),
            ("curl -H 'Authorization: Bearer x;y z' https://h/", "curl -H 'Authorization: *** ***;*** ***' https://h/"),
            ("curl -H X-Api-Key:x --url https://h/", "curl -H X-Api-Key:*** --url https://h/"),
            ("curl -H Authorization: Bearer x -s https://h/", "curl -H Authorization: *** *** -s https://h/"),
            ("cmd --password 'a b' --token=x --user u", "cmd --password *** --token=*** --user u"),
            ("cmd --api-key x y", "cmd --api-key *** y"),
            ("mount -o username=u,password=x,ro //nas/s", "mount -o username=u,password=***,ro //nas/s"),
            ("halfpower witness --share smb://u:p@nas/s", "halfpower witness --share smb://u:***@nas/s"),
            (
                "curl https://b/k?X-Amz-Credential=a&X-Amz-Signature=b&x=1",
                "curl https://b/k?X-Amz-Credential=***&X-Amz-Signature=***&x=1",
            ),
        ] {
            assert_eq!(masked(text), shown);
        }
    }

    #[test]
    fn a_text_shows_no_password_of_an_address_in_it() {
        for (text, shown) in [
            ("filename=smb://u:p@nas/s: `smb://h/s`", "filename=smb://u:***@nas/s: `smb://h/s`"),
            ("write it as `key=value`", "write it as `key=value`"),
            ("(s3://k:secret@b/x?endpoint=http://k:p@h)", "(s3://k:***@b/x?endpoint=http://k:***@h)"),
        ] {
            assert_eq!(masked_addresses(text), shown);
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for text in [
            "ssh -o StrictHostKeyChecking=no -i /home/u/key -p 22 nas halfpower witness --processes smbd",
            "ssh 'nas' \"cd /srv; halfpower witness --local /srv/data\" 2>&1 | tee log",
            "halfpower run /data --pass plain --credentials /root/c --rw randread",
            "cmd --password-file /etc/x --key-path y",
            "smb://u@nas:445/share?endpoint=http://nas:9000",
            "an unclosed 'quote",
            "\\",
            "",
        ] {
            assert_eq!(masked(text), text);
        }
    }
}
