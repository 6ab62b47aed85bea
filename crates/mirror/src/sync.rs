//! A whole directory, filled with the files that it lacks.

use std::{
    fs::{self, File},
    io,
    path::Path,
    sync::mpsc,
    thread,
    time::Duration,
};

use crate::{
    Wanted,
    client::Client,
    digest_of, fetch, in_parallel,
    progress::{Progress, amount},
};

/// Locked while a directory is filled, because two runs would write the same parts.
const LOCK: &str = ".firelay-mirror";
/// The longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How a directory is filled.
#[derive(Clone, Copy, Debug)]
pub struct SyncOptions {
    /// Files at a time.
    pub parallel: usize,
    /// Tries of a file after the first.
    pub retries: u32,
    /// Pause before the second try; it doubles with each further one.
    pub pause: Duration,
    /// Draws a progress bar.
    pub bar: bool,
}

/// Result for one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It was present, with this many bytes.
    Present(u64),
    /// It was downloaded, with this many bytes.
    Fetched(u64),
    /// It could not be downloaded, with the reason.
    Failed(String),
}

/// A file and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synced {
    /// Path in the mirror.
    pub path: String,
    pub outcome: Outcome,
}

/// Fetches the files that a directory lacks. `print` gets lines for people, or the drawing of the bar.
pub fn sync(
    client: &Client,
    wanted: &[Wanted],
    directory: &Path,
    options: SyncOptions,
    print: &(dyn Fn(&str) + Sync),
) -> io::Result<Vec<Synced>> {
    fs::create_dir_all(directory)?;
    let lock = File::create(directory.join(LOCK))?;
    lock.try_lock()
        .map_err(|_| io::Error::other("another run fills it: wait for its end"))?;
    let progress = Progress::new(wanted.len());
    let sync_file = |file: &Wanted| {
        let outcome = obtain(client, file, &directory.join(&file.path), options, &progress);
        progress.finished();
        if !options.bar {
            print(&line(&file.path, &outcome));
        }
        Synced {
            path: file.path.clone(),
            outcome,
        }
    };
    let run = || in_parallel(wanted, options.parallel, sync_file);
    Ok(if options.bar {
        with_bar(&progress, print, run)
    } else {
        run()
    })
}

fn with_bar<R>(progress: &Progress, print: &(dyn Fn(&str) + Sync), run: impl FnOnce() -> R) -> R {
    let (running, over) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || progress.draw(&over, print));
        let result = run();
        drop(running);
        result
    })
}

fn line(path: &str, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Present(_) => format!("have    {path}\n"),
        Outcome::Fetched(bytes) => format!("fetched {path} ({})\n", amount(*bytes)),
        Outcome::Failed(why) => format!("failed  {path}: {why}\n"),
    }
}

fn obtain(client: &Client, wanted: &Wanted, path: &Path, options: SyncOptions, progress: &Progress) -> Outcome {
    if let Ok((digest, bytes)) = digest_of(path, &wanted.digest)
        && digest == wanted.digest
    {
        return Outcome::Present(bytes);
    }
    if !wanted.is_below() {
        return Outcome::Failed(format!("{} would lie outside of the directory", wanted.path));
    }
    if let Some(Err(error)) = path.parent().map(fs::create_dir_all) {
        return Outcome::Failed(format!("cannot create its directory: {error}"));
    }
    let mut pause = options.pause;
    let mut left = options.retries;
    loop {
        match fetch::attempt(client, wanted, path, progress) {
            Ok(bytes) => return Outcome::Fetched(bytes),
            Err(error) if error.temporary && left > 0 => {
                left -= 1;
                thread::sleep(pause);
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
            Err(error) => return Outcome::Failed(error.text),
        }
    }
}
