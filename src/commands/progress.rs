//! Progress of work that takes longer than a second, on stderr: a bar on a terminal, else a line now and then.

use std::{
    io::{self, IsTerminal, Write},
    sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use firelay_base::table::bar;

/// Shorter work shows nothing.
const FIRST: Duration = Duration::from_secs(1);
/// Between two drawings on a terminal.
const REDRAW: Duration = Duration::from_millis(200);
/// Between two lines elsewhere.
const LINE: Duration = Duration::from_secs(10);

/// Runs work on some machines; it counts those that are done.
pub fn counted<R>(machines: usize, run: impl FnOnce(&AtomicUsize) -> R) -> R {
    let done = AtomicUsize::new(0);
    let text = |terminal: bool, _| {
        let done = done.load(Ordering::Relaxed);
        match terminal {
            true => bar(done, machines, "machines"),
            false => format!("{done} of {machines} machines"),
        }
    };
    shown(text, || run(&done))
}

/// Runs work that has no parts to count.
pub fn during<R>(what: &str, run: impl FnOnce() -> R) -> R {
    shown(|_, time: Duration| format!("{what}: {} s", time.as_secs()), run)
}

fn shown<R>(text: impl Fn(bool, Duration) -> String + Send, run: impl FnOnce() -> R) -> R {
    let (running, over) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(move || show(&over, text));
        let result = run();
        drop(running);
        result
    })
}

/// Shows the text until the other end of the channel is gone, and then removes it from the terminal.
fn show(over: &Receiver<()>, text: impl Fn(bool, Duration) -> String) {
    let (begun, terminal) = (Instant::now(), io::stderr().is_terminal());
    let pause = if terminal { REDRAW } else { LINE };
    let mut next = if terminal { FIRST } else { LINE };
    let mut drawn = false;
    while over.recv_timeout(next) == Err(RecvTimeoutError::Timeout) {
        let text = text(terminal, begun.elapsed());
        match terminal {
            true => write(&format!("\r\u{1b}[K{text}")),
            false => write(&format!("{text}\n")),
        }
        (next, drawn) = (pause, true);
    }
    if terminal && drawn {
        write("\r\u{1b}[K");
    }
}

/// An error on stderr itself has no place to go.
fn write(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush());
}
