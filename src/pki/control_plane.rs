//! kubeadm's tree of a control plane (`phases/certs/certlist.go`, `phases/kubeconfig`), whole.

use super::{
    Error,
    authorities::Ca,
    builder::PkiBuilder,
    etcd,
    kubeconfig::ADMINISTRATORS,
    leaf::{Leaf, Usage},
    names::Names,
};
use crate::{secret::Secret, spec::CaKeys};

pub(super) fn issue(builder: &mut PkiBuilder<'_>) -> Result<(), Error> {
    add_roots(builder);
    add_authority_keys(builder);
    issue_api_server(builder)?;
    if !builder.plan.etcd.external {
        etcd::issue_leaves(builder, "pki/etcd")?;
    }
    // kubeadm makes its own where it holds the CA key (docs/adr/0009-what-kubeadm-makes.md).
    if !builder.plan.etcd.external && builder.plan.pki.ca_keys != CaKeys::ControlPlane {
        etcd::issue_health_check(builder, "pki/etcd")?;
    }
    issue_kubeconfig_users(builder)
}

/// `pki/ca.crt` is on every node.
fn add_roots(builder: &mut PkiBuilder<'_>) {
    let bundle = builder.bundle;
    builder.certificate("pki/front-proxy-ca.crt", &Ca::FrontProxy.trusted(bundle));
    builder.certificate("pki/etcd/ca.crt", &Ca::Etcd.trusted(bundle));
    builder.secret("pki/sa.key", bundle.service_account_key.clone());
    builder.secret("pki/sa.pub", Secret::new(bundle.service_account_publics()));
}

/// ca.key is on all control planes or on none: a controller manager without it, once leader, would sign no request.
fn add_authority_keys(builder: &mut PkiBuilder<'_>) {
    let (bundle, plan) = (builder.bundle, builder.plan);
    if plan.pki.holds_kubernetes_key() {
        builder.secret("pki/ca.key", bundle.kubernetes.key.clone());
        // kube-controller-manager refuses to sign with a file of two certificates (pkg/controller/certificates/signer/ca_provider.go).
        if bundle.has_rotated_authorities() {
            builder.certificate("pki/ca-signing.crt", &bundle.kubernetes.certificate);
        }
    }
    if plan.pki.holds_front_proxy_key() {
        builder.secret("pki/front-proxy-ca.key", bundle.front_proxy.key.clone());
    }
    if plan.pki.holds_etcd_key(&plan.etcd) {
        builder.secret("pki/etcd/ca.key", bundle.etcd.key.clone());
    }
}

fn issue_api_server(builder: &mut PkiBuilder<'_>) -> Result<(), Error> {
    let client = |ca, common_name: &str| Leaf::new(ca, Usage::Client, common_name);
    let server = Leaf::new(Ca::Kubernetes, Usage::Server, "kube-apiserver").names(api_server_names(builder));
    let organization = builder
        .plan
        .kubernetes
        .profile
        .apiserver_kubelet_client_organization
        .clone();
    let kubelet_client = client(Ca::Kubernetes, "kube-apiserver-kubelet-client").organization(organization);
    builder.pair("pki/apiserver", &server)?;
    builder.pair("pki/apiserver-kubelet-client", &kubelet_client)?;
    builder.pair("pki/front-proxy-client", &client(Ca::FrontProxy, "front-proxy-client"))?;
    builder.pair(
        "pki/apiserver-etcd-client",
        &client(Ca::Etcd, "kube-apiserver-etcd-client"),
    )
}

/// kubeadm's names, and beyond them each further address of the node.
fn api_server_names(builder: &PkiBuilder<'_>) -> Names {
    let (plan, node) = (builder.plan, builder.node);
    Names::default()
        .with(&node.name)
        .with("kubernetes")
        .with("kubernetes.default")
        .with("kubernetes.default.svc")
        .with(&format!("kubernetes.default.svc.{}", plan.kubernetes.dns.domain))
        .with_addresses([plan.network.api_service])
        .with_addresses(node.addresses.iter().copied())
        .with(&plan.endpoint.host)
        .with_all(&plan.pki.extra_sans)
}

/// Certificate and key of each kubeconfig. The node writes the kubeconfigs: embedded, each would be base64 of base64, with one
/// more copy of the CA. On a founder that holds the CA key kubeadm writes super-admin.conf, so that the one credential
/// that RBAC does not restrict is in no document.
fn issue_kubeconfig_users(builder: &mut PkiBuilder<'_>) -> Result<(), Error> {
    let users = [
        (true, "admin", "kubernetes-admin", Some(ADMINISTRATORS)),
        (
            builder.node.founder && builder.plan.pki.ca_keys == CaKeys::None,
            "super-admin",
            "kubernetes-super-admin",
            Some("system:masters"),
        ),
        (true, "controller-manager", "system:kube-controller-manager", None),
        (true, "scheduler", "system:kube-scheduler", None),
    ];
    for (_, name, user, organization) in users.into_iter().filter(|user| user.0) {
        let leaf = Leaf::new(Ca::Kubernetes, Usage::Client, user).organization(organization.map(str::to_owned));
        builder.pair(&format!("kubeconfig/{name}"), &leaf)?;
    }
    Ok(())
}
