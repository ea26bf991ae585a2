//! Runs a PostgreSQL of its own on a disk, with pgbench beside it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::disks::{Disk, done};
use crate::server::{Server, as_user};

const USER: &str = "postgres";
/// Where Debian has its programs.
pub const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
/// Its tables for pgbench have 75 MB.
const SCALE: u32 = 5;

/// A cluster of databases on a disk, which no server runs.
pub struct Cluster<'a> {
    disk: &'a Disk,
    folder: PathBuf,
}

/// A server of a cluster, which ends with this value.
pub struct Postgres<'a> {
    server: Server,
    cluster: &'a Cluster<'a>,
}

/// A pgbench that runs.
pub struct Pgbench(Option<Child>);

impl<'a> Cluster<'a> {
    /// Makes one with pgbench's tables.
    ///
    /// # Errors
    /// What is missing here.
    pub fn new(disk: &'a Disk) -> Result<Self, String> {
        if !Path::new(PROGRAMS).join("pgbench").is_file() {
            return Err(format!("no PostgreSQL 15 in {PROGRAMS}"));
        }
        let folder = disk.folder_of(USER, "postgres")?;
        let words = format!("-D '{}' -A trust -U {USER} -E UTF8 --locale=C --no-sync", folder.display());
        let initdb = as_user(USER, &format!("{PROGRAMS}/initdb {words}"));
        done(Command::new("sh").args(["-c", &format!("exec {initdb}")]).current_dir("/"))?;
        let cluster = Self { disk, folder };
        let postgres = cluster.start(&[])?;
        done(&mut cluster.client("pgbench", &format!("-i -q -s {SCALE} {USER}")))?;
        drop(postgres);
        Ok(cluster)
    }

    /// Starts its server with PostgreSQL's defaults, but for these lines of `postgresql.conf`. Nothing is cleaned up by
    /// itself, which would disturb what is measured.
    ///
    /// # Errors
    /// What the server complains of.
    pub fn start(&self, lines: &[String]) -> Result<Postgres<'_>, String> {
        let set = lines.iter().filter_map(|line| line.split_once(" = "));
        let set: String = set.map(|(name, value)| format!(" -c '{name}={value}'")).collect();
        let folder = self.folder.display();
        let words =
            format!("{PROGRAMS}/postgres -D '{folder}' -k '{folder}' -c listen_addresses= -c autovacuum=off{set}");
        let is_ready = || done(&mut self.client("pg_isready", "-q")).is_ok();
        // SIGINT ends sessions and then the server.
        Ok(Postgres { server: Server::start(self.disk, USER, &words, "-INT", is_ready)?, cluster: self })
    }

    /// A program of PostgreSQL that asks the server of this cluster. It touches no disk, so nothing limits it.
    fn client(&self, program: &str, words: &str) -> Command {
        let line = format!("{PROGRAMS}/{program} -h '{}' -U {USER} {words}", self.folder.display());
        let mut command = Command::new("sh");
        command.args(["-c", &format!("exec {}", as_user(USER, &line))]).current_dir("/").stdin(Stdio::null());
        command
    }
}

impl Postgres<'_> {
    /// The process whose children are all others of the server.
    pub fn id(&self) -> u32 {
        self.server.id()
    }

    /// Begins simple updates by so many clients, each of which waits for its commit.
    pub fn pgbench(&self, clients: u32, seconds: u32) -> Pgbench {
        let words = format!("-n -N -c {clients} -j 1 -T {seconds} {USER}");
        let mut command = self.cluster.client("pgbench", &words);
        Pgbench(Some(command.stdout(Stdio::piped()).spawn().unwrap()))
    }

    /// Does these statements one after the other, each by itself.
    pub fn ask(&self, statements: &[&str]) -> String {
        let words: String = statements.iter().map(|statement| format!(" -c \"{statement}\"")).collect();
        done(&mut self.cluster.client("psql", &format!("-X -At{words} {USER}"))).unwrap()
    }

    /// Seconds that a statement takes, with its connection.
    pub fn seconds(&self, statement: &str) -> f64 {
        let begun = Instant::now();
        self.ask(&[statement]);
        begun.elapsed().as_secs_f64()
    }
}

impl Pgbench {
    /// Its process.
    pub fn id(&self) -> u32 {
        self.0.as_ref().expect("it was not waited for").id()
    }

    /// Waits for its end; the commits a second.
    pub fn commits_per_second(mut self) -> f64 {
        let output = self.0.take().expect("it was not waited for").wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let rate: Option<f64> =
            text.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
        rate.filter(|_| output.status.success()).unwrap_or_else(|| panic!("{text}"))
    }
}

impl Drop for Pgbench {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
