//! A web server with prepared answers that records its requests.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
    pub location: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    /// Header lines, with names in lower case.
    pub headers: String,
}

#[derive(Default)]
struct Shelf {
    /// Answers in order; the last one repeats.
    answers: BTreeMap<String, Vec<Answer>>,
    requests: Vec<Request>,
}

pub struct Server {
    pub address: String,
    shelf: Arc<Mutex<Shelf>>,
}

impl Server {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shelf = Arc::new(Mutex::new(Shelf::default()));
        let own = Arc::clone(&shelf);
        thread::spawn(move || {
            for stream in listener.incoming() {
                answer(stream.unwrap(), &own);
            }
        });
        Self { address, shelf }
    }

    pub fn answer(&self, path: &str, answer: Answer) {
        let mut shelf = self.shelf.lock().unwrap();
        shelf.answers.entry(path.to_owned()).or_default().push(answer);
    }

    pub fn lay(&self, path: &str, body: impl Into<Vec<u8>>) {
        let (status, location) = (200, None);
        self.answer(
            path,
            Answer {
                status,
                body: body.into(),
                location,
            },
        );
    }

    pub fn requests(&self) -> Vec<Request> {
        self.shelf.lock().unwrap().requests.clone()
    }
}

fn answer(mut stream: TcpStream, shelf: &Mutex<Shelf>) {
    let mut lines = BufReader::new(&stream).lines();
    let Some(Ok(first)) = lines.next() else { return };
    let headers = lines.map_while(Result::ok).take_while(|line| !line.is_empty());
    let headers: Vec<_> = headers
        .map(|line| {
            line.split_once(": ").map_or(line.clone(), |(name, value)| {
                format!("{}: {value}", name.to_lowercase())
            })
        })
        .collect();
    let mut words = first.split_whitespace().map(str::to_owned);
    let request = Request {
        method: words.next().unwrap(),
        path: words.next().unwrap(),
        headers: headers.join("\n"),
    };
    let mut shelf = shelf.lock().unwrap();
    let answers = shelf.answers.get_mut(&request.path);
    let answer = match answers {
        Some(answers) if answers.len() > 1 => Some(answers.remove(0)),
        Some(answers) => answers.first().cloned(),
        None => None,
    };
    shelf.requests.push(request);
    let answer = answer.unwrap_or(Answer {
        status: 404,
        body: Vec::new(),
        location: None,
    });
    let location = answer
        .location
        .map_or_else(String::new, |to| format!("Location: {to}\r\n"));
    let head = format!(
        "HTTP/1.1 {} X\r\n{location}Content-Length: {}\r\nConnection: close\r\n\r\n",
        answer.status,
        answer.body.len()
    );
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(&answer.body));
}
