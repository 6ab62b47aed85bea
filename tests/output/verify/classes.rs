//! Faults of one machine among equal ones. Each machine in a part of its own, where nothing is proven by another, is the reference.

use std::{io, path::Path, sync::LazyLock};

use firelay_base::encoding::{base64, gzip_with_end, unbase64};
use firelay_verify::{Finding, PART, verify_parts};

use super::{
    support,
    tampering::{NOW, Tampered},
};

/// The changed machine.
const CHANGED: &str = "worker-3";

/// Codes, text and its replacement in the document.
const CASES: &[(&[&str], &str, &str)] = &[
    (
        &["FL1030"],
        "-----BEGIN CERTIFICATE-----\n    MIIB",
        "-----BEGIN CERTIFICATE-----\n    MIIA",
    ),
    (&["FL1032"], "/kubelet/kubelet.key\n", "/kubelet/other.key\n"),
    (
        &["FL1039", "FL1048"],
        "kubelet.key\n  permissions: \"0600\"",
        "kubelet.key\n  permissions: \"0666\"",
    ),
    (
        &["FL1017", "FL1017"],
        "driver\n  permissions: \"0755\"",
        "driver\n  permissions: \"0644\"",
    ),
    (
        &["FL1058", "FL1016"],
        "/firelay/driver\n  perm",
        "/firelay/drivers\n  perm",
    ),
    (&["FL1021", "FL1041"], "FL_CLUSTER=prod\n", "FL_CLUSTER=(prod\n"),
    (&["FL1041"], "FL_NODE=worker-3\n", "FL_NODE=worker-2\n"),
    (&["FL1041"], "hostname: worker-3\n", "hostname: worker-2\n"),
    (&["FL1041"], "      name: worker-3\n", "      name: worker-2\n"),
    (&["FL1026"], "      name: worker-3\n", "      name: [worker-3]\n"),
    (
        &["FL1045", "FL1033", "FL1041", "FL1041", "FL1041", "FL1045"],
        "FL_ADDRESSES=10.0.0.23\n",
        "FL_ADDRESSES=10.0.0.22\n",
    ),
    (&["FL1041"], "FL_PIN=10.0.0.23\n", "FL_PIN=10.0.0.22\n"),
    (&["FL1026"], "value: \"10.0.0.23\"\n", "value: [10.0.0.23]\n"),
    (&["FL1025"], "- name: node-ip\n", "- names: node-ip\n"),
    (
        &["FL1044"],
        "criSocket: unix:///run/containerd",
        "criSocket: unix:///run/crio",
    ),
    (&["FL1049"], "    net.ipv4.ip_forward = 1\n", ""),
    (
        &["FL1019"],
        "Wants=network-online.target containerd.service\n",
        "Wants=absent.service\n",
    ),
    (
        &["FL1027"],
        "ExecStart=\"/usr/local/bin/kubelet\"",
        "ExecStart=\"/usr/local/bin/kubeadm\"",
    ),
    (&["FL1010"], "fqdn: worker-3\n", "fqdn: [worker-3]\n"),
    (&[], "Description=Kubernetes node agent\n", "Description=worker-3\n"),
];

/// The tree of five workers.
static TREE: LazyLock<Tampered> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    let mut example = support::example("ha-ubuntu");
    let spec = std::fs::read_to_string(&example.spec).unwrap();
    let more = spec
        .replace("worker-{1..3}", "worker-{1..5}")
        .replace("10.0.0.23]", "10.0.0.25]");
    example.spec = directory.path().join("cluster.yaml");
    std::fs::write(&example.spec, more).unwrap();
    let out = directory.path().join("out");
    support::render(&example, &out);
    Tampered::read(&out)
});

fn findings(tree: &Tampered, machines: usize) -> Vec<Finding> {
    let files = |path: &str| tree.files.get(path).cloned();
    let fetch = |path: &str| files(path).ok_or_else(|| io::ErrorKind::NotFound.into());
    let manifest = tree.manifest.to_string();
    let found = verify_parts(manifest.as_bytes(), &fetch, Path::new("out"), NOW, machines);
    found.unwrap().findings
}

#[test]
fn the_fault_of_one_machine_of_five_is_found() {
    assert_eq!(findings(&TREE, PART), []);
    let mut others = Vec::new();
    for (wanted, from, to) in CASES {
        let mut tree = TREE.clone();
        tree.edit_text(CHANGED, |text| {
            assert!(text.contains(from), "{from}");
            text.replacen(from, to, 1)
        });
        let found = findings(&tree, PART);
        assert_eq!(found, findings(&tree, 1), "{to}");
        let codes: Vec<_> = found.iter().map(|finding| finding.code).collect();
        if codes != **wanted {
            others.push((to, codes));
        }
    }
    assert_eq!(others, []);
}

/// The delivered document of the changed machine.
const DELIVERED: &str = "nodes/worker-3/user-data.gz.b64";

/// Delivers the document of the changed machine as `render` does: its end is compressed apart.
fn share_end(tree: &mut Tampered) {
    let text = String::from_utf8(tree.files["nodes/worker-3/user-data"].clone()).unwrap();
    let own = text.find("\n- path: /etc/firelay/node.env\n").unwrap() + 1;
    let end = own + text[own..].find("\n- path: ").unwrap() + 1;
    tree.put(DELIVERED, base64(gzip_with_end(text.as_bytes(), end)).into_bytes());
}

#[test]
fn a_fault_is_found_beside_documents_with_a_shared_end() {
    let mut right = TREE.clone();
    share_end(&mut right);
    assert_eq!(right.files[DELIVERED], TREE.files[DELIVERED]);
    for (wanted, from, to) in CASES {
        let mut tree = TREE.clone();
        tree.edit_text(CHANGED, |text| text.replacen(from, to, 1));
        share_end(&mut tree);
        let found = findings(&tree, PART);
        let codes: Vec<_> = found.iter().map(|finding| finding.code).collect();
        assert_eq!(codes, **wanted, "{to}");
    }
}

/// The reference is the same document beside others without an end of their own.
#[test]
fn a_flipped_bit_is_found_beside_documents_with_a_shared_end() {
    let (mut shared, mut alone) = (TREE.clone(), TREE.clone());
    for node in [1, 2, 4, 5] {
        alone.edit_text(&format!("worker-{node}"), str::to_owned);
    }
    let stream = unbase64(&shared.files[DELIVERED]).unwrap();
    for at in (10..stream.len())
        .step_by(401)
        .chain([stream.len() - 5, stream.len() - 1])
    {
        let mut flipped = stream.clone();
        flipped[at] ^= 2;
        let found = [&mut shared, &mut alone].map(|tree| {
            tree.put(DELIVERED, base64(&flipped).into_bytes());
            findings(tree, PART)
        });
        assert!(!found[0].is_empty(), "{at}");
        assert_eq!(found[0], found[1], "{at}");
    }
}

/// Two machines exchange their certificates and keys: each document is like the others.
#[test]
fn exchanged_certificates_are_found() {
    let mut tree = TREE.clone();
    let bodies = |tree: &Tampered, node: &str| {
        let text = String::from_utf8(tree.files[&format!("nodes/{node}/user-data")].clone()).unwrap();
        let bodies = text.lines().filter(|line| line.starts_with("    M") && line.len() > 64);
        bodies.map(str::to_owned).collect::<Vec<_>>()
    };
    let (one, other) = (bodies(&tree, "worker-2"), bodies(&tree, CHANGED));
    assert!(one.len() > 3 && one.len() == other.len());
    for (node, own, new) in [("worker-2", &one, &other), (CHANGED, &other, &one)] {
        tree.edit_text(node, |text| {
            own.iter()
                .zip(new)
                .fold(text.to_owned(), |text, (own, new)| text.replace(own, new))
        });
    }
    let found = findings(&tree, PART);
    assert_eq!(found, findings(&tree, 1));
    for node in ["worker-2", CHANGED] {
        assert!(found.iter().any(|finding| finding.document.contains(node)), "{node}");
    }
}
