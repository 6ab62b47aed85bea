//! Signals that end the program: they wait for the end of a write, and then unfinished directories go.

use std::{
    io::{self, Read},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::{
        Mutex, Once, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
    low_level::{emulate_default_handler, pipe},
};

/// Signals that a user sends.
const SIGNALS: [i32; 2] = [SIGINT, SIGTERM];
/// Writers share this lock; the thread that ends the program takes it exclusively and never releases it.
static WORK: RwLock<()> = RwLock::new(());
/// The received signal.
static CAME: AtomicUsize = AtomicUsize::new(0);
/// Directories that a signal handler removes.
static UNFINISHED: Mutex<Vec<(PathBuf, Remove)>> = Mutex::new(Vec::new());

/// How a directory is removed.
type Remove = fn(&Path) -> io::Result<()>;

/// Lets signals wait for the end of some work, which is short and has no such work in it.
pub fn undisturbed<T>(work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    watch()?;
    let guard = WORK.read().unwrap_or_else(PoisonError::into_inner);
    let done = work();
    drop(guard);
    while CAME.load(Ordering::SeqCst) != 0 {
        // The program is ending.
        thread::park();
    }
    done
}

/// A directory that is removed if a signal ends the program while this value exists.
#[derive(Debug)]
pub struct Unfinished(PathBuf);

impl Unfinished {
    /// For a directory of firelay's own.
    pub fn new(directory: &Path, remove: Remove) -> Self {
        let mut all = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((directory.to_owned(), remove));
        Self(directory.to_owned())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let mut all = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(directory, _)| *directory != self.0);
    }
}

/// Begins to wait for signals, once.
fn watch() -> io::Result<()> {
    static BEGUN: Once = Once::new();
    let mut begun = Ok(());
    BEGUN.call_once(|| begun = begin());
    begun
}

fn begin() -> io::Result<()> {
    let (read, write) = UnixStream::pair()?;
    for signal in SIGNALS {
        let number = usize::try_from(signal).map_err(io::Error::other)?;
        // Before the thread is woken, which reads it.
        flag::register_usize(signal, &CAME, number)?;
        pipe::register(signal, write.try_clone()?)?;
    }
    thread::Builder::new().spawn(move || end(read)).map(drop)
}

fn end(mut signalled: UnixStream) {
    if signalled.read_exact(&mut [0]).is_err() {
        return;
    }
    let _work = WORK.write().unwrap_or_else(PoisonError::into_inner);
    for (directory, remove) in UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        // The next run removes what stays.
        let _ = remove(directory);
    }
    let came = CAME.load(Ordering::SeqCst);
    let signal = SIGNALS.into_iter().find(|signal| usize::try_from(*signal) == Ok(came));
    let _ = emulate_default_handler(signal.unwrap_or(SIGTERM));
}
