//! Kubeconfigs, and what a join by token trusts.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Known, kubeadm};
use crate::{
    Config, Finding, Machine, TreeFile,
    certificate::{Certificate, pem, public_bits},
    unpack::base64,
};

/// Parts of a kubeconfig that a client needs.
const LEADING: [&str; 3] = ["clusters", "contexts", "current-context"];

/// The kubeconfigs beside the documents, those on machines, and machines that join with a token.
pub(super) fn check(known: &Known<'_>) -> Vec<Finding> {
    let beside = known
        .tree
        .others
        .iter()
        .filter(|file| file.described.path.ends_with(".kubeconfig"));
    let machines = known.tree.machines.iter();
    beside
        .flat_map(|file| one(file, known))
        .chain(machines.flat_map(|machine| on_machine(machine, known).into_iter().chain(by_token(machine, known))))
        .collect()
}

fn one(file: &TreeFile, known: &Known<'_>) -> Vec<Finding> {
    let path = &file.described.path;
    let wrong = |message: String| Finding::error("FL1038", path, message);
    let Some(text) = file.bytes.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok()) else {
        return Vec::new();
    };
    let config: Value = match firelay_yaml::parse(path, text) {
        Ok(config) => config,
        Err(why) => return vec![wrong(format!("not YAML: {why}"))],
    };
    let Some((cluster, user)) = current(&config) else {
        return vec![wrong(
            "current-context does not lead to a cluster and a user".to_owned(),
        )];
    };
    let data = |of: &Value, key: &str| {
        let bytes = base64(of.get(key)?.as_str()?.as_bytes()).ok()?;
        String::from_utf8(bytes).ok()
    };
    let mut findings = Vec::new();
    let server = cluster.get("server").and_then(Value::as_str).unwrap_or_default();
    let endpoint = known
        .cluster
        .endpoint
        .as_ref()
        .map(|endpoint| format!("https://{endpoint}"));
    if endpoint.as_ref().is_some_and(|endpoint| endpoint != server) {
        findings.push(wrong(format!(
            "its server is {server}, the documents say {}",
            endpoint.unwrap_or_default()
        )));
    }
    let authority = data(cluster, "certificate-authority-data").unwrap_or_default();
    if authority_of(known).is_some_and(|known| pem(known).ok() != pem(&authority).ok()) {
        findings.push(wrong("it trusts another authority than the machines have".to_owned()));
    }
    let (certificate, key) = (data(user, "client-certificate-data"), data(user, "client-key-data"));
    let (certificate, key) = (certificate.unwrap_or_default(), key.unwrap_or_default());
    findings.extend(pair(&certificate, &key, &authority, known).into_iter().map(wrong));
    findings
}

/// The authority of the cluster, in PEM.
fn authority_of<'a>(known: &'a Known<'_>) -> Option<&'a str> {
    std::str::from_utf8(known.cluster.authority.as_deref()?).ok()
}

/// Mistakes in a client's certificate, its key and its authority.
fn pair(certificate: &str, key: &str, authority: &str, known: &Known<'_>) -> Vec<String> {
    let (certificate, authority) = match (Certificate::first(certificate), Certificate::first(authority)) {
        (Ok(certificate), Ok(authority)) => (certificate, authority),
        (Err(why), _) => return vec![format!("its client certificate: {why}")],
        (_, Err(why)) => return vec![format!("its authority: {why}")],
    };
    let held = certificate.not_before <= known.now && known.now < certificate.not_after;
    let wrong = [
        (
            !certificate.is_signed_by(&authority),
            "its authority did not sign its certificate",
        ),
        (
            !public_bits(key).is_ok_and(|bits| bits == certificate.key),
            "its key is not that of its certificate",
        ),
        (!certificate.is_client, "its certificate is not one of clients"),
        (!held, "its certificate does not hold now"),
    ];
    wrong
        .into_iter()
        .filter(|(wrong, _)| *wrong)
        .map(|(_, message)| message.to_owned())
        .collect()
}

/// The cluster and the user of the current context.
fn current(config: &Value) -> Option<(&Value, &Value)> {
    let named = |list: &str, name: &str, key: &str| {
        let mut entries = config.get(list)?.as_array()?.iter();
        entries
            .find(|entry| entry.get("name").and_then(Value::as_str) == Some(name))?
            .get(key)
    };
    let context = named("contexts", config.get("current-context")?.as_str()?, "context")?;
    let name = |key: &str| context.get(key)?.as_str();
    Some((
        named("clusters", name("cluster")?, "cluster")?,
        named("users", name("user")?, "user")?,
    ))
}

/// A kubeconfig on a machine may be for any server; it has to be whole. One of users alone is whole: webhooks of admission are
/// found by the names in it.
fn on_machine(machine: &Machine, known: &Known<'_>) -> Vec<Finding> {
    let configs = machine.configs.iter().filter(|config| config.is("Config"));
    let has = |config: &Config, key: &str| config.value.get(key).is_some_and(|value| !value.is_null());
    let leading = configs.filter(|config| LEADING.iter().any(|key| has(config, key)));
    let broken = leading.filter(|config| current(&config.value).is_none());
    broken
        .map(|config| {
            let message = "current-context does not lead to a cluster and a user";
            let level = if known.matters(&config.path) {
                Finding::error
            } else {
                Finding::warning
            };
            level("FL1038", machine.document_of(&config.path), message.to_owned()).at(&config.path)
        })
        .collect()
}

/// The founder creates the token. With `--founded` it was created before.
fn is_known_token(discovery: &Value, known: &Known<'_>) -> bool {
    let Some((_, founder)) = kubeadm::of_cluster(known.tree, "InitConfiguration") else {
        return true;
    };
    let tokens = founder.value.get("bootstrapTokens").and_then(Value::as_array);
    let mut tokens = tokens.into_iter().flatten().filter_map(|token| token.get("token"));
    tokens.any(|token| Some(token) == discovery.get("token"))
}

/// A machine that joins with a token identifies the CA by the digest of its key (kubeadm's `sha256:…`).
fn by_token(machine: &Machine, known: &Known<'_>) -> Vec<Finding> {
    let joins = machine.configs.iter().filter(|config| config.is("JoinConfiguration"));
    let mut findings = Vec::new();
    for config in joins {
        let Some(discovery) = config.value.pointer("/discovery/bootstrapToken") else {
            continue;
        };
        let mut wrong = |message: String| {
            findings.push(machine.error("FL1038", &config.path, message));
        };
        let server = discovery.get("apiServerEndpoint").and_then(Value::as_str);
        if server != known.cluster.endpoint.as_deref() {
            wrong(format!(
                "it asks {}, the cluster's endpoint is another",
                server.unwrap_or("nobody")
            ));
        }
        if !is_known_token(discovery, known) {
            wrong("its token is none that the founder makes known".to_owned());
        }
        let digest = authority_of(known)
            .and_then(|text| Certificate::first(text).ok())
            .map(|authority| {
                let digest = Sha256::digest(&authority.key_info);
                format!(
                    "sha256:{}",
                    digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
                )
            });
        let hashes = discovery.get("caCertHashes").and_then(Value::as_array);
        let trusts = |digest: &String| hashes.into_iter().flatten().any(|hash| hash.as_str() == Some(digest));
        if digest.is_some_and(|digest| !trusts(&digest)) {
            wrong("caCertHashes has not the digest of the cluster's authority".to_owned());
        }
    }
    findings
}
