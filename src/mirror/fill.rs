//! A whole directory.

use std::{
    fs::{self, File},
    io,
    path::Path,
    sync::mpsc,
    thread,
    time::Duration,
};

use super::{
    Wanted,
    client::Client,
    digest_of, fetch,
    progress::{Progress, amount},
    work,
};

/// Held while a directory is filled: two runs would write the same parts.
const LOCK: &str = ".firelay-mirror";
/// The longest pause between two tries.
const LONGEST: Duration = Duration::from_secs(30);

/// How a directory is filled.
#[derive(Clone, Copy, Debug)]
pub struct Orders {
    /// Files at a time.
    pub parallel: usize,
    /// Tries of a file after the first.
    pub retries: u32,
    /// Before the second try; then twice as long each time.
    pub pause: Duration,
    /// Draws a bar.
    pub bar: bool,
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was there.
    Present(u64),
    /// It came, with so many bytes.
    Fetched(u64),
    /// It did not, and why.
    Failed(String),
}

/// A file and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filled {
    /// Of the mirror.
    pub path: String,
    /// The end of it.
    pub outcome: Outcome,
}

/// Fetches what a directory lacks. `tell` gets lines for people, or with a bar what draws it.
pub fn fill(
    client: &Client,
    wanted: &[Wanted],
    directory: &Path,
    orders: Orders,
    tell: &(dyn Fn(&str) + Sync),
) -> io::Result<Vec<Filled>> {
    fs::create_dir_all(directory)?;
    let lock = File::create(directory.join(LOCK))?;
    lock.try_lock()
        .map_err(|_| io::Error::other("another run fills it: wait for its end"))?;
    let progress = Progress::new(wanted.len());
    let run = || {
        work::each(wanted, orders.parallel, |file| {
            one(client, file, directory, orders, &progress, tell)
        })
    };
    let filled = if orders.bar { drawn(&progress, tell, run) } else { run() };
    Ok(filled)
}

fn drawn<R>(progress: &Progress, tell: &(dyn Fn(&str) + Sync), run: impl FnOnce() -> R) -> R {
    let (running, over) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || progress.draw(&over, tell));
        let result = run();
        drop(running);
        result
    })
}

fn one(
    client: &Client,
    wanted: &Wanted,
    directory: &Path,
    orders: Orders,
    progress: &Progress,
    tell: &(dyn Fn(&str) + Sync),
) -> Filled {
    let outcome = bring(client, wanted, &directory.join(&wanted.path), orders, progress);
    progress.finished();
    if !orders.bar {
        tell(&match &outcome {
            Outcome::Present(_) => format!("have    {}\n", wanted.path),
            Outcome::Fetched(bytes) => format!("fetched {} ({})\n", wanted.path, amount(*bytes)),
            Outcome::Failed(why) => format!("failed  {}: {why}\n", wanted.path),
        });
    }
    Filled {
        path: wanted.path.clone(),
        outcome,
    }
}

fn bring(client: &Client, wanted: &Wanted, path: &Path, orders: Orders, progress: &Progress) -> Outcome {
    if let Ok((sha256, bytes)) = digest_of(path)
        && sha256 == wanted.sha256
    {
        return Outcome::Present(bytes);
    }
    if !wanted.is_below() {
        return Outcome::Failed(format!("{} would lie outside of the directory", wanted.path));
    }
    if let Some(Err(error)) = path.parent().map(fs::create_dir_all) {
        return Outcome::Failed(format!("cannot create its directory: {error}"));
    }
    let mut pause = orders.pause;
    let mut left = orders.retries;
    loop {
        match fetch::attempt(client, wanted, path, progress) {
            Ok(bytes) => return Outcome::Fetched(bytes),
            Err(refusal) if refusal.passing && left > 0 => {
                left -= 1;
                thread::sleep(pause);
                pause = (pause * 2).min(LONGEST);
            }
            Err(refusal) => return Outcome::Failed(refusal.what),
        }
    }
}
