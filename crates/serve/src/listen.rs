//! Accepting connections until the server is stopped.

use std::{
    io,
    net::{IpAddr, TcpListener, TcpStream},
    os::fd::AsFd,
    sync::Arc,
    thread,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
};
use rustls::ServerConfig;

use crate::{
    Server,
    connection::handle,
    pages::{self, Pages},
    slots::Slots,
};

/// The interval at which a full server checks whether it has to stop.
const LOOK_UP: Duration = Duration::from_millis(200);

/// The time that open connections may take when the server stops.
const LAST_CALL: Duration = Duration::from_secs(10);

/// Connections of this machine's own browsers.
const BROWSERS: usize = 256;

/// A socket that listens.
#[derive(Debug)]
pub struct Listener {
    pub socket: TcpListener,
    /// With TLS.
    pub tls: Option<Arc<ServerConfig>>,
}

/// The handling of a connection.
type Work = Arc<dyn Fn(TcpStream, IpAddr, Option<&Arc<ServerConfig>>) + Send + Sync>;

/// Answers on all sockets until `stop` can be read. Then connections that are under way have a moment to end.
pub fn listen(server: &Arc<Server>, listeners: Vec<Listener>, stop: &impl AsFd, connections: usize) -> io::Result<()> {
    let server = Arc::clone(server);
    let work: Work = Arc::new(move |stream, peer, tls| handle(&server, stream, peer, tls));
    let slots = accept_all(&listeners, stop, connections, &work)?;
    // A new client is refused at once instead of waiting for an answer that never comes.
    drop(listeners);
    slots.wait_below(1, LAST_CALL);
    Ok(())
}

/// Shows pages to this machine's own browsers until `stop` can be read, and then no more.
pub fn show(pages: impl Pages, socket: TcpListener, stop: &impl AsFd) -> io::Result<()> {
    let work: Work = Arc::new(move |stream, _, _| pages::handle(&pages, stream));
    accept_all(&[Listener { socket, tls: None }], stop, BROWSERS, &work).map(drop)
}

/// Accepts until `stop` can be read.
fn accept_all(listeners: &[Listener], stop: &impl AsFd, connections: usize, work: &Work) -> io::Result<Arc<Slots>> {
    for listener in listeners {
        // A connection that is gone again when it is accepted must not stop all others.
        listener.socket.set_nonblocking(true)?;
    }
    let slots = Slots::new(connections);
    loop {
        // Full: further connections wait with the system.
        let full = !slots.wait_below(slots.most(), LOOK_UP);
        let listening: &[Listener] = if full { &[] } else { listeners };
        let ready = wait(listening, stop, full)?;
        let Some(ready) = ready else { break };
        for listener in ready {
            accept(work, listener, &slots);
        }
    }
    Ok(slots)
}

/// The sockets on which someone waits; `None` when it is time to stop. A full server does not wait at all.
fn wait<'l>(listeners: &'l [Listener], stop: &impl AsFd, full: bool) -> io::Result<Option<Vec<&'l Listener>>> {
    let mut watched = vec![PollFd::new(stop, PollFlags::IN)];
    watched.extend(listeners.iter().map(|it| PollFd::new(&it.socket, PollFlags::IN)));
    let at_once = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
    loop {
        match poll(&mut watched, full.then_some(&at_once)) {
            // The signal that stops the server is one that interrupts.
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
            Ok(_) => break,
        }
    }
    let (first, others) = watched.split_at(1);
    if first.iter().any(|stop| !stop.revents().is_empty()) {
        return Ok(None);
    }
    let ready = listeners
        .iter()
        .zip(others)
        .filter(|(_, seen)| !seen.revents().is_empty());
    Ok(Some(ready.map(|(listener, _)| listener).collect()))
}

/// Handles one connection in a separate thread.
fn accept(work: &Work, listener: &Listener, slots: &Arc<Slots>) {
    let (stream, peer) = match listener.socket.accept() {
        Ok(accepted) => accepted,
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
        // Out of files or memory, or gone already: the next may do better, and not at once.
        Err(_) => return thread::sleep(LOOK_UP),
    };
    let Some(slot) = slots.take(peer.ip()) else { return };
    let (work, tls) = (Arc::clone(work), listener.tls.clone());
    let work = move || {
        let _slot = slot;
        if stream.set_nonblocking(false).is_ok() {
            work(stream, peer.ip(), tls.as_ref());
        }
    };
    // If no thread can be created, the connection is closed.
    drop(thread::Builder::new().name("connection".to_owned()).spawn(work));
}
