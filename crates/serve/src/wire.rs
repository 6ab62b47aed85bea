//! A connection with time limits for every operation.

use std::{
    io::{self, Read, Write},
    net::{Shutdown, TcpStream},
    time::{Duration, Instant},
};

use rustls::{ServerConnection, StreamOwned};

/// The time that the client gets to finish after the answer.
const FAREWELL: Duration = Duration::from_secs(2);

/// The maximum number of bytes read after a request.
const MOST_LEFT_OVER: usize = 64 << 10;

/// A stream whose reads and writes fail when its time is up.
#[derive(Debug)]
pub(crate) struct Timed {
    stream: TcpStream,
    until: Instant,
    /// Bytes that the system took to send them.
    taken: u64,
}

impl Timed {
    pub(crate) fn new(stream: TcpStream, until: Instant) -> Self {
        Self {
            stream,
            until,
            taken: 0,
        }
    }

    /// The remaining time; a timeout of zero would mean none at all.
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            Err(io::ErrorKind::TimedOut.into())
        } else {
            Ok(Some(left))
        }
    }

    /// Closes the sending direction, and reads remaining bytes for a moment: closing with unread bytes would discard
    /// the answer (RFC 9112 §9.6). Written bytes are only in the system's buffers, so only an orderly end shows that
    /// they arrived.
    fn part(&mut self) -> io::Result<()> {
        self.until = Instant::now() + FAREWELL;
        self.stream.shutdown(Shutdown::Write)?;
        let (mut buffer, mut heard) = ([0; 4096], 0);
        while heard < MOST_LEFT_OVER {
            match self.read(&mut buffer)? {
                0 => return Ok(()),
                bytes => heard += bytes,
            }
        }
        Err(io::ErrorKind::InvalidData.into())
    }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        let taken = self.stream.write(bytes)?;
        self.taken += taken as u64;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// A connection with or without TLS.
pub(crate) trait Wire: Read + Write {
    /// Gives it time until then.
    fn until(&mut self, then: Instant);
    /// The number of bytes that the system has accepted for sending, TLS overhead included.
    fn taken(&self) -> u64;
    /// Ends it after everything was sent; an error if the other side does not end it in order as well.
    fn end(self) -> io::Result<()>;
}

impl Wire for Timed {
    fn until(&mut self, then: Instant) {
        self.until = then;
    }

    fn taken(&self) -> u64 {
        self.taken
    }

    fn end(mut self) -> io::Result<()> {
        self.part()
    }
}

impl Wire for StreamOwned<ServerConnection, Timed> {
    fn until(&mut self, then: Instant) {
        self.sock.until = then;
    }

    fn taken(&self) -> u64 {
        self.sock.taken
    }

    fn end(mut self) -> io::Result<()> {
        self.conn.send_close_notify();
        self.flush()?;
        self.sock.part()
    }
}
