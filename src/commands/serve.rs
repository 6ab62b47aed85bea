//! `serve`: a rendered tree for machines that boot from the network.

use std::{
    collections::BTreeSet,
    fs::OpenOptions,
    io::{self, Write},
    net::{SocketAddr, TcpListener},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Instant,
};

use time::OffsetDateTime;

use super::{bundle::load_bundle, failure::Failure, signals, streams};
use crate::{
    cli::Serve,
    pki::BootServer,
    secrets,
    serve::{
        AccessLog, Catalog, Journal, KnownBy, Limits, Listener, Mirror, MirrorError, Server, listen, server_config,
    },
    tree::{Manifest, TreeReader, machines, network_boot},
};

/// The default address.
const HERE: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8080);

/// Name of the state in the tree.
const STATE: &str = ".firelay-serve";

/// Runs the verb until a signal ends it.
pub fn run(args: &Serve) -> Result<(), Failure> {
    let tree = TreeReader::open(args.tree.path())?;
    let (journal, known) = state(args, &tree.manifest)?;
    let catalog = Catalog::new(&tree.manifest, &known);
    let identity = identity(args)?;
    let mirror = mirror(args)?;
    let log = access_log(args)?;
    let stop = signals::stop()?;
    let listeners = listeners(args, identity.as_ref())?;
    if !args.reusable {
        warn_of_memory(&tree.manifest);
    }
    warn_of_port(&tree, &listeners);
    if matches!(known, KnownBy::Address) {
        warn_of_unknown(&tree.manifest);
    }
    warn_of_missing(&tree, mirror.as_ref());
    announce(&tree.manifest, &catalog, &listeners, identity.as_ref());
    if let KnownBy::Token(tokens) = &known {
        let lines = tokens.iter().map(|(node, token)| format!("{node} {token}\n"));
        streams::data(&lines.collect::<String>())?;
    }
    let server = Server {
        tree,
        catalog,
        mirror,
        ca: identity.map(|identity| identity.ca),
        journal: (!args.reusable).then(|| Mutex::new(journal)),
        limits: Mutex::new(Limits::new(args.rate)),
        log,
        begun: Instant::now(),
    };
    listen(&Arc::new(server), listeners, &stop, args.connections as usize)
        .map_err(|error| Failure::Io(format!("cannot take connections: {error}")))?;
    streams::tell("stopped");
    Ok(())
}

/// The state after applying `--again`, and the way to identify machines.
fn state(args: &Serve, manifest: &Manifest) -> Result<(Journal, KnownBy), Failure> {
    let machines = machines(manifest);
    if let Some(name) = args.again.iter().find(|name| !machines.contains_key(name.as_str())) {
        return Err(Failure::Usage(format!("the tree has no node or pool {name}")));
    }
    let path = state_path(args);
    let mut journal = Journal::open(&path)?;
    for name in &args.again {
        journal.forget(name)?;
    }
    let known = if args.tokens {
        let tokens = journal.tokens(machines.into_keys(), &mut getrandom::fill);
        KnownBy::Token(tokens?)
    } else {
        KnownBy::Address
    };
    Ok((journal, known))
}

fn state_path(args: &Serve) -> PathBuf {
    args.state.clone().unwrap_or_else(|| args.tree.path().join(STATE))
}

/// The mirror, with nothing of this server's own in it.
fn mirror(args: &Serve) -> Result<Option<Mirror>, Failure> {
    let Some(path) = &args.mirror else { return Ok(None) };
    let state = state_path(args);
    let own = args.secrets.iter().chain(&args.audit).chain(&args.identity.files);
    let closed = own.map(PathBuf::as_path).chain([args.tree.path(), &state]);
    let closed = closed.filter(|path| *path != Path::new("-"));
    Mirror::open(path, closed, secrets::is_bundle)
        .map(Some)
        .map_err(|error| match error {
            MirrorError::Secret { .. } => Failure::Usage(error.to_string()),
            error => error.into(),
        })
}

/// The certificate, if anything is served with TLS.
fn identity(args: &Serve) -> Result<Option<BootServer>, Failure> {
    if args.listen_tls.is_empty() {
        return Ok(None);
    }
    let addresses = || args.listen_tls.iter().map(SocketAddr::ip);
    let names = if args.name.is_empty() {
        if addresses().any(|address| address.is_unspecified()) {
            return Err(Failure::Usage(
                "every address has no name: say by which one machines reach the server\n  = help: --name boot.lan"
                    .to_owned(),
            ));
        }
        addresses().map(|address| address.to_string()).collect()
    } else {
        args.name.clone()
    };
    let bundle = args.secrets.as_deref().map(|path| {
        load_bundle(path, &args.identity, "serve --secrets -", || {
            "firelay secrets new".to_owned()
        })
    });
    let bundle = bundle.transpose()?;
    let issued = BootServer::issue(bundle.as_ref(), &names, OffsetDateTime::now_utc(), &mut getrandom::fill);
    Ok(Some(issued?))
}

fn access_log(args: &Serve) -> Result<AccessLog, Failure> {
    let sink: Box<dyn Write + Send> = match &args.audit {
        None => Box::new(io::stderr()),
        Some(path) => {
            let mut options = OpenOptions::new();
            let file = options.append(true).create(true).mode(0o600).open(path);
            Box::new(file.map_err(|error| Failure::file("open", path, &error))?)
        }
    };
    Ok(AccessLog::new(sink))
}

fn listeners(args: &Serve, identity: Option<&BootServer>) -> Result<Vec<Listener>, Failure> {
    let tls = identity.map(|identity| server_config(&identity.certificate, &identity.key));
    let tls = tls.transpose();
    let tls = tls.map_err(|error| Failure::Io(format!("cannot serve TLS: {error}")))?;
    let plain: &[SocketAddr] = match (args.listen.as_slice(), &tls) {
        ([], None) => &[HERE],
        (given, _) => given,
    };
    let plain = plain.iter().map(|address| (*address, None));
    let secure = args.listen_tls.iter().map(|address| (*address, tls.clone()));
    let listener = |(address, tls)| {
        let socket =
            TcpListener::bind(address).map_err(|error| Failure::Io(format!("cannot listen on {address}: {error}")))?;
        Ok(Listener { socket, tls })
    };
    plain.chain(secure).map(listener).collect()
}

/// A machine that forgets its document when it is switched off needs it again.
fn warn_of_memory(manifest: &Manifest) {
    let machines = machines(manifest);
    let forgetful = machines.values().filter(|machine| machine.memory);
    let names: Vec<_> = forgetful.map(|machine| machine.name).collect();
    if !names.is_empty() {
        streams::tell(format_args!(
            "warning: these run from memory, need their documents at each start, and get them once: {}\n  \
             = help: --reusable on a network of their own, or install them on a disk",
            names.join(", ")
        ));
    }
}

/// Machines follow the scripts: without a listener at their port they find nothing.
fn warn_of_port(tree: &TreeReader, listeners: &[Listener]) {
    let script = first_script(tree);
    let Some((url, port, tls)) = script.as_deref().and_then(server_of) else {
        return;
    };
    let listens = |listener: &Listener| {
        let own = listener.socket.local_addr().map(|address| address.port());
        listener.tls.is_some() == tls && own.is_ok_and(|own| own == port)
    };
    if !listeners.iter().any(listens) {
        let flag = if tls { "--listen-tls" } else { "--listen" };
        streams::tell(format_args!(
            "warning: the boot scripts lead to {url}, and this server does not listen on port {port}\n  \
             = help: {flag} ADDRESS:{port}, or another delivery.pxe.url; a proxy may also lead from there to here"
        ));
    }
}

/// A request is matched to a machine by its MAC address or UUID.
fn warn_of_unknown(manifest: &Manifest) {
    let machines = machines(manifest);
    if machines.is_empty() {
        return streams::tell("warning: there is no document in this tree: no machine can boot by it");
    }
    let unknown = machines
        .values()
        .filter(|machine| machine.mac.is_none() && machine.uuid.is_none());
    let names: Vec<_> = unknown.map(|machine| machine.name).collect();
    if !names.is_empty() {
        let whom = if names.len() == machines.len() {
            "no machine"
        } else {
            "not every machine"
        };
        streams::tell(format_args!(
            "warning: {whom} can boot by this server: these have neither `mac` nor `uuid`: {}\n  \
             = help: give each its `mac` or `uuid` in the spec and render again, or serve by tokens (--tokens)",
            names.join(", ")
        ));
    }
}

/// A script stops at a file that the mirror does not have.
fn warn_of_missing(tree: &TreeReader, mirror: Option<&Mirror>) {
    let missing: Vec<_> = mirrored_files(tree)
        .into_iter()
        .filter(|path| mirror.is_none_or(|mirror| !mirror.has(path)))
        .collect();
    if !missing.is_empty() {
        let help = match mirror {
            Some(_) => "put them into the directory of --mirror",
            None => "--mirror DIR, with these files below DIR",
        };
        streams::tell(format_args!(
            "warning: the boot scripts name files of the mirror that are not there: {}\n  = help: {help}",
            missing.join(", ")
        ));
    }
}

/// Paths in the mirror that the machines' scripts name, RAM disks and arguments among them.
fn mirrored_files(tree: &TreeReader) -> BTreeSet<String> {
    let first = first_script(tree);
    let Some((url, ..)) = first.as_deref().and_then(server_of) else {
        return BTreeSet::new();
    };
    let mirror = format!("{url}/mirror/");
    let scripts = tree
        .manifest
        .files
        .iter()
        .filter(|file| network_boot::is_script(&file.path));
    let texts = scripts.filter_map(|file| String::from_utf8(tree.read(file).ok()?).ok());
    let paths = |text: String| {
        let words = text
            .split_whitespace()
            .filter_map(|word| Some(word.split_once(&mirror)?.1));
        words.map(str::to_owned).collect::<Vec<_>>()
    };
    texts.flat_map(paths).collect()
}

/// The script that all machines begin with.
fn first_script(tree: &TreeReader) -> Option<String> {
    let first = tree
        .manifest
        .files
        .iter()
        .find(|file| file.path == network_boot::FIRST_SCRIPT)?;
    String::from_utf8(tree.read(first).ok()?).ok()
}

/// The server in a script: its URL, port, and whether it uses TLS.
fn server_of(script: &str) -> Option<(&str, u16, bool)> {
    let url = script
        .split_whitespace()
        .find_map(|word| Some(word.split_once("/m/")?.0))?;
    let (scheme, rest) = url.split_once("://")?;
    let authority = rest.split('/').next()?;
    let tls = scheme == "https";
    let port = authority.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
    Some((url, port.unwrap_or(if tls { 443 } else { 80 }), tls))
}

fn announce(manifest: &Manifest, catalog: &Catalog, listeners: &[Listener], identity: Option<&BootServer>) {
    let addresses = listeners.iter().map(|listener| {
        let scheme = if listener.tls.is_some() { "https" } else { "http" };
        let address = listener.socket.local_addr().map(|address| address.to_string());
        format!("{scheme}://{}", address.unwrap_or_default())
    });
    streams::tell(format_args!(
        "serving {} of {} machines of {} on {}",
        catalog.nodes(),
        machines(manifest).len(),
        manifest.cluster,
        addresses.collect::<Vec<_>>().join(" ")
    ));
    if let Some(identity) = identity {
        streams::tell(format_args!("CA (/ca.crt), SHA-256: {}", identity.fingerprint));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_leads_to_a_port() {
        for (url, port, tls) in [
            ("http://10.0.0.5:8080", 8080, false),
            ("https://boot.home.lan", 443, true),
            ("http://[fd00::1]", 80, false),
            ("http://[fd00::1]:81/firelay", 81, false),
        ] {
            let script = format!("#!ipxe\nchain --replace {url}/m/${{uuid}}/boot.ipxe || exit 1\n");
            assert_eq!(server_of(&script), Some((url, port, tls)));
        }
        assert_eq!(server_of("#!ipxe\n"), None);
    }
}
