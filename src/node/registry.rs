//! Registries: `/etc/containerd/certs.d/HOST/hosts.toml` (containerd `docs/hosts.md`).

use serde_json::{Value, json};

use super::{Error, NodeFile, render};
use crate::{
    encoding::base64,
    plan::{NodePlan, Plan},
    spec::{Mirror, MirrorCapability, Registry, RegistryAuth},
};

/// Every registry's `hosts.toml` with the CAs of its mirrors as `ca-N.crt` and their client certificates as
/// `client-N.crt` and `client-N.key`, where N numbers the mirrors from 1.
///
/// A `hosts.toml` with a password is 0600.
pub fn files(plan: &Plan, node: &NodePlan) -> Result<Vec<NodeFile>, Error> {
    let mut files = Vec::new();
    for registry in &plan.runtime.registries {
        files.push(hosts(node, registry)?);
        files.extend(authorities(registry));
        files.extend(clients(registry));
    }
    Ok(files)
}

fn hosts(node: &NodePlan, registry: &Registry) -> Result<NodeFile, Error> {
    let mirrors = numbered(registry).map(|(number, mirror)| host(registry, number, mirror));
    let context = json!({
        "server": registry.server.as_ref().map(|server| &server.value),
        "mirrors": mirrors.collect::<Vec<_>>(),
    });
    let path = format!("{}/hosts.toml", directory(registry));
    let mut file = render::file(node, &path, "runtime/hosts.toml.j2", &context)?;
    if registry.mirrors.iter().any(|mirror| mirror.auth.is_some()) {
        file.mode = 0o600;
    }
    Ok(file)
}

fn authorities(registry: &Registry) -> impl Iterator<Item = NodeFile> + '_ {
    numbered(registry).filter_map(|(number, mirror)| {
        let pem = mirror.ca.as_ref()?;
        Some(NodeFile::new(&authority(registry, number), 0o644, pem.value.as_str()))
    })
}

fn clients(registry: &Registry) -> impl Iterator<Item = NodeFile> + '_ {
    let given = numbered(registry).filter_map(|(number, mirror)| Some((number, mirror.client.as_ref()?)));
    given.flat_map(|(number, client)| {
        let [certificate, key] = client_files(registry, number);
        [
            NodeFile::new(&certificate, 0o644, client.certificate.value.as_str()),
            NodeFile::new(&key, 0o600, client.key.expose().as_str()),
        ]
    })
}

fn client_files(registry: &Registry, number: usize) -> [String; 2] {
    ["crt", "key"].map(|ending| format!("{}/client-{number}.{ending}", directory(registry)))
}

fn numbered(registry: &Registry) -> impl Iterator<Item = (usize, &Mirror)> {
    (1..).zip(&registry.mirrors)
}

fn directory(registry: &Registry) -> String {
    format!("/etc/containerd/certs.d/{}", registry.host.value)
}

fn authority(registry: &Registry, number: usize) -> String {
    format!("{}/ca-{number}.crt", directory(registry))
}

fn host(registry: &Registry, number: usize, mirror: &Mirror) -> Value {
    json!({
        "url": mirror.url.value,
        "capabilities": capabilities(mirror),
        "ca": mirror.ca.is_some().then(|| authority(registry, number)),
        "client": mirror.client.is_some().then(|| client_files(registry, number)),
        "skip_verify": mirror.skip_verify,
        "override_path": mirror.override_path,
        "authorization": mirror.auth.as_ref().map(basic),
    })
}

/// Pull and resolve, unless the user sets others: mirrors are seldom pushed to.
fn capabilities(mirror: &Mirror) -> Vec<&'static str> {
    let said: Vec<_> = mirror
        .capabilities
        .iter()
        .map(|capability| capability_name(capability.value))
        .collect();
    if said.is_empty() { vec!["pull", "resolve"] } else { said }
}

fn capability_name(capability: MirrorCapability) -> &'static str {
    match capability {
        MirrorCapability::Pull => "pull",
        MirrorCapability::Resolve => "resolve",
        MirrorCapability::Push => "push",
    }
}

/// `Authorization` of HTTP basic authentication (RFC 7617).
fn basic(auth: &RegistryAuth) -> String {
    format!("Basic {}", user(auth))
}

/// User and password as that scheme encodes them.
pub(super) fn user(auth: &RegistryAuth) -> String {
    base64(format!("{}:{}", auth.username.value, auth.password.expose()))
}
