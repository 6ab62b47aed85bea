//! The two halves of a cloud-init document: what cloud-init has to do itself, and what a script can fetch and do.

use std::{borrow::Cow, collections::BTreeMap};

use serde::Serialize;
use serde_json::json;

use super::Located;
use crate::{
    node::{NodeFile, NodeFiles, NodeUnit},
    plan::{NodePlan, PointerPlan},
    template,
};

/// Settings that the fetch needs as well: the proxy, lines of /etc/hosts, name servers and time servers.
const AROUND: [&str; 6] = [
    "/etc/firelay/proxy.env",
    "/etc/firelay/hosts",
    "/etc/systemd/resolved.conf.d/90-firelay.conf",
    "/etc/NetworkManager/conf.d/90-firelay-dns.conf",
    "/etc/systemd/timesyncd.conf.d/90-firelay.conf",
    "/etc/firelay/chrony.conf",
];

/// The payload: the work of `write_files`, `bootcmd` and `runcmd` of the whole document, and passwords.
#[derive(Serialize)]
struct Payload<'a> {
    /// Path and mode.
    directories: Vec<(&'a str, u32)>,
    /// Path, mode and content.
    files: Vec<(Cow<'a, str>, u32, &'a str)>,
    /// Path and target.
    links: Vec<(&'a str, &'a str)>,
    /// User and hash.
    passwords: Vec<(&'a str, &'a str)>,
}

/// The payload as JSON.
pub(super) fn payload(files: &NodeFiles) -> Vec<u8> {
    let directories = files.directories.iter();
    let links = files.links.iter();
    let passwords = files.users.iter().filter_map(|user| {
        let hash = user.password_hash.as_ref()?;
        Some((user.name.as_str(), hash.expose().as_str()))
    });
    let payload = Payload {
        directories: directories
            .map(|directory| (directory.path.as_str(), directory.mode))
            .collect(),
        files: files
            .contents()
            .map(|(path, mode, content)| (path, mode, &**content))
            .collect(),
        links: links.map(|link| (link.path.as_str(), link.target.as_str())).collect(),
        passwords: passwords.collect(),
    };
    serde_json::to_vec(&payload).expect("texts and numbers are JSON")
}

/// `/etc/firelay/pointer.json`.
#[derive(Serialize)]
struct Pointer<'a> {
    /// The boot chain's name of the node; empty for a pool.
    node: &'a str,
    role: String,
    url: String,
    authority: &'a str,
    path: &'a str,
    region: Option<&'a str>,
    query: Option<&'a str>,
    headers: BTreeMap<&'a str, &'a str>,
    /// Certificates in PEM.
    trust: String,
    bytes: usize,
    sha256: &'a str,
    /// The identity of a sealed payload, hex.
    key: Option<String>,
    /// Units.
    enable: Vec<&'a str>,
}

/// The part of the node that cloud-init creates: name, users, keys and masks, and the script that fetches the rest.
pub(super) fn stub(
    node: &NodePlan,
    pointer: &PointerPlan,
    files: &NodeFiles,
    located: &Located,
    key: Option<String>,
) -> Result<NodeFiles, template::Error> {
    let lib = node.os.paths.lib.as_str();
    let (hosts, dns, ntp) = (
        !node.host.hosts.is_empty(),
        node.host.dns.is_some(),
        node.host.ntp.is_some(),
    );
    let settings = hosts || dns || ntp;
    let context = json!({
        "lib": lib,
        "fetch": pointer.store.fetch,
        "sealed": key.is_some(),
        // Something is set before the fetch.
        "settings": settings,
        "hosts": hosts,
        "dns": dns,
        "ntp": ntp,
    });
    let script = template::render("pointer/fetch.py.j2", &context)?;
    let unit = template::render("pointer/firelay-fetch.service.j2", &context)?;
    let json = serde_json::to_string(&self::pointer(node, pointer, files, located, key));
    let json = json.expect("texts and numbers are JSON");
    let around = files.files.iter().filter(|file| AROUND.contains(&file.path.as_str()));
    let mut own = vec![
        NodeFile::new("/etc/firelay/pointer.json", 0o600, json),
        NodeFile::new(&format!("{lib}/fetch"), 0o755, script),
    ];
    if settings {
        let settings = template::render("pointer/settings.j2", &context)?;
        own.push(NodeFile::new(&format!("{lib}/settings"), 0o755, settings));
    }
    let mut users = files.users.clone();
    users.iter_mut().for_each(|user| user.password_hash = None);
    Ok(NodeFiles {
        hostname: files.hostname.clone(),
        files: own.into_iter().chain(around.cloned()).collect(),
        units: vec![NodeUnit::new("firelay-fetch.service", unit, true)],
        masked_units: files.masked_units.clone(),
        ssh_authorized_keys: files.ssh_authorized_keys.clone(),
        users,
        ..NodeFiles::default()
    })
}

fn pointer<'a>(
    node: &'a NodePlan,
    pointer: &'a PointerPlan,
    files: &'a NodeFiles,
    located: &'a Located,
    key: Option<String>,
) -> Pointer<'a> {
    let headers = pointer.headers.iter();
    let enabled = files.units.iter().filter(|unit| unit.enabled);
    Pointer {
        node: if node.pool { "" } else { &node.name },
        role: node.role(),
        url: located.place.url(),
        authority: &located.place.authority,
        path: &located.place.path,
        region: pointer.region.as_deref(),
        query: pointer.query.as_ref().map(|query| query.expose().as_str()),
        headers: headers
            .map(|(name, value)| (name.as_str(), value.expose().as_str()))
            .collect(),
        trust: node.host.trusted_cas.concat(),
        bytes: located.bytes.len(),
        sha256: &located.sha256,
        key,
        enable: enabled.map(|unit| unit.name.as_str()).collect(),
    }
}
