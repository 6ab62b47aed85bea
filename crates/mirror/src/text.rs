//! Small texts of the internet, such as files of checksums.

use std::{thread::sleep, time::Duration};

use firelay_base::secret::Secret;

use crate::{
    Client, Endpoint,
    client::{Method, RequestError},
    in_parallel,
};

/// Far more than any file of checksums.
const LARGEST: u64 = 1 << 20;
/// Far more than the objects of a cluster.
const LARGEST_LIST: u64 = 1 << 28;
/// Before each further try.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(2)];

/// The text at each URL, or why there is none.
pub fn texts(client: &Client, urls: &[String], parallel: usize) -> Vec<Result<String, String>> {
    in_parallel(urls, parallel, |url| {
        let mut answer = text(client, url);
        for pause in PAUSES {
            if answer.as_ref().err().is_none_or(|error| !error.temporary) {
                break;
            }
            sleep(pause);
            answer = text(client, url);
        }
        answer.map_err(|error| error.text)
    })
}

fn text(client: &Client, url: &str) -> Result<String, RequestError> {
    let mut answer = client.request(Method::Get, url, &[])?;
    let body = answer.body_mut().with_config().limit(LARGEST);
    body.read_to_string()
        .map_err(|error| RequestError::temporary(error.to_string()))
}

/// The text at a URL of one server, with its client certificate or a bearer token. `None` if it does not exist.
pub fn text_of(
    client: &Client,
    server: &Endpoint,
    url: &str,
    token: Option<&Secret<String>>,
) -> Result<Option<String>, String> {
    let client = client.of_server(server).map_err(|error| error.to_string())?;
    let client = client.without_redirects();
    let authorization = token.map(|token| Secret::new(format!("Bearer {}", token.expose().trim())));
    let headers = authorization
        .iter()
        .map(|value| ("authorization", value.expose().as_str()));
    let headers: Vec<_> = [("accept", "application/json")].into_iter().chain(headers).collect();
    let mut answer = match client.request(Method::Get, url, &headers) {
        Err(error) if error.absent => return Ok(None),
        answer => answer.map_err(|error| error.text)?,
    };
    let body = answer.body_mut().with_config().limit(LARGEST_LIST);
    body.read_to_string().map(Some).map_err(|error| error.to_string())
}
