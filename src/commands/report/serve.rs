//! `report --serve`: the page in a browser on this machine, which loads it again after each change.

use std::{
    net::{SocketAddr, TcpListener},
    sync::{Arc, PoisonError, RwLock},
    thread,
};

use super::{
    super::{
        audit,
        failure::Failure,
        signals, streams,
        watch::{Files, each_change, refuse_stdin},
    },
    files_beside,
    page::Served,
    tree, with_page,
};
use crate::{
    cli::Report,
    serve::{Pages, Text, show},
};

/// The page as it is served now.
#[derive(Clone)]
struct Site(Arc<RwLock<Served>>);

/// Shows the page until a signal ends it.
pub(super) fn run(args: &Report, address: SocketAddr) -> Result<(), Failure> {
    refuse_others(address)?;
    refuse_stdin(args.inputs.spec.specs.iter().chain(&args.inputs.secrets), "--serve")?;
    tree(&args.inputs)?;
    let stop = signals::stop()?;
    let failed = |error| Failure::Io(format!("cannot listen on {address}: {error}"));
    let socket = TcpListener::bind(address).map_err(failed)?;
    let here = socket.local_addr().map_err(failed)?;
    let site = Site(Arc::new(RwLock::new(Served::notice("firelay is making the page.\n")?)));
    streams::tell(format_args!("serving the page on http://{here}/"));
    site.clone().follow(args.clone())?;
    show(site, socket, &stop).map_err(|error| Failure::Io(format!("cannot take connections: {error}")))?;
    streams::tell("stopped");
    Ok(())
}

/// The page has no password.
fn refuse_others(address: SocketAddr) -> Result<(), Failure> {
    match address.ip().to_canonical().is_loopback() {
        true => Ok(()),
        false => Err(Failure::Usage(format!(
            "--serve {address}: other machines could open the page, and it is for you alone\n  \
             = help: --serve 127.0.0.1:{}; for others, write the page with --out",
            address.port()
        ))),
    }
}

impl Site {
    /// Makes the page now and after each change, in a thread of its own.
    fn follow(self, args: Report) -> Result<(), Failure> {
        let work = move || each_change(&args.inputs.spec, files_beside(&args), || false, || self.refresh(&args));
        let thread = thread::Builder::new().name("page".to_owned());
        thread.spawn(work).map(drop).map_err(Failure::from)
    }

    /// Makes the page, or a notice of the reason why there is none. Returns the files that decide about it.
    fn refresh(&self, args: &Report) -> Files {
        let (mut files, mut page) = (files_beside(args), None);
        let ((), told) = streams::captured(|| {
            let done = with_page(args, &mut files, |own, secrets, _| {
                let served = own.serve()?;
                audit::refuse_secrets(secrets, "page".as_ref(), &served.html)?;
                page = Some(served);
                Ok(())
            });
            done.unwrap_or_else(|failure| failure.print());
        });
        let notice = || Served::notice(&anstream::adapter::strip_str(&told).to_string());
        match page.map_or_else(notice, Ok) {
            Ok(next) => self.replace(next, &told),
            Err(failure) => failure.print(),
        }
        files
    }

    /// Serves another version, and prints what is to be said about it.
    fn replace(&self, next: Served, told: &str) {
        let mut now = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if now.version == next.version {
            return;
        }
        *now = next;
        drop(now);
        streams::tell(match told.trim_end() {
            "" => "the page is new",
            told => told,
        });
    }
}

impl Pages for Site {
    fn find(&self, path: &str) -> Option<Text> {
        let now = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let (media, content) = match path {
            "/" => ("text/html; charset=utf-8", &now.html),
            "/version" => ("text/plain; charset=utf-8", &now.version),
            _ => return None,
        };
        Some(Text {
            media,
            policy: format!("{}; frame-ancestors 'none'", now.policy),
            content: content.clone(),
        })
    }
}
