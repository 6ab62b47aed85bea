//! Missing certificates and keys, alone or with their other half.

use std::collections::BTreeSet;

use firelay_verify::Level;

use super::tampering::{NOW, Tampered};

/// Files removed from a node, below `/etc/firelay`; `*` stands for both halves of a pair.
type Taken = (&'static str, &'static [&'static str]);

const CASES: &[(&str, &[Taken])] = &[
    (
        "ha-ubuntu",
        &[
            (
                "cp1",
                &[
                    "pki/apiserver.*",
                    "pki/front-proxy-client.*",
                    "pki/etcd/server.*",
                    "kubeconfig/scheduler.*",
                    "kubelet/kubelet.*",
                ],
            ),
            (
                "cp2",
                &[
                    "pki/apiserver.crt",
                    "pki/apiserver-kubelet-client.crt",
                    "pki/front-proxy-client.crt",
                    "pki/etcd/server.crt",
                    "pki/etcd/peer.crt",
                    "kubeconfig/controller-manager.crt",
                    "kubeconfig/scheduler.crt",
                    "pki/sa.pub",
                ],
            ),
            ("cp3", &["pki/sa.key"]),
            ("worker-1", &["kubelet/kubelet.crt"]),
            ("worker-2", &["kubelet/kubelet.*"]),
        ],
    ),
    ("ca-offline", &[("cp1", &["pki/sa.key", "pki/apiserver.crt"])]),
    (
        "external-etcd",
        &[
            ("etcd1", &["etcd/server.crt", "etcd/peer.crt"]),
            ("etcd2", &["etcd/server.*", "etcd/peer.*"]),
        ],
    ),
];

#[test]
fn what_is_missing_of_a_pair_is_an_error() {
    for (example, nodes) in CASES {
        let mut tree = Tampered::of(example);
        let mut wanted = BTreeSet::new();
        for (node, names) in *nodes {
            for name in *names {
                let path = format!("/etc/firelay/{name}");
                match path.strip_suffix('*') {
                    Some(start) => ["crt", "key"].map(|ending| tree.remove(node, &format!("{start}{ending}"))),
                    None => [tree.remove(node, &path), ()],
                };
                wanted.insert((format!("nodes/{node}/"), path.replace('*', "crt")));
            }
        }
        let found = tree.findings(NOW);
        let errors = found
            .iter()
            .filter(|finding| (finding.code, finding.level) == ("FL1032", Level::Error));
        let told: BTreeSet<_> = errors
            .map(|finding| {
                let end = finding.document.rfind('/').unwrap();
                (finding.document[..=end].to_owned(), finding.path.clone().unwrap())
            })
            .collect();
        assert_eq!(told, wanted, "{example}: {found:#?}");
    }
}

/// The units of etcd are firelay's own, so a missing file is an error, not only a warning.
#[test]
fn what_etcd_reads_has_to_be_there() {
    let mut tree = Tampered::of("external-etcd");
    tree.replace(
        "etcd1",
        "/etc/etcd/etcd.env",
        "/etc/etcd/pki/server.crt",
        "/srv/server.crt",
    );
    let found = tree.findings(NOW);
    let found: Vec<_> = found.iter().map(|finding| (finding.code, finding.level)).collect();
    assert_eq!(found, [("FL1023", Level::Error)]);
}
