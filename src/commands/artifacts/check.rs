//! `artifacts check`: what a mirror lacks.

use std::{collections::BTreeSet, path::Path};

use serde::Serialize;

use super::{
    client, images,
    inventory::{self, File},
};
use crate::{
    cli::ArtifactsCheck,
    commands::{failure::Failure, project::Project, streams},
    mirror::{self, Client, Endpoint, Fault, Problem, Reference, Wanted},
    plan::Plan,
    spec::{Mirror, MirrorCapability},
};

/// `--output json`.
#[derive(Serialize)]
struct MirrorReport {
    /// The number of checked files and images.
    looked: usize,
    problems: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    place: String,
    /// `missing`, `digest`, `empty` or `unknown`.
    what: &'static str,
    text: String,
    /// No server answered.
    #[serde(skip)]
    silent: bool,
}

/// Runs the verb.
pub fn run(args: &ArtifactsCheck) -> Result<(), Failure> {
    let server = server(&args.place)?;
    let project = Project::load(&args.spec)?;
    let inventory = inventory::of(&project.plan);
    let (mut looked, mut rows) = match &server {
        Some(base) => on_server(&inventory, base, &client(&args.fetching)?, args),
        None => in_directory(&inventory, args),
    };
    if args.images {
        let (images, lacking) = in_registries(&project, &client(&args.fetching)?)?;
        looked += images;
        rows.extend(lacking);
    }
    report(args, looked, rows)
}

/// Prints the problems. If no server answered at all, the result is unknown, which is a different failure.
fn report(args: &ArtifactsCheck, looked: usize, rows: Vec<Row>) -> Result<(), Failure> {
    let wrong = rows.len();
    let silent = rows.iter().filter(|row| row.silent).count();
    let report = MirrorReport { looked, problems: rows };
    streams::report(args.output, &report, || {
        let lines = report.problems.iter();
        lines.map(|row| format!("{}: {}\n", row.place, row.text)).collect()
    })?;
    if silent == looked && looked > 0 {
        return Err(Failure::Io(format!("nothing of {} could be asked", args.place)));
    }
    if wrong > 0 {
        return Err(Failure::Policy(format!("{} lacks {wrong} of {looked}", args.place)));
    }
    streams::tell(format_args!("{} has all {looked}", args.place));
    Ok(())
}

/// The URL of a place that is one; everything else is a directory.
fn server(place: &str) -> Result<Option<String>, Failure> {
    let Some((scheme, rest)) = place.split_once("://") else {
        return Ok(None);
    };
    // RFC 3986 §3.1.
    let scheme = scheme.to_ascii_lowercase();
    if !["http", "https"].contains(&scheme.as_str()) {
        let text = format!("{scheme}:// cannot be asked: give a directory, or a URL with http:// or https://");
        return Err(Failure::Usage(text));
    }
    // A password would appear in every line of the report, and no machine has it.
    if rest.split('/').next().is_some_and(|host| host.contains('@')) {
        let text = "a mirror is asked without a user name and password, as machines ask it";
        return Err(Failure::Usage(text.to_owned()));
    }
    Ok(Some(format!("{scheme}://{}", rest.trim_end_matches('/'))))
}

/// Sends the same requests as machines, also for files that they fetch elsewhere.
fn on_server(files: &[File], base: &str, client: &Client, args: &ArtifactsCheck) -> (usize, Vec<Row>) {
    let wanted = files.iter().map(|file| Wanted {
        path: file.path.clone().unwrap_or_default(),
        url: match &file.asked {
            Some(asked) => format!("{base}/{asked}"),
            None => file.url.clone(),
        },
        digest: file.digest.0.clone(),
    });
    let wanted = once(wanted);
    let problems = mirror::check_remote(client, &wanted, args.quick, args.fetching.parallel.into());
    (wanted.len(), problems.into_iter().map(row).collect())
}

fn in_directory(files: &[File], args: &ArtifactsCheck) -> (usize, Vec<Row>) {
    for file in files.iter().filter(|file| file.path.is_none()) {
        let url = &file.url;
        streams::tell(format_args!("note: {url} is not of the mirror and was not looked at"));
    }
    let wanted = once(files.iter().filter_map(|file| file.wanted(String::new())));
    let (directory, parallel) = (Path::new(&args.place), args.fetching.parallel.into());
    let problems = mirror::check_local(&wanted, directory, args.quick, parallel);
    (wanted.len(), problems.into_iter().map(row).collect())
}

fn once(wanted: impl Iterator<Item = Wanted>) -> Vec<Wanted> {
    let wanted: BTreeSet<_> = wanted.collect();
    wanted.into_iter().collect()
}

fn row(problem: Problem) -> Row {
    let silent = matches!(problem.fault, Fault::NoAnswer(_));
    let (what, text) = match problem.fault {
        Fault::Missing => ("missing", "not there".to_owned()),
        Fault::Digest(digest) => (
            "digest",
            format!("another file: it has {} {digest}", mirror::algorithm(&digest)),
        ),
        Fault::Empty => ("empty", "an empty file".to_owned()),
        Fault::Unreadable(why) | Fault::NoAnswer(why) => ("unknown", why),
    };
    Row {
        place: problem.place,
        what,
        text,
        silent,
    }
}

/// Checks every image at the servers that containerd would use.
fn in_registries(project: &Project, client: &Client) -> Result<(usize, Vec<Row>), Failure> {
    let images = images::collect(project)?;
    let mut rows = Vec::new();
    for image in &images {
        let name = Reference::of(&image.image);
        let asked = mirror::serves(client, &endpoints(&project.plan, &name), &name);
        rows.extend(asked.err().map(|unserved| Row {
            place: image.image.clone(),
            what: if unserved.no_answer { "unknown" } else { "missing" },
            text: unserved.reasons,
            silent: unserved.no_answer,
        }));
    }
    Ok((images.len(), rows))
}

/// The mirrors of the registry, or of `_default`, then the registry itself (containerd docs/hosts.md).
fn endpoints(plan: &Plan, image: &Reference<'_>) -> Vec<Endpoint> {
    let registries = &plan.runtime.registries;
    let of = |host: &str| registries.iter().find(|registry| registry.host.as_str() == host);
    let own = of(image.registry).or_else(|| of("_default"));
    let mirrors = own.iter().flat_map(|registry| &registry.mirrors);
    let mirrors = mirrors.filter(|mirror| is_asked(mirror, image)).map(endpoint);
    let server = own.and_then(|registry| registry.server.as_ref());
    let server = Endpoint {
        url: server.map_or_else(|| image.server(), |server| server.value.clone()),
        override_path: false,
        ca: None,
        verified: true,
        client: None,
        credentials: None,
    };
    let same = |mirror: &Endpoint| mirror.url.trim_end_matches('/') == server.url;
    let mut all: Vec<_> = mirrors.collect();
    if !all.iter().any(same) {
        all.push(server);
    }
    all
}

/// containerd requests tags from mirrors with `resolve`, and digests from those with `pull`
/// (core/remotes/docker/resolver.go).
fn is_asked(mirror: &Mirror, image: &Reference<'_>) -> bool {
    let needed = match image.digest {
        Some(_) => MirrorCapability::Pull,
        None => MirrorCapability::Resolve,
    };
    let mut given = mirror.capabilities.iter();
    mirror.capabilities.is_empty() || given.any(|capability| capability.value == needed)
}

fn endpoint(mirror: &Mirror) -> Endpoint {
    Endpoint {
        url: mirror.url.value.clone(),
        override_path: mirror.override_path,
        ca: mirror.ca.as_ref().map(|ca| ca.value.clone()),
        verified: !mirror.skip_verify,
        client: mirror
            .client
            .as_ref()
            .map(|client| (client.certificate.value.clone(), client.key.clone())),
        credentials: mirror
            .auth
            .as_ref()
            .map(|auth| (auth.username.value.clone(), auth.password.clone())),
    }
}
