//! kubeadm's tree of a control plane (`phases/certs/certlist.go`, `phases/kubeconfig`), whole.

use super::{
    Error,
    authorities::Ca,
    etcd,
    kubeconfig::ADMINISTRATORS,
    leaf::{Leaf, Usage},
    names::Names,
    node::Desk,
};
use crate::spec::CaKeys;

pub(super) fn issue(desk: &mut Desk<'_>) -> Result<(), Error> {
    lay_roots(desk);
    lay_authority_keys(desk);
    issue_api_server(desk)?;
    if !desk.plan.etcd.external {
        etcd::issue_leaves(desk, "pki/etcd")?;
    }
    // kubeadm makes its own where it holds the CA key (docs/adr/0009-what-kubeadm-makes.md).
    if !desk.plan.etcd.external && desk.plan.pki.ca_keys != CaKeys::ControlPlane {
        etcd::issue_health_check(desk, "pki/etcd")?;
    }
    issue_kubeconfig_users(desk)
}

/// `pki/ca.crt` is laid on every node.
fn lay_roots(desk: &mut Desk<'_>) {
    let bundle = desk.bundle;
    desk.certificate("pki/front-proxy-ca.crt", &bundle.front_proxy.certificate);
    desk.certificate("pki/etcd/ca.crt", &bundle.etcd.certificate);
    desk.secret("pki/sa.key", bundle.service_account_key.clone());
    desk.secret(
        "pki/sa.pub",
        crate::secret::Secret::new(bundle.service_account_public.clone()),
    );
}

/// ca.key is on all control planes or on none: a controller manager without it, once leader, would sign no request.
fn lay_authority_keys(desk: &mut Desk<'_>) {
    let (bundle, plan) = (desk.bundle, desk.plan);
    if plan.pki.holds_kubernetes_key() {
        desk.secret("pki/ca.key", bundle.kubernetes.key.clone());
    }
    if plan.pki.holds_front_proxy_key() {
        desk.secret("pki/front-proxy-ca.key", bundle.front_proxy.key.clone());
    }
    if plan.pki.holds_etcd_key(&plan.etcd) {
        desk.secret("pki/etcd/ca.key", bundle.etcd.key.clone());
    }
}

fn issue_api_server(desk: &mut Desk<'_>) -> Result<(), Error> {
    let client = |ca, common_name: &str| Leaf::new(ca, Usage::Client, common_name);
    let server = Leaf::new(Ca::Kubernetes, Usage::Server, "kube-apiserver").names(api_server_names(desk));
    let organization = desk
        .plan
        .kubernetes
        .profile
        .apiserver_kubelet_client_organization
        .clone();
    let kubelet_client = client(Ca::Kubernetes, "kube-apiserver-kubelet-client").organization(organization);
    desk.pair("pki/apiserver", &server)?;
    desk.pair("pki/apiserver-kubelet-client", &kubelet_client)?;
    desk.pair("pki/front-proxy-client", &client(Ca::FrontProxy, "front-proxy-client"))?;
    desk.pair(
        "pki/apiserver-etcd-client",
        &client(Ca::Etcd, "kube-apiserver-etcd-client"),
    )
}

/// kubeadm's names, and beyond them each further address of the node.
fn api_server_names(desk: &Desk<'_>) -> Names {
    let (plan, node) = (desk.plan, desk.node);
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

/// Certificate and key of each kubeconfig. The node puts the kubeconfigs together from them: embedded, each would be
/// base64 of base64, and the CA would stand in the document once more. A founder that holds the CA key lets kubeadm make
/// super-admin.conf: the one credential that no RBAC restrains then is in no document.
fn issue_kubeconfig_users(desk: &mut Desk<'_>) -> Result<(), Error> {
    let users = [
        (true, "admin", "kubernetes-admin", Some(ADMINISTRATORS)),
        (
            desk.node.founder && desk.plan.pki.ca_keys == CaKeys::None,
            "super-admin",
            "kubernetes-super-admin",
            Some("system:masters"),
        ),
        (true, "controller-manager", "system:kube-controller-manager", None),
        (true, "scheduler", "system:kube-scheduler", None),
    ];
    for (_, name, user, organization) in users.into_iter().filter(|user| user.0) {
        let leaf = Leaf::new(Ca::Kubernetes, Usage::Client, user).organization(organization.map(str::to_owned));
        desk.pair(&format!("kubeconfig/{name}"), &leaf)?;
    }
    Ok(())
}
