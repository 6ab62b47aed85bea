//! A web server whose files fail in chosen ways; it records its requests.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use rustls::{
    pki_types::{CertificateDer, PrivatePkcs8KeyDer},
    server::WebPkiClientVerifier,
};
use sha2::{Digest, Sha256};

/// A file of the server.
#[derive(Clone, Default)]
pub struct Page {
    pub bytes: Vec<u8>,
    pub etag: Option<&'static str>,
    /// Range requests are supported.
    pub ranges: bool,
    /// The number of answers that abort in the middle.
    pub cuts: usize,
    /// The statuses of the first answers.
    pub statuses: Vec<u16>,
    /// `Content-Type`.
    pub kind: Option<&'static str>,
    /// Requests without this header are refused.
    pub authorization: Option<String>,
    /// The delay before the answer.
    pub slow: Duration,
    /// The end of the connection ends the file: no `Content-Length`.
    pub endless: bool,
    /// Every answer claims to be partial.
    pub partial: bool,
    /// `Docker-Content-Digest`.
    pub digest: Option<String>,
}

/// A recorded request.
#[derive(Clone, Debug)]
pub struct Asked {
    pub method: String,
    pub path: String,
    pub headers: BTreeMap<String, String>,
}

type Pages = Arc<Mutex<BTreeMap<String, Page>>>;

pub struct Site {
    pub url: String,
    /// PEM, of a server with TLS.
    pub ca: String,
    /// A client certificate and its key in PEM, if the server requires one.
    pub client: Option<(String, String)>,
    pub pages: Pages,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Site {
    pub fn plain() -> Self {
        Self::start(None)
    }

    pub fn tls() -> Self {
        Self::start(Some(config(None)))
    }

    /// A server that requires a client certificate.
    pub fn mutual() -> Self {
        let known = rcgen::generate_simple_self_signed(["client".to_owned()]).unwrap();
        let mut site = Self::start(Some(config(Some(known.cert.der()))));
        site.client = Some((known.cert.pem(), known.signing_key.serialize_pem()));
        site
    }

    fn start(tls: Option<(Arc<rustls::ServerConfig>, String)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let site = Self {
            url: format!("{scheme}://{}", listener.local_addr().unwrap()),
            ca: tls.as_ref().map(|(_, pem)| pem.clone()).unwrap_or_default(),
            client: None,
            pages: Pages::default(),
            asked: Arc::default(),
        };
        let (pages, asked) = (site.pages.clone(), site.asked.clone());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, tls) = (stream.unwrap(), tls.clone());
                let (pages, asked) = (pages.clone(), asked.clone());
                thread::spawn(move || match tls {
                    None => answer(&mut stream, &pages, &asked),
                    Some((config, _)) => {
                        let connection = rustls::ServerConnection::new(config).unwrap();
                        answer(&mut rustls::StreamOwned::new(connection, stream), &pages, &asked);
                    }
                });
            }
        });
        site
    }

    pub fn put(&self, path: &str, page: Page) -> String {
        let sha256 = sha256(&page.bytes);
        self.pages.lock().unwrap().insert(path.to_owned(), page);
        sha256
    }

    /// The requests since the last call.
    pub fn asked(&self) -> Vec<Asked> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

/// A server with its own certificate; `known` is the client certificate that it requires.
fn config(known: Option<&CertificateDer<'static>>) -> (Arc<rustls::ServerConfig>, String) {
    let own = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let key = PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let verifier = known.map(|known| {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(known.clone()).unwrap();
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone())
            .build()
            .unwrap()
    });
    let builder = rustls::ServerConfig::builder_with_provider(provider.clone());
    let builder = builder.with_safe_default_protocol_versions().unwrap();
    let builder = match verifier {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let config = builder
        .with_single_cert(vec![own.cert.der().clone()], key.into())
        .unwrap();
    (Arc::new(config), own.cert.pem())
}

pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Each connection carries one request.
fn answer(stream: &mut (impl Read + Write), pages: &Pages, asked: &Mutex<Vec<Asked>>) {
    let Some(mut request) = read(stream) else { return };
    asked.lock().unwrap().push(request.clone());
    if request.method == "CONNECT" {
        // After CONNECT the server itself plays the requested host.
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        let Some(inner) = read(stream) else { return };
        request = inner;
    }
    let page = {
        let mut pages = pages.lock().unwrap();
        let page = pages.get_mut(request.path.split('?').next().unwrap());
        page.map(|page| {
            let now = page.clone();
            page.cuts = page.cuts.saturating_sub(1);
            page.statuses = page.statuses.split_off(page.statuses.len().min(1));
            now
        })
    };
    let reply = match &page {
        None => plain(404, b"no such page"),
        Some(page) => {
            thread::sleep(page.slow);
            let refused =
                page.authorization.is_some() && request.headers.get("authorization") != page.authorization.as_ref();
            match page.statuses.first() {
                Some(status) => plain(*status, b"not now"),
                None if refused => plain(401, b"who?"),
                None => page_reply(page, &request),
            }
        }
    };
    let (head, mut body) = reply;
    if request.method == "HEAD" {
        body.clear();
    } else if page.is_some_and(|page| page.cuts > 0) {
        body.truncate(body.len() / 2);
    }
    // The other end may have gone.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
    let _ = stream.flush();
}

fn read(stream: &mut impl Read) -> Option<Asked> {
    let mut lines = BufReader::new(stream).lines();
    let first = lines.next()?.ok()?;
    let mut words = first.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut headers = BTreeMap::new();
    for line in lines.map_while(Result::ok).take_while(|line| !line.is_empty()) {
        let (name, value) = line.split_once(": ").unwrap();
        headers.insert(name.to_lowercase(), value.to_owned());
    }
    Some(Asked { method, path, headers })
}

fn plain(status: u16, body: &[u8]) -> (String, Vec<u8>) {
    let challenge = if status == 401 {
        "WWW-Authenticate: Basic realm=\"r\"\r\n"
    } else {
        ""
    };
    let head = format!(
        "HTTP/1.1 {status} X\r\nConnection: close\r\n{challenge}Content-Length: {}\r\n\r\n",
        body.len()
    );
    (head, body.to_vec())
}

fn page_reply(page: &Page, request: &Asked) -> (String, Vec<u8>) {
    let tag = page.etag.map(|etag| format!("ETag: {etag}\r\n")).unwrap_or_default();
    let kind = page
        .kind
        .map(|kind| format!("Content-Type: {kind}\r\n"))
        .unwrap_or_default();
    let from = request.headers.get("range").filter(|_| page.ranges);
    let from = from.filter(|_| request.headers.get("if-range").map(String::as_str) == page.etag);
    let from = from.and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<usize>().ok());
    let digest = page.digest.iter();
    let digest: String = digest.map(|it| format!("Docker-Content-Digest: {it}\r\n")).collect();
    let (status, range, body) = match from.or(page.partial.then_some(0)) {
        Some(from) => {
            let (last, all) = (page.bytes.len() - 1, page.bytes.len());
            let range = format!("Content-Range: bytes {from}-{last}/{all}\r\n");
            (206, range, page.bytes[from..].to_vec())
        }
        None => (200, String::new(), page.bytes.clone()),
    };
    let length = format!("Content-Length: {}\r\n", body.len());
    let length = if page.endless { "" } else { &length };
    let head = format!("HTTP/1.1 {status} X\r\nConnection: close\r\n{tag}{kind}{digest}{range}{length}\r\n");
    (head, body)
}
