//! Secrets of other clusters: a machine may hold them, and the audit names them as such.

use std::fs;

use base64::{Engine, engine::general_purpose::STANDARD};
use firelay::{audit::Role, pki::LeafKeys};

use super::{
    rendered::Rendered,
    tampered::{Beside, audited, machine},
};

/// The titles of the secrets that a worker with these bytes can use; they are no findings.
fn titles(searching: &Beside, bytes: &[u8]) -> Vec<String> {
    let worker = machine(&searching.catalogue, "w1", Role::Worker, bytes);
    let audit = audited(&searching.catalogue, vec![worker]);
    let opens = audit.machines[0].opens.iter();
    opens.map(|secret| secret.title.clone()).collect()
}

/// Adds a worker's certificate, so that a token is superfluous.
fn certified(tree: &Rendered, text: &str) -> String {
    let client = LeafKeys::of(&tree.bundle()).of_node("w1", "kubelet/client");
    format!("{text}\nkey: {}\n", STANDARD.encode(client.expose()))
}

/// The bundle shows that a token belongs to another cluster.
#[test]
fn a_token_of_another_cluster_is_none_of_this_one() {
    let tree = Rendered::of("mixed");
    let searching = Beside::new(&tree, true);
    let other = certified(&tree, "token = 9f8e7d.0123456789abcdef");
    assert_eq!(searching.findings(other.as_bytes()), []);
    assert_eq!(titles(&searching, other.as_bytes()), ["kubelet", "token of yours"]);
    let own = certified(&tree, &format!("token: {}", tree.bundle().bootstrap_token.expose()));
    assert_eq!(searching.findings(own.as_bytes()).len(), 1);
    assert_eq!(titles(&searching, own.as_bytes()), ["kubelet", "bootstrap token"]);
}

/// Guides copy a token from the handbook of kubeadm.
#[test]
fn the_token_of_kubeadms_handbook_is_no_secret() {
    let tree = Rendered::of("mixed");
    for with_bundle in [true, false] {
        let searching = Beside::new(&tree, with_bundle);
        assert_eq!(titles(&searching, b"# token: abcdef.0123456789abcdef"), [""; 0]);
        assert_eq!(titles(&searching, b"token: 9f8e7d.0123456789abcdef").len(), 1);
    }
}

/// Without the bundle the owner of a token is unknown, and the report says so.
#[test]
fn a_token_that_was_not_searched_for_is_called_one_in_that_form() {
    let tree = Rendered::of("mixed");
    tree.append("out/nodes/arm1/user-data", b"\ntoken: 9f8e7d.0123456789abcdef\n");
    let message = "arm1 holds a token in kubeadm's form, and joins without one".to_owned();
    assert_eq!(tree.findings(false), [("FL1083".to_owned(), message)]);
    assert_eq!(tree.findings(true), []);
}

/// Only a control plane is a founder, whatever another machine's document claims.
#[test]
fn a_worker_does_not_found() {
    let tree = Rendered::of("mixed");
    let token = tree.bundle().bootstrap_token.expose().clone();
    let text = certified(&tree, &format!("kind: InitConfiguration\ntoken: {token}"));
    let message = "w1 holds the bootstrap token, and joins without it".to_owned();
    assert_eq!(
        Beside::new(&tree, true).findings(text.as_bytes()),
        [("FL1083", message)]
    );
}

/// Every CA of kubeadm has the name `kubernetes`.
#[test]
fn a_kubeconfig_of_another_cluster_is_no_key_of_this_one() {
    let (tree, other) = (Rendered::of("mixed"), Rendered::of("external-etcd"));
    let kubeconfig = fs::read(other.at("out/admin.kubeconfig")).unwrap();
    let bundle = other.bundle();
    let authority = [bundle.kubernetes.certificate.as_str(), bundle.kubernetes.key.expose()].concat();
    for with_bundle in [true, false] {
        let searching = Beside::new(&tree, with_bundle);
        assert_eq!(searching.findings(&kubeconfig), [], "{with_bundle}");
        assert_eq!(searching.findings(authority.as_bytes()), [], "{with_bundle}");
    }
    let searching = Beside::new(&tree, true);
    assert_eq!(
        titles(&searching, authority.as_bytes()),
        ["CA kubernetes of another cluster"]
    );
    let own = fs::read(tree.at("out/admin.kubeconfig")).unwrap();
    for with_bundle in [true, false] {
        assert_eq!(Beside::new(&tree, with_bundle).findings(&own).len(), 1, "{with_bundle}");
    }
}
