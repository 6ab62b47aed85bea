//! The signals that end a server: `serve` and `report --serve`.

use std::{
    io,
    os::unix::net::UnixStream,
    sync::{Arc, atomic::AtomicBool},
};

use signal_hook::{
    consts::{SIGINT, SIGTERM},
    flag,
    low_level::pipe,
};

use super::failure::Failure;

/// Exit code after a second SIGINT.
const INTERRUPTED: i32 = 130;

/// A stream that is readable after SIGINT or SIGTERM. A second signal ends the program at once.
pub fn stop() -> Result<UnixStream, Failure> {
    registered().map_err(|error| Failure::Io(format!("cannot wait for signals: {error}")))
}

fn registered() -> io::Result<UnixStream> {
    let (read, write) = UnixStream::pair()?;
    let stopping = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&stopping))?;
        flag::register(signal, Arc::clone(&stopping))?;
        pipe::register(signal, write.try_clone()?)?;
    }
    Ok(read)
}
