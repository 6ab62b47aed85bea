//! What a server lacks.

use ureq::http::header::CONTENT_LENGTH;

use super::{
    Fault, Problem, Wanted,
    client::{Client, Method, Refusal, field},
    digest, work,
};

/// Asks for every file at its `url`; `quick` asks only whether it is there.
pub fn ask(client: &Client, wanted: &[Wanted], quick: bool, parallel: usize) -> Vec<Problem> {
    let look = |file: &Wanted| {
        let what = if quick { head(client, file) } else { whole(client, file) };
        what.map(|what| Problem {
            place: file.url.clone(),
            what,
        })
    };
    work::each(wanted, parallel, look).into_iter().flatten().collect()
}

fn head(client: &Client, file: &Wanted) -> Option<Fault> {
    match client.ask(Method::Head, &file.url, &[]) {
        Err(refusal) => Some(fault(refusal)),
        // Of an answer to HEAD the length is that of what GET would bring.
        Ok(answer) => (field(answer.headers(), CONTENT_LENGTH) == Some("0")).then_some(Fault::Empty),
    }
}

fn whole(client: &Client, file: &Wanted) -> Option<Fault> {
    let answer = client.ask(Method::Get, &file.url, &[("accept-encoding", "identity")]);
    let mut answer = match answer {
        Ok(answer) => answer,
        Err(refusal) => return Some(fault(refusal)),
    };
    match digest(&mut answer.body_mut().as_reader()) {
        Err(error) => Some(Fault::Unknown(format!("the connection broke off: {error}"))),
        Ok((_, 0)) => Some(Fault::Empty),
        Ok((sha256, _)) => (sha256 != file.sha256).then_some(Fault::Digest(sha256)),
    }
}

fn fault(refusal: Refusal) -> Fault {
    match refusal {
        Refusal { absent: true, .. } => Fault::Missing,
        Refusal { silent: true, what, .. } => Fault::Silent(what),
        Refusal { what, .. } => Fault::Unknown(what),
    }
}
