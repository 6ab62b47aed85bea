//! Progress of a run: one line that is redrawn on a terminal, a line for each file elsewhere.

use std::{
    sync::{
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::{Duration, Instant},
};

use firelay_base::table::bar;

/// Between two drawings.
const PAUSE: Duration = Duration::from_millis(200);

/// Counters that all threads share.
#[derive(Debug)]
pub(crate) struct Progress {
    files: usize,
    done: AtomicUsize,
    /// Bytes on the disk, of files that are being fetched.
    bytes: AtomicU64,
    /// Bytes that this run has received.
    received: AtomicU64,
    began: Instant,
}

impl Progress {
    pub(crate) fn new(files: usize) -> Self {
        Self {
            files,
            done: AtomicUsize::new(0),
            bytes: AtomicU64::new(0),
            received: AtomicU64::new(0),
            began: Instant::now(),
        }
    }

    /// A download resumes after this many bytes.
    pub(crate) fn resumed(&self, offset: u64) {
        self.bytes.fetch_add(offset, Ordering::Relaxed);
    }

    pub(crate) fn received(&self, bytes: u64) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.received.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn discarded(&self, bytes: u64) {
        let less = |now: u64| Some(now.saturating_sub(bytes));
        let _ = self.bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }

    pub(crate) fn finished(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    /// `[=====>      ] 3 of 11 files, 120.3 MiB, 14.2 MiB/s`.
    fn line(&self) -> String {
        let done = self.done.load(Ordering::Relaxed);
        let milliseconds = self.began.elapsed().as_millis().max(1);
        let rate = u128::from(self.received.load(Ordering::Relaxed)) * 1000 / milliseconds;
        let bytes = self.bytes.load(Ordering::Relaxed);
        format!(
            "{}, {}, {}/s",
            bar(done, self.files, "files"),
            amount(bytes),
            amount(u64::try_from(rate).unwrap_or(u64::MAX))
        )
    }

    /// Draws until the other end of the channel is gone.
    pub(crate) fn draw(&self, over: &Receiver<()>, print: impl Fn(&str)) {
        loop {
            let ended = over.recv_timeout(PAUSE) != Err(RecvTimeoutError::Timeout);
            let end = if ended { "\n" } else { "" };
            print(&format!("\r\x1b[K{}{end}", self.line()));
            if ended {
                return;
            }
        }
    }
}

/// Bytes for people.
pub(crate) fn amount(bytes: u64) -> String {
    let tenths = |unit: u64| format!("{}.{}", bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        ..1024 => format!("{bytes} B"),
        1024..1_048_576 => tenths(1024) + " KiB",
        _ => tenths(1_048_576) + " MiB",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_as_long_at_the_end_as_at_the_beginning() {
        let progress = Progress::new(2);
        let begin = progress.line();
        assert!(
            begin.starts_with("[>                       ] 0 of 2 files, 0 B,"),
            "{begin}"
        );
        progress.finished();
        progress.received(3 * 1024 * 1024);
        let middle = progress.line();
        assert!(
            middle.starts_with("[============>           ] 1 of 2 files, 3.0 MiB,"),
            "{middle}"
        );
        progress.finished();
        let end = progress.line();
        assert!(end.starts_with("[========================] 2 of 2 files,"), "{end}");
    }
}
