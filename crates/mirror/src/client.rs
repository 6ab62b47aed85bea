//! HTTP and HTTPS: certificates of the system, proxies of the environment, and errors that another try may cure.

use std::{sync::Arc, time::Duration};

use ureq::{
    Agent, Body, Proxy,
    http::{HeaderMap, Response, Uri, header},
    tls::{Certificate, ClientCert, PemItem, PrivateKey, RootCerts, TlsConfig, TlsProvider},
};

use crate::{Endpoint, proxies::Proxies};

/// The limit for establishing a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Until the answer begins, and between two pieces of it.
const READ_TIMEOUT: Duration = Duration::from_mins(1);

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no certificate of an authority is found on this system; name a file of them with --ca or SSL_CERT_FILE")]
    NoAuthorities,
    #[error("no certificate is in {0}: PEM is needed")]
    NoCertificate(String),
    #[error("the proxy {0} of the environment is none: write http://HOST:PORT")]
    Proxy(&'static str),
}

#[derive(Clone, Debug)]
pub struct Client {
    direct: Agent,
    http: Option<Agent>,
    https: Option<Agent>,
    proxies: Proxies,
    /// Certificates that HTTPS trusts. An empty list is an error only when HTTPS is used, which many own mirrors do without.
    roots: Vec<Certificate<'static>>,
    verified: bool,
    /// Redirects are followed.
    follows: bool,
}

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RequestError {
    pub(crate) text: String,
    /// Another try may succeed.
    pub(crate) temporary: bool,
    /// The server answered that the file does not exist.
    pub(crate) absent: bool,
    /// There was no answer.
    pub(crate) no_answer: bool,
}

/// A method of HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Head,
}

impl Client {
    /// A client of the system's authorities, further ones (a file's name and PEM) and the environment's proxies.
    pub fn new(further: Option<(&str, &[u8])>) -> Result<Self, Error> {
        let proxies = Proxies::of(|name| std::env::var(name).ok());
        let roots = roots(further)?;
        let tls = tls(&roots, false, None);
        let through = |name, url: &Option<String>| {
            let proxy = url.as_deref().map(Proxy::new).transpose();
            let proxy = proxy.map_err(|_| Error::Proxy(name))?;
            Ok(proxy.map(|proxy| agent(tls.clone(), Some(proxy))))
        };
        Ok(Self {
            direct: agent(tls.clone(), None),
            http: through("http_proxy", &proxies.http)?,
            https: through("https_proxy", &proxies.https)?,
            proxies,
            roots,
            verified: true,
            follows: true,
        })
    }

    /// This client, for a server whose answers are its own: a redirect is an error.
    pub(crate) fn without_redirects(self) -> Self {
        Self { follows: false, ..self }
    }

    /// A client for one registry. It uses no proxy if the registry has its own authority or client certificate, or is not
    /// verified.
    pub(crate) fn of_server(&self, server: &Endpoint) -> Result<Self, Error> {
        if server.ca.is_none() && server.client.is_none() && server.verified {
            return Ok(self.clone());
        }
        let roots = match &server.ca {
            Some(pem) => certificates("`ca`", pem.as_bytes())?,
            None => self.roots.clone(),
        };
        let own = server.client.as_ref().map(|(chain, key)| identity(chain, key.expose()));
        let tls = tls(&roots, !server.verified, own.transpose()?);
        Ok(Self {
            direct: agent(tls, None),
            http: None,
            https: None,
            proxies: Proxies::default(),
            roots,
            verified: server.verified,
            follows: self.follows,
        })
    }

    fn agent(&self, uri: &Uri) -> &Agent {
        let proxied = match uri.scheme_str() {
            Some("https") => &self.https,
            _ => &self.http,
        };
        let proxied = proxied
            .as_ref()
            .filter(|_| !self.proxies.bypasses(uri.host().unwrap_or_default()));
        proxied.unwrap_or(&self.direct)
    }

    /// Any answer, whatever its status.
    pub(crate) fn send(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
    ) -> Result<Response<Body>, RequestError> {
        let uri: Uri = url.parse().map_err(|_| RequestError::permanent("not a URL"))?;
        if uri.scheme_str() == Some("https") && self.verified && self.roots.is_empty() {
            return Err(RequestError::no_answer(Error::NoAuthorities.to_string()));
        }
        let agent = self.agent(&uri);
        let mut request = match method {
            Method::Get => agent.get(uri),
            Method::Head => agent.head(uri),
        };
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if !self.follows {
            request = request.config().max_redirects(0).build();
        }
        request.call().map_err(|error| RequestError::of(&error))
    }

    /// A successful answer: 200, or 206 and 416 to a request for a part.
    pub(crate) fn request(
        &self,
        method: Method,
        url: &str,
        headers: &[(&str, &str)],
    ) -> Result<Response<Body>, RequestError> {
        let answer = self.send(method, url, headers)?;
        match answer.status().as_u16() {
            200 | 206 | 416 => Ok(answer),
            status => Err(RequestError {
                temporary: matches!(status, 408 | 425 | 429 | 500..),
                absent: matches!(status, 404 | 410),
                ..RequestError::permanent(format!("the server answers {}", answer.status()))
            }),
        }
    }
}

impl RequestError {
    pub(crate) fn permanent(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            temporary: false,
            absent: false,
            no_answer: false,
        }
    }

    pub(crate) fn temporary(text: impl Into<String>) -> Self {
        Self {
            temporary: true,
            ..Self::permanent(text)
        }
    }

    fn no_answer(text: impl Into<String>) -> Self {
        Self {
            no_answer: true,
            ..Self::permanent(text)
        }
    }

    fn of(error: &ureq::Error) -> Self {
        let permanent = matches!(
            error,
            ureq::Error::Tls(_)
                | ureq::Error::Rustls(_)
                | ureq::Error::BadUri(_)
                | ureq::Error::Http(_)
                | ureq::Error::TooManyRedirects
                | ureq::Error::InvalidProxyUrl
        );
        // rustls' errors arrive as input/output errors; only their text names the certificate.
        let text = error.to_string();
        Self {
            temporary: !permanent && !text.contains("certificate"),
            ..Self::no_answer(text)
        }
    }
}

/// A header of an answer that is text.
pub(crate) fn field(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

fn agent(tls: TlsConfig, proxy: Option<Proxy>) -> Agent {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .tls_config(tls)
        .proxy(proxy)
        .user_agent(concat!("firelay/", env!("CARGO_PKG_VERSION")))
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .timeout_recv_response(Some(READ_TIMEOUT))
        .timeout_per_read(Some(READ_TIMEOUT));
    config.build().new_agent()
}

fn tls(roots: &[Certificate<'static>], unverified: bool, own: Option<ClientCert>) -> TlsConfig {
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(provider))
        .root_certs(RootCerts::new_with_certs(roots))
        .disable_verification(unverified)
        .client_cert(own)
        .build()
}

fn roots(further: Option<(&str, &[u8])>) -> Result<Vec<Certificate<'static>>, Error> {
    let system = rustls_native_certs::load_native_certs().certs;
    let mut roots: Vec<_> = system.iter().map(|der| Certificate::from_der(der).to_owned()).collect();
    if let Some((name, pem)) = further {
        roots.extend(certificates(name, pem)?);
    }
    Ok(roots)
}

fn certificates(name: &str, pem: &[u8]) -> Result<Vec<Certificate<'static>>, Error> {
    let found: Vec<_> = ureq::tls::parse_pem(pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if found.is_empty() {
        return Err(Error::NoCertificate(name.to_owned()));
    }
    Ok(found)
}

fn identity(chain: &str, key: &str) -> Result<ClientCert, Error> {
    let key =
        PrivateKey::from_pem(key.as_bytes()).map_err(|_| Error::NoCertificate("the key of `client`".to_owned()))?;
    Ok(ClientCert::new_with_certs(
        &certificates("`client`", chain.as_bytes())?,
        key,
    ))
}
