//! CRI-O's configuration below `/etc/crio`, and that of its registries below `/etc/containers`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Error, NodeFile, registry::user, render};
use crate::{
    plan::{Location, NodePlan, Plan, location},
    spec::{Mirror, MirrorCapability, Registry},
};

/// Names and passwords at mirrors.
const AUTH: &str = "/etc/crio/auth.json";

/// Settings, policy, registries with the CAs and client certificates of their mirrors, and the file with passwords.
///
/// The settings are a drop-in that comes late: packages ship one of their own, which would override `crio.conf`.
pub fn files(plan: &Plan, node: &NodePlan) -> Result<Vec<NodeFile>, Error> {
    let auth = credentials(plan);
    let context = json!({
        "pause_image": plan.runtime.sandbox_image,
        "cni_bin": node.os.paths.cni_bin,
        "bin_dir": if node.preinstalled { "" } else { &node.bin_dir },
        "auth": auth.is_some(),
        "handlers": plan.requirements.runtimes,
    });
    let registries = plan.runtime.registries.iter().map(upstream);
    let registries = json!({ "registries": registries.collect::<Vec<_>>() });
    let mut files = vec![
        render::file(
            node,
            "/etc/crio/crio.conf.d/90-firelay.conf",
            "runtime/crio.conf.j2",
            &context,
        )?,
        render::file(node, "/etc/crio/policy.json", "runtime/policy.json.j2", &())?,
        render::file(
            node,
            "/etc/containers/registries.conf.d/90-firelay.conf",
            "runtime/registries.conf.j2",
            &registries,
        )?,
    ];
    files.extend(auth);
    files.extend(certificates(plan));
    Ok(files)
}

fn upstream(registry: &Registry) -> Value {
    let host = registry.host.as_str();
    let server = registry.server.as_ref().and_then(|server| location(server, false));
    json!({
        "prefix": host,
        "insecure": server.as_ref().is_some_and(|server| server.plain),
        "location": server.as_ref().map_or(host, |server| &server.place),
        "mirrors": registry.mirrors.iter().filter_map(server_of).collect::<Vec<_>>(),
    })
}

/// `None` for a mirror to which images are only pushed: CRI-O pushes none.
fn server_of(mirror: &Mirror) -> Option<Value> {
    let can = |wanted| mirror.capabilities.is_empty() || mirror.capabilities.iter().any(|own| own.value == wanted);
    let only = match (can(MirrorCapability::Pull), can(MirrorCapability::Resolve)) {
        (true, true) => None,
        (true, false) => Some("digest-only"),
        (false, true) => Some("tag-only"),
        (false, false) => return None,
    };
    let Location { place, plain, .. } = located(mirror)?;
    Some(json!({ "location": place, "insecure": plain || mirror.skip_verify, "only": only }))
}

fn located(mirror: &Mirror) -> Option<Location> {
    location(&mirror.url, mirror.override_path)
}

fn mirrors(plan: &Plan) -> impl Iterator<Item = (Location, &Mirror)> {
    let all = plan.runtime.registries.iter().flat_map(|registry| &registry.mirrors);
    all.filter_map(|mirror| Some((located(mirror)?, mirror)))
}

/// containers-auth.json(5), 0600; `None` without passwords.
fn credentials(plan: &Plan) -> Option<NodeFile> {
    let users: BTreeMap<_, _> = mirrors(plan)
        .filter_map(|(location, mirror)| Some((location.place, json!({ "auth": user(mirror.auth.as_ref()?) }))))
        .collect();
    (!users.is_empty()).then(|| NodeFile::new(AUTH, 0o600, format!("{}\n", json!({ "auths": users }))))
}

/// containers-certs.d(5): CRI-O takes every `*.crt` of a host as a CA, and every `*.cert` with its `*.key`. Mirrors of several
/// registries may be one host.
fn certificates(plan: &Plan) -> Vec<NodeFile> {
    let mut files: Vec<NodeFile> = Vec::new();
    let mut numbers: BTreeMap<String, usize> = BTreeMap::new();
    for (location, mirror) in mirrors(plan) {
        let number = numbers.entry(location.host.clone()).or_default();
        *number += 1;
        let path = |name: &str| format!("/etc/containers/certs.d/{}/{name}", location.host);
        let ca = mirror.ca.as_ref().map(|ca| ca.value.as_str());
        files.extend(ca.map(|ca| NodeFile::new(&path(&format!("ca-{number}.crt")), 0o644, ca)));
        if let Some(client) = &mirror.client {
            let pair = [
                ("cert", 0o644, client.certificate.value.as_str()),
                ("key", 0o600, client.key.expose().as_str()),
            ];
            let files_of =
                pair.map(|(ending, mode, text)| NodeFile::new(&path(&format!("client-{number}.{ending}")), mode, text));
            files.extend(files_of);
        }
    }
    files
}
