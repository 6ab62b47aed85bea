//! Patches of the spec and of rendered files, and `why`, as users see them.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use crate::support;

use std::{collections::BTreeMap, fs, path::PathBuf, sync::LazyLock};

use serde_json::{Value, json};
use support::{Files, example, firelay, pyyaml, read_tree, said};

#[test]
fn a_finding_of_a_patch_tells_nothing_of_the_environment() {
    let desk = Desk::with(&[]).and("patches:\n  - { target: { kind: \"${V}\" }, merge: { a: 1 } }\n");
    for format in ["text", "json", "sarif"] {
        let output = firelay(&["check", "--env", "--output", format])
            .env("V", "Hunter2Kind")
            .current_dir(desk.0.path())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(3));
        let told = said(&output) + &String::from_utf8_lossy(&output.stdout);
        assert!(told.contains("FL0703") && !told.contains("Hunter2Kind"), "{told}");
    }
}

const INIT: &str = "/etc/firelay/kubeadm/init.yaml";
const FLANNEL: &str = "/etc/firelay/addons/20-cni/flannel.yaml";
const JOIN: &str = "/etc/firelay/kubeadm/join.yaml";
const KUBELET: &str = "/etc/systemd/system/kubelet.service";

/// A directory with `ha-ubuntu`, its bundle, and patches.
struct Desk(tempfile::TempDir);

impl Desk {
    fn with(patches: &[(&str, &str)]) -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        let example = example("ha-ubuntu");
        fs::copy(&example.spec, desk.at("cluster.yaml")).unwrap();
        example.lay_bundle(&desk.at("firelay.secrets.yaml"));
        for (path, text) in patches {
            let path = desk.at("patches").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        desk
    }

    /// Appends lines to the spec.
    fn and(self, more: &str) -> Self {
        let spec = fs::read_to_string(self.at("cluster.yaml")).unwrap();
        fs::write(self.at("cluster.yaml"), spec + more).unwrap();
        self
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    /// Exit code and output.
    fn run(&self, arguments: &[&str]) -> (i32, String) {
        let output = firelay(arguments).current_dir(self.0.path()).output().unwrap();
        (output.status.code().unwrap(), said(&output))
    }

    fn render(&self) -> BTreeMap<String, Files> {
        let (code, said) = self.run(&["render"]);
        assert_eq!(code, 0, "{said}");
        read_tree(&self.at("out"))
    }

    fn why(&self, address: &str) -> Value {
        let output = firelay(&["why", address, "--output", "json"])
            .current_dir(self.0.path())
            .output()
            .unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", self::said(&output)))
    }
}

fn document(files: &Files, path: &str, kind: &str) -> Value {
    let documents = pyyaml(&files[path].1);
    documents.into_iter().find(|document| document["kind"] == kind).unwrap()
}

fn unpatched() -> &'static BTreeMap<String, Files> {
    static FILES: LazyLock<BTreeMap<String, Files>> = LazyLock::new(|| Desk::with(&[]).render());
    &FILES
}

#[test]
fn a_document_is_merged_and_all_else_keeps_its_bytes() {
    let before = unpatched();
    let after = Desk::with(&[(
        "all/10-profiling.yaml",
        "target: { path: /etc/firelay/kubeadm/init.yaml, kind: ClusterConfiguration }\n\
         merge: { apiServer: { extraArgs: [{ name: profiling, value: \"false\" }] }, etcd: null }\n",
    )])
    .render();
    let cluster = document(&after["cp1"], INIT, "ClusterConfiguration");
    assert_eq!(
        cluster["apiServer"],
        json!({"extraArgs": [{"name": "profiling", "value": "false"}]})
    );
    assert_eq!(cluster.get("etcd"), None);
    for (node, files) in before {
        for (path, (mode, content)) in files {
            let (mode_after, content_after) = &after[node][path];
            assert_eq!(mode, mode_after);
            assert_eq!(
                content == content_after,
                (node.as_str(), path.as_str()) != ("cp1", INIT),
                "{node} {path}"
            );
        }
    }
    let (one, other) = (&before["cp1"][INIT].1, &after["cp1"][INIT].1);
    let parts = |text: &str| text.split("---\n").map(str::to_owned).collect::<Vec<_>>();
    let (one, other) = (parts(one), parts(other));
    let changed: Vec<_> = (0..one.len()).filter(|part| one[*part] != other[*part]).collect();
    assert_eq!(
        (one.len(), changed),
        (other.len(), vec![1]),
        "the other documents of the file"
    );
}

#[test]
fn lists_merge_by_key_and_are_cut_by_json_patches() {
    let after = Desk::with(&[(
        "control-plane/cni.yaml",
        "target: { kind: DaemonSet, name: kube-flannel-ds }\n\
         merge:\n  spec:\n    template:\n      spec:\n        containers:\n\
         \x20         - name: flannel\n            resources: { limits: { memory: 200Mi } }\n\
         \x20         - { name: watcher, image: example.com/w:1 }\n\
         ---\n\
         target: { kind: DaemonSet, name: kube-flannel-ds }\n\
         json:\n\
         \x20 - { op: remove, path: /spec/template/spec/tolerations/0 }\n\
         \x20 - { op: add, path: /spec/template/spec/containers/0/command/-, value: --v=4 }\n",
    )])
    .render();
    let text = &after["cp1"]["/etc/firelay/addons/20-cni/flannel.yaml"].1;
    let set = pyyaml(text)
        .into_iter()
        .find(|document| document["kind"] == "DaemonSet")
        .unwrap();
    let pod = &set["spec"]["template"]["spec"];
    let containers = pod["containers"].as_array().unwrap();
    assert_eq!((containers.len(), &containers[1]["name"]), (2, &json!("watcher")));
    assert_eq!(containers[0]["resources"]["limits"]["memory"], "200Mi");
    assert!(
        containers[0]["image"].as_str().unwrap().contains("flannel"),
        "what was there stays"
    );
    assert_eq!(containers[0]["command"].as_array().unwrap().last().unwrap(), "--v=4");
    let before = pyyaml(&unpatched()["cp1"]["/etc/firelay/addons/20-cni/flannel.yaml"].1);
    let before = before
        .into_iter()
        .find(|document| document["kind"] == "DaemonSet")
        .unwrap();
    let count = |set: &Value| set["spec"]["template"]["spec"]["tolerations"].as_array().unwrap().len();
    assert_eq!(count(&set) + 1, count(&before));
}

#[test]
fn units_and_drop_ins_are_sections_of_keys() {
    let after = Desk::with(&[(
        "worker/kubelet.yaml",
        "target: { unit: kubelet.service }\n\
         merge: { Service: { RestartSec: 20, Delegate: yes, Environment: [A=1, \"B=two words\"] }, Install: null }\n\
         ---\n\
         target: { unit: kubelet.service, dropin: 10-kubeadm.conf }\n\
         json: [{ op: add, path: /Service/EnvironmentFile/-, value: -/etc/default/mine }]\n",
    )])
    .render();
    let before = unpatched();
    let unit = &after["worker-1"][KUBELET].1;
    assert!(
        unit.contains(
            "\n[Service]\nEnvironment=A=1\nEnvironment=B=two words\nRestart=always\nRestartSec=20\nDelegate=yes\n"
        ),
        "{unit}"
    );
    assert!(!unit.contains("[Install]"));
    let dropin = &after["worker-1"][&format!("{KUBELET}.d/10-kubeadm.conf")].1;
    assert!(
        dropin.contains("EnvironmentFile=-/etc/default/kubelet\nEnvironmentFile=-/etc/default/mine\n"),
        "{dropin}"
    );
    assert_eq!(after["cp2"][KUBELET], before["cp2"][KUBELET]);
}

#[test]
fn nearer_patches_come_later_and_files_come_before_the_spec() {
    let patch = |value: &str| {
        format!("target: {{ kind: JoinConfiguration }}\nmerge: {{ timeouts: {{ discovery: {value} }} }}\n")
    };
    let inline = |value: &str| {
        format!("{{ target: {{ kind: JoinConfiguration }}, merge: {{ timeouts: {{ discovery: {value} }} }} }}")
    };
    let desk = Desk::with(&[
        ("all/20.yaml", &patch("2m")),
        ("all/10.yaml", &patch("1m")),
        ("worker/x.yaml", &patch("4m")),
        ("worker-2/x.yaml", &patch("6m")),
        ("worker-{1..3}/x.yaml", &patch("5m")),
    ])
    .and(&format!("patches:\n  - {}\n", inline("3m")));
    let after = desk.render();
    let discovery = |node: &str| document(&after[node], JOIN, "JoinConfiguration")["timeouts"]["discovery"].clone();
    assert_eq!(
        [discovery("cp1"), discovery("worker-1"), discovery("worker-2")],
        [json!("3m"), json!("5m"), json!("6m")]
    );
}

#[test]
fn the_spec_is_patched_before_it_is_read() {
    let after = Desk::with(&[
        (
            "all/spec.yaml",
            "target: spec\nmerge: { network: { pods: [10.200.0.0/16] } }\n",
        ),
        ("worker/spec.yaml", "target: spec\nmerge: { labels: { tier: app } }\n"),
        (
            "cp2/spec.yaml",
            "target: spec\njson: [{ op: replace, path: /addresses/0, value: 10.0.0.99 }]\n",
        ),
    ])
    .render();
    let cluster = document(&after["cp1"], INIT, "ClusterConfiguration");
    assert_eq!(cluster["networking"]["podSubnet"], "10.200.0.0/16");
    let labels = |node: &str| after[node][JOIN].1.contains("tier=app");
    assert_eq!([labels("cp1"), labels("worker-3")], [false, true]);
    assert!(after["cp2"]["/etc/firelay/node.env"].1.contains("10.0.0.99"));
}

/// Nodes parse patched values as YAML 1.1.
#[test]
fn patched_values_survive_every_reader() {
    let after = Desk::with(&[(
        "all/x.yaml",
        "target: { kind: DaemonSet, name: kube-flannel-ds }\n\
         merge: { x: { octal: 0644, word: \"no\", time: \"1:30\", big: 1e3, text: \"0644\", none: [~] } }\n",
    )])
    .render();
    assert_eq!(
        document(&after["cp1"], FLANNEL, "DaemonSet")["x"],
        json!({"octal": 420, "word": "no", "time": "1:30", "big": 1000.0, "text": "0644", "none": [null]})
    );
}

#[test]
fn what_is_no_patch_is_left_alone() {
    let desk = Desk::with(&[("all/README.md", "not YAML: ["), ("all/.swap.yaml", "[")]);
    assert_eq!(desk.run(&["check"]).0, 0);
    // The folder belongs to the spec beside it.
    let broken = Desk::with(&[("all/x.yaml", "target: {}\n")]);
    let (code, text) = broken.run(&["check"]);
    assert!(code == 3 && text.contains("patches/all/x.yaml:1:9"), "{text}");
}

/// A patch of founder files is valid in a founded cluster, where no machine is a founder.
#[test]
fn a_founded_cluster_keeps_its_patches() {
    let desk = Desk::with(&[(
        "cp1/x.yaml",
        "target: { kind: ClusterConfiguration }\nmerge: { clusterName: other }\n",
    )]);
    let (code, text) = desk.run(&["render", "--founded"]);
    assert_eq!(code, 0, "{text}");
}

fn places(answer: &Value, from: &str) -> Vec<String> {
    let lines = answer[from].as_array().unwrap().iter();
    lines
        .map(|line| format!("{}:{}", line["file"].as_str().unwrap(), line["line"]))
        .collect()
}

/// The line of a text in a file.
fn line(path: &str, text: &str) -> String {
    let file = support::root().join(path);
    let content = fs::read_to_string(file).unwrap();
    let number = content.lines().position(|line| line.contains(text)).unwrap() + 1;
    format!("{path}:{number}")
}

#[test]
fn why_names_the_lines_that_a_value_follows() {
    let desk = Desk::with(&[(
        "worker/x.yaml",
        "target: { unit: kubelet.service }\nmerge:\n  Service:\n    RestartSec: 20\n",
    )])
    .and("proxy: { http: \"http://joe:hunter2@proxy.example.com:3128\" }\njoin: { identity: token }\n");
    let spec = |text: &str| line("examples/ha-ubuntu.yaml", text).replace("examples/ha-ubuntu", "cluster");

    let pods = desk.why("cp1:/etc/firelay/kubeadm/init.yaml#/networking/podSubnet");
    assert_eq!(pods["value"], "10.244.0.0/16");
    assert_eq!(
        (places(&pods, "spec"), places(&pods, "profiles")),
        (vec![spec("pods:")], vec![])
    );

    let version = desk.why("cp1:/etc/firelay/kubeadm/init.yaml#ClusterConfiguration/kubernetesVersion");
    assert_eq!(places(&version, "spec"), [spec("kubernetes:")]);

    let patched = desk.why("worker-1:kubelet.service#Service/RestartSec");
    assert_eq!(
        (&patched["value"], places(&patched, "patches")),
        (&json!("20"), vec!["patches/worker/x.yaml:4".to_owned()])
    );

    let plain = desk.why("cp1:kubelet.service#Service/Restart");
    assert_eq!((&plain["value"], &plain["bundle"]), (&json!("always"), &json!(false)));
    assert!(
        ["patches", "spec", "profiles"]
            .iter()
            .all(|from| places(&plain, from).is_empty()),
        "{plain}"
    );

    let path = desk.why("cp1:kubelet.service#Service/Environment");
    assert_eq!(
        places(&path, "profiles"),
        [format!("firelay's {}", line("profiles/os/ubuntu-24.04.yaml", "bin:"))]
    );

    let token = desk.why("cp1:/etc/firelay/kubeadm/init.yaml#/bootstrapTokens/0/token");
    assert_eq!((&token["value"], &token["bundle"]), (&Value::Null, &json!(true)));
    let key = desk.why("cp1:/etc/firelay/pki/ca.key");
    assert_eq!((&key["value"], &key["bundle"]), (&Value::Null, &json!(true)));

    let (_, proxy) = desk.run(&["why", "cp1:/etc/firelay/proxy.env"]);
    assert!(proxy.contains("cluster.yaml:") && !proxy.contains("hunter2"), "{proxy}");
}

/// No output of `why` shows a secret of the spec or of a patch, in any format.
#[test]
fn why_tells_no_secret() {
    let more = "\
commands: { first: [\"echo hunter2\"], before: [\"echo hunter2\"] }
files:
  - { path: /etc/app/closed.yaml, content: \"hunter2: hunter2\", mode: \"0600\" }
  - { path: /etc/app/group.conf, content: hunter2, mode: \"0640\" }
  - { path: /etc/app/staged, content: hunter2, mode: \"0600\", owner: \"33\" }
  - { path: /etc/app/open, content: everybody }
  - { path: /etc/app/key, content: \"-----BEGIN PRIVATE KEY-----\\nhunter2\\n\" }
manifests:
  - name: app
    content: |
      apiVersion: v1
      kind: Secret
      metadata: { name: app }
      stringData: { key: hunter2 }
";
    let environment = "target: { unit: kubelet.service }\nmerge: { Service: { Environment: A=hunter2 } }\n";
    let envs = "target: spec\nmerge: { kubernetes: { apiServer: { extraEnvs: [{ name: A, value: hunter2 }] } } }\n";
    let desk = Desk::with(&[("all/10.yaml", environment), ("all/20.yaml", envs)]).and(more);
    let init = format!("cp1:{INIT}");
    let env = format!("{init}#ClusterConfiguration/apiServer/extraEnvs/0/value");
    for (address, reason) in [
        ("cp1:/etc/firelay/commands/first-1", "only root may read this file"),
        ("cp1:/etc/firelay/commands/before-1#1", "only root may read this file"),
        ("cp1:/etc/app/closed.yaml#/hunter", "only root may read this file"),
        ("cp1:/etc/app/group.conf", "only root may read this file"),
        ("cp1:/etc/firelay/files/1", "only root may read this file"),
        (
            "cp1:/etc/firelay/addons/60-manifests/00-app.yaml#/stringData/key",
            "a secret",
        ),
        ("cp1:kubelet.service#Service/Environment", "a secret"),
        ("cp1:/etc/app/key", "a secret"),
        (&env, "a secret"),
    ] {
        let (code, told) = desk.run(&["why", address]);
        assert!(
            code == 0 && told.contains(&format!("(not shown: {reason})")),
            "{address}: {told}"
        );
        assert!(!told.contains("hunter2"), "{address}: {told}");
    }
    for address in [format!("{init}#ClusterConfiguration"), "cp1:kubelet.service".to_owned()] {
        let (code, told) = desk.run(&["why", &address]);
        assert!(
            code == 0 && !told.contains("(not shown") && !told.contains("hunter2"),
            "{address}: {told}"
        );
    }
    let closed = desk.why("cp1:/etc/app/closed.yaml");
    assert_eq!(
        (&closed["value"], &closed["notShown"]),
        (&Value::Null, &json!("only root may read this file"))
    );
    assert_eq!(desk.why("cp1:/etc/app/open")["value"], "everybody");
}

/// Output shows no line with a secret that only a declaration marks, or with a user's text; it shows names of
/// variables.
#[test]
fn why_tells_no_secret_that_is_declared() {
    let more = "\
access: { users: [{ name: joe, passwordHash: \"$6$hunter2hunter2$hunter2hunter2hunter2\", shell: /bin/bash }] }
runtime: { registries: [{ host: docker.io, mirrors: [{ url: https://m.example.com, auth: { username: joe, password: hunter2 } }] }] }
kubernetes: { version: 1.36.4, kubelet: { config: { maxPods: 120, staticPodURLHeader: { A: [hunter2] } } } }
";
    let desk = Desk::with(&[]);
    let spec = fs::read_to_string(desk.at("cluster.yaml")).unwrap();
    let spec: String = spec
        .lines()
        .filter(|line| !line.starts_with("kubernetes:"))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(desk.at("cluster.yaml"), spec + more).unwrap();
    let (code, told) = desk.run(&["why", &format!("cp1:{INIT}#KubeletConfiguration/maxPods")]);
    assert!(
        code == 0 && told.contains("maxPods: 120") && !told.contains("hunter2"),
        "{told}"
    );
    let (code, told) = desk.run(&["why", &format!("cp1:{INIT}#KubeletConfiguration")]);
    assert!(
        code == 0 && told.contains("maxPods: 120") && !told.contains("hunter2"),
        "{told}"
    );
}

#[test]
fn why_says_what_was_probably_meant() {
    let desk = Desk::with(&[]);
    for (address, said) in [
        ("cp1", "is not NODE:/path#/json/pointer"),
        ("cp9:/x", "did you mean cp1?"),
        (
            "cp1:/etc/firelay/kubeadm/inti.yaml",
            "did you mean /etc/firelay/kubeadm/init.yaml?",
        ),
        (
            "cp1:kubelt.service",
            "did you mean /etc/systemd/system/kubelet.service?",
        ),
        (
            "cp1:/etc/firelay/kubeadm/init.yaml#/networking/podSubnets",
            "did you mean `podSubnet`?",
        ),
        (
            "cp1:/etc/firelay/kubeadm/init.yaml#/kind",
            "write the kind before the pointer",
        ),
        (
            "cp1:/etc/firelay/kubeadm/init.yaml#ClusterConfig/kind",
            "ClusterConfiguration",
        ),
        ("cp1:/etc/firelay/node.env#/x", "is not YAML"),
        (
            "cp1:/etc/firelay/node.env#9999",
            "ask for one of them: /etc/firelay/node.env#",
        ),
        ("cp1:/etc/firelay/node.env#99999999999999999999", "ask for one of them"),
        (
            "worker-1:/etc/firelay/kubeadm/init.yaml",
            "did you mean /etc/firelay/kubeadm/join.yaml?",
        ),
    ] {
        let (code, text) = desk.run(&["why", address]);
        assert!(code == 2 && text.contains(said), "{address}: {code} {text}");
    }
}
