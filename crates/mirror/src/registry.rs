//! Whether a registry has an image, with the same requests as containerd: first its mirrors in order, then itself
//! (containerd docs/hosts.md, OCI distribution specification, "Checking if content exists in the registry").

use std::collections::BTreeMap;

use firelay_base::{encoding::base64, secret::Secret};
use serde::Deserialize;
use ureq::http::header::{HeaderName, WWW_AUTHENTICATE};

use crate::{
    Reference,
    client::{Client, Method, RequestError, field},
};

/// Media types of manifests.
const MANIFESTS: &str = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, \
                         application/vnd.docker.distribution.manifest.list.v2+json, \
                         application/vnd.docker.distribution.manifest.v2+json";

/// Header with the digest of the manifest.
const DIGEST: HeaderName = HeaderName::from_static("docker-content-digest");

/// A server that may have an image.
#[derive(Clone, Debug)]
pub struct Endpoint {
    pub url: String,
    /// The URL is used without adding `/v2`.
    pub override_path: bool,
    /// PEM of its authority; the system's if absent.
    pub ca: Option<String>,
    /// Its certificate is verified.
    pub verified: bool,
    /// PEM of the client's certificate and key.
    pub client: Option<(String, Secret<String>)>,
    /// User and password.
    pub credentials: Option<(String, Secret<String>)>,
}

/// A token for a repository (distribution, "Token Authentication Specification"); both names are in use.
#[derive(Deserialize)]
struct Token {
    token: Option<Secret<String>>,
    access_token: Option<Secret<String>>,
}

/// No endpoint serves the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unserved {
    /// The answer of each.
    pub reasons: String,
    /// None of them answered.
    pub no_answer: bool,
}

/// Whether one of the servers has an image; else the answer of each.
pub fn serves(client: &Client, endpoints: &[Endpoint], image: &Reference<'_>) -> Result<(), Unserved> {
    let mut errors = Vec::new();
    for endpoint in endpoints {
        match head(client, endpoint, image) {
            Ok(()) => return Ok(()),
            Err(error) => errors.push((endpoint, error)),
        }
    }
    let reasons = errors
        .iter()
        .map(|(endpoint, error)| format!("{}: {}", endpoint.url, error.text));
    Err(Unserved {
        reasons: reasons.collect::<Vec<_>>().join("; "),
        no_answer: errors.iter().all(|(_, error)| error.no_answer),
    })
}

fn head(client: &Client, endpoint: &Endpoint, image: &Reference<'_>) -> Result<(), RequestError> {
    let own = client
        .of_server(endpoint)
        .map_err(|error| RequestError::permanent(error.to_string()))?;
    let url = manifest(endpoint, image);
    let basic = endpoint.credentials.as_ref().map(basic);
    let ask = |authorization: Option<&Secret<String>>| {
        let mut headers = vec![("accept", MANIFESTS)];
        headers.extend(authorization.map(|value| ("authorization", value.expose().as_str())));
        own.send(Method::Head, &url, &headers)
    };
    let mut answer = ask(basic.as_ref())?;
    if answer.status() == 401
        && let Some(challenge) = field(answer.headers(), WWW_AUTHENTICATE).and_then(|text| text.strip_prefix("Bearer "))
    {
        let token = token(&own, challenge, image, basic.as_ref())?;
        answer = ask(Some(&token))?;
    }
    match answer.status().as_u16() {
        200 => check_digest(image, field(answer.headers(), DIGEST)),
        401 | 403 => Err(RequestError::permanent(format!(
            "{}: it asks for other credentials",
            answer.status()
        ))),
        _ => Err(RequestError::permanent(answer.status().to_string())),
    }
}

/// Refuses an answer with another digest than the one that was requested.
fn check_digest(image: &Reference<'_>, given: Option<&str>) -> Result<(), RequestError> {
    match (image.digest, given) {
        (Some(pinned), Some(given)) if pinned != given => {
            Err(RequestError::permanent(format!("it has another image there: {given}")))
        }
        _ => Ok(()),
    }
}

fn basic((user, password): &(String, Secret<String>)) -> Secret<String> {
    let pair = base64(format!("{user}:{}", password.expose()));
    Secret::new(format!("Basic {pair}"))
}

/// URL of the manifest. A mirror is given the registry's name as well, as containerd does.
fn manifest(endpoint: &Endpoint, image: &Reference<'_>) -> String {
    let base = endpoint.url.trim_end_matches('/');
    let version = if endpoint.override_path || base.ends_with("/v2") {
        ""
    } else {
        "/v2"
    };
    let (path, reference) = (image.path(), image.version());
    let mirror = if image.server() == base {
        String::new()
    } else {
        format!("?ns={}", image.registry)
    };
    format!("{base}{version}/{path}/manifests/{reference}{mirror}")
}

fn token(
    client: &Client,
    challenge: &str,
    image: &Reference<'_>,
    basic: Option<&Secret<String>>,
) -> Result<Secret<String>, RequestError> {
    let fields = fields(challenge);
    let Some(realm) = fields.get("realm") else {
        return Err(RequestError::permanent(
            "it asks for a token and does not say where one is had",
        ));
    };
    let scope = format!("repository:{}:pull", image.path());
    let service = fields.get("service").map(|service| format!("service={service}&"));
    let sign = if realm.contains('?') { '&' } else { '?' };
    let url = format!("{realm}{sign}{}scope={scope}", service.unwrap_or_default());
    let headers: Vec<_> = basic
        .map(|value| ("authorization", value.expose().as_str()))
        .into_iter()
        .collect();
    let mut answer = client.request(Method::Get, &url, &headers)?;
    let text = answer
        .body_mut()
        .read_to_string()
        .map_err(|error| RequestError::temporary(error.to_string()))?;
    let token = serde_json::from_str::<Token>(&text).ok();
    let token = token.and_then(|token| token.token.or(token.access_token));
    let token = token.ok_or_else(|| RequestError::permanent("its answer holds no token"))?;
    Ok(Secret::new(format!("Bearer {}", token.expose())))
}

/// `name="value",…` (RFC 9110 §11.2).
fn fields(text: &str) -> BTreeMap<&str, &str> {
    let mut found = BTreeMap::new();
    let mut rest = text;
    while let Some((name, after)) = rest.split_once("=\"") {
        let Some((value, after)) = after.split_once('"') else {
            break;
        };
        found.insert(name.trim_matches([',', ' ']), value);
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_read() {
        let read = fields(r#"realm="https://auth.docker.io/token",service="registry.docker.io",scope="a:b,c""#);
        assert_eq!(read["realm"], "https://auth.docker.io/token");
        assert_eq!(read["service"], "registry.docker.io");
        assert_eq!(read["scope"], "a:b,c");
        assert!(fields("realm=\"x").is_empty());
    }

    #[test]
    fn a_mirror_gets_the_name_of_the_registry() {
        let at = |url: &str, override_path| Endpoint {
            url: url.to_owned(),
            override_path,
            ca: None,
            verified: true,
            client: None,
            credentials: None,
        };
        let pause = Reference::of("registry.k8s.io/pause:3.10");
        let own = manifest(&at("https://registry.k8s.io", false), &pause);
        assert_eq!(own, "https://registry.k8s.io/v2/pause/manifests/3.10");
        let mirror = manifest(&at("https://r.lan/v2/k8s/", true), &pause);
        assert_eq!(mirror, "https://r.lan/v2/k8s/pause/manifests/3.10?ns=registry.k8s.io");
    }
}
