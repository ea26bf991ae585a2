//! Runs a MariaDB of its own on a disk, with mariadb-slap beside it.
//!
//! Nothing of this machine's own MariaDB is read, started or changed: the server has a folder and a socket of its own, no port,
//! and takes no configuration file.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::disks::{Disk, done};
use crate::server::{Server, as_user};

const USER: &str = "nobody";
const SERVER: &str = "/usr/sbin/mariadbd";
/// Its database, and where statements end, since those of procedures end with a semicolon.
const SCHEMA: &str = "bench";
const END: &str = "//";

/// A folder of databases on a disk, which no server runs.
pub struct Instance<'a> {
    disk: &'a Disk,
    folder: PathBuf,
}

/// A server of an instance, which ends with this value.
pub struct MariaDb<'a> {
    _server: Server,
    instance: &'a Instance<'a>,
}

impl<'a> Instance<'a> {
    /// Makes one with a table of so many rows, two a page of 16 KiB, and procedures that use it for so many seconds.
    ///
    /// # Errors
    /// What is missing here.
    pub fn new(disk: &'a Disk, rows: u32) -> Result<Self, String> {
        if !Path::new(SERVER).is_file() {
            return Err(format!("no MariaDB: {SERVER} is missing"));
        }
        let folder = disk.folder_of(USER, "mariadb")?;
        let words = format!(
            "mariadb-install-db --no-defaults --force --skip-name-resolve --skip-test-db \
             --auth-root-authentication-method=normal --datadir='{}'",
            folder.display()
        );
        done(Command::new("sh").args(["-c", &format!("exec {}", as_user(USER, &words))]).current_dir("/"))?;
        let instance = Self { disk, folder };
        let mariadb = instance.start(&[])?;
        let statements = statements(rows).join(END);
        done(&mut instance.client("mariadb", &format!("--delimiter={END} -e \"{statements}\"")))?;
        drop(mariadb);
        Ok(instance)
    }

    /// Starts its server with MariaDB's defaults, but for these lines of `my.cnf`. It does not read at its start what was in
    /// memory at its end, which would leave nothing to look up on the disk.
    ///
    /// # Errors
    /// What the server complains of.
    pub fn start(&self, lines: &[String]) -> Result<MariaDb<'_>, String> {
        let set = lines.iter().filter_map(|line| line.split_once(" = "));
        let set: String = set.map(|(name, value)| format!(" --{name}='{value}'")).collect();
        let folder = self.folder.display();
        let words = format!(
            "{SERVER} --no-defaults --datadir='{folder}' --tmpdir='{folder}' --socket='{folder}/socket' \
             --pid-file='{folder}/pid' --skip-networking --innodb-buffer-pool-dump-at-shutdown=OFF \
             --innodb-buffer-pool-load-at-startup=OFF{set}"
        );
        let is_ready = || done(&mut self.client("mariadb", "-e 'SELECT 1'")).is_ok();
        Ok(MariaDb { _server: Server::start(self.disk, USER, &words, "-TERM", is_ready)?, instance: self })
    }

    /// A program of MariaDB that asks the server of this instance. It touches no disk, so nothing limits it.
    fn client(&self, program: &str, words: &str) -> Command {
        let line = format!("{program} --no-defaults --socket='{}/socket' --user=root {words}", self.folder.display());
        let mut command = Command::new("sh");
        command.args(["-c", &format!("exec {}", as_user(USER, &line))]).current_dir("/").stdin(Stdio::null());
        command
    }
}

/// What makes the tables and procedures. Each call does what it does for so many seconds, and counts it in a row of its own.
fn statements(rows: u32) -> Vec<String> {
    let lasting = "DECLARE finish DATETIME(6) DEFAULT SYSDATE(6) + INTERVAL seconds SECOND";
    let count = "UPDATE counters SET done = done + 1 WHERE id = CONNECTION_ID() % 64";
    let anywhere = "1 + FLOOR(RAND() * among)";
    vec![
        format!("CREATE DATABASE {SCHEMA}"),
        format!("USE {SCHEMA}"),
        "CREATE TABLE counters (id INT PRIMARY KEY, done BIGINT NOT NULL) ENGINE=InnoDB".to_string(),
        "INSERT INTO counters SELECT seq, 0 FROM seq_0_to_63".to_string(),
        "CREATE TABLE pages (id INT PRIMARY KEY, filler VARBINARY(7000) NOT NULL) ENGINE=InnoDB".to_string(),
        format!("INSERT INTO pages SELECT seq, REPEAT('x', 7000) FROM seq_1_to_{rows}"),
        // Each update is a transaction by itself.
        format!(
            "CREATE PROCEDURE commits(seconds INT, among INT) BEGIN {lasting}; WHILE SYSDATE(6) < finish DO {count}; \
             END WHILE; END"
        ),
        format!(
            "CREATE PROCEDURE updates(seconds INT, among INT) BEGIN {lasting}; DECLARE place INT; \
             WHILE SYSDATE(6) < finish DO SET place = {anywhere}; START TRANSACTION; \
             UPDATE pages SET filler = REPEAT(CHAR(97 + FLOOR(RAND() * 26)), 7000) WHERE id = place; {count}; COMMIT; \
             END WHILE; END"
        ),
        format!(
            "CREATE PROCEDURE lookups(seconds INT, among INT) BEGIN {lasting}; DECLARE place INT; \
             DECLARE n BIGINT DEFAULT 0; WHILE SYSDATE(6) < finish DO SET place = {anywhere}; \
             SELECT LENGTH(filler) INTO @length FROM pages WHERE id = place; SET n = n + 1; END WHILE; \
             UPDATE counters SET done = done + n WHERE id = CONNECTION_ID() % 64; END"
        ),
    ]
}

impl MariaDb<'_> {
    /// Calls a procedure by so many clients of mariadb-slap at once, for so many seconds, among so many rows; what they did
    /// a second.
    pub fn per_second(&self, procedure: &str, clients: u32, seconds: u32, among: u32) -> f64 {
        let before = self.counted();
        let words = format!(
            "--silent --no-drop --concurrency={clients} --iterations=1 --create-schema={SCHEMA} \
             --query='CALL {procedure}({seconds}, {among})'"
        );
        done(&mut self.instance.client("mariadb-slap", &words)).unwrap();
        (self.counted() - before) / f64::from(seconds)
    }

    /// Pages that were read from the disk so far, since they were not in memory.
    pub fn pages_read(&self) -> f64 {
        self.number("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_reads'")
    }

    /// Lets each commit flush the redo log, or leaves that to the background.
    pub fn flush_each_commit(&self, is_flushed: bool) {
        self.ask(&format!("SET GLOBAL innodb_flush_log_at_trx_commit = {}", u8::from(is_flushed)));
    }

    fn counted(&self) -> f64 {
        self.number(&format!("SELECT SUM(done) FROM {SCHEMA}.counters"))
    }

    /// The last word of what a statement finds.
    fn number(&self, statement: &str) -> f64 {
        let printed = self.ask(statement);
        let word = printed.split_whitespace().last().and_then(|word| word.parse().ok());
        word.unwrap_or_else(|| panic!("{statement}: {printed}"))
    }

    fn ask(&self, statement: &str) -> String {
        done(&mut self.instance.client("mariadb", &format!("-N -B -e \"{statement}\""))).unwrap()
    }
}
