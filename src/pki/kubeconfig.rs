//! The kubeconfig for people, with kubeadm's names (`phases/kubeconfig`): cluster, user and `USER@CLUSTER`.

use std::net::Ipv6Addr;

use serde::Serialize;
use time::OffsetDateTime;
use zeroize::Zeroizing;

use super::{
    Authorities, Error,
    authorities::Ca,
    derivation::ADMINISTRATOR,
    leaf::{self, Fresh, Issued, Leaf, Usage},
};
use crate::{encoding::base64, plan::Plan, secret::Secret, secrets::Bundle};

/// Group of kubeadm's administrators; the founder binds it to `cluster-admin`.
pub(super) const ADMINISTRATORS: &str = "kubeadm:cluster-admins";

/// The kubeconfig of `user` at the endpoint, everything embedded.
fn kubeconfig(plan: &Plan, bundle: &Bundle, user: &str, issued: &Issued) -> Result<Secret<String>, Error> {
    let authority = base64(Ca::Kubernetes.trusted(bundle));
    let context = format!("{user}@{}", plan.name);
    let certificate = base64(&issued.certificate);
    let key = Zeroizing::new(base64(issued.key.expose()));
    let server = url(&plan.endpoint.host, plan.endpoint.port);
    let config = Kubeconfig {
        api_version: "v1",
        kind: "Config",
        clusters: [NamedCluster {
            name: &plan.name,
            cluster: Cluster {
                certificate_authority_data: &authority,
                server: &server,
            },
        }],
        users: [NamedUser {
            name: user,
            user: Identity {
                client_certificate_data: &certificate,
                client_key_data: &key,
            },
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
    let text = firelay_yaml::emit(&config).map_err(|source| Error::Kubeconfig(user.to_owned(), source))?;
    Ok(Secret::new(text))
}

/// `https://HOST:PORT`, IPv6 addresses in brackets.
fn url(host: &str, port: u16) -> String {
    match host.parse::<Ipv6Addr>() {
        Ok(address) => format!("https://[{address}]:{port}"),
        Err(_) => format!("https://{host}:{port}"),
    }
}

/// A kubeconfig for people, with a certificate of its own on a date: `kubernetes-admin` of `kubeadm:cluster-admins`.
pub fn admin_kubeconfig(
    plan: &Plan,
    authorities: &Authorities,
    bundle: &Bundle,
    issued_at: OffsetDateTime,
) -> Result<Secret<String>, Error> {
    let leaf = Leaf::new(Ca::Kubernetes, Usage::Client, "kubernetes-admin").organization(ADMINISTRATORS.to_owned());
    let issued = leaf::sign(plan, authorities, issued_at, ADMINISTRATOR, &leaf)?;
    kubeconfig(plan, bundle, "kubernetes-admin", &issued)
}

/// A person or a program that authenticates with a client certificate.
pub struct User<'a> {
    /// Its name: the certificate's common name.
    pub name: &'a str,
    /// Its group: the certificate's organization.
    pub group: Option<&'a str>,
}

/// A kubeconfig of a user, whose certificate is valid from and until the given times.
pub fn user_kubeconfig(
    plan: &Plan,
    authorities: &Authorities,
    bundle: &Bundle,
    user: &User<'_>,
    fresh: &Fresh,
    validity: (OffsetDateTime, OffsetDateTime),
) -> Result<Secret<String>, Error> {
    let leaf = Leaf::new(Ca::Kubernetes, Usage::Client, user.name).organization(user.group.map(str::to_owned));
    let issued = leaf::sign_fresh(authorities, &leaf, fresh, validity)?;
    kubeconfig(plan, bundle, user.name, &issued)
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
#[serde(rename_all = "kebab-case")]
struct Identity<'a> {
    client_certificate_data: &'a str,
    client_key_data: &'a str,
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
