//! kubeconfigs with kubeadm's names (`phases/kubeconfig`): cluster, user and `USER@CLUSTER`.

use std::net::Ipv6Addr;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::Serialize;
use zeroize::Zeroizing;

use super::{
    Authorities, Error,
    authorities::Ca,
    leaf::{self, Issued, Leaf, Usage},
};
use crate::{plan::Plan, secret::Secret, secrets::Bundle, yaml};

/// Group of kubeadm's administrators; the founder binds it to `cluster-admin`.
pub(super) const ADMINISTRATORS: &str = "kubeadm:cluster-admins";

/// How the user proves who it is.
pub(super) enum Credentials<'a> {
    /// Certificate and key within the kubeconfig.
    Embedded(&'a Issued),
    /// Path of a PEM file with certificate and key.
    File(&'a str),
}

/// The kubeconfig of `user` at `server`.
pub(super) fn kubeconfig(
    plan: &Plan,
    bundle: &Bundle,
    server: &str,
    user: &str,
    credentials: &Credentials<'_>,
) -> Result<Secret<String>, Error> {
    let authority = STANDARD.encode(&Ca::Kubernetes.of(bundle).certificate);
    let context = format!("{user}@{}", plan.name);
    let (certificate, key);
    let identity = match credentials {
        Credentials::Embedded(issued) => {
            certificate = STANDARD.encode(&issued.certificate);
            key = Zeroizing::new(STANDARD.encode(issued.key.expose()));
            Identity::Embedded {
                client_certificate_data: &certificate,
                client_key_data: &key,
            }
        }
        Credentials::File(path) => Identity::File {
            client_certificate: path,
            client_key: path,
        },
    };
    let config = Kubeconfig {
        api_version: "v1",
        kind: "Config",
        clusters: [NamedCluster {
            name: &plan.name,
            cluster: Cluster {
                certificate_authority_data: &authority,
                server,
            },
        }],
        users: [NamedUser {
            name: user,
            user: identity,
        }],
        contexts: [NamedContext {
            name: &context,
            context: Context {
                cluster: &plan.name,
                user,
            },
        }],
        current_context: &context,
    };
    let text = yaml::emit(&config).map_err(|source| Error::Kubeconfig {
        user: user.to_owned(),
        source,
    })?;
    Ok(Secret::new(text))
}

/// `https://HOST:PORT`, IPv6 addresses in brackets.
pub(super) fn url(host: &str, port: u16) -> String {
    match host.parse::<Ipv6Addr>() {
        Ok(address) => format!("https://[{address}]:{port}"),
        Err(_) => format!("https://{host}:{port}"),
    }
}

/// The endpoint's URL.
pub(super) fn endpoint(plan: &Plan) -> String {
    url(&plan.endpoint.host, plan.endpoint.port)
}

/// A kubeconfig for people, with a certificate of its own: `kubernetes-admin` of `kubeadm:cluster-admins`.
pub fn admin_kubeconfig(plan: &Plan, authorities: &Authorities, bundle: &Bundle) -> Result<Secret<String>, Error> {
    let leaf = Leaf::new(Ca::Kubernetes, Usage::Client, "kubernetes-admin").organization(ADMINISTRATORS.to_owned());
    let issued = leaf::sign(plan, authorities, bundle, "admin", &leaf)?;
    kubeconfig(
        plan,
        bundle,
        &endpoint(plan),
        "kubernetes-admin",
        &Credentials::Embedded(&issued),
    )
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Kubeconfig<'a> {
    #[serde(rename = "apiVersion")]
    api_version: &'a str,
    kind: &'a str,
    clusters: [NamedCluster<'a>; 1],
    users: [NamedUser<'a>; 1],
    contexts: [NamedContext<'a>; 1],
    current_context: &'a str,
}

#[derive(Serialize)]
struct NamedCluster<'a> {
    name: &'a str,
    cluster: Cluster<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Cluster<'a> {
    certificate_authority_data: &'a str,
    server: &'a str,
}

#[derive(Serialize)]
struct NamedUser<'a> {
    name: &'a str,
    user: Identity<'a>,
}

#[derive(Serialize)]
#[serde(untagged, rename_all_fields = "kebab-case")]
enum Identity<'a> {
    Embedded {
        client_certificate_data: &'a str,
        client_key_data: &'a str,
    },
    File {
        client_certificate: &'a str,
        client_key: &'a str,
    },
}

#[derive(Serialize)]
struct NamedContext<'a> {
    name: &'a str,
    context: Context<'a>,
}

#[derive(Serialize)]
struct Context<'a> {
    cluster: &'a str,
    user: &'a str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ipv6_addresses_are_bracketed() {
        assert_eq!(url("api.lab.test", 443), "https://api.lab.test:443");
        assert_eq!(url("10.0.0.1", 6443), "https://10.0.0.1:6443");
        assert_eq!(url("fd00::1", 6443), "https://[fd00::1]:6443");
    }
}
