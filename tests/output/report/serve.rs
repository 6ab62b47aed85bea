//! `report --serve`: the page on this machine, for its own browser alone, as new as the files.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::SocketAddr,
    path::Path,
    process::{Child, ChildStderr, Command, Stdio},
    time::{Duration, Instant},
};

use super::{
    super::{
        serve::client::{Response, connect, raw},
        support::{self, example, firelay, firelay_for_signals, said},
    },
    NOTHING, OVERFLOW,
    browser::Browser,
    strings,
};

/// Enough for a busy machine.
const LONG: Duration = Duration::from_mins(1);

/// A directory with the spec of an example, and its server.
struct Site {
    directory: tempfile::TempDir,
    child: Child,
    stderr: BufReader<ChildStderr>,
    address: SocketAddr,
}

impl Site {
    fn of(name: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        example(name).lay_bundle(&directory.path().join("firelay.secrets.yaml"));
        Self::without_bundle(name, directory)
    }

    fn without_bundle(name: &str, directory: tempfile::TempDir) -> Self {
        fs::copy(example(name).spec, directory.path().join("cluster.yaml")).unwrap();
        Self::start(directory, &["cluster.yaml", "--serve"])
    }

    fn start(directory: tempfile::TempDir, arguments: &[&str]) -> Self {
        let mut command = firelay_for_signals(&[&["report"], arguments].concat());
        command.current_dir(directory.path());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("serving the page on http://");
        let address = address
            .and_then(|rest| rest.strip_suffix('/'))
            .unwrap_or_else(|| panic!("{line}"));
        Self {
            address: address.parse().unwrap(),
            directory,
            child,
            stderr,
        }
    }

    fn spec(&self) -> std::path::PathBuf {
        self.directory.path().join("cluster.yaml")
    }

    /// Adds lines to the spec, and returns the one before.
    fn add(&self, lines: &str) -> String {
        let before = fs::read_to_string(self.spec()).unwrap();
        fs::write(self.spec(), format!("{before}{lines}")).unwrap();
        before
    }

    fn send(&self, request: &str) -> Response {
        Response::read(&raw(self.address, request.as_bytes()).unwrap()).unwrap()
    }

    fn get(&self, path: &str) -> String {
        let response = self.send(&format!("GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address));
        assert_eq!(response.status, 200, "{}", response.header);
        String::from_utf8(response.body).unwrap()
    }

    /// Ends it by a signal, and returns the lines that it printed.
    fn end(&mut self, signal: &str) -> Vec<String> {
        let pid = self.child.id().to_string();
        support::succeed(Command::new("kill").args([signal, &pid]), "procps");
        let told: Vec<_> = self.stderr.by_ref().lines().map(Result::unwrap).collect();
        assert!(self.child.wait().unwrap().success(), "{told:?}");
        told
    }

    /// The page, as soon as it has this text.
    fn shows(&self, text: &str) -> String {
        wait(text, || Some(self.get("/")).filter(|page| page.contains(text)))
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // Also cleans up after a failed test.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits for an answer.
fn wait<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + LONG;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The output of a verb in a directory.
fn output(directory: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = firelay(arguments).current_dir(directory).output().unwrap();
    (output.status.code(), said(&output))
}

#[test]
fn the_page_follows_the_spec() {
    let mut site = Site::of("ha-ubuntu");
    let page = site.shows("<section id=\"findings\"");
    let first = site.get("/version");
    assert!(page.contains(&format!("data-version=\"{first}\"")), "{first}");
    let before = site.add("timezone: Europe/Berlin\n");
    wait("another version", || (site.get("/version") != first).then_some(()));

    fs::write(site.spec(), format!("{before}timezon: <b>\n")).unwrap();
    let refused = site.shows("unknown key <code>timezon</code>");
    let (code, written) = output(site.directory.path(), &["report", "--out", "-"]);
    assert_eq!(code, Some(3), "{written}");
    assert!(refused.contains("timezon: &lt;b&gt;") && refused.contains("3 × control-plane on aws"));
    assert!(refused.contains("connect-src"), "it is followed as well");
    assert_ne!(site.get("/version"), first);

    fs::write(site.spec(), "a: [").unwrap();
    site.shows("<code>FL0001</code>");
    fs::remove_file(site.spec()).unwrap();
    site.shows("there is no spec at cluster.yaml");

    fs::write(site.spec(), &before).unwrap();
    site.shows("<section id=\"findings\"");
    assert_eq!(site.get("/version"), first, "the same page has the same version");
    let names = fs::read_dir(site.directory.path()).unwrap().count();
    assert_eq!(names, 2, "no page is written");

    let told = site.end("-INT");
    assert_eq!(told.last().unwrap(), "stopped");
    assert!(
        told.iter().any(|line| line.starts_with("error[FL0008]: unknown key")),
        "{told:?}"
    );
}

#[test]
fn the_written_page_is_the_served_one_without_its_script() {
    let site = Site::of("ha-ubuntu");
    let served = site.shows("<section id=\"findings\"");
    assert_eq!(output(site.directory.path(), &["report"]).0, Some(0));
    let written = fs::read_to_string(site.directory.path().join("report.html")).unwrap();
    for live in ["data-version", "connect-src", "fetch(", "setTimeout"] {
        assert!(served.contains(live) && !written.contains(live), "{live}");
    }
    let main = |page: &str| page[page.find("<main").unwrap()..page.find("</main>").unwrap()].to_owned();
    assert_eq!(main(&served), main(&written));
}

#[test]
fn a_missing_bundle_is_told_and_found_when_it_appears() {
    let site = Site::without_bundle("ha-ubuntu", tempfile::tempdir().unwrap());
    site.shows("firelay secrets new");
    example("ha-ubuntu").lay_bundle(&site.directory.path().join("firelay.secrets.yaml"));
    site.shows("<section id=\"findings\"");
}

#[test]
fn a_render_adds_the_changes() {
    let site = Site::of("ha-ubuntu");
    let page = site.shows("<section id=\"findings\"");
    assert!(!page.contains("<section id=\"changes\""), "nothing was rendered");
    assert_eq!(output(site.directory.path(), &["render"]).0, Some(0));
    site.shows("<section id=\"changes\"");
}

#[test]
fn a_rendered_tree_is_served_on_the_given_address() {
    let directory = tempfile::tempdir().unwrap();
    let out = support::rendered("ha-ubuntu").to_str().unwrap();
    let mut site = Site::start(directory, &[out, "--serve", "[::1]:0"]);
    assert!(site.address.is_ipv6() && site.address.ip().is_loopback());
    site.shows("<section id=\"exposure\"");
    let told = site.end("-TERM");
    assert_eq!(told.last().unwrap(), "stopped");
}

#[test]
fn only_this_machines_own_browser_is_answered() {
    let site = Site::of("ha-ubuntu");
    let page = site.shows("<section id=\"findings\"");
    let port = site.address.port();
    let status = |method: &str, path: &str, host: &str| {
        let response = site.send(&format!("{method} {path} HTTP/1.1\r\n{host}\r\n"));
        assert!(
            response
                .header
                .contains("\r\nContent-Security-Policy: default-src 'none';")
        );
        assert!(
            response.status == 200 || response.body.len() < 50,
            "nothing of the page"
        );
        response.status
    };
    for host in [
        format!("127.0.0.1:{port}"),
        format!("LOCALHOST:{port}"),
        "[::1]".to_owned(),
    ] {
        assert_eq!(status("GET", "/", &format!("Host: {host}\r\n")), 200, "{host}");
    }
    for host in [
        "Host: evil.example\r\n".to_owned(),
        format!("Host: localhost.evil.example:{port}\r\n"),
        "Host: 10.0.0.5\r\n".to_owned(),
        "Host: localhost\r\nHost: evil.example\r\n".to_owned(),
        String::new(),
    ] {
        assert_eq!(status("GET", "/", &host), 421, "{host}");
        assert_eq!(status("GET", "/version", &host), 421, "{host}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        assert_eq!(status(method, "/", "Host: localhost\r\n"), 405, "{method}");
    }
    assert_eq!(status("GET", "/../cluster.yaml", "Host: localhost\r\n"), 404);
    assert_eq!(status("GET", "/firelay.secrets.yaml", "Host: localhost\r\n"), 404);
    let long = format!("Host: localhost\r\nX: {}\r\n", "x".repeat(8 << 10));
    assert_eq!(status("GET", "/", &long), 431);
    let head = site.send("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(head.body.is_empty() && head.header.contains(&format!("\r\nContent-Length: {}\r\n", page.len())));
    assert!(head.header.contains("frame-ancestors 'none'\r\n"), "{}", head.header);
    // Clients that send nothing, or begin and stop, let others through.
    let mut slow: Vec<_> = (0..20).map(|_| connect(site.address)).collect();
    slow.iter_mut()
        .for_each(|stream| stream.write_all(b"GET / HT").unwrap());
    assert_eq!(site.get("/"), page);
}

#[test]
fn what_cannot_be_served_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let told = |arguments: &[&str]| {
        let arguments = [&["report"], arguments].concat();
        let (code, text) = output(directory.path(), &arguments);
        assert_eq!(code, Some(2), "{text}");
        text
    };
    for address in ["0.0.0.0:8080", "10.0.0.5:8080", "[::]:8080", "[::ffff:10.0.0.5]:8080"] {
        assert_eq!(
            told(&["--serve", address]),
            format!(
                "error: --serve {address}: other machines could open the page, and it is for you alone\n  \
                 = help: --serve 127.0.0.1:8080; for others, write the page with --out\n"
            )
        );
    }
    let stdin = "error: --serve needs files, and `-` is stdin\n";
    assert_eq!(told(&["-", "--serve"]), stdin);
    assert_eq!(told(&["--serve", "--secrets", "-"]), stdin);
    assert!(told(&["--serve", "cluster.yaml"]).contains("the spec stands before --serve"));
    assert!(told(&["--serve", "--out", "page.html"]).contains("cannot be used with"));
}

#[test]
fn the_browser_shows_a_change_by_itself() {
    let site = Site::of("ha-ubuntu");
    site.shows("<section id=\"findings\"");
    let browser = Browser::start();
    browser.open(&format!("http://{}/", site.address));
    let version = || browser.run("return document.documentElement.dataset.version");
    let first = version();
    assert_eq!(
        browser.run("return document.getElementById('search').hidden"),
        false,
        "its own script runs"
    );
    browser.run("const field = document.getElementById('filter'); field.value = 'cp2 &'; field.dispatchEvent(new Event('input'))");
    let before = site.add("timezone: Europe/Berlin\n");
    wait("another version", || (version() != first).then_some(()));
    let kept =
        "return [document.getElementById('filter').value, document.getElementById('count').textContent.split(' ')[0]]";
    assert_eq!(browser.run(kept), serde_json::json!(["cp2 &", "0"]));

    fs::write(site.spec(), format!("{before}timezon: <b>\n")).unwrap();
    let text = || browser.run("return document.querySelector('main').textContent");
    wait("the findings", || {
        text().as_str()?.contains("unknown key timezon").then_some(())
    });
    assert_eq!(browser.run("return document.querySelectorAll('main b').length"), 0);
    assert_eq!(strings(&browser.run(OVERFLOW)), NOTHING);

    fs::write(site.spec(), &before).unwrap();
    wait("the first version", || (version() == first).then_some(()));
    // It asks for the version, and for nothing else.
    let asked = "return performance.getEntriesByType('resource').map((entry) => new URL(entry.name).pathname)";
    wait("a question", || {
        (!strings(&browser.run(asked)).is_empty()).then_some(())
    });
    let asked = browser.run(asked);
    assert!(strings(&asked).iter().all(|path| *path == "/version"), "{asked}");
}
