//! Debian's Chromium, driven by its chromedriver (W3C WebDriver).

use std::{
    io::{self, BufRead, BufReader, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

/// Arguments with which it stays offline.
const ARGUMENTS: [&str; 9] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
];

/// chromedriver takes any free port for IPv6 and the same for IPv4, and ends if that one is in use: other tests have many.
const TRIES: usize = 10;

/// chromedriver and its port, unless it ends at its start.
fn driver() -> Option<(Child, u16)> {
    let mut driver = Command::new("chromedriver")
        .arg("--port=0")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run chromedriver ({error}): install the package chromium-driver"));
    let mut lines = BufReader::new(driver.stdout.take().unwrap()).lines();
    let port = lines.find_map(|line| {
        let said = line.unwrap();
        said.split_once("successfully on port ")?
            .1
            .trim_end_matches('.')
            .parse()
            .ok()
    });
    let Some(port) = port else {
        driver.wait().unwrap();
        return None;
    };
    // The pipe stays open until chromedriver ends.
    std::thread::spawn(move || lines.count());
    Some((driver, port))
}

/// A browser with one window.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
    profile: tempfile::TempDir,
}

impl Browser {
    pub fn start() -> Self {
        let profile = tempfile::tempdir().unwrap();
        let (driver, port) = (0..TRIES)
            .find_map(|_| driver())
            .expect("chromedriver tells its port in one of its starts");
        let mut browser = Self {
            driver,
            port,
            session: String::new(),
            profile,
        };
        browser.begin();
        browser
    }

    fn begin(&mut self) {
        let directory = format!("--user-data-dir={}", self.profile.path().display());
        let arguments: Vec<_> = ARGUMENTS.into_iter().chain([directory.as_str()]).collect();
        let options = json!({ "binary": "/usr/bin/chromium", "args": arguments });
        let capabilities = json!({ "alwaysMatch": { "browserName": "chrome", "goog:chromeOptions": options } });
        let session = self.request("POST", "/session", &json!({ "capabilities": capabilities }));
        session["sessionId"].as_str().unwrap().clone_into(&mut self.session);
    }

    fn request(&self, method: &str, path: &str, body: &Value) -> Value {
        let mut answer = self.send(method, path, body).unwrap();
        let value = answer["value"].take();
        assert!(value.get("error").is_none(), "{path}: {value}");
        value
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> io::Result<Value> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(Duration::from_mins(2)))?;
        let body = body.to_string();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes())?;
        answer(&mut BufReader::new(stream))
    }

    fn command(&self, path: &str, body: &Value) -> Value {
        self.request("POST", &format!("/session/{}/{path}", self.session), body)
    }

    /// A command of Chromium's DevTools protocol.
    fn devtools(&self, name: &str, parameters: &Value) -> Value {
        self.command("goog/cdp/execute", &json!({ "cmd": name, "params": parameters }))
    }

    pub fn open(&self, url: &str) {
        self.command("url", &json!({ "url": url }));
    }

    /// Runs a script in the page, past its Content-Security-Policy.
    pub fn run(&self, script: &str) -> Value {
        self.command("execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// The user prefers `light` or `dark`.
    pub fn scheme(&self, value: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": value }]);
        self.devtools("Emulation.setEmulatedMedia", &json!({ "features": features }));
    }

    /// A screen of this width in pixels.
    pub fn width(&self, width: u32) {
        let screen = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.devtools("Emulation.setDeviceMetricsOverride", &screen);
    }

    /// The page as a PDF, in base64.
    pub fn print(&self) -> String {
        self.command("print", &json!({})).as_str().unwrap().to_owned()
    }

    pub fn press_tab(&self) {
        let keys = json!([{ "type": "keyDown", "value": "\u{e004}" }, { "type": "keyUp", "value": "\u{e004}" }]);
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": keys });
        self.command("actions", &json!({ "actions": [keyboard] }));
    }

    /// Role and name of everything that a screen reader is told.
    pub fn accessibility(&self) -> Vec<(String, String)> {
        let tree = self.devtools("Accessibility.getFullAXTree", &json!({}));
        let text = |node: &Value, key: &str| node[key]["value"].as_str().unwrap_or_default().to_owned();
        let nodes = tree["nodes"].as_array().unwrap().iter();
        let told = nodes.filter(|node| node["ignored"] != true);
        told.map(|node| (text(node, "role"), text(node, "name"))).collect()
    }
}

impl Drop for Browser {
    /// Also after a failed test, without a second panic.
    fn drop(&mut self) {
        let _ = self.send("DELETE", &format!("/session/{}", self.session), &json!({}));
        let _ = self.driver.kill().and_then(|()| self.driver.wait());
    }
}

/// The body of an answer, which has a Content-Length.
fn answer(stream: &mut impl BufRead) -> io::Result<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}
