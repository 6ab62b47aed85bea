//! `security.maxExposure`, before anything is written.

use std::fs;

use firelay::encoding::{base64, gzip};

use super::support::{self, example, firelay, output, said, tree};

const SPEC: &str = "
apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: prod
kubernetes: { version: 1.36.4 }
endpoint: { host: api.prod.example.com, port: 6443, provider: external }
network: { pods: [10.244.0.0/16], services: [10.96.0.0/12], cni: flannel }
os: ubuntu-24.04
platform: aws
nodes:
  - { name: cp1, roles: [control-plane], addresses: [10.0.0.11] }
  - { name: w1, roles: [worker], addresses: [10.0.0.21] }
pools:
  - { name: burst, roles: [worker] }
";

/// A directory with this spec, a bundle and a tree rendered without a policy.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        // The first example has a P-256 bundle for a cluster of this name.
        example("ha-ubuntu").lay_bundle(&desk.0.path().join("firelay.secrets.yaml"));
        desk
    }

    fn render(&self, more: &str) -> (Option<i32>, String) {
        fs::write(self.0.path().join("cluster.yaml"), format!("{SPEC}{more}\n")).unwrap();
        let rendered = output(firelay(&["render"]).current_dir(self.0.path()), "firelay");
        (rendered.status.code(), said(&rendered))
    }
}

/// The output of a refused render that leaves the tree unchanged.
pub fn refused() -> String {
    let desk = Desk::new();
    assert_eq!(desk.render("").0, Some(0));
    let before = tree(&desk.0.path().join("out"));
    let (code, text) = desk.render("security: { maxExposure: identity }");
    assert_eq!(code, Some(5), "{text}");
    assert_eq!(tree(&desk.0.path().join("out")), before);
    text
}

#[test]
fn without_a_tree_nothing_is_left_either() {
    let desk = Desk::new();
    fs::remove_file(desk.0.path().join("firelay.secrets.yaml")).unwrap();
    fs::write(
        desk.0.path().join("cluster.yaml"),
        format!("{SPEC}security: {{ maxExposure: public }}\n"),
    )
    .unwrap();
    let rendered = output(
        firelay(&["render", "--new-secrets"]).current_dir(desk.0.path()),
        "firelay",
    );
    assert_eq!(rendered.status.code(), Some(5), "{}", said(&rendered));
    assert!(!desk.0.path().join("firelay.secrets.yaml").exists());
    let left: Vec<_> = support::golden::files(&desk.0.path().join("out")).into_iter().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn stdout_gets_nothing_that_may_not_be() {
    let desk = Desk::new();
    fs::write(
        desk.0.path().join("cluster.yaml"),
        format!("{SPEC}security: {{ maxExposure: identity }}\n"),
    )
    .unwrap();
    let print = |node: &str| {
        let arguments = ["render", "--out", "-", "--node", node];
        output(firelay(&arguments).current_dir(desk.0.path()), "firelay")
    };
    let refused = print("cp1");
    assert_eq!(
        (refused.status.code(), refused.stdout.len()),
        (Some(5), 0),
        "{}",
        said(&refused)
    );
    assert!(print("w1").status.success());
}

#[test]
fn the_nearest_counts_and_pointers_help() {
    let desk = Desk::new();
    let pointer = |base: &str| {
        format!(
            "security: {{ maxExposure: identity }}
roles:
  worker: {{ security: {{ maxExposure: joins }} }}
  control-plane:
    delivery: {{ form: pointer, pointer: {{ base: '{base}', sealed: true }} }}"
        )
    };
    let (code, text) = desk.render(&pointer("s3://bucket/far"));
    assert_eq!(code, Some(0), "{text}");
    // Readers of this pointer can fetch and decrypt its payload.
    let (code, text) = desk.render(&pointer("https://files.example.com"));
    assert_eq!(code, Some(5), "{text}");
    assert!(
        text.contains(
            "whoever reads the document of cp1 can sign for the cluster, and `security.maxExposure` is identity"
        ),
        "{text}"
    );
    let of_the_pool = SPEC.replace("{ name: burst, ", "{ name: burst, security: { maxExposure: public }, ");
    fs::write(desk.0.path().join("cluster.yaml"), of_the_pool).unwrap();
    let rendered = output(firelay(&["render"]).current_dir(desk.0.path()), "firelay");
    assert_eq!(rendered.status.code(), Some(5), "{}", said(&rendered));
    assert!(
        said(&rendered).contains("whoever reads the document of burst can join the cluster"),
        "{}",
        said(&rendered)
    );
}

/// The tree contains the policy, so that an audit of the tree applies it.
#[test]
fn a_tree_is_judged_by_its_own_policy() {
    let desk = Desk::new();
    let (code, text) = desk.render("security: { maxExposure: signs }");
    assert_eq!(code, Some(0), "{text}");
    let manifest = desk.0.path().join("out/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    assert!(text.contains("\"maxExposure\": \"signs\""), "{text}");
    fs::write(&manifest, text.replace("\"signs\"", "\"joins\"")).unwrap();
    let audited = output(firelay(&["audit"]).current_dir(desk.0.path()), "firelay");
    assert_eq!(audited.status.code(), Some(5));
    assert!(
        said(&audited).contains("error[FL1086]: whoever reads the document of cp1 can sign for the cluster"),
        "{}",
        said(&audited)
    );
}

/// Secrets in a user's own file are found before the file is written.
#[test]
fn a_render_refuses_what_the_spec_smuggles_in() {
    let desk = Desk::new();
    let text = fs::read_to_string(desk.0.path().join("firelay.secrets.yaml")).unwrap();
    let bundle = firelay::secrets::Bundle::parse("bundle", &text).unwrap();
    let key = serde_json::to_string(bundle.kubernetes.key.expose()).unwrap();
    let spec = format!("roles: {{ worker: {{ files: [{{ path: /etc/own/ca.key, content: {key} }}] }} }}");
    let (code, text) = desk.render(&spec);
    assert_eq!(code, Some(5), "{text}");
    for name in ["w1", "burst"] {
        let message = format!("error[FL1081]: {name} is no control plane");
        assert!(text.contains(&message), "{text}");
    }
    assert!(!desk.0.path().join("out/manifest.json").exists());
}

/// A line that ends in the machine's own name is searched like any other line. So are the lines around it.
#[test]
fn a_render_searches_lines_with_the_machines_name() {
    let desk = Desk::new();
    let text = fs::read_to_string(desk.0.path().join("firelay.secrets.yaml")).unwrap();
    let bundle = firelay::secrets::Bundle::parse("bundle", &text).unwrap();
    let key: String = { bundle.kubernetes.key.expose().lines() }
        .filter(|line| !line.starts_with("-----"))
        .collect();
    let packed = base64(gzip(key.as_bytes()));
    let lines: Vec<_> = packed.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
    let block = format!("{}x\nname: w1\n{}\n", "Ab1".repeat(20), lines.join("\n"));
    let patch = |value: &str| {
        let merge = format!("nodeRegistration: {{ kubeletExtraArgs: [{{ name: cert-dir, value: {value:?} }}] }}");
        let target = "target: { path: /etc/firelay/kubeadm/join.yaml, kind: JoinConfiguration }";
        format!("roles: {{ worker: {{ patches: [{{ {target}, merge: {{ {merge} }} }}] }} }}")
    };
    let file = |block: &str| format!("roles: {{ worker: {{ files: [{{ path: /opt/notes, content: {block:?} }}] }} }}");
    // Lines as firelay writes them with the name or the address.
    let own = [
        "hostname: w1",
        "fqdn: w1",
        "  name: w1",
        "    value: \"10.0.0.21\"",
        "FL_NODE=w1",
        "FL_ADDRESSES=10.0.0.21",
        "FL_LOCAL=10.0.0.21",
        "FL_URL_ADDRESS=10.0.0.21",
        "FL_PIN=10.0.0.21",
    ];
    let between = own.map(|own| file(&block.replace("name: w1", own)));
    // Short lines behind a variable, and a text of base64 that begins with the name.
    let short: Vec<_> = packed.as_bytes().chunks(12).map(String::from_utf8_lossy).collect();
    let behind = file(&format!("{}\n{}\n", own[2..].join("\n"), short.join("\n")));
    let from_name = file(&format!("  name: w1\nAA{packed}\n"));
    let twice = base64(key.as_bytes());
    let patches = [format!("{twice} w1"), format!("{packed} w1")].map(|value| patch(&value));
    for spec in patches
        .into_iter()
        .chain([file(&block), behind, from_name])
        .chain(between)
    {
        let (code, text) = desk.render(&spec);
        assert_eq!(code, Some(5), "{spec}: {text}");
        assert!(text.contains("error[FL1081]: w1 is no control plane"), "{text}");
    }
}
