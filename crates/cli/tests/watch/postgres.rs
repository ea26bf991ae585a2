//! Runs PostgreSQL on a site, as the user that Debian's package made, with pgbench as its clients.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::subjects::{PAUSE, Running, Site, done};

/// Bytes of a disk that holds a database and its log.
pub const DISK: u64 = 256 << 20;
/// The user that runs it, and the database.
const USER: &str = "postgres";
/// Where Debian keeps the programs of each version.
const VERSIONS: &str = "/usr/lib/postgresql";
/// Size of the database: some 80 MB.
const SCALE: &str = "5";
/// Most of the memory is left to the page cache, so that reads are seen, and nothing happens but what clients ask for.
const SETTINGS: [&str; 6] = [
    "listen_addresses=",
    "shared_buffers=1MB",
    "autovacuum=off",
    "recovery_init_sync_method=syncfs",
    "checkpoint_timeout=1h",
    "max_wal_size=64MB",
];
/// Looks after which a server must answer.
const MOST_LOOKS: usize = 400;

/// Lays out a database on the disk of a site, which has a file system. Nothing limits that.
///
/// # Errors
/// What is missing here.
pub fn laid_out(site: Site) -> Result<Site, String> {
    let home = home(&site);
    done(Command::new("install").args(["-d", "-o", USER]).arg(&home))?;
    let words = ["-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C", "-D"];
    done(as_its_user(&program("initdb")?).args(words).arg(home.join("data")))?;
    let server = server(&site, &["fsync=off"], "INT")?;
    let words = ["-q", "-i", "-s", SCALE, "-U", USER, "-h"];
    done(Command::new(program("pgbench")?).args(words).arg(&home).arg(USER))?;
    drop(server);
    done(Command::new("sync").arg("-f").arg(site.folder()))?;
    Ok(site)
}

/// A server behind the limits of the site, with pgbench of these words.
pub fn serve(site: &Site, words: &str) -> Running {
    let server = server(site, &[], "QUIT").unwrap();
    site.limit(server.id());
    let mut pgbench = Command::new(program("pgbench").unwrap());
    pgbench.args(["-n", "-T", "120", "-U", USER, "-h"]).arg(home(site)).args(words.split(' ')).arg(USER);
    let clients = Running::begin(pgbench.stderr(Stdio::null()));
    server.with_client(clients)
}

/// Reads the whole database behind the limits, so that the memory that it takes is theirs.
pub fn read_all(site: &Site) {
    site.forget();
    site.done_within("cat pg/data/base/*/* > /dev/null");
}

fn home(site: &Site) -> PathBuf {
    site.folder().join("pg")
}

/// A program of the newest version that is there.
fn program(name: &str) -> Result<PathBuf, String> {
    let versions = fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let programs = versions.map(|version| version.path().join("bin").join(name)).filter(|path| path.is_file());
    programs.max().ok_or_else(|| format!("{name} is not below {VERSIONS}: install postgresql"))
}

/// A command of the user that may run it, from a folder that this user may enter.
fn as_its_user(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]).arg(program).current_dir("/");
    command
}

/// A server that answers, with further settings; this signal ends it.
fn server(site: &Site, settings: &[&str], ends_by: &'static str) -> Result<Running, String> {
    let home = home(site);
    let mut command = as_its_user(&program("postgres")?);
    command.arg("-D").arg(home.join("data")).arg("-k").arg(&home);
    for setting in SETTINGS.iter().chain(settings) {
        command.args(["-c", *setting]);
    }
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    let running = Running::of(child.map_err(|error| format!("setpriv: {error}"))?, Some(ends_by));
    let is_ready = program("pg_isready")?;
    for _ in 0..MOST_LOOKS {
        if Command::new(&is_ready).arg("-q").arg("-h").arg(&home).status().is_ok_and(|status| status.success()) {
            return Ok(running);
        }
        std::thread::sleep(PAUSE);
    }
    Err("PostgreSQL does not answer".to_string())
}
