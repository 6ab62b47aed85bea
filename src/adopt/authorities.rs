//! Whether the PKI is that of the objects: API servers publish the CAs that they trust.

use firelay_yaml::diagnostic::Diagnostic;
use x509_parser::pem::Pem;

use super::{objects::Objects, pki::fingerprint};
use crate::secrets::{Authority, Roots};

/// Written by every API server (`pkg/controlplane/controller/clusterauthenticationtrust`).
const CONFIG_MAP: &str = "extension-apiserver-authentication";

/// A finding for each CA that the API servers do not trust.
pub fn check(objects: &Objects, roots: &Roots) -> Vec<Diagnostic> {
    let Some(object) = objects.config_maps.get(CONFIG_MAP) else {
        return Vec::new();
    };
    let pairs = [
        ("client-ca-file", "ca.crt", &roots.kubernetes),
        ("requestheader-client-ca-file", "front-proxy-ca.crt", &roots.front_proxy),
    ];
    let foreign = pairs.into_iter().filter(|(key, _, own)| {
        let published = object.value["data"][key].as_str();
        published.is_some_and(|published| !holds(published, own))
    });
    let finding = |(key, file, _): (&str, &str, &Authority)| {
        let message = format!("{file} is of another cluster: the ConfigMap {CONFIG_MAP} has another CA in {key}");
        Diagnostic::error("FL1307", message)
            .at(object.place)
            .help("copy the PKI from a control plane of the cluster whose objects --from has")
    };
    foreign.map(finding).collect()
}

fn holds(published: &str, own: &Authority) -> bool {
    let own = fingerprint(&own.certificate);
    let blocks = Pem::iter_from_buffer(published.as_bytes()).flatten();
    blocks
        .into_iter()
        .any(|block| Some(crate::encoding::sha256_hex(&block.contents)) == own)
}
