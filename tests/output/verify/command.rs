//! The verb's output and exit code. The complete texts are in `tests/golden/verify/`.

use std::{collections::BTreeSet, path::Path, process::Command};

use firelay_verify::{CHECKS, Cause, Chosen, PART, verify_chosen, verify_parts};
use serde_json::Value;

use super::{
    support::{self, firelay, golden::Golden, said},
    tampering::{NOW, Tampered},
};

fn run(out: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = firelay(&[&["verify", "out"], arguments].concat())
        .current_dir(out)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (
        output.status.code().unwrap(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

fn laid(tree: &Tampered) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    tree.write(&directory.path().join("out"));
    directory
}

fn broken() -> Tampered {
    let mut tree = Tampered::of("ha-ubuntu");
    tree.remove("worker-1", "/usr/local/lib/firelay/driver");
    let key = tree.text("cp2", "/etc/firelay/pki/front-proxy-client.key");
    tree.edit_file("cp2", "/etc/firelay/pki/apiserver.key", |_| key);
    tree.replace(
        "cp1",
        "/etc/firelay/kubeadm/init.yaml",
        "cgroupDriver: systemd",
        "cgroupDrivers: systemd",
    );
    tree.replace("cp1", "/etc/firelay/kubeadm/init.yaml", "10.96.0.0/12", "10.112.0.0/12");
    tree.edit("cp3", |config| config["hostname"] = serde_json::json!({"name": "cp3"}));
    let unit = "/etc/systemd/system/kubelet.service";
    tree.replace("worker-2", unit, "containerd.service", "absent.service");
    tree.edit_file("worker-3", "/usr/local/lib/firelay/steps/30-runtime", |text| {
        format!("{text}fi\n")
    });
    tree.files.remove("node-names");
    tree
}

#[test]
fn every_finding_is_told_in_one_run() {
    let mut golden = Golden::open("verify");
    for (name, tree, arguments, code) in [
        ("good", Tampered::of("ha-ubuntu"), &[][..], 0),
        ("broken", broken(), &[], 5),
        ("broken-json", broken(), &["--output", "json"], 5),
    ] {
        let directory = laid(&tree);
        let (found, stdout, stderr) = run(directory.path(), arguments);
        assert_eq!(found, code, "{name}: {stderr}");
        golden.compare(&format!("{name}.txt"), &format!("{stdout}{stderr}"));
    }
    golden.close();
}

/// The findings do not depend on the number of machines that are checked together.
#[test]
fn parts_find_what_the_whole_finds() {
    let tree = broken();
    let fetch = |path: &str| {
        tree.files
            .get(path)
            .cloned()
            .ok_or_else(|| std::io::ErrorKind::NotFound.into())
    };
    let manifest = tree.manifest.to_string();
    let whole = tree.findings(NOW);
    for machines in [1, 2, PART] {
        let found = verify_parts(manifest.as_bytes(), &fetch, Path::new("out"), NOW, machines).unwrap();
        assert_eq!((found.machines, found.cluster.as_str()), (6, "prod"));
        assert_eq!(found.findings, whole);
    }
}

#[test]
fn a_warning_is_no_failure() {
    let directory = laid(&Tampered::of("single-node"));
    let mut command = support::firelay_at("2027-11-10 00:00:00", &["verify", "--output", "json"]);
    let output = command.current_dir(directory.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&report["errors"], &report["cluster"]), (&0.into(), &"home".into()));
    assert!(report["warnings"].as_u64().unwrap() > 5);
    assert_eq!(report["findings"][0]["code"], "FL1037");
}

/// Another version of firelay may have written different scripts.
#[test]
fn scripts_of_another_version_are_warnings() {
    let mut tree = Tampered::of("single-node");
    tree.edit_file("home1", "/usr/local/lib/firelay/driver", |text| format!("{text}true\n"));
    assert_eq!(run(laid(&tree).path(), &[]).0, 5);
    tree.manifest["firelayVersion"] = "0.0.9".into();
    let (code, _, stderr) = run(laid(&tree).path(), &[]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("warning[FL1029]"), "{stderr}");
}

#[test]
fn what_is_no_tree_cannot_be_read() {
    let directory = tempfile::tempdir().unwrap();
    let (code, _, stderr) = run(directory.path(), &[]);
    assert_eq!(code, 1);
    assert!(stderr.contains("there is no rendered tree at out"), "{stderr}");
    std::fs::create_dir(directory.path().join("out")).unwrap();
    for text in [
        "{",
        "[]",
        r#"{"apiVersion": "v1", "kind": "List", "cluster": "", "kubernetesVersion": "", "files": []}"#,
    ] {
        std::fs::write(directory.path().join("out/manifest.json"), text).unwrap();
        let (code, _, stderr) = run(directory.path(), &[]);
        assert!(code == 1 && stderr.contains("is not a manifest of firelay"), "{stderr}");
    }
}

/// Opening them would block for ever, or fill the memory.
#[test]
fn what_is_no_plain_file_is_not_read() {
    let directory = laid(&Tampered::of("single-node"));
    let names = directory.path().join("out/node-names");
    let refused = |words: &str| {
        let mut command = Command::new("timeout");
        let command = command.args(["60", env!("CARGO_BIN_EXE_firelay"), "verify", "out"]);
        let output = command.current_dir(directory.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        assert!(said(&output).contains(words), "{}", said(&output));
    };
    std::fs::remove_file(&names).unwrap();
    assert!(Command::new("mkfifo").arg(&names).status().unwrap().success());
    refused("node-names: not a regular file");
    std::fs::remove_file(&names).unwrap();
    std::fs::File::create(&names).unwrap().set_len(6 << 30).unwrap();
    refused("node-names: 6442450944 bytes, more than");
}

#[test]
fn without_bash_scripts_are_not_looked_at() {
    let directory = laid(&Tampered::of("single-node"));
    let mut command = Command::new("faketime");
    let command = command.args([
        support::NOW,
        "env",
        "PATH=/nonexistent",
        env!("CARGO_BIN_EXE_firelay"),
        "verify",
    ]);
    let output = command.current_dir(directory.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(
        said(&output).contains("note[FL1008]: bash cannot be run here"),
        "{}",
        said(&output)
    );
}

/// A render of a broken tree keeps the old one.
#[test]
fn a_render_with_an_error_puts_nothing_in_place() {
    let example = support::example("single-node");
    let directory = tempfile::tempdir().unwrap();
    let spec = std::fs::read_to_string(&example.spec).unwrap();
    let spec = format!("{spec}\ncommands: {{ after: [\"if true; then\"] }}\n");
    std::fs::write(directory.path().join("cluster.yaml"), spec).unwrap();
    example.lay_bundle(&directory.path().join("firelay.secrets.yaml"));
    let output = firelay(&["render"]).current_dir(directory.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", said(&output));
    assert!(said(&output).contains("FL1021"), "{}", said(&output));
    assert!(!directory.path().join("out/manifest.json").exists());
}

/// Of workers that are alike one is verified; one with commands of its own is not like the others.
#[test]
fn a_render_verifies_a_machine_that_differs_from_the_others() {
    let example = support::example("ha-ubuntu");
    let directory = tempfile::tempdir().unwrap();
    example.lay_folder(directory.path());
    example.lay_bundle(&directory.path().join("firelay.secrets.yaml"));
    let spec = std::fs::read_to_string(&example.spec).unwrap();
    let with_own = format!(
        "{spec}  - {{ name: other-1, roles: [worker], addresses: [10.0.0.31], commands: {{ after: [\"if true; then\"] }} }}\n"
    );
    std::fs::write(directory.path().join("cluster.yaml"), with_own).unwrap();
    let output = firelay(&["render"]).current_dir(directory.path()).output().unwrap();
    let said = said(&output);
    assert_eq!(output.status.code(), Some(5), "{said}");
    assert!(said.contains("FL1021") && said.contains("nodes/other-1/"), "{said}");
}

/// Warnings do not stop a render. Repeated ones are printed once.
#[test]
fn a_render_tells_each_warning_once() {
    let example = support::example("ha-ubuntu");
    let directory = tempfile::tempdir().unwrap();
    example.lay_folder(directory.path());
    example.lay_bundle(&directory.path().join("firelay.secrets.yaml"));
    let spec = directory.path().join("cluster.yaml");
    std::fs::copy(&example.spec, &spec).unwrap();
    let mut command = support::firelay_at("2027-11-10 00:00:00", &["render", "cluster.yaml"]);
    let output = command.current_dir(directory.path()).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert_eq!(stderr.matches("warning[FL1037]: it ends on").count(), 1, "{stderr}");
    assert!(stderr.contains("   = note: other files may have the same"), "{stderr}");
    assert!(directory.path().join("out/manifest.json").exists());
}

/// A document that cannot be decoded, a chain that cannot be parsed, and a missing document are reported with their place.
#[test]
fn a_drawing_says_what_it_lacks() {
    let mut unread = Tampered::of("ha-ubuntu");
    unread.put("nodes/worker-1/user-data.gz.b64", b"H4sI****".to_vec());
    let mut without = Tampered::of("ha-ubuntu");
    without.remove("worker-1", "/usr/local/lib/firelay/driver");
    let missing = Tampered::of("ha-ubuntu");
    let cases = [
        (unread, "error[FL1003]", false),
        (without, "error[FL1058]", false),
        (missing, "error[FL1058]", true),
    ];
    for (tree, code, is_missing) in cases {
        let directory = laid(&tree);
        if is_missing {
            std::fs::remove_file(directory.path().join("out/nodes/worker-1/user-data.gz.b64")).unwrap();
        }
        let output = firelay(&["graph", "out"])
            .current_dir(directory.path())
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(5), "{said}");
        assert!(
            said.contains(code)
                && said.contains("\n  --> nodes/worker-1/user-data.gz.b64")
                && said.contains("out is not drawn as a whole"),
            "{said}"
        );
        assert!(String::from_utf8(output.stdout).unwrap().contains("\nworker-1"));
    }
}

/// Each check names the causes that can make it fail; with one cause only those checks run.
#[test]
fn checks_are_chosen_by_what_a_spec_brings() {
    let tree = broken();
    let fetch = |path: &str| {
        let found = tree.files.get(path).cloned();
        found.ok_or_else(|| std::io::ErrorKind::NotFound.into())
    };
    let manifest = tree.manifest.to_string();
    let found = |causes: &[Cause]| {
        let chosen = Chosen::By {
            causes: causes.iter().copied().collect(),
            machines: None,
        };
        let verified = verify_chosen(manifest.as_bytes(), &fetch, Path::new("out"), NOW, PART, &chosen).unwrap();
        let codes = verified.findings.iter().map(|finding| finding.code);
        codes.collect::<BTreeSet<_>>()
    };
    // The Services range changed, and the chain lacks its driver: the range affects DNS, the driver affects timeouts.
    assert_eq!(found(&Cause::ALWAYS), BTreeSet::from(["FL1043", "FL1058"]));
    assert!(found(&[Cause::Commands]).contains("FL1021"));
    for cause in [Cause::Patches, Cause::Files, Cause::Commands, Cause::Manifests] {
        let own = CHECKS.iter().filter(|check| check.causes.contains(&cause));
        let own: BTreeSet<_> = own.flat_map(|check| check.codes).copied().collect();
        let codes = found(&[cause]);
        assert!(!codes.is_empty() && codes.is_subset(&own), "{cause:?}: {codes:?}");
    }
}

/// A spec with its bundle, and some more lines.
fn project(more: &str) -> tempfile::TempDir {
    let example = support::example("single-node");
    let directory = tempfile::tempdir().unwrap();
    let spec = std::fs::read_to_string(&example.spec).unwrap();
    std::fs::write(directory.path().join("cluster.yaml"), format!("{spec}\n{more}")).unwrap();
    example.lay_bundle(&directory.path().join("firelay.secrets.yaml"));
    directory
}

/// A relation broken by a patch is found before the tree is in place.
#[test]
fn a_render_finds_what_a_patch_breaks() {
    let patch = "patches:\n  - target: { kind: KubeletConfiguration }\n    merge: { clusterDNS: [10.96.0.99] }\n";
    let directory = project(patch);
    let output = firelay(&["render"]).current_dir(directory.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(5), "{}", said(&output));
    assert!(
        said(&output).contains("error[FL1043]: clusterDNS is 10.96.0.99"),
        "{}",
        said(&output)
    );
    assert!(!directory.path().join("out/manifest.json").exists());
}

#[test]
fn a_tree_is_compared_with_what_its_spec_makes() {
    let directory = project("");
    let output = firelay(&["render"]).current_dir(directory.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let against = ["--against", "cluster.yaml", "--secrets", "firelay.secrets.yaml"];
    let (code, stdout, stderr) = run(directory.path(), &against);
    assert_eq!(code, 0, "{stderr}");
    assert!(stdout.contains(", the same bytes as its spec makes"), "{stdout}");
    // Another value of the spec that no relation checks.
    let (code, _, stderr) = run(
        directory.path(),
        &[&against[..], &["--set", "join.waitTimeout=40m"]].concat(),
    );
    assert_eq!(code, 5, "{stderr}");
    assert!(
        stderr.contains(": /etc/firelay/node.env") && stderr.contains("error[FL1091]"),
        "{stderr}"
    );
    // An additional file, and a missing one.
    std::fs::write(directory.path().join("out/notes"), "mine\n").unwrap();
    std::fs::remove_file(directory.path().join("out/node-names")).unwrap();
    let (code, _, stderr) = run(directory.path(), &against);
    assert_eq!(code, 5, "{stderr}");
    assert!(
        stderr.contains("error[FL1092]") && stderr.contains("  --> node-names"),
        "{stderr}"
    );
    assert!(
        stderr.contains("warning[FL1093]") && stderr.contains("  --> notes"),
        "{stderr}"
    );
    // The secrets of another cluster.
    let other = ["--against", "cluster.yaml", "--secrets", "other.secrets.yaml"];
    let made = firelay(&["secrets", "new", "cluster.yaml", "--secrets", "other.secrets.yaml"]);
    let output = { made }.current_dir(directory.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let (code, _, stderr) = run(directory.path(), &other);
    assert!(code == 4 && stderr.contains("name the right bundle"), "{code} {stderr}");
}
