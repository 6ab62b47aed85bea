//! Certificates as OpenSSL parses them, compared with those of kubeadm, and the bundle behind them.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

mod cluster;
mod openssl;
mod rotation;
use crate::support;

use std::{collections::BTreeMap, sync::Arc};

use cluster::{ISSUED_AT, bundle, bundle_of, issue, plan};
use firelay::{
    pki::{self, Authorities, Error, NodePki},
    plan::{NodePlan, Plan, RoleSet},
    secrets::Bundle,
    spec::{Algorithm, CaKeys, JoinIdentity},
};
use openssl::Tree;
use time::Duration;

/// The pairs of files of a control plane: path, CA, purpose.
const PAIRS: [(&str, &str, &str); 7] = [
    ("pki/apiserver", "pki/ca.crt", "sslserver"),
    ("pki/apiserver-kubelet-client", "pki/ca.crt", "sslclient"),
    ("pki/front-proxy-client", "pki/front-proxy-ca.crt", "sslclient"),
    ("pki/apiserver-etcd-client", "pki/etcd/ca.crt", "sslclient"),
    ("pki/etcd/server", "pki/etcd/ca.crt", "sslserver"),
    ("pki/etcd/peer", "pki/etcd/ca.crt", "sslclient"),
    ("kubelet/kubelet", "pki/ca.crt", "sslserver"),
];

fn paths(pki: &NodePki) -> Vec<&str> {
    pki.files.iter().map(|file| file.path.as_str()).collect()
}

fn contents(pki: &NodePki) -> Vec<(String, String, u32)> {
    pki.files
        .iter()
        .map(|file| (file.path.clone(), file.content.expose().clone(), file.mode))
        .collect()
}

fn control_plane(name: &str, addresses: &[&str]) -> NodePlan {
    let roles = RoleSet {
        control_plane: true,
        ..RoleSet::default()
    };
    cluster::node(name, roles, addresses)
}

#[test]
fn names_usages_and_constraints_are_those_of_kubeadm() {
    let mut plan = plan();
    plan.pki.ca_keys = CaKeys::Signer;
    let tree = Tree::of(&issue(&plan, &bundle(), "cp1"));
    let expected = include_str!("../../fixtures/kubeadm-pki.txt")
        .lines()
        .filter(|line| !line.starts_with('#'));
    let mut compared = 0;
    for line in expected {
        let (path, description) = line.split_once(" | ").unwrap();
        assert_eq!(tree.describe(&format!("pki/{path}")), description, "{path}");
        compared += 1;
    }
    assert_eq!(compared, 10);
}

#[test]
fn every_leaf_verifies_and_has_its_key() {
    for algorithm in [Algorithm::EcdsaP256, Algorithm::EcdsaP384, Algorithm::Rsa2048] {
        let tree = Tree::of(&issue(&plan(), &bundle_of(algorithm), "cp1"));
        for (path, authority, purpose) in PAIRS {
            tree.verify(authority, &format!("{path}.crt"), purpose);
            tree.match_pair(&format!("{path}.crt"), &format!("{path}.key"));
        }
        tree.verify("pki/ca.crt", "kubelet/client.pem", "sslclient");
        tree.match_pair("kubelet/client.pem", "kubelet/client.pem");
        for authority in ["pki/ca", "pki/front-proxy-ca", "pki/etcd/ca"] {
            tree.match_pair(&format!("{authority}.crt"), &format!("{authority}.key"));
        }
        assert_eq!(
            tree.openssl("pkey -in pki/sa.key -pubout"),
            tree.read("pki/sa.pub"),
            "{algorithm:?}"
        );
    }
}

#[test]
fn the_health_check_is_left_to_kubeadm_where_it_holds_the_key() {
    let mut plan = plan();
    let name = "pki/etcd/healthcheck-client";
    let has = |plan: &Plan| {
        paths(&issue(plan, &bundle(), "cp1"))
            .iter()
            .any(|path| path.starts_with(name))
    };
    assert!(!has(&plan));
    plan.pki.ca_keys = CaKeys::None;
    assert!(has(&plan));
    let tree = Tree::of(&issue(&plan, &bundle(), "cp1"));
    tree.verify("pki/etcd/ca.crt", &format!("{name}.crt"), "sslclient");
    tree.match_pair(&format!("{name}.crt"), &format!("{name}.key"));
}

#[test]
fn short_keys_are_what_openssl_calls_an_ec_key() {
    let tree = Tree::of(&issue(&plan(), &bundle(), "cp1"));
    let key = tree.read("pki/apiserver.key");
    assert!(
        key.starts_with("-----BEGIN EC PRIVATE KEY-----\n") && key.len() < 140,
        "{} bytes",
        key.len()
    );
    assert_eq!(
        tree.openssl("ec -in pki/apiserver.key -pubout"),
        tree.openssl("pkey -in pki/apiserver.key -pubout")
    );
    assert!(
        tree.openssl("ec -in pki/apiserver.key -noout -text")
            .contains("NIST CURVE: P-256")
    );
}

/// The credentials of an embedded kubeconfig, written to `NAME.crt` and `NAME.key`.
fn lay_credentials(tree: &Tree, name: &str, config: &str) -> BTreeMap<&'static str, String> {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let config: serde_json::Value = firelay_yaml::parse(name, config).unwrap();
    let text = |pointer: &str| config.pointer(pointer).unwrap().as_str().unwrap().to_owned();
    let data = |pointer: &str| String::from_utf8(STANDARD.decode(text(pointer)).unwrap()).unwrap();
    tree.write(&format!("{name}.crt"), &data("/users/0/user/client-certificate-data"));
    tree.write(&format!("{name}.key"), &data("/users/0/user/client-key-data"));
    BTreeMap::from([
        ("server", text("/clusters/0/cluster/server")),
        ("authority", data("/clusters/0/cluster/certificate-authority-data")),
        ("user", text("/users/0/name")),
        ("context", text("/current-context")),
        ("cluster", text("/contexts/0/context/cluster")),
    ])
}

#[test]
fn kubeconfigs_have_kubeadms_users() {
    let (mut plan, bundle) = (plan(), bundle());
    plan.pki.ca_keys = CaKeys::None;
    let tree = Tree::of(&issue(&plan, &bundle, "cp1"));
    for (name, subject) in [
        ("admin", "CN=kubernetes-admin,O=kubeadm:cluster-admins"),
        ("super-admin", "CN=kubernetes-super-admin,O=system:masters"),
        ("controller-manager", "CN=system:kube-controller-manager"),
        ("scheduler", "CN=system:kube-scheduler"),
    ] {
        let (certificate, key) = (format!("kubeconfig/{name}.crt"), format!("kubeconfig/{name}.key"));
        let found = tree.describe(&certificate);
        assert!(found.starts_with(&format!("{subject} | CN=kubernetes | ")), "{found}");
        tree.verify("pki/ca.crt", &certificate, "sslclient");
        tree.match_pair(&certificate, &key);
    }
}

#[test]
fn the_administrators_kubeconfig_has_a_certificate_of_its_own() {
    let (plan, bundle) = (plan(), bundle());
    let pki = issue(&plan, &bundle, "cp1");
    let tree = Tree::of(&pki);
    let authorities = Authorities::open(&bundle).unwrap();
    let config = pki::admin_kubeconfig(&plan, &authorities, &bundle, bundle.issued_at).unwrap();
    let found = lay_credentials(&tree, "own", config.expose());
    assert_eq!(found["server"], "https://api.lab.test:6443");
    tree.verify("pki/ca.crt", "own.crt", "sslclient");
    assert!(
        tree.describe("own.crt")
            .starts_with("CN=kubernetes-admin,O=kubeadm:cluster-admins | CN=kubernetes")
    );
    assert_ne!(tree.read("own.key"), tree.read("kubeconfig/admin.key"));
    assert_eq!(
        [
            &found["user"],
            &found["context"],
            &found["cluster"],
            &found["authority"]
        ],
        [
            "kubernetes-admin",
            "kubernetes-admin@lab",
            "lab",
            bundle.kubernetes.certificate.as_str()
        ]
    );
}

#[test]
fn a_kubelet_is_known_by_a_file_that_it_can_rotate() {
    let pki = issue(&plan(), &bundle(), "worker-1");
    let expected = [
        "kubelet/client.pem",
        "kubelet/kubelet.crt",
        "kubelet/kubelet.key",
        "pki/ca.crt",
    ];
    assert_eq!(paths(&pki), expected);
    let tree = Tree::of(&pki);
    let subject = "CN=system:node:worker-1,O=system:nodes | CN=kubernetes | Digital Signature, Key Encipherment";
    assert_eq!(
        tree.describe("kubelet/client.pem"),
        format!("{subject} | TLS Web Client Authentication | CA:FALSE | -")
    );
    assert_eq!(
        tree.describe("kubelet/kubelet.crt"),
        format!("{subject} | TLS Web Server Authentication | CA:FALSE | DNS:worker-1, IP Address:10.77.0.21")
    );
    let client = tree.read("kubelet/client.pem");
    assert!(client.find("BEGIN CERTIFICATE") < client.find("BEGIN EC PRIVATE KEY"));
}

#[test]
fn an_api_server_is_named_by_every_address() {
    let mut plan = plan();
    plan.nodes[0].addresses = vec!["fd00::11".parse().unwrap(), "10.77.0.11".parse().unwrap()];
    plan.endpoint.host = "fd00::100".into();
    let pki = issue(&plan, &bundle(), "cp1");
    let authorities = Authorities::open(&bundle()).unwrap();
    let admin = pki::admin_kubeconfig(&plan, &authorities, &bundle(), bundle().issued_at).unwrap();
    assert!(admin.expose().contains("https://[fd00::100]:6443"));
    let names = Tree::of(&pki).describe("pki/apiserver.crt");
    let addresses = "IP Address:10.96.0.1, IP Address:FD00:0:0:0:0:0:0:11, IP Address:10.77.0.11, \
                     IP Address:FD00:0:0:0:0:0:0:100";
    assert!(names.ends_with(addresses), "{names}");
}

#[test]
fn extra_names_reach_the_certificates_they_are_for() {
    let mut plan = plan();
    plan.pki.extra_sans = vec!["203.0.113.9".into(), "*.example.com".into(), "cp1".into()];
    plan.etcd.server_cert_sans = vec!["etcd.example.com".into()];
    plan.etcd.peer_cert_sans = vec!["203.0.113.10".into()];
    let tree = Tree::of(&issue(&plan, &bundle(), "cp1"));
    let api_server = tree.describe("pki/apiserver.crt");
    assert!(
        api_server.contains("DNS:*.example.com, DNS:api.lab.test, DNS:cp1, DNS:kubernetes"),
        "{api_server}"
    );
    assert!(
        api_server.ends_with("IP Address:10.77.0.11, IP Address:203.0.113.9"),
        "{api_server}"
    );
    assert!(
        tree.describe("pki/etcd/server.crt")
            .contains("DNS:cp1, DNS:etcd.example.com, DNS:localhost")
    );
    assert!(tree.describe("pki/etcd/peer.crt").ends_with("IP Address:203.0.113.10"));
    plan.pki.extra_sans = vec!["münchen.example.com".into()];
    let bundle = bundle();
    let refused = pki::issue(
        &plan,
        &Authorities::open(&bundle).unwrap(),
        &bundle,
        &plan.nodes[0],
        bundle.issued_at,
    )
    .unwrap_err();
    assert!(
        matches!(&refused, Error::Name(label, _) if label == "node/cp1/pki/apiserver"),
        "{refused}"
    );
}

#[test]
fn the_kubelet_clients_group_follows_the_profile() {
    let mut plan = plan();
    let profile = Arc::make_mut(&mut plan.kubernetes.profile);
    profile.apiserver_kubelet_client_organization = Some("kubeadm:cluster-admins".into());
    let subject = Tree::of(&issue(&plan, &bundle(), "cp1")).describe("pki/apiserver-kubelet-client.crt");
    assert!(
        subject.starts_with("CN=kube-apiserver-kubelet-client,O=kubeadm:cluster-admins | "),
        "{subject}"
    );
}

#[test]
fn ca_keys_go_where_the_plan_says() {
    let (mut plan, bundle) = (plan(), bundle());
    let mut keys = |ca_keys, external| {
        (plan.pki.ca_keys, plan.etcd.external) = (ca_keys, external);
        let pki = issue(&plan, &bundle, "cp1");
        let keys = paths(&pki)
            .into_iter()
            .filter(|path| path.ends_with("ca.key"))
            .map(str::to_owned);
        keys.collect::<Vec<_>>()
    };
    assert_eq!(
        keys(CaKeys::ControlPlane, false),
        ["pki/ca.key", "pki/etcd/ca.key", "pki/front-proxy-ca.key"]
    );
    assert_eq!(
        keys(CaKeys::ControlPlane, true),
        ["pki/ca.key", "pki/front-proxy-ca.key"]
    );
    assert_eq!(keys(CaKeys::Signer, false), ["pki/ca.key"]);
    assert!(keys(CaKeys::None, false).is_empty());
}

#[test]
fn external_etcd_moves_its_certificates_to_its_members() {
    let (mut plan, bundle) = (plan(), bundle());
    plan.etcd.external = true;
    let etcd = RoleSet {
        etcd: true,
        ..RoleSet::default()
    };
    plan.nodes.push(cluster::node("etcd1", etcd, &["10.77.0.31"]));
    let member = issue(&plan, &bundle, "etcd1");
    let expected = [
        "etcd/ca.crt",
        "etcd/healthcheck-client.crt",
        "etcd/healthcheck-client.key",
        "etcd/peer.crt",
        "etcd/peer.key",
        "etcd/server.crt",
        "etcd/server.key",
    ];
    assert_eq!(paths(&member), expected);
    let tree = Tree::of(&member);
    for name in ["server", "peer", "healthcheck-client"] {
        tree.verify("etcd/ca.crt", &format!("etcd/{name}.crt"), "sslclient");
        tree.match_pair(&format!("etcd/{name}.crt"), &format!("etcd/{name}.key"));
    }
    assert!(tree.describe("etcd/server.crt").starts_with("CN=etcd1 | CN=etcd-ca"));
    let control_plane = issue(&plan, &bundle, "cp1");
    let of_etcd: Vec<_> = paths(&control_plane)
        .into_iter()
        .filter(|path| path.contains("etcd"))
        .collect();
    assert_eq!(
        of_etcd,
        [
            "pki/apiserver-etcd-client.crt",
            "pki/apiserver-etcd-client.key",
            "pki/etcd/ca.crt"
        ]
    );
    plan.nodes[0].roles.etcd = true;
    let both = issue(&plan, &bundle, "cp1");
    assert_eq!(both.files.len(), control_plane.files.len() + member.files.len());
}

#[test]
fn pools_and_tokens_share_only_the_ca() {
    let (mut plan, bundle) = (plan(), bundle());
    plan.nodes[1].identity = JoinIdentity::Token;
    assert_eq!(
        paths(&issue(&plan, &bundle, "worker-1")),
        ["kubelet/kubelet.crt", "kubelet/kubelet.key", "pki/ca.crt"]
    );
    plan.nodes[1].pool = true;
    plan.nodes[1].addresses.clear();
    let pool = issue(&plan, &bundle, "worker-1");
    assert_eq!(paths(&pool), ["pki/ca.crt"]);
    assert_eq!(pool.expires, ISSUED_AT + Duration::hours(87_600));
}

#[test]
fn the_super_administrator_is_made_by_kubeadm_where_it_can() {
    let (mut plan, bundle) = (plan(), bundle());
    plan.nodes.push(control_plane("cp2", &["10.77.0.12"]));
    let of_the_founder_alone = |plan: &Plan| {
        let of = |name| {
            paths(&issue(plan, &bundle, name))
                .into_iter()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let other = of("cp2");
        of("cp1")
            .into_iter()
            .filter(|path| !other.contains(path))
            .collect::<Vec<_>>()
    };
    for keys in [CaKeys::ControlPlane, CaKeys::Signer] {
        plan.pki.ca_keys = keys;
        assert!(of_the_founder_alone(&plan).is_empty(), "{keys:?}");
    }
    plan.pki.ca_keys = CaKeys::None;
    let expected = ["kubeconfig/super-admin.crt", "kubeconfig/super-admin.key"];
    assert_eq!(of_the_founder_alone(&plan), expected);
}

#[test]
fn keys_are_roots_alone() {
    for file in issue(&plan(), &bundle(), "cp1").files {
        let expected = if file.path.ends_with(".crt") { 0o644 } else { 0o600 };
        assert_eq!(file.mode, expected, "{}", file.path);
        assert_eq!(
            file.content.expose().contains("PRIVATE KEY"),
            file.path.ends_with(".key") || file.path.ends_with(".pem")
        );
    }
}

#[test]
fn the_same_input_gives_the_same_bytes_whatever_other_nodes_there_are() {
    for algorithm in [Algorithm::EcdsaP256, Algorithm::EcdsaP384, Algorithm::Rsa2048] {
        let (mut plan, bundle) = (plan(), bundle_of(algorithm));
        let first = contents(&issue(&plan, &bundle, "cp1"));
        let again = Bundle::parse("again", bundle.to_yaml().unwrap().expose()).unwrap();
        plan.nodes.insert(0, control_plane("cp0", &["10.77.0.10"]));
        assert!(first == contents(&issue(&plan, &again, "cp1")), "{algorithm:?}");
    }
}

#[test]
fn no_two_leaves_share_a_key_or_a_serial() {
    let (mut plan, bundle) = (plan(), bundle());
    plan.nodes.push(control_plane("cp2", &["10.77.0.12"]));
    let (mut keys, mut serials) = (Vec::new(), Vec::new());
    for name in ["cp1", "cp2"] {
        let tree = Tree::of(&issue(&plan, &bundle, name));
        for (path, _, _) in PAIRS {
            keys.push(tree.read(&format!("{path}.key")));
            serials.push(tree.openssl(&format!("x509 -in {path}.crt -noout -serial")));
        }
    }
    for list in [&mut keys, &mut serials] {
        list.sort();
        list.dedup();
        assert_eq!(list.len(), 2 * PAIRS.len());
    }
}

#[test]
fn a_changed_certificate_keeps_its_key_and_gets_another_serial() {
    let (mut plan, bundle) = (plan(), bundle());
    let before = Tree::of(&issue(&plan, &bundle, "cp1"));
    plan.pki.extra_sans.push("more.example.com".into());
    let after = Tree::of(&issue(&plan, &bundle, "cp1"));
    let serial = |tree: &Tree| tree.openssl("x509 -in pki/apiserver.crt -noout -serial");
    assert_eq!(before.read("pki/apiserver.key"), after.read("pki/apiserver.key"));
    assert_ne!(serial(&before), serial(&after));
    assert_eq!(before.read("pki/etcd/server.crt"), after.read("pki/etcd/server.crt"));
}

#[test]
fn an_epoch_renews_every_leaf_and_no_root() {
    let (plan, mut bundle) = (plan(), bundle());
    let before = contents(&issue(&plan, &bundle, "cp1"));
    bundle.epoch += 1;
    let after = contents(&issue(&plan, &bundle, "cp1"));
    let same: Vec<_> = before
        .iter()
        .zip(&after)
        .filter(|(one, other)| one == other)
        .map(|(one, _)| one.0.as_str())
        .collect();
    let roots = [
        "pki/ca.crt",
        "pki/ca.key",
        "pki/etcd/ca.crt",
        "pki/etcd/ca.key",
        "pki/front-proxy-ca.crt",
        "pki/front-proxy-ca.key",
        "pki/sa.key",
        "pki/sa.pub",
    ];
    assert_eq!(same, roots);
}

fn dates(tree: &Tree, certificate: &str) -> String {
    tree.openssl(&format!("x509 -in {certificate} -noout -dates"))
}

#[test]
fn leaves_hold_while_their_ca_does() {
    let (mut plan, bundle) = (plan(), bundle());
    let pki = issue(&plan, &bundle, "cp1");
    assert_eq!(pki.expires, ISSUED_AT + Duration::hours(8_760));
    let tree = Tree::of(&pki);
    assert_eq!(
        dates(&tree, "pki/apiserver.crt"),
        "notBefore=Nov 19 12:00:00 2026 GMT\nnotAfter=Nov 20 12:00:00 2027 GMT\n"
    );
    assert_eq!(
        dates(&tree, "pki/ca.crt"),
        "notBefore=Nov 19 12:00:00 2026 GMT\nnotAfter=Nov 17 12:00:00 2036 GMT\n"
    );
    plan.pki.leaf_validity = Duration::hours(100_000);
    plan.pki.backdate = Duration::hours(48);
    let pki = issue(&plan, &bundle, "cp1");
    assert_eq!(pki.expires, ISSUED_AT + Duration::hours(87_600));
    assert_eq!(pki.not_before, ISSUED_AT - Duration::hours(24));
    assert_eq!(dates(&Tree::of(&pki), "pki/apiserver.crt"), dates(&tree, "pki/ca.crt"));
    // A later certificate of a young CA that was adopted begins later, whatever their ages.
    let adopted = Bundle {
        adopted: true,
        ..bundle
    };
    let begins = [0, 3, 3600, 90_000, 172_800].map(|age| {
        let later = ISSUED_AT + Duration::seconds(age);
        cluster::issue_at(&plan, &adopted, "cp1", later).not_before
    });
    assert_eq!(begins[0], ISSUED_AT - Duration::hours(12));
    assert!(begins.is_sorted_by(|one, other| one < other), "{begins:?}");
}

/// The expiry date of a certificate.
fn end(pki: &NodePki, certificate: &str) -> &'static str {
    match dates(&Tree::of(pki), certificate).split_once("notAfter=").unwrap().1 {
        "Nov 20 12:00:00 2027 GMT\n" => "a year",
        "Nov 17 12:00:00 2036 GMT\n" => "its CA",
        other => panic!("{certificate}: {other}"),
    }
}

/// kubeadm renews certificates whose CA key is on the machine, and kubelets request theirs. etcd would otherwise stop
/// after a year.
#[test]
fn what_nothing_renews_lasts_as_long_as_its_ca() {
    let bundle = bundle();
    let mut external = plan();
    external.etcd.external = true;
    let roles = RoleSet {
        etcd: true,
        ..RoleSet::default()
    };
    external.nodes.push(cluster::node("etcd1", roles, &["10.0.0.31"]));
    let mut signer = plan();
    signer.pki.ca_keys = CaKeys::Signer;
    for (name, plan, node, lasting, renewed) in [
        (
            "a member of external etcd",
            &external,
            "etcd1",
            &["etcd/server", "etcd/peer", "etcd/healthcheck-client"][..],
            &[][..],
        ),
        (
            "a control plane with external etcd",
            &external,
            "cp1",
            &["pki/apiserver-etcd-client", "kubelet/kubelet"],
            &[
                "pki/apiserver",
                "pki/apiserver-kubelet-client",
                "pki/front-proxy-client",
                "kubeconfig/admin",
            ],
        ),
        (
            "a control plane with ca.key alone",
            &signer,
            "cp1",
            &[
                "pki/etcd/server",
                "pki/etcd/peer",
                "pki/etcd/healthcheck-client",
                "pki/apiserver-etcd-client",
                "pki/front-proxy-client",
            ],
            &["pki/apiserver", "kubeconfig/scheduler"],
        ),
        (
            "a control plane with all keys",
            &plan(),
            "cp1",
            &["kubelet/kubelet"],
            &[
                "pki/etcd/server",
                "pki/etcd/peer",
                "pki/apiserver-etcd-client",
                "pki/front-proxy-client",
            ],
        ),
        ("a worker", &plan(), "worker-1", &["kubelet/kubelet"], &[]),
    ] {
        let pki = issue(plan, &bundle, node);
        for (paths, expected) in [(lasting, "its CA"), (renewed, "a year")] {
            for path in paths {
                assert_eq!(end(&pki, &format!("{path}.crt")), expected, "{name}: {path}");
            }
        }
    }
    assert_eq!(
        end(&issue(&plan(), &bundle, "worker-1"), "kubelet/client.pem"),
        "a year"
    );
}

/// A validity in the spec also applies to certificates that nothing renews. Without CA keys it is a year, where FL0413
/// warns.
#[test]
fn what_the_spec_says_of_lives_is_kept() {
    for (pki, expected) in [
        ("{ leafValidity: 8760h }", "a year"),
        ("{ caKeys: none }", "a year"),
        ("{ caKeys: signer }", "its CA"),
        ("{}", "its CA"),
    ] {
        let plan = support::plan::resolve(&format!(
            "apiVersion: firelay.dev/v1alpha1\nkind: Cluster\nname: test\nkubernetes: {{ version: 1.36.4 }}\npki: {pki}\n\
             endpoint: {{ host: api.example.com }}\nos: ubuntu-24.04\nplatform: metal\nnodes:\n\
             - {{ name: cp1, roles: [control-plane], addresses: [10.0.0.2] }}\n"
        ));
        let kubelet = end(&issue(&plan, &bundle(), "cp1"), "kubelet/kubelet.crt");
        assert_eq!(kubelet, expected, "{pki}");
    }
}

#[test]
fn a_ca_that_ended_signs_nothing() {
    let (plan, mut bundle) = (plan(), bundle());
    bundle.issued_at += Duration::hours(87_600);
    let refused = refusal(&plan, &bundle);
    assert_eq!(
        refused.to_string(),
        "the secrets' CA kubernetes ended at 2036-11-17T12:00:00Z, before issuedAt; make or import a new one"
    );
}

fn refusal(plan: &Plan, bundle: &Bundle) -> Error {
    pki::issue(
        plan,
        &Authorities::open(bundle).unwrap(),
        bundle,
        &plan.nodes[0],
        bundle.issued_at,
    )
    .unwrap_err()
}

#[test]
fn the_pin_is_the_digest_that_openssl_computes() {
    let bundle = bundle();
    let tree = Tree::empty();
    tree.write("ca.crt", &bundle.kubernetes.certificate);
    tree.openssl("x509 -in ca.crt -noout -pubkey -out ca.pub");
    tree.openssl("pkey -pubin -in ca.pub -outform DER -out ca.der");
    let printed = tree.openssl("dgst -sha256 -r ca.der");
    let digest = printed.split(' ').next().unwrap();
    assert_eq!(pki::ca_cert_hashes(&bundle).unwrap(), [format!("sha256:{digest}")]);
}

#[test]
fn roots_that_openssl_made_can_be_imported() {
    let tree = Tree::empty();
    let ca = "req -x509 -days 3650 -subj /O=Example/CN=imported -nodes -keyout";
    tree.openssl(&format!(
        "{ca} ec.key -newkey ec -pkeyopt ec_paramgen_curve:P-256 -out ec.crt"
    ));
    tree.openssl("ec -in ec.key -out sec1.key");
    tree.openssl(&format!("{ca} rsa.key -newkey rsa:2048 -out rsa.crt"));
    tree.openssl("rsa -in rsa.key -traditional -out pkcs1.key");
    for (certificate, key) in [
        ("ec.crt", "ec.key"),
        ("ec.crt", "sec1.key"),
        ("rsa.crt", "rsa.key"),
        ("rsa.crt", "pkcs1.key"),
    ] {
        let mut bundle = bundle();
        // The CA starts when the test runs, and so do the leaf certificates.
        bundle.issued_at = time::OffsetDateTime::now_utc().replace_nanosecond(0).unwrap();
        bundle.kubernetes.certificate = tree.read(certificate);
        bundle.kubernetes.key = firelay::secret::Secret::new(tree.read(key));
        let bundle = Bundle::parse("imported", bundle.to_yaml().unwrap().expose()).unwrap();
        let issued = Tree::of(&issue(&plan(), &bundle, "cp1"));
        issued.openssl("verify -CAfile pki/ca.crt pki/apiserver.crt");
        issued.match_pair("pki/ca.crt", "pki/ca.key");
        assert!(
            issued
                .describe("pki/apiserver.crt")
                .starts_with("CN=kube-apiserver | CN=imported,O=Example | ")
        );
    }
}

#[test]
fn debug_output_shows_no_secret() {
    let (plan, bundle) = (plan(), bundle());
    let pki = issue(&plan, &bundle, "cp1");
    let shown = format!("{bundle:?} {pki:?}");
    assert!(!shown.contains("PRIVATE KEY"));
    assert!(!shown.contains(bundle.bootstrap_token.expose().as_str()));
    assert!(!shown.contains(bundle.certificate_key.expose().as_str()));
    assert!(!shown.contains(bundle.encryption_key.expose().as_str()));
    assert!(!shown.contains(&format!("{:?}", bundle.seed.expose())));
}
