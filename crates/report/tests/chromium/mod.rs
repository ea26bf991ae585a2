//! Opens a page from a local server in headless chromium and returns the browser's results.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// Timeout that a busy machine does not reach; only a page that never answers does.
const PATIENCE: Duration = Duration::from_secs(180);

/// An installed browser.
pub struct Chromium {
    program: PathBuf,
}

/// The results from a page.
pub struct Told {
    /// The text that the page's probe posted.
    pub message: String,
    /// The messages in the browser's console.
    pub console: Vec<String>,
    /// Requests to the server other than for the page.
    pub unexpected: Vec<String>,
}

/// One request that arrived at the server.
struct Arrival {
    path: String,
    body: String,
}

/// The page with a script that posts how many charts were drawn, and of each whether `is_drawn` holds of its `figure`, once the
/// page is ready.
#[allow(dead_code, reason = "each test file takes what it needs")]
pub fn probed(page: &str, is_drawn: &str) -> String {
    let probe = r"<script>
const wait = setInterval(() => {
  const { dataset } = document.documentElement;
  if (dataset.ready !== 'yes') return;
  clearInterval(wait);
  const marks = [...document.querySelectorAll('.chart')].map((figure) => [figure.dataset.chart, IS_DRAWN]);
  parent.postMessage(JSON.stringify({ charts: Number(dataset.charts), errors: Number(dataset.errors),
    error: dataset.error ?? '', marks }), '*');
}, 100);
</script>";
    page.replace("</body>", &format!("{}</body>", probe.replace("IS_DRAWN", is_drawn)))
}

impl Chromium {
    /// The first of chromium's names in the search path; `None`, with a printed note, if none is installed.
    pub fn find() -> Option<Self> {
        let names = ["chromium", "chromium-browser", "google-chrome"];
        let folders: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
        let mut places = names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
        let program = places.find(|place| place.exists());
        if program.is_none() {
            assert!(std::env::var_os("HALFPOWER_NO_SKIP").is_none(), "chromium is not installed");
            eprintln!("skipped: the charts were not drawn, chromium is not installed");
        }
        program.map(|program| Self { program })
    }

    /// Opens `page` in a frame of `width` pixels, light or dark, and waits for the message that it posts.
    pub fn open(&self, page: &str, width: u32, dark: bool) -> Told {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, arrivals) = channel();
        serve(listener, Arc::new(around(width)), Arc::new(page.to_string()), sender);
        let folder = tempfile::tempdir().unwrap();
        let mut browser = Command::new(&self.program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"])
            .args(["--window-size=1500,3200", "--enable-logging=stderr", "--remote-debugging-port=0"])
            .arg(format!("--blink-settings=preferredColorScheme={}", if dark { 0 } else { 1 }))
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .arg(format!("http://{address}/around"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = read_log(&mut browser);
        let (message, unexpected) = wait_for_message(&arrivals);
        browser.kill().unwrap();
        browser.wait().unwrap();
        let log = log.join().unwrap();
        let console = log.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_string).collect();
        Told { message: message.unwrap_or_else(|| panic!("the page told nothing\n{log}")), console, unexpected }
    }
}

impl Chromium {
    /// Prints `page` as PDF.
    #[allow(dead_code, reason = "each test file takes what it needs")]
    pub fn print(&self, page: &str) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let html = folder.path().join("page.html");
        let pdf = folder.path().join("page.pdf");
        std::fs::write(&html, page).unwrap();
        let status = Command::new(&self.program)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--virtual-time-budget=20000"])
            .arg("--disable-background-networking")
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()))
            .arg(format!("--print-to-pdf={}", pdf.display()))
            .arg(format!("file://{}", html.display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "{status}");
        std::fs::read(pdf).unwrap()
    }
}

/// The page around the frame: a window cannot be as narrow as a phone, but a frame can.
fn around(width: u32) -> String {
    format!(
        "<!doctype html><meta name=color-scheme content='light dark'><link rel=icon href='data:,'><script>\
         addEventListener('message', (event) => fetch('/told', {{ method: 'POST', body: event.data }}));\
         </script><iframe src=/page style='width:{width}px;height:3000px;border:0'></iframe>"
    )
}

fn read_log(browser: &mut Child) -> thread::JoinHandle<String> {
    let mut stderr = browser.stderr.take().expect("it is piped");
    thread::spawn(move || {
        let mut log = Vec::new();
        let _ = stderr.read_to_end(&mut log);
        String::from_utf8_lossy(&log).into_owned()
    })
}

/// Serves each connection in a thread, since browsers open some that they never use.
fn serve(listener: TcpListener, around: Arc<String>, page: Arc<String>, arrivals: Sender<Arrival>) {
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let around = around.clone();
            let page = page.clone();
            let arrivals = arrivals.clone();
            thread::spawn(move || answer(stream, &around, &page, &arrivals));
        }
    });
}

/// Reads one request, answers it, and closes the connection; `None` if the other side gave up.
fn answer(stream: TcpStream, around: &str, page: &str, arrivals: &Sender<Arrival>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        if header.trim().is_empty() {
            break;
        }
        if let Some(value) = header.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let path = line.split(' ').nth(1)?.to_string();
    let text = match path.as_str() {
        "/around" => around,
        "/page" => page,
        _ => "",
    };
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nConnection: close\r\nContent-Length:";
    let mut stream = reader.into_inner();
    stream.write_all(format!("{head} {}\r\n\r\n{text}", text.len()).as_bytes()).ok()?;
    arrivals.send(Arrival { path, body: String::from_utf8_lossy(&body).into_owned() }).ok()
}

fn wait_for_message(arrivals: &Receiver<Arrival>) -> (Option<String>, Vec<String>) {
    let until = Instant::now() + PATIENCE;
    let mut unexpected = Vec::new();
    while let Ok(arrival) = arrivals.recv_timeout(until.saturating_duration_since(Instant::now())) {
        match arrival.path.as_str() {
            "/told" => return (Some(arrival.body), unexpected),
            "/around" | "/page" => {}
            other => unexpected.push(other.to_string()),
        }
    }
    (None, unexpected)
}
