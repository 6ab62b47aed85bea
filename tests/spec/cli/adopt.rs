//! `adopt`: clusters that kubeadm, Kubespray and Cluster API created, with a PKI that openssl makes.

use std::{collections::BTreeSet, fs, process::Command, sync::OnceLock};

use super::desk::{Desk, Ran};
use super::support::{firelay_at, golden::Golden, output, read_tree, root, said, succeed};

/// Long before the clusters' Nodes were registered.
const CREATED: &str = "2025-03-01 00:00:00";
/// The CAs, as kubeadm names their files and subjects.
const AUTHORITIES: [(&str, &str); 3] = [
    ("ca", "kubernetes"),
    ("front-proxy-ca", "front-proxy-ca"),
    ("etcd/ca", "etcd-ca"),
];
const ADOPT: [&str; 5] = ["adopt", "--pki", "pki", "--from", "objects.yaml"];

fn openssl(desk: &Desk, arguments: &str) -> String {
    let mut command = Command::new("faketime");
    command.args([CREATED, "openssl"]).args(arguments.split(' '));
    succeed(command.current_dir(desk.directory.path()), "openssl")
}

/// A PKI like kubeadm's, with keys that a command of openssl makes. The size of RSA stands behind all flags.
fn make_pki(desk: &Desk, command: &str, size: &str) {
    let key = |path: &str| format!("{command} -out {path} {size}").trim_end().to_owned();
    fs::create_dir_all(desk.at("pki/etcd")).unwrap();
    for (file, name) in AUTHORITIES {
        openssl(desk, &key(&format!("pki/{file}.key")));
        make_authority(desk, file, name, "critical,CA:TRUE", 3_650);
    }
    openssl(desk, &key("pki/sa.key"));
    openssl(desk, "pkey -in pki/sa.key -pubout -out pki/sa.pub");
}

fn make_authority(desk: &Desk, file: &str, name: &str, constraints: &str, days: u32) {
    openssl(
        desk,
        &format!(
            "req -x509 -new -key pki/{file}.key -days {days} -subj /CN={name} -out pki/{file}.crt -addext \
             basicConstraints={constraints} -addext keyUsage=critical,digitalSignature,keyEncipherment,keyCertSign"
        ),
    );
}

/// RSA as kubeadm makes it: PKCS#1.
const KUBEADM: &str = "genrsa -traditional";

/// A copy of an RSA PKI, which takes openssl a while.
fn with_pki() -> Desk {
    static PKI: OnceLock<Desk> = OnceLock::new();
    let made = PKI.get_or_init(|| {
        let desk = Desk::empty();
        make_pki(&desk, KUBEADM, "2048");
        desk
    });
    let desk = Desk::empty();
    let mut command = Command::new("cp");
    succeed(
        command.arg("-r").arg(made.at("pki")).arg(desk.directory.path()),
        "coreutils",
    );
    desk
}

/// A PKI, and the objects of a cluster.
fn cluster(name: &str) -> Desk {
    let desk = with_pki();
    let objects = root().join(format!("tests/fixtures/adopt/{name}.yaml"));
    fs::copy(objects, desk.at("objects.yaml")).unwrap();
    desk
}

fn adopt(desk: &Desk, further: &[&str]) -> Ran {
    desk.run(&[&ADOPT[..], further].concat())
}

const KUBEADM_MACHINES: [&str; 4] = ["--os", "ubuntu-24.04", "--platform", "metal"];

fn adopted() -> Desk {
    let desk = cluster("kubeadm");
    let ran = adopt(&desk, &KUBEADM_MACHINES);
    assert_eq!(ran.code, 0, "{ran:?}");
    desk
}

/// What differs from run to run.
fn without_fingerprint(text: &str) -> String {
    let line = |line: &str| match line.split_once("(HMAC-SHA256:") {
        Some((before, after)) => format!("{before}(…{}\n", &after[after.find(')').unwrap()..]),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[test]
fn golden_the_spec_says_what_the_cluster_says() {
    let mut golden = Golden::open("adopt");
    for (name, further) in [
        ("kubeadm", &KUBEADM_MACHINES[..]),
        (
            "kubespray",
            &["--os", "rocky-9", "--platform", "metal", "--name", "prod"],
        ),
        ("cluster-api", &["--os", "ubuntu-22.04", "--platform", "aws"]),
    ] {
        let desk = cluster(name);
        let ran = adopt(&desk, further);
        assert_eq!(ran.code, 0, "{ran:?}");
        golden.compare(&format!("{name}.yaml"), &desk.read("cluster.yaml"));
        golden.compare(&format!("{name}.txt"), &without_fingerprint(&ran.stderr));
        let checked = desk.run(&["check"]);
        assert_eq!(checked.code, 0, "{checked:?}");
        let record = desk.read("firelay.state.yaml");
        assert!(
            record.contains("foundedAt: \"2025-03-04T09:11:00Z\"") && !record.contains(", digest:"),
            "{record}"
        );
    }
    golden.close();
}

/// The record says what was rendered. What runs, the cluster says.
#[test]
fn a_plan_compares_the_record_with_the_machines_that_run() {
    let desk = adopted();
    let plan = |desk: &Desk| desk.run(&["plan", "--from", "objects.yaml"]);
    let same = plan(&desk);
    assert!(same.code == 0 && !same.stderr.contains("FL1242"), "{same:?}");
    let objects = desk.read("objects.yaml");
    let node = |name: &str| format!("    name: {name}\n");
    let changed = objects
        .replace(&node("w2"), &node("w3"))
        .replacen("kubeletVersion: v1.36.3", "kubeletVersion: v1.35.8", 1)
        .replace("dnsDomain: cluster.local", "dnsDomain: other.local");
    assert_ne!(objects, changed);
    desk.write("objects.yaml", &changed);
    let before = desk.everything();
    let differs = plan(&desk);
    assert_eq!(differs.code, 0, "{differs:?}");
    for text in [
        "w2 is in the record, and the cluster has no Node of this name",
        "the Node w3 is in the cluster, and not in the record",
        "cp1: the version of its kubelet is 1.35.8 in the cluster, and 1.36.",
        "the DNS domain is other.local in the ConfigMap kubeadm-config, and cluster.local in the record",
    ] {
        assert!(differs.stderr.contains(text), "{text}: {differs:?}");
    }
    assert_eq!(differs.stderr.matches("warning[FL1242]").count(), 4, "{differs:?}");
    assert_eq!(desk.everything(), before);
    // A machine that was taken out of the spec alone.
    desk.write("objects.yaml", &objects);
    let spec = desk.read("cluster.yaml");
    let (first, rest) = spec.split_once("- name: w2\n").unwrap();
    let own: usize = rest
        .lines()
        .take_while(|line| line.starts_with("  "))
        .map(|line| line.len() + 1)
        .sum();
    let without = format!("{first}{}", &rest[own..]);
    assert_ne!(spec, without);
    desk.write("cluster.yaml", &without);
    let stays = desk.run(&["plan", "--from", "objects.yaml", "--accept", "FL1218"]);
    let both = [
        "the spec no longer has w2, and the cluster has the Node w2",
        "firelay.state.yaml:",
    ];
    assert!(
        stays.code == 3 && both.iter().all(|text| stays.stderr.contains(text)),
        "{stays:?}"
    );
    desk.write("cluster.yaml", &spec);
    desk.write("objects.yaml", "kind: [");
    let broken = plan(&desk);
    assert!(broken.code == 3 && broken.stderr.contains("FL1312"), "{broken:?}");
}

#[test]
fn every_kind_of_key_signs_certificates_that_openssl_verifies() {
    for (key, size) in [
        (KUBEADM, "2048"),
        ("genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:3072", ""),
        ("genrsa", "4096"),
        ("ecparam -name prime256v1 -genkey", ""),
        ("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384", ""),
    ] {
        let desk = Desk::empty();
        make_pki(&desk, key, size);
        let objects = root().join("tests/fixtures/adopt/kubeadm.yaml");
        fs::copy(objects, desk.at("objects.yaml")).unwrap();
        let ran = adopt(&desk, &KUBEADM_MACHINES);
        assert_eq!(ran.code, 0, "{key}: {ran:?}");
        renders_and_verifies(&desk, key);
    }
}

/// The documents of an adopted cluster join it: every leaf is signed by the CA that openssl made, and the pin is that of its key.
fn renders_and_verifies(desk: &Desk, key: &str) {
    for arguments in [&["render"][..], &["verify"], &["audit"]] {
        let ran = desk.run(arguments);
        assert_eq!(ran.code, 0, "{key}: {ran:?}");
    }
    let first = desk.everything();
    assert_eq!(desk.run(&["render", "--out", "again"]).code, 0);
    for (path, entry) in first.iter().filter(|(path, _)| path.starts_with("out/nodes/")) {
        let again = desk.everything()[&path.replacen("out/", "again/", 1)].content.clone();
        assert_eq!(entry.content, again, "{key}: {path}");
    }
    let files = &read_tree(&desk.at("out"))["cp1"];
    let file = |path: &str| files[&format!("/etc/firelay/{path}")].1.clone();
    for (leaf, authority) in [
        ("pki/apiserver.crt", "pki/ca.crt"),
        ("kubelet/client.pem", "pki/ca.crt"),
        ("pki/front-proxy-client.crt", "pki/front-proxy-ca.crt"),
        ("pki/etcd/server.crt", "pki/etcd/ca.crt"),
    ] {
        desk.write("leaf.pem", &file(leaf));
        let verified = openssl_now(desk, &format!("verify -x509_strict -CAfile {authority} leaf.pem"));
        assert_eq!(verified.trim(), "leaf.pem: OK", "{key}: {leaf}");
    }
    for path in ["pki/ca", "pki/front-proxy-ca", "pki/etcd/ca"] {
        desk.write("own.key", &file(&format!("{path}.key")));
        desk.write("own.crt", &file(&format!("{path}.crt")));
        let digest = |file: &str| openssl(desk, &format!("x509 -in {file} -noout -fingerprint -sha256"));
        assert_eq!(digest("own.crt"), digest(&format!("{path}.crt")), "{key}: {path}");
        let public = |file: &str| openssl(desk, &format!("pkey -in {file} -pubout"));
        assert_eq!(public("own.key"), public(&format!("{path}.key")), "{key}: {path}");
    }
    desk.write("own.key", &file("pki/sa.key"));
    desk.write("own.pub", &file("pki/sa.pub"));
    assert_eq!(
        openssl(desk, "pkey -in own.key -pubout"),
        openssl(desk, "pkey -in pki/sa.key -pubout"),
        "{key}"
    );
    let public = |file: &str| openssl(desk, &format!("pkey -pubin -in {file} -pubout"));
    assert_eq!(public("own.pub"), public("pki/sa.pub"), "{key}");
}

fn openssl_now(desk: &Desk, arguments: &str) -> String {
    let mut command = Command::new("faketime");
    command
        .args([super::support::NOW, "openssl"])
        .args(arguments.split(' '));
    succeed(command.current_dir(desk.directory.path()), "openssl")
}

#[test]
fn golden_every_mistake_of_a_pki_is_found_in_one_run() {
    let desk = with_pki();
    let read = |path: &str| desk.read(path);
    // A foreign key, a certificate that is no CA, one that ended, a missing and an encrypted key.
    desk.write("pki/front-proxy-ca.key", &read("pki/etcd/ca.key"));
    make_authority(&desk, "ca", "kubernetes", "critical,CA:FALSE", 100);
    openssl(
        &desk,
        "pkey -in pki/sa.key -aes256 -passout pass:secret -out pki/sa.encrypted",
    );
    fs::rename(desk.at("pki/sa.encrypted"), desk.at("pki/sa.key")).unwrap();
    fs::remove_file(desk.at("pki/etcd/ca.key")).unwrap();
    let twice = read("pki/etcd/ca.crt").repeat(2);
    desk.write("pki/etcd/ca.crt", &twice);
    let before = desk.everything();
    let ran = desk.run(&["adopt", "--pki", "pki", "--name", "lab"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert_eq!(desk.everything(), before);
    assert!(!ran.stderr.contains("BEGIN") && !ran.stderr.contains("MII"), "{ran:?}");
    let mut golden = Golden::open("adopt-pki");
    golden.compare("mistakes.txt", &ran.stderr);
    golden.close();
}

#[test]
fn a_pki_alone_becomes_a_bundle() {
    let desk = with_pki();
    assert_eq!(desk.run(&["adopt", "--pki", "pki"]).code, 2);
    let refused = desk.run(&["adopt", "--pki", "pki", "--name", "A b"]);
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(refused.stderr.contains(r#""A b" is not a cluster name"#), "{refused:?}");
    assert!(!desk.at("firelay.secrets.yaml").exists());
    let ran = desk.run(&[
        "adopt",
        "--pki",
        "pki",
        "--name",
        "lab",
        "--secrets",
        "lab.secrets.yaml",
    ]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let shown = desk.run(&["secrets", "show", "--secrets", "lab.secrets.yaml"]);
    assert!(shown.stdout.starts_with("cluster:     lab\n"), "{shown:?}");
    let again = desk.run(&[
        "adopt",
        "--pki",
        "pki",
        "--name",
        "lab",
        "--secrets",
        "lab.secrets.yaml",
    ]);
    assert_eq!(again.code, 3, "{again:?}");
    assert!(again.stderr.contains("exists and is not overwritten"), "{again:?}");
}

/// The way back from a lost bundle: the keys on a control plane are the lines of its document.
#[test]
fn the_keys_that_a_document_has_laid_are_adopted() {
    let desk = Desk::of("ha-ubuntu");
    assert_eq!(desk.run(&["render", "--founded"]).code, 0);
    let files = &read_tree(&desk.at("out"))["cp2"];
    let lost = Desk::empty();
    for (path, name) in files
        .keys()
        .filter_map(|path| Some((path, path.strip_prefix("/etc/firelay/pki/")?)))
    {
        let to = lost.at(&format!("pki/{name}"));
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(to, &files[path].1).unwrap();
    }
    lost.write("cluster.yaml", &desk.read("cluster.yaml"));
    let ran = lost.run(&["adopt", "--pki", "pki", "--name", "prod"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = lost.run(&["render", "--founded"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let authority = "/etc/firelay/pki/ca.crt";
    assert_eq!(
        read_tree(&lost.at("out"))["cp2"][authority]
            .1
            .split_whitespace()
            .collect::<String>(),
        files[authority].1.split_whitespace().collect::<String>()
    );
}

/// Without its bundle, a cluster is not called adopted already.
#[test]
fn the_help_for_a_lost_bundle_names_the_way() {
    let desk = Desk::of("ha-ubuntu");
    assert_eq!(desk.run(&["render", "--founded"]).code, 0);
    fs::remove_file(desk.at("firelay.secrets.yaml")).unwrap();
    let ran = desk.run(&["adopt", "--pki", ".", "--name", "prod"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    let help = "its bundle firelay.secrets.yaml is missing: bring it from the backup";
    assert!(
        ran.stderr.contains(help) && !ran.stderr.contains("adopted already"),
        "{ran:?}"
    );
}

#[test]
fn a_cluster_that_exists_is_not_founded_again() {
    let desk = cluster("kubeadm");
    let name = ["adopt", "--pki", "pki", "--name", "lab"];
    assert_eq!(desk.run(&name).code, 0);
    // The objects complete what the PKI began.
    let bundle = desk.read("firelay.secrets.yaml");
    assert_eq!(adopt(&desk, &KUBEADM_MACHINES).code, 0);
    assert_eq!(desk.read("firelay.secrets.yaml"), bundle);
    fs::remove_file(desk.at("firelay.state.yaml")).unwrap();
    for verb in ["render", "plan"] {
        let ran = desk.run(&[verb]);
        assert_eq!(ran.code, 3, "{ran:?}");
        assert!(ran.stderr.contains("there is no record of it"), "{ran:?}");
    }
    assert!(!desk.at("out").exists());
    assert_eq!(desk.run(&["render", "--founded"]).code, 0);
    let init = |(path, _): &(&String, _)| {
        fs::read_to_string(desk.at("out").join(path)).is_ok_and(|text| text.contains("kubeadm init"))
    };
    let tree = read_tree(&desk.at("out"));
    assert_eq!(tree.iter().find(init), None);
}

#[test]
fn nothing_is_written_before_all_files_can_be() {
    let desk = cluster("kubeadm");
    for (further, code, text) in [
        (
            ["--secrets", "cluster.yaml"],
            2,
            "cluster.yaml is named for two of them",
        ),
        (["--state", "./firelay.secrets.yaml"], 2, "is named for two of them"),
        (["--state", "none/state.yaml"], 1, "cannot write into none"),
        (["--secrets", "-"], 2, "name one instead of `-`"),
    ] {
        let ran = adopt(&desk, &[&KUBEADM_MACHINES[..], &further].concat());
        assert_eq!(ran.code, code, "{ran:?}");
        assert!(ran.stderr.contains(text), "{ran:?}");
        for file in ["cluster.yaml", "firelay.secrets.yaml", "firelay.state.yaml"] {
            assert!(!desk.at(file).exists(), "{file} {further:?}");
        }
    }
}

#[test]
fn the_plan_adds_new_machines_and_leaves_the_others() {
    let desk = adopted();
    let plan = desk.run(&["plan", "--detailed-exitcode"]);
    assert_eq!(plan.code, 0, "{plan:?}");
    assert!(
        plan.stdout.contains("  . cp1, cp2, cp3: created by something else"),
        "{plan:?}"
    );
    add(&desk, "w3", "worker", "10.0.0.23");
    let plan = desk.run(&["plan", "--detailed-exitcode", "--output", "json"]);
    assert_eq!(plan.code, 6, "{plan:?}");
    let counts = &plan.json()["counts"];
    assert_eq!(
        [
            &counts["add"],
            &counts["replace"],
            &counts["inPlace"],
            &counts["adopted"]
        ],
        [1, 0, 0, 5]
    );
    assert_eq!(desk.run(&["render"]).code, 0);
    for (node, files) in read_tree(&desk.at("out")) {
        assert!(!files.contains_key("/etc/firelay/kubeadm/init.yaml"), "{node}");
    }
    let plan = desk.run(&["plan", "--detailed-exitcode"]);
    assert_eq!(plan.code, 0, "{plan:?}");
    assert_eq!(desk.read("firelay.state.yaml").matches(", digest: ").count(), 1);
}

fn add(desk: &Desk, name: &str, role: &str, address: &str) {
    let node = format!("- {{ name: {name}, roles: [{role}], addresses: [{address}] }}\n");
    desk.write("cluster.yaml", &(desk.read("cluster.yaml") + &node));
}

/// Adopted machines have certificates whose dates only they know.
#[test]
fn certificates_are_listed_of_machines_that_firelay_created() {
    let desk = adopted();
    add(&desk, "w3", "worker", "10.0.0.23");
    assert_eq!(desk.run(&["render"]).code, 0);
    let ran = desk.run(&["certs", "--output", "json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let listed = ran.json();
    let listed = listed["credentials"].as_array().unwrap().iter();
    let machines: BTreeSet<_> = listed.filter_map(|entry| entry["machine"].as_str()).collect();
    assert_eq!(machines, BTreeSet::from(["w3"]));
}

#[test]
fn a_replaced_machine_is_of_firelay_afterwards() {
    let desk = adopted();
    assert_eq!(desk.run(&["render"]).code, 0);
    let ran = desk.run(&["render", "--replace", "w1"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let plan = desk.run(&["plan"]);
    assert!(
        plan.stdout.contains("  . w2: ") && !plan.stdout.contains("w1"),
        "{plan:?}"
    );
    let record = desk.read("firelay.state.yaml");
    assert_eq!(record.matches(", digest: ").count(), 1, "{record}");
    // From now on its changes are known.
    desk.write(
        "cluster.yaml",
        &desk.read("cluster.yaml").replace("tier: app", "tier: web"),
    );
    let plan = desk.run(&["plan"]);
    assert!(plan.stdout.contains("~ w1: to update in place"), "{plan:?}");
}

#[test]
fn a_single_machine_can_be_rendered_and_replaced() {
    let desk = adopted();
    add(&desk, "w3", "worker", "10.0.0.23");
    for arguments in [
        &["render", "--node", "w3"][..],
        &["render", "--node", "w1", "--replace", "w1"],
    ] {
        let ran = desk.run(arguments);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    let ran = desk.run(&["render"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let plan = desk.run(&["plan", "--detailed-exitcode"]);
    assert_eq!(plan.code, 0, "{plan:?}");
}

#[test]
fn an_upgrade_asks_for_that_of_adopted_control_planes() {
    let desk = adopted();
    desk.write("cluster.yaml", &desk.read("cluster.yaml").replace("1.36.3", "1.36.4"));
    let plan = desk.run(&["plan"]);
    assert_eq!(plan.code, 3, "{plan:?}");
    assert!(
        plan.stderr.contains("error[FL1223]") && plan.stderr.contains("cp1, cp2, cp3"),
        "{plan:?}"
    );
    assert_eq!(desk.run(&["render", "--accept", "FL1223"]).code, 0);
    assert_eq!(desk.run(&["plan", "--detailed-exitcode"]).code, 0);
}

#[test]
fn no_script_changes_an_adopted_machine() {
    let desk = adopted();
    assert_eq!(desk.run(&["render"]).code, 0);
    let spec = desk.read("cluster.yaml").replace("value: \"false\"", "value: \"true\"");
    desk.write("cluster.yaml", &spec);
    let ran = desk.run(&["update"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stderr.contains("no control plane takes this change in place"),
        "{ran:?}"
    );
    assert!(!desk.at("out/update").exists());
}

/// The settings at adoption are those of the cluster: only later changes are reported.
#[test]
fn a_change_that_no_document_carries_is_reported() {
    let desk = adopted();
    assert!(!desk.run(&["plan"]).stderr.contains("FL1221"));
    assert_eq!(desk.run(&["render"]).code, 0);
    desk.write(
        "cluster.yaml",
        &(desk.read("cluster.yaml") + "addons: { metricsServer: {} }\n"),
    );
    let ran = desk.run(&["update"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stderr.contains("warning[FL1221]") && !desk.at("out/update").exists(),
        "{ran:?}"
    );
    // Nothing is created anew.
    let ran = desk.run(&[
        "plan",
        "--set",
        "kubernetes.controllerManager.extraArgs=[{ name: v, value: \"3\" }]",
    ]);
    assert!(
        ran.stderr.contains("= help: firelay did not create the control planes"),
        "{ran:?}"
    );
}

#[test]
fn keys_of_all_control_planes_do_not_rotate_while_some_are_adopted() {
    let desk = adopted();
    assert_eq!(desk.run(&["render"]).code, 0);
    let ran = desk.run(&["secrets", "rotate", "service-account"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("no script brings it to cp1, cp2, cp3"), "{ran:?}");
    assert_eq!(desk.run(&["secrets", "rotate", "leaves"]).code, 0);
    assert_eq!(desk.run(&["plan", "--detailed-exitcode"]).code, 0);
}

#[test]
fn a_spec_that_exists_is_compared_with_the_cluster() {
    let desk = cluster("kubeadm");
    assert_eq!(adopt(&desk, &KUBEADM_MACHINES).code, 0);
    for file in ["firelay.secrets.yaml", "firelay.state.yaml"] {
        fs::remove_file(desk.at(file)).unwrap();
    }
    let spec = desk.read("cluster.yaml");
    desk.write(
        "cluster.yaml",
        &spec
            .replace("10.244.0.0/16", "10.245.0.0/16")
            .replace("name: w2", "name: w9"),
    );
    let ran = adopt(&desk, &[]);
    assert_eq!(ran.code, 3, "{ran:?}");
    for text in [
        "the pod range is 10.244.0.0/16 in the cluster, and 10.245.0.0/16 here",
        "the machine w2 is in the cluster",
    ] {
        assert!(ran.stderr.contains(text), "{text}: {ran:?}");
    }
    assert!(!desk.at("firelay.secrets.yaml").exists());
    desk.write("cluster.yaml", &spec);
    add(&desk, "w3", "worker", "10.0.0.23");
    let ran = adopt(&desk, &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(desk.run(&["plan", "--output", "json"]).json()["counts"]["add"], 1);
}

/// firelay has no digests of old patch releases.
#[test]
fn a_patch_release_that_firelay_does_not_know_is_written_as_a_later_one() {
    let desk = cluster("kubeadm");
    let objects = desk.read("objects.yaml");
    desk.write("objects.yaml", &objects.replace("v1.36.3", "v1.36.0"));
    let ran = adopt(&desk, &KUBEADM_MACHINES);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("Kubernetes 1.36.0 is not known"), "{ran:?}");
    let spec = desk.read("cluster.yaml");
    desk.write("cluster.yaml", &spec.replace("1.36.0", "1.35.8"));
    let ran = adopt(&desk, &[]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(
        ran.stderr
            .contains("the version of Kubernetes is 1.36.0 in the cluster, and 1.35.8 here"),
        "{ran:?}"
    );
    desk.write("cluster.yaml", &spec.replace("1.36.0", "1.36.4"));
    let ran = adopt(&desk, &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// A directory with a spec, but without its bundle and record: `adopt` compares the spec again.
fn with_spec_of(name: &str, further: &[&str]) -> Desk {
    let desk = cluster(name);
    let ran = adopt(&desk, further);
    assert_eq!(ran.code, 0, "{ran:?}");
    for file in ["firelay.secrets.yaml", "firelay.state.yaml"] {
        fs::remove_file(desk.at(file)).unwrap();
    }
    desk
}

#[test]
fn every_value_that_the_cluster_fixes_is_compared() {
    let desk = with_spec_of("kubeadm", &KUBEADM_MACHINES);
    let spec = desk.read("cluster.yaml");
    for (from, to, text) in [
        (
            "endpoint:\n",
            "endpoint:\n  port: 7443\n",
            "the endpoint's port is 6443 in the cluster, and 7443 here",
        ),
        (
            "  cni: none\n",
            "  cni: none\n  nodeMaskIpv4: 25\n",
            "the mask of a node's IPv4 pods is 24 in the cluster, and 25 here",
        ),
        (
            "10.0.0.21",
            "10.0.0.99",
            "the machine w1 has the address 10.0.0.21 in the cluster, and 10.0.0.99 here",
        ),
        (
            "name: lab\n",
            "name: other\n",
            "the name is lab in the cluster, and other here",
        ),
        (
            "  apiServer:\n",
            "  kubeProxy: { mode: nftables }\n  apiServer:\n",
            "kube-proxy's mode is iptables in the cluster, and nftables here",
        ),
        (
            "  apiServer:\n",
            "  kubeProxy: { disabled: true }\n  apiServer:\n",
            "kube-proxy's mode is iptables in the cluster, and disabled here",
        ),
        (
            "  apiServer:\n",
            "  dns: { domain: corp.local }\n  apiServer:\n",
            "the DNS domain is cluster.local in the cluster, and corp.local here",
        ),
        (
            "    extraArgs:\n",
            "    extraArgs:\n    - { name: service-account-issuer, value: \"https://id.example.com\" }\n",
            "the issuer of service-account tokens is https://kubernetes.default.svc.cluster.local in the cluster, and \
             https://id.example.com here",
        ),
        (
            "- name: w1\n",
            "- name: w1\n  arch: arm64\n",
            "the machine w1 is amd64 in the cluster, and arm64 here",
        ),
    ] {
        assert!(spec.contains(from), "{from}");
        desk.write("cluster.yaml", &spec.replacen(from, to, 1));
        let ran = adopt(&desk, &[]);
        assert_eq!(ran.code, 3, "{text}: {ran:?}");
        assert!(ran.stderr.contains(text), "{text}: {ran:?}");
        assert!(!desk.at("firelay.secrets.yaml").exists(), "{text}");
    }
    desk.write("cluster.yaml", &spec.replace("name: lab\n", "name: other\n"));
    // The same name in another spelling.
    let objects = desk
        .read("objects.yaml")
        .replace("controlPlaneEndpoint: api", "controlPlaneEndpoint: API");
    desk.write("objects.yaml", &objects);
    let ran = adopt(&desk, &["--name", "other"]);
    assert_eq!(ran.code, 0, "{ran:?}");
}

/// A comparison finds nothing where the draft itself is the spec.
#[test]
fn a_spec_that_adopt_wrote_is_that_of_the_cluster() {
    for (name, further) in [
        ("kubeadm", &KUBEADM_MACHINES[..]),
        (
            "kubespray",
            &["--os", "rocky-9", "--platform", "metal", "--name", "prod"],
        ),
        ("cluster-api", &["--os", "ubuntu-22.04", "--platform", "aws"]),
    ] {
        let desk = with_spec_of(name, further);
        let ran = adopt(&desk, &[]);
        assert_eq!(ran.code, 0, "{name}: {ran:?}");
    }
}

#[test]
fn missing_facts_are_named_and_nothing_is_written() {
    let desk = cluster("cluster-api");
    let ran = adopt(&desk, &[]);
    assert_eq!(ran.code, 3, "{ran:?}");
    for text in [
        "--os is missing",
        "the Nodes say Ubuntu 22.04.5 LTS",
        "--platform is missing",
        "the Nodes say aws",
    ] {
        assert!(ran.stderr.contains(text), "{text}: {ran:?}");
    }
    assert!(!desk.at("cluster.yaml").exists());
    // Findings about the PKI and about the objects, in one run.
    fs::remove_file(desk.at("pki/ca.key")).unwrap();
    let ran = adopt(&desk, &[]);
    assert!(
        ran.stderr.contains("error[FL1301]") && ran.stderr.contains("--os is missing"),
        "{ran:?}"
    );
    desk.write("objects.yaml", "apiVersion: v1\nkind: List\nitems: []\n");
    let ran = adopt(&desk, &KUBEADM_MACHINES);
    assert!(
        ran.stderr
            .contains("the ConfigMap kubeadm-config of kube-system is missing"),
        "{ran:?}"
    );
    desk.write("objects.yaml", "- a\n- b\n---\nkind: [\n");
    let ran = adopt(&desk, &KUBEADM_MACHINES);
    assert_eq!(ran.stderr.matches("error[FL1312]").count(), 2, "{ran:?}");
}

#[test]
fn a_spec_with_a_missing_range_is_corrected_and_adopted() {
    let desk = cluster("kubeadm");
    let objects = desk.read("objects.yaml");
    desk.write(
        "objects.yaml",
        &objects
            .replace("        podSubnet: 10.244.0.0/16\n", "")
            .replace("clusterCIDR: 10.244.0.0/16", "clusterCIDR: \"\""),
    );
    let ran = adopt(&desk, &KUBEADM_MACHINES);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(
        ran.stderr.contains("has no podSubnet") && !desk.at("firelay.secrets.yaml").exists(),
        "{ran:?}"
    );
    desk.write(
        "cluster.yaml",
        &desk.read("cluster.yaml").replace("pods: []", "pods: [10.50.0.0/16]"),
    );
    let ran = adopt(&desk, &[]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(desk.read("firelay.state.yaml").contains("10.50.0.0/16"));
}

#[test]
fn the_pki_of_another_cluster_is_refused() {
    let desk = cluster("kubeadm");
    let certificate = |file: &str| {
        desk.read(file)
            .lines()
            .map(|line| format!("    {line}\n"))
            .collect::<String>()
    };
    let published = |client: &str, proxy: &str| {
        format!(
            "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: extension-apiserver-authentication\n  namespace: kube-system\ndata:\n  \
             client-ca-file: |\n{}  requestheader-client-ca-file: |\n{}",
            certificate(client),
            certificate(proxy)
        )
    };
    let objects = desk.read("objects.yaml");
    let unproven = "warning[FL1320]: nothing shows that the PKI is of this cluster";
    desk.write(
        "objects.yaml",
        &(objects.clone() + &published("pki/etcd/ca.crt", "pki/front-proxy-ca.crt")),
    );
    let ran = adopt(&desk, &KUBEADM_MACHINES);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert_eq!(
        ran.stderr
            .matches("error[FL1307]: ca.crt is of another cluster")
            .count(),
        1,
        "{ran:?}"
    );
    desk.write(
        "objects.yaml",
        &(objects + &published("pki/ca.crt", "pki/front-proxy-ca.crt")),
    );
    let ran = adopt(&desk, &KUBEADM_MACHINES);
    assert!(ran.code == 0 && !ran.stderr.contains(unproven), "{ran:?}");
    let desk = cluster("kubeadm");
    let ran = adopt(&desk, &KUBEADM_MACHINES);
    assert!(ran.code == 0 && ran.stderr.contains(unproven), "{ran:?}");
}

#[test]
fn a_sealed_bundle_and_json_objects_are_taken() {
    let desk = cluster("kubeadm");
    let script = "import json, sys, yaml; print(*(json.dumps(d) for d in yaml.safe_load_all(open('objects.yaml'))), sep='\\n---\\n')";
    let mut command = Command::new("python3");
    command.args(["-c", script]).current_dir(desk.directory.path());
    let json = output(&mut command, "python3-yaml");
    assert!(json.status.success(), "{}", said(&json));
    fs::create_dir(desk.at("objects")).unwrap();
    fs::write(desk.at("objects/all.json"), json.stdout).unwrap();
    let recipient = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p";
    let arguments = ["adopt", "--pki", "pki", "--from", "objects", "--recipient", recipient];
    let ran = desk.run(&[&arguments[..], &KUBEADM_MACHINES].concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        desk.read("firelay.secrets.yaml")
            .starts_with("-----BEGIN AGE ENCRYPTED FILE-----")
    );
}

/// Objects of the cluster of kubeadm, with texts replaced.
fn changed(replaced: &[(&str, &str)]) -> Desk {
    let desk = cluster("kubeadm");
    let mut objects = desk.read("objects.yaml");
    for (from, to) in replaced {
        assert!(objects.contains(from), "{from}");
        objects = objects.replace(from, to);
    }
    desk.write("objects.yaml", &objects);
    desk
}

#[test]
fn machines_with_windows_are_left_out() {
    let desk = changed(&[]);
    let node = "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: NAME\n  creationTimestamp: \"2025-03-04T09:12:00Z\"\n  labels: \
                { LABELS }\nstatus:\n  addresses: [{ type: InternalIP, address: 10.0.0.40 }]\n  nodeInfo: { operatingSystem: SYSTEM, \
                kubeletVersion: v1.36.3, architecture: amd64 }\n";
    let node = |name: &str, labels: &str, system: &str| {
        let node = node.replace("NAME", name).replace("LABELS", labels);
        node.replace("SYSTEM", system)
    };
    let objects =
        desk.read("objects.yaml") + &node("win1", "kubernetes.io/os: windows", "linux") + &node("win2", "", "windows");
    desk.write("objects.yaml", &objects);
    let ran = adopt(&desk, &KUBEADM_MACHINES);
    assert_eq!(ran.code, 0, "{ran:?}");
    let text = "warning[FL1318]: Nodes that run Windows are not in the spec: win1, win2";
    assert!(ran.stderr.contains(text), "{ran:?}");
    for file in ["cluster.yaml", "firelay.state.yaml"] {
        assert!(!desk.read(file).contains("win1"), "{file}");
    }
}

#[test]
fn labels_of_zones_are_kept_where_no_cloud_writes_them() {
    let labels = "tier: app\n      topology.kubernetes.io/zone: rack1\n      node.kubernetes.io/instance-type: big";
    let desk = changed(&[("tier: app", labels)]);
    let ran = adopt(&desk, &KUBEADM_MACHINES);
    assert_eq!(ran.code, 0, "{ran:?}");
    let spec = desk.read("cluster.yaml");
    for label in [
        "topology.kubernetes.io/zone: rack1",
        "node.kubernetes.io/instance-type: big",
    ] {
        assert!(spec.contains(label), "{label}: {spec}");
    }
}

#[test]
fn other_forms_of_kubeadms_configuration_are_refused() {
    for (from, to, text) in [
        (
            "kind: ClusterConfiguration",
            "kind: InitConfiguration",
            "holds InitConfiguration of kubeadm.k8s.io/v1beta4",
        ),
        (
            "v1beta4",
            "v1beta2",
            "holds ClusterConfiguration of kubeadm.k8s.io/v1beta2",
        ),
        (
            "v1beta4",
            "v1beta5",
            "holds ClusterConfiguration of kubeadm.k8s.io/v1beta5",
        ),
    ] {
        let desk = changed(&[(from, to)]);
        let ran = adopt(&desk, &KUBEADM_MACHINES);
        assert_eq!(ran.code, 3, "{ran:?}");
        assert!(
            ran.stderr.contains("error[FL1319]") && ran.stderr.contains(text),
            "{text}: {ran:?}"
        );
        assert!(!desk.at("cluster.yaml").exists());
    }
}

#[test]
fn a_founding_without_a_date_is_told() {
    for time in ["yesterday", "2096-01-01T00:00:00Z", ""] {
        let desk = cluster("kubeadm");
        let line = |line: &str| match line.trim_start().strip_prefix("creationTimestamp: ") {
            Some(_) => format!("    creationTimestamp: \"{time}\"\n"),
            None => format!("{line}\n"),
        };
        let objects: String = desk.read("objects.yaml").lines().map(line).collect();
        desk.write("objects.yaml", &objects);
        let ran = adopt(&desk, &KUBEADM_MACHINES);
        assert_eq!(ran.code, 0, "{ran:?}");
        let text = "warning[FL1314]: no Node has a creationTimestamp in the past";
        assert!(ran.stderr.contains(text), "{time}: {ran:?}");
        let record = desk.read("firelay.state.yaml");
        let day = super::support::NOW.split(' ').next().unwrap();
        assert!(record.contains(&format!("foundedAt: \"{day}T")), "{time}: {record}");
    }
}

#[test]
fn settings_that_stop_new_machines_say_so() {
    let arguments = "- name: secure-port\n          value: \"7443\"\n        - name: anonymous-auth\n          value: \
                     \"False\"\n        - name: profiling";
    let desk = changed(&[
        ("- name: profiling", arguments),
        ("cgroupDriver: systemd", "cgroupDriver: cgroupfs"),
    ]);
    let ran = adopt(&desk, &KUBEADM_MACHINES);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(ran.stderr.matches("no new machine joins").count(), 2, "{ran:?}");
    let text = "new machines with a containerd before 2.0 start no pod";
    assert!(ran.stderr.contains(text), "{ran:?}");
}

#[test]
fn a_pki_that_does_not_exist_is_one_finding() {
    let desk = Desk::empty();
    let ran = desk.run(&["adopt", "--pki", "pkj", "--name", "lab"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    assert_eq!(ran.stderr.matches("error[").count(), 1, "{ran:?}");
    let text = "error[FL1301]: no file of a PKI can be read in pkj: No such file or directory";
    assert!(ran.stderr.contains(text), "{ran:?}");
}

/// What a CA may sign, and who signed it, as openssl's `req` writes it.
#[test]
fn authorities_that_cannot_sign_for_machines_are_refused() {
    let usages = "extendedKeyUsage=codeSigning";
    for (flags, texts) in [
        (
            format!("-subj /CN=kubernetes -addext {usages}"),
            &["lacks clientAuth", "lacks serverAuth"][..],
        ),
        (
            format!("-subj /CN=kubernetes -addext {usages},anyExtendedKeyUsage"),
            &[],
        ),
        (
            "-subj /CN=kubernetes -addext extendedKeyUsage=clientAuth,serverAuth".to_owned(),
            &[],
        ),
        (
            "-subj /CN=kubernetes -addext nameConstraints=critical,permitted;DNS:example.com".to_owned(),
            &["has nameConstraints"],
        ),
        ("-subj /".to_owned(), &["has an empty subject"]),
        (
            "-subj /CN=kubernetes -CA pki/etcd/ca.crt -CAkey pki/etcd/ca.key".to_owned(),
            &["is below another CA: CN=etcd-ca signed it"],
        ),
    ] {
        let desk = with_pki();
        openssl(
            &desk,
            &format!("req -x509 -new -key pki/ca.key -days 3650 -out pki/ca.crt {flags}"),
        );
        let ran = desk.run(&["adopt", "--pki", "pki", "--name", "lab"]);
        assert_eq!(ran.code, if texts.is_empty() { 0 } else { 3 }, "{flags}: {ran:?}");
        assert_eq!(
            ran.stderr.matches("error[FL1303]").count(),
            texts.len(),
            "{flags}: {ran:?}"
        );
        for text in texts {
            assert!(ran.stderr.contains(text), "{flags}: {ran:?}");
        }
    }
}

/// A CA that ends within a year, or that holds only later.
#[test]
fn the_end_of_a_ca_is_announced() {
    let desk = with_pki();
    let adopt = |time: &str| {
        let mut command = firelay_at(time, &["adopt", "--pki", "pki", "--name", "lab"]);
        Ran::of(&command.current_dir(desk.directory.path()).output().unwrap())
    };
    for (time, code, text) in [
        ("2024-01-01 00:00:00", 3, "holds only from 2025-03-01"),
        ("2036-01-01 00:00:00", 3, "ended on 2035-02-27"),
        ("2034-12-01 00:00:00", 0, "ends on 2035-02-27"),
    ] {
        let ran = adopt(time);
        assert_eq!((ran.code, ran.stderr.matches(text).count()), (code, 3), "{ran:?}");
    }
}
