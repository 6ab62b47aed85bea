//! Small texts of the internet, such as files of checksums.

use std::{thread::sleep, time::Duration};

use crate::{
    Client,
    client::{Method, RequestError},
    in_parallel,
};

/// Far more than any file of checksums.
const LARGEST: u64 = 1 << 20;
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
