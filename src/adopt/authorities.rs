//! Whether the PKI is that of the objects: API servers publish the CAs that they trust.

use firelay_yaml::diagnostic::{Diagnostic, Span};
use x509_parser::pem::Pem;

use super::{objects::Objects, pki::fingerprint};
use crate::secrets::{Authority, Roots};

/// Written by every API server (`pkg/controlplane/controller/clusterauthenticationtrust`).
const CONFIG_MAP: &str = "extension-apiserver-authentication";

/// A finding for each CA that the API servers do not trust. Without their ConfigMap the CA of a kubeconfig shows whose the PKI is.
pub fn check(objects: &Objects, roots: &Roots, kubeconfig: Option<&str>, place: Span) -> Vec<Diagnostic> {
    let Some(object) = objects.config_maps.get(CONFIG_MAP) else {
        let is_own = kubeconfig.is_some_and(|published| holds(published, &roots.kubernetes));
        return Vec::from_iter((!is_own).then(|| unknown(kubeconfig, place)));
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

fn unknown(kubeconfig: Option<&str>, place: Span) -> Diagnostic {
    let also = kubeconfig.map_or("", |_| ", and the kubeconfig has another CA");
    let message =
        format!("nothing shows that the PKI is of this cluster: the ConfigMap {CONFIG_MAP} is not there{also}");
    Diagnostic::warning("FL1320", message).at(place).help(format!(
        "add it to the files of --from: kubectl --namespace kube-system get configmap {CONFIG_MAP} --output yaml"
    ))
}

fn holds(published: &str, own: &Authority) -> bool {
    let own = fingerprint(&own.certificate);
    let blocks = Pem::iter_from_buffer(published.as_bytes()).flatten();
    blocks
        .into_iter()
        .any(|block| Some(crate::encoding::sha256_hex(&block.contents)) == own)
}
