//! `artifacts check`: what a mirror lacks.

use std::path::Path;

use serde::Serialize;

use super::{client, images, inventory};
use crate::{
    cli::{ArtifactsCheck, OutputFormat},
    commands::{failure::Failure, project::Project, streams},
    mirror::{self, Client, Endpoint, Fault, Problem, Reference, Wanted},
    plan::Plan,
    spec::Mirror,
};

/// `--output json`.
#[derive(Serialize)]
struct Report {
    /// Files and images that were looked at.
    looked: usize,
    problems: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    place: String,
    /// `missing`, `digest`, `empty` or `unknown`.
    what: &'static str,
    text: String,
}

/// Runs the verb.
pub fn run(args: &ArtifactsCheck) -> Result<(), Failure> {
    refuse_secret(&args.place)?;
    let project = Project::load(&args.spec)?;
    let client = client(&args.fetching)?;
    let (mut looked, mut rows) = files(&project.plan, &client, args);
    if args.images {
        let (images, lacking) = in_registries(&project, &client)?;
        looked += images;
        rows.extend(lacking);
    }
    let wrong = rows.len();
    match args.output {
        OutputFormat::Json => streams::json(&Report { looked, problems: rows })?,
        OutputFormat::Text => {
            let lines = rows.iter().map(|row| format!("{}: {}\n", row.place, row.text));
            streams::data(&lines.collect::<String>())?;
        }
    }
    if wrong > 0 {
        return Err(Failure::Policy(format!("{} lacks {wrong} of {looked}", args.place)));
    }
    streams::tell(format_args!("{} has all {looked}", args.place));
    Ok(())
}

/// A password would stand in every line of the report, and no machine has it.
fn refuse_secret(place: &str) -> Result<(), Failure> {
    let host = place.split_once("://").and_then(|(_, rest)| rest.split('/').next());
    match host {
        Some(host) if host.contains('@') => Err(Failure::Usage(
            "a mirror is asked without a user name and password, as machines ask it".to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Files of the mirror, and behind a URL also those that machines fetch elsewhere.
fn files(plan: &Plan, client: &Client, args: &ArtifactsCheck) -> (usize, Vec<Row>) {
    let parallel = args.fetching.parallel.into();
    let all = inventory::of(plan);
    let base = args.place.trim_end_matches('/');
    let remote = base.starts_with("http://") || base.starts_with("https://");
    let mut wanted = Vec::new();
    for file in &all {
        match file.wanted(|path| format!("{base}/{path}")) {
            Some(file) => wanted.push(file),
            None if remote => wanted.push(Wanted {
                path: String::new(),
                url: file.url.clone(),
                sha256: file.sha256.clone(),
            }),
            None => streams::tell(format_args!(
                "note: {} is not of the mirror and was not looked at",
                file.url
            )),
        }
    }
    wanted.sort();
    wanted.dedup();
    let problems = if remote {
        mirror::ask(client, &wanted, args.quick, parallel)
    } else {
        mirror::inspect(&wanted, Path::new(&args.place), args.quick, parallel)
    };
    (wanted.len(), problems.into_iter().map(row).collect())
}

fn row(problem: Problem) -> Row {
    let (what, text) = match problem.what {
        Fault::Missing => ("missing", "not there".to_owned()),
        Fault::Digest(sha256) => ("digest", format!("another file: it has sha256 {sha256}")),
        Fault::Empty => ("empty", "an empty file".to_owned()),
        Fault::Unknown(why) => ("unknown", why),
    };
    Row {
        place: problem.place,
        what,
        text,
    }
}

/// Every image at the servers that containerd would ask.
fn in_registries(project: &Project, client: &Client) -> Result<(usize, Vec<Row>), Failure> {
    let images = images::collect(project)?;
    let mut rows = Vec::new();
    for image in &images {
        let name = Reference::of(&image.image);
        let asked = mirror::serves(client, &endpoints(&project.plan, &name), &name);
        rows.extend(asked.err().map(|text| Row {
            place: image.image.clone(),
            what: "missing",
            text,
        }));
    }
    Ok((images.len(), rows))
}

/// The mirrors of the registry, or of `_default`, then the registry itself (containerd docs/hosts.md).
fn endpoints(plan: &Plan, image: &Reference<'_>) -> Vec<Endpoint> {
    let registries = &plan.runtime.registries;
    let of = |host: &str| registries.iter().find(|registry| registry.host.as_str() == host);
    let own = of(image.registry).or_else(|| of("_default"));
    let mirrors = own.iter().flat_map(|registry| &registry.mirrors).map(endpoint);
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
