//! A client that sends exactly the given bytes.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    sync::Arc,
    time::Duration,
};

use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};

/// A parsed answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub header: String,
    pub body: Vec<u8>,
}

impl Response {
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
        let header = String::from_utf8(bytes[..end].to_vec()).ok()?;
        let status = header.split(' ').nth(1)?.parse().ok()?;
        Some(Self {
            status,
            header,
            body: bytes[end..].to_vec(),
        })
    }
}

pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    stream
}

/// The complete answer to these bytes.
pub fn raw(address: SocketAddr, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut stream = connect(address);
    stream.write_all(bytes)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(answer)
}

pub fn get(address: SocketAddr, path: &str) -> Response {
    ask(address, "GET", path, "")
}

/// A request with further header lines.
pub fn ask(address: SocketAddr, method: &str, path: &str, header: &str) -> Response {
    let answer = raw(
        address,
        format!("{method} {path} HTTP/1.1\r\nHost: boot\r\n{header}\r\n").as_bytes(),
    );
    Response::read(&answer.unwrap()).unwrap()
}

/// A request over TLS, with a trusted CA.
pub fn get_tls(address: SocketAddr, ca: &[u8], path: &str) -> Result<Response, String> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ca).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connection = ClientConnection::new(Arc::new(config), ServerName::from(address.ip())).unwrap();
    let mut stream = StreamOwned::new(connection, connect(address));
    let request = format!("GET {path} HTTP/1.1\r\nHost: boot\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .map_err(|error| error.to_string())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).map_err(|error| error.to_string())?;
    Ok(Response::read(&answer).unwrap())
}
