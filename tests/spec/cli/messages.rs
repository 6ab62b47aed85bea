//! Complete messages, compared with the texts in `golden/cli/`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::desk::{Desk, INIT, REFUSED, WARNED, damaged_bundle, own_profiles, too_large};
use super::sealed::sealed;
use super::support::{example, golden::Golden, succeed};

/// The command, its output, and its exit code.
fn transcript(desk: &Desk, arguments: &[&str]) -> (i32, String) {
    let ran = desk.run(arguments);
    let typed: Vec<_> = arguments
        .iter()
        .map(|word| {
            if word.contains(' ') {
                format!("'{word}'")
            } else {
                (*word).to_owned()
            }
        })
        .collect();
    let mut text = format!("$ firelay {}\n", typed.join(" "));
    for (name, stream) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
        if !stream.is_empty() {
            text += &format!("--- {name}\n{stream}");
            assert!(stream.ends_with('\n'), "{name} ends within a line: {text}");
        }
    }
    (ran.code, format!("{text}--- exit code {}\n", ran.code))
}

type Case = (&'static str, Desk, &'static [&'static str], i32);

/// A cluster in which the service-account key rotates.
fn rotating() -> Desk {
    let desk = Desk::of("single-node");
    for arguments in [&["render", "--founded"][..], &["secrets", "rotate", "service-account"]] {
        let ran = desk.run(arguments);
        assert_eq!(ran.code, 0, "{ran:?}");
    }
    desk
}

fn helps() -> Vec<Case> {
    let case = |name, arguments: &'static [&'static str]| -> Case { (name, Desk::empty(), arguments, 0) };
    vec![
        case("help", &["--help"]),
        case("help-short", &["-h"]),
        case("help-init", &["init", "--help"]),
        case("help-check", &["check", "--help"]),
        case("help-secrets", &["secrets", "--help"]),
        case("help-secrets-new", &["secrets", "new", "--help"]),
        case("help-secrets-show", &["secrets", "show", "--help"]),
        case("help-secrets-seal", &["secrets", "seal", "--help"]),
        case("help-secrets-rotate", &["secrets", "rotate", "--help"]),
        case("help-secrets-token", &["secrets", "token", "--help"]),
        case("help-render", &["render", "--help"]),
        case("help-diff", &["diff", "--help"]),
        case("help-adopt", &["adopt", "--help"]),
        case("help-update", &["update", "--help"]),
        case("help-graph", &["graph", "--help"]),
        case("help-report", &["report", "--help"]),
        case("help-publish", &["publish", "--help"]),
        case("help-seed", &["seed", "--help"]),
        case("help-serve", &["serve", "--help"]),
        case("help-size", &["size", "--help"]),
        case("help-audit", &["audit", "--help"]),
        case("help-verify", &["verify", "--help"]),
        case("help-terraform", &["terraform", "--help"]),
        case("help-profile", &["profile", "--help"]),
        case("help-profile-list", &["profile", "list", "--help"]),
        case("help-profile-show", &["profile", "show", "--help"]),
        case("help-schema", &["schema", "--help"]),
        case("help-explain", &["explain", "--help"]),
        case("help-completions", &["completions", "--help"]),
        case("help-man", &["man", "--help"]),
    ]
}

const INVENTORY: &str = "\
name,role,address,mac,labels
cp1,control-plane,10.0.0.11,52:54:00:12:34:01,
w1,worker,10.0.0.21,52:54:00:12:34:21,tier=app;rack=7
";

/// A directory with an inventory.
fn listed(inventory: &str) -> Desk {
    let desk = Desk::empty();
    desk.write("inventory.csv", inventory);
    desk
}

fn successes() -> Vec<Case> {
    let warned = Desk::empty();
    warned.write("cluster.yaml", WARNED);
    vec![
        ("init", Desk::empty(), &["init"], 0),
        ("init-file", Desk::empty(), &["init", "lab cluster.yaml"], 0),
        ("init-flags", Desk::empty(), INIT, 0),
        (
            "init-nodes",
            listed(INVENTORY),
            &["init", "--nodes", "inventory.csv", "--cni", "calico"],
            0,
        ),
        (
            "init-nodes-file",
            listed(INVENTORY),
            &["init", "--nodes", "inventory.csv", "--platform", "metal", "lab.yaml"],
            0,
        ),
        (
            "init-macs",
            Desk::empty(),
            &[
                "init",
                "--platform",
                "metal",
                "--mac",
                "cp1=52:54:00:12:34:01",
                "--mac",
                "worker-{1..3}=52:54:00:12:34:21,52:54:00:12:34:22,52:54:00:12:34:23",
                "lab.yaml",
            ],
            0,
        ),
        ("check", Desk::of("external-etcd"), &["check"], 0),
        ("check-pool", Desk::of("mixed"), &["check"], 0),
        ("check-warnings", warned, &["check"], 0),
        ("secrets-show", Desk::of("single-node"), &["secrets", "show"], 0),
        (
            "secrets-show-json",
            Desk::of("single-node"),
            &["secrets", "show", "--output", "json"],
            0,
        ),
        ("render", Desk::of("mixed"), &["render"], 0),
        ("render-json", Desk::of("mixed"), &["render", "--output", "json"], 0),
        ("size", Desk::of("mixed"), &["size"], 0),
        ("render-node", Desk::of("mixed"), &["render", "--node", "cp2"], 0),
        (
            "profile-list",
            own_profiles(),
            &["profile", "list", "--profiles", "own"],
            0,
        ),
        (
            "profile-show-nested",
            own_profiles(),
            &["profile", "show", "openstack", "--profiles", "own"],
            0,
        ),
        (
            "profile-show",
            own_profiles(),
            &["profile", "show", "acme", "--profiles", "own"],
            0,
        ),
        ("profile-show-shipped", Desk::empty(), &["profile", "show", "aws"], 0),
        ("explain", Desk::empty(), &["explain"], 0),
        ("explain-list", Desk::empty(), &["explain", "nodes.taints"], 0),
        ("explain-choices", Desk::empty(), &["explain", "pki.caKeys"], 0),
        (
            "explain-any",
            Desk::empty(),
            &["explain", "artifacts.overrides.crictl.url"],
            0,
        ),
        (
            "explain-recursive",
            Desk::empty(),
            &["explain", "network", "--recursive"],
            0,
        ),
        (
            "explain-free",
            Desk::empty(),
            &["explain", "sysctls.net.ipv4.ip_forward"],
            0,
        ),
        (
            "explain-upstream",
            Desk::empty(),
            &["explain", "roles.worker.kubelet.config.maxPods"],
            0,
        ),
        ("explain-patches", Desk::empty(), &["explain", "patches"], 0),
        ("explain-code", Desk::empty(), &["explain", "fl0103"], 0),
        ("explain-codes", Desk::empty(), &["explain", "FL04"], 0),
        ("size-node", Desk::of("mixed"), &["size", "--node", "burst"], 0),
    ]
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn failures() -> Vec<Case> {
    let with = |name: &str, prepare: fn(&Desk)| {
        let desk = Desk::of(name);
        prepare(&desk);
        desk
    };
    let refused = || with("single-node", |desk| desk.write("cluster.yaml", REFUSED));
    let warned = || with("single-node", |desk| desk.write("cluster.yaml", WARNED));
    let out_is_a_file = with("single-node", |desk| desk.write("out", "mine"));
    let foreign = with("single-node", |desk| {
        fs::create_dir_all(desk.at("out/nodes/home1/user-data")).unwrap();
        desk.write("out/admin.kubeconfig", "mine");
    });
    let half_manifest = with("single-node", |desk| {
        fs::create_dir(desk.at("out")).unwrap();
        desk.write("out/manifest.json", "{}");
    });
    let damaged = with("single-node", |desk| damaged_bundle(desk, "epoch: 0", "epoch: hunter2"));
    let unknown_key = with("single-node", |desk| {
        damaged_bundle(desk, "epoch: 0", "epoch: 0\nhunter2: x");
    });
    let key_of_another = with("single-node", |desk| {
        let other = fs::read_to_string(example("ha-ubuntu").bundle).unwrap();
        let key = |text: &str| text[text.find("    key: |").unwrap()..text.find("  etcd:").unwrap()].to_owned();
        damaged_bundle(desk, &key(&desk.read("firelay.secrets.yaml")), &key(&other));
    });
    let of_another = with("single-node", |desk| {
        example("ha-ubuntu").lay_bundle(&desk.at("firelay.secrets.yaml"));
    });
    let large = with("ha-ubuntu", |desk| desk.write("cluster.yaml", &too_large()));
    let latin1 = with("single-node", |desk| {
        fs::write(desk.at("cluster.yaml"), b"name: \xfc\n").unwrap();
    });
    let loose = with("single-node", |desk| {
        fs::set_permissions(desk.at("firelay.secrets.yaml"), PermissionsExt::from_mode(0o644)).unwrap();
    });
    let of_sops = with("single-node", |desk| {
        desk.write(
            "sops.yaml",
            "kind: ENC[AES256_GCM,data:x]\nsops:\n    mac: ENC[AES256_GCM,data:y]\n",
        );
    });
    let sealed_with = |prepare: fn(&Desk)| {
        let desk = sealed();
        prepare(&desk);
        desk
    };
    let to_others = sealed_with(|desk| {
        fs::remove_file(desk.at("key.txt")).unwrap();
        succeed(Command::new("age-keygen").arg("-o").arg(desk.at("key.txt")), "age");
    });
    let tampered = sealed_with(|desk| {
        let text = desk.read("firelay.secrets.yaml");
        let middle = text.len() / 2;
        let other = if &text[middle..=middle] == "A" { "B" } else { "A" };
        desk.write(
            "firelay.secrets.yaml",
            &format!("{}{other}{}", &text[..middle], &text[middle + 1..]),
        );
    });
    let cut = sealed_with(|desk| {
        let text = desk.read("firelay.secrets.yaml");
        desk.write("firelay.secrets.yaml", &text[..text.len() / 2]);
    });
    let mistyped = sealed_with(|desk| {
        let text = desk.read("key.txt");
        desk.write("key.txt", &text.replace("AGE-SECRET-KEY-1", "AGE-SECRET-KEY-1Q"));
    });
    let key = &["secrets", "show", "--identity", "key.txt"];
    vec![
        ("secrets-exposed", loose, &["secrets", "show", "--fingerprint"], 4),
        ("secrets-sops", of_sops, &["render", "-s", "sops.yaml"], 4),
        ("sealed-no-identity", sealed(), &["render"], 4),
        ("sealed-to-others", to_others, key, 4),
        ("sealed-tampered", tampered, key, 4),
        ("sealed-cut", cut, key, 4),
        ("sealed-identity-mistyped", mistyped, key, 4),
        (
            "sealed-identity-missing",
            sealed(),
            &["secrets", "show", "-i", "no/such"],
            4,
        ),
        ("seal-no-recipient", Desk::of("single-node"), &["secrets", "seal"], 2),
        (
            "seal-to-an-identity",
            Desk::of("single-node"),
            &["secrets", "seal", "-r", "AGE-SECRET-KEY-1QQQ"],
            2,
        ),
        (
            "seal-to-nobody",
            Desk::of("single-node"),
            &["secrets", "seal", "-r", "age1qqq"],
            2,
        ),
        (
            "rotate-early",
            Desk::of("ha-ubuntu"),
            &["secrets", "rotate", "leaves"],
            3,
        ),
        ("rotate-second", rotating(), &["secrets", "rotate", "leaves"], 3),
        (
            "rotate-useless",
            Desk::of("ha-ubuntu"),
            &["secrets", "rotate", "encryption"],
            3,
        ),
        ("missing-spec", Desk::empty(), &["check"], 1),
        ("missing-spec-named", Desk::empty(), &["render", "my specs/lab.yaml"], 1),
        ("spec-is-a-directory", Desk::empty(), &["check", "."], 1),
        (
            "render-node-unknown",
            Desk::of("mixed"),
            &["render", "--node", "cp9"],
            2,
        ),
        ("render-stdout-many", Desk::of("mixed"), &["render", "--out", "-"], 2),
        ("profile-unknown", Desk::empty(), &["profile", "show", "awz"], 2),
        (
            "profiles-missing",
            Desk::of("mixed"),
            &["check", "--profiles", "own"],
            1,
        ),
        ("stdin-twice", Desk::of("mixed"), &["check", "-", "-"], 2),
        ("init-exists", Desk::of("single-node"), &["init", "cluster.yaml"], 1),
        ("init-nowhere", Desk::empty(), &["init", "no/such/directory.yaml"], 1),
        ("out-is-a-file", out_is_a_file, &["render"], 1),
        (
            "out-unwritable",
            Desk::of("single-node"),
            &["render", "--out", "/proc/firelay"],
            1,
        ),
        ("foreign-files", foreign, &["render"], 1),
        ("foreign-manifest", half_manifest, &["render"], 1),
        (
            "secrets-unwritable",
            Desk::with_spec("single-node"),
            &["secrets", "new", "-s", "no/such.yaml"],
            1,
        ),
        ("usage-no-verb", Desk::empty(), &[], 2),
        ("usage-unknown-verb", Desk::empty(), &["rendr"], 2),
        ("usage-unknown-flag", Desk::empty(), &["render", "--new-secret"], 2),
        ("usage-output", Desk::empty(), &["check", "--output", "yaml"], 2),
        (
            "explain-mistyped",
            Desk::empty(),
            &["explain", "kubernetes.apServer"],
            2,
        ),
        ("explain-elsewhere", Desk::empty(), &["explain", "extraVolumes"], 2),
        (
            "explain-below-nothing",
            Desk::empty(),
            &["explain", "endpoint.host.name"],
            2,
        ),
        ("explain-no-code", Desk::empty(), &["explain", "FL9999"], 2),
        ("explain-long-code", Desk::empty(), &["explain", "FL01031"], 2),
        (
            "explain-upstream-mistyped",
            Desk::empty(),
            &["explain", "kubernetes.kubelet.config.maxPod"],
            2,
        ),
        (
            "init-nodes-mistakes",
            listed(&INVENTORY.replace("10.0.0.21", "10.0.0.211.1").replace("34:21", "34:01")),
            &["init", "--nodes", "inventory.csv"],
            3,
        ),
        (
            "init-nodes-missing",
            Desk::empty(),
            &["init", "--nodes", "inventory.csv"],
            2,
        ),
        (
            "init-mac-unknown",
            Desk::empty(),
            &["init", "--mac", "cp9=52:54:00:12:34:01"],
            2,
        ),
        (
            "init-mac-of-a-range",
            Desk::empty(),
            &[
                "init",
                "--control-plane",
                "cp{1..3}=10.0.0.11-10.0.0.13",
                "--mac",
                "cp2=52:54:00:12:34:02",
            ],
            2,
        ),
        ("diff-mixed", Desk::of("single-node"), &["diff", "cluster.yaml", "."], 2),
        (
            "diff-missing",
            Desk::of("single-node"),
            &["diff", "cluster.yaml", "prod.yaml"],
            1,
        ),
        ("init-cni-mistyped", Desk::empty(), &["init", "--cni", "claico"], 2),
        ("init-mistyped", Desk::empty(), &["init", "--os", "ubunto-24.04"], 2),
        (
            "init-even",
            Desk::empty(),
            &["init", "--control-plane", "cp{1..2}=10.0.0.1-10.0.0.2"],
            2,
        ),
        ("terraform-without-query", Desk::empty(), &["terraform"], 2),
        ("init-no-address", Desk::empty(), &["init", "--worker", "w1"], 2),
        ("usage-init-name", Desk::empty(), &["init", "--name", "My_Cluster"], 2),
        ("publish-nothing", Desk::of("ha-ubuntu"), &["publish"], 1),
        ("unknown-node", Desk::of("ha-ubuntu"), &["size", "--node", "worker1"], 2),
        (
            "unknown-node-far",
            Desk::of("ha-ubuntu"),
            &["size", "--node", "database"],
            2,
        ),
        ("refused", refused(), &["render"], 3),
        ("refused-check", refused(), &["check"], 3),
        ("refused-json", refused(), &["check", "--output", "json"], 3),
        ("refused-not-utf-8", latin1, &["check"], 3),
        ("strict", warned(), &["check", "--strict"], 3),
        ("refused-sarif", refused(), &["check", "--output", "sarif"], 3),
        ("strict-json", warned(), &["check", "--strict", "--output", "json"], 3),
        ("strict-sarif", warned(), &["check", "--strict", "--output", "sarif"], 3),
        ("missing-bundle", Desk::with_spec("single-node"), &["render"], 4),
        (
            "missing-bundle-named",
            Desk::with_spec("single-node"),
            &["size", "cluster.yaml", "-s", "my lab.yaml"],
            4,
        ),
        ("missing-bundle-show", Desk::empty(), &["secrets", "show"], 4),
        ("secrets-exist", Desk::of("single-node"), &["secrets", "new"], 4),
        ("bundle-of-another-cluster", of_another, &["render"], 4),
        ("bundle-damaged", damaged, &["render"], 4),
        ("bundle-unknown-key", unknown_key, &["secrets", "show"], 4),
        ("bundle-key-of-another", key_of_another, &["size"], 4),
        ("too-large", large, &["render"], 5),
    ]
}

#[test]
fn every_message_is_as_it_was_agreed() {
    let mut golden = Golden::open("cli");
    let mut wrong = Vec::new();
    for (name, desk, arguments, expected) in helps().into_iter().chain(successes()).chain(failures()) {
        let before = desk.everything();
        let (code, text) = transcript(&desk, arguments);
        let at = desk.directory.path().canonicalize().unwrap();
        let text = text.replace(at.to_str().unwrap(), "/home/me");
        golden.compare(&format!("{name}.txt"), &text);
        if code != expected {
            wrong.push(format!("expected {expected}:\n{text}"));
        }
        if expected != 0 && before != desk.everything() {
            wrong.push(format!("something changed:\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    golden.close();
}
