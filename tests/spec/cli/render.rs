//! The files that `render` writes, and those that it leaves.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::desk::{Desk, Ran, noise, too_large};
use super::support::{Entry, Files, read_tree, tree};
use serde_json::Value;
use sha2::{Digest, Sha256};

#[test]
fn what_is_too_large_leaves_the_tree_as_it_was() {
    let desk = Desk::of("ha-ubuntu");
    assert_eq!(desk.run(&["render"]).code, 0);
    fs::set_permissions(desk.at("out"), PermissionsExt::from_mode(0o755)).unwrap();
    let before = tree(&desk.at("out"));
    desk.write("cluster.yaml", &too_large());
    let ran = desk.run(&["render"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (5, ""));
    for part in [
        "cp1: ",
        "over the limit of 16384",
        "largest files",
        "error[FL0931]: the document",
        "fits with no `manifests`",
    ] {
        assert!(ran.stderr.contains(part), "{ran:?}");
    }
    assert_eq!(tree(&desk.at("out")), before);
    assert_eq!(desk.run(&["size"]).code, 5);
}

/// A founder's document is the largest; a founded cluster has none.
#[test]
fn check_and_size_measure_the_documents_of_a_founded_cluster() {
    let desk = Desk::of("ha-ubuntu");
    assert_eq!(desk.run(&["render", "--founded"]).code, 0);
    let backup = ["--set", "etcd.backup={ every: 6h, keep: 12, to: /var/backups/etcd }"];
    for verb in [&["check"][..], &["size", "cluster.yaml"], &["render"]] {
        let ran = desk.run(&[verb, &backup[..]].concat());
        assert!(ran.code == 0 && !ran.stderr.contains("error["), "{verb:?}: {ran:?}");
    }
    fs::remove_file(desk.at("firelay.state.yaml")).unwrap();
    let ran = desk.run(&[&["check"], &backup[..]].concat());
    assert!(ran.code == 3 && ran.stderr.contains("error[FL0931]"), "{ran:?}");
}

#[test]
fn the_first_node_that_is_too_large_is_named_however_threads_run() {
    let desk = Desk::of("ha-ubuntu");
    let content = noise(30_000);
    let spec = desk.read("cluster.yaml");
    // A registry's password is part of every document.
    let registry = format!(
        "runtime:\n  registries:\n    - host: docker.io\n      mirrors:\n        - {{ url: \"https://mirror.example.com/v2\", auth: {{ username: puller, password: \"{content}\" }} }}\n"
    );
    desk.write("cluster.yaml", &(spec + &registry));
    for threads in ["1", "8"] {
        let mut render = desk.command(&["render"]);
        let ran = Ran::of(&render.env("RAYON_NUM_THREADS", threads).output().unwrap());
        assert_eq!(ran.code, 5, "{ran:?}");
        assert!(ran.stderr.contains("\nerror: cp1: "), "{ran:?}");
        assert!(!desk.at("out").exists());
    }
}

/// Machines of several rows and a pool, which have no settings of their own, with a file in each document.
fn with_file(machines: &str, bytes: usize) -> Desk {
    let desk = Desk::empty();
    let content = noise(bytes);
    desk.write(
        "cluster.yaml",
        &format!(
            "apiVersion: firelay.dev/v1alpha1\nkind: Cluster\nname: rows\nkubernetes: {{ version: 1.36.4 }}\n\
             endpoint: {{ host: api.rows.example.com }}\nos: ubuntu-24.04\nplatform: aws\n\
             files: [{{ path: /etc/x, content: {content} }}]\n\
             nodes:\n  - {{ name: cp1, roles: [control-plane], addresses: [10.0.0.11] }}\n{machines}"
        ),
    );
    desk
}

#[test]
fn each_row_and_pool_without_settings_is_measured() {
    let desk = with_file(
        "  - { name: 'w{1..2}', roles: [worker], addresses: [10.0.0.21-10.0.0.22] }\n  \
         - { name: work, roles: [worker], addresses: [10.0.0.31] }\n\
         pools: [{ name: burst-with-a-long-name, roles: [worker] }]\n",
        30_000,
    );
    let ran = desk.run(&["check"]);
    assert_eq!(ran.code, 3, "{ran:?}");
    for documents in ["the document of cp1 is too", "the documents of work and 2 more are too"] {
        assert!(ran.stderr.contains(documents), "{documents}: {ran:?}");
    }
}

#[test]
fn the_first_node_that_is_too_large_is_named_before_the_first_of_its_class() {
    let desk = with_file(
        "  - { name: 'a{1..2}', roles: [worker], addresses: [10.0.0.21-10.0.0.22] }\n",
        40_000,
    );
    desk.run(&["secrets", "new"]);
    let ran = desk.run(&["render"]);
    assert_eq!(ran.code, 5, "{ran:?}");
    assert!(ran.stderr.contains("\nerror: cp1: "), "{ran:?}");
}

#[test]
fn a_second_render_uses_the_bundle_and_rewrites_nothing() {
    let desk = Desk::with_spec("ha-ubuntu");
    let first = desk.run(&["render", "--new-secrets"]);
    assert_eq!(first.code, 0);
    assert!(
        first.stderr.contains("wrote firelay.secrets.yaml (HMAC-SHA256:"),
        "{first:?}"
    );
    let before = desk.everything();
    let second = desk.run(&["render", "--new-secrets"]);
    assert_eq!((second.code, &second.stdout), (0, &first.stdout));
    assert!(!second.stderr.contains("firelay.secrets.yaml"), "{second:?}");
    assert!(
        second.stderr.contains(": 0 files new or changed, ") && second.stderr.contains(" 0 removed"),
        "{second:?}"
    );
    assert_eq!(desk.everything(), before);
}

#[test]
fn what_looks_like_a_leftover_and_is_not_is_named() {
    let desk = Desk::of("single-node");
    fs::create_dir(desk.at(".firelay-staging-out-abcdef")).unwrap();
    desk.write(".firelay-staging-out-abcdef/notes.txt", "mine");
    let ran = desk.run(&["render"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(
        ran.stderr
            .contains(".firelay-staging-out-abcdef is left of an earlier tree"),
        "{ran:?}"
    );
    assert_eq!(desk.read(".firelay-staging-out-abcdef/notes.txt"), "mine");
}

#[test]
fn a_foreign_file_in_the_way_stops_everything() {
    let desk = Desk::of("ha-ubuntu");
    fs::create_dir_all(desk.at("out/nodes/cp3")).unwrap();
    desk.write("out/nodes/cp3/user-data", "mine");
    let before = desk.everything();
    let ran = desk.run(&["render"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.ends_with(":\n  nodes/cp3/user-data\n"), "{ran:?}");
    assert_eq!(desk.everything(), before);
}

/// The nodes with a file that contains one of these texts.
fn nodes_with(files: &BTreeMap<String, Files>, texts: &[&str]) -> Vec<String> {
    let has = |files: &Files| {
        texts
            .iter()
            .any(|text| files.values().any(|(_, content)| content.contains(text)))
    };
    files
        .iter()
        .filter(|(_, files)| has(files))
        .map(|(node, _)| node.clone())
        .collect()
}

/// Otherwise one forgotten `--founded` would write a document that can found a second cluster.
#[test]
fn a_founded_tree_stays_founded_until_it_is_told_otherwise() {
    let desk = Desk::of("ha-ubuntu");
    let founders = || nodes_with(&read_tree(&desk.at("out")), &["InitConfiguration"]);
    let says = "firelay.state.yaml is of a founded cluster: no document has kubeadm init (--refound writes it again)\n";
    let first = desk.run(&["render"]);
    assert!(!first.stderr.contains(says), "{first:?}");
    assert_eq!(founders(), ["cp1"]);
    let founded = desk.run(&["render", "--founded"]);
    assert!(!founded.stderr.contains(says), "{founded:?}");
    for more in [&[][..], &["--node", "cp1"], &["--node", "worker-1"]] {
        let ran = desk.run(&[&["render"], more].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.stderr.contains(says), "{more:?}: {ran:?}");
        assert_eq!(founders(), [""; 0], "{more:?}");
    }
    let both = desk.run(&["render", "--founded", "--refound"]);
    assert_eq!(both.code, 2, "{both:?}");
    let again = desk.run(&["render", "--refound"]);
    assert_eq!(again.code, 0, "{again:?}");
    assert!(!again.stderr.contains(says), "{again:?}");
    assert_eq!(founders(), ["cp1"]);
    desk.run(&["render"]);
    assert_eq!(founders(), ["cp1"]);
}

#[test]
fn of_a_founded_cluster_everyone_joins() {
    for (name, founder, joiner) in [
        ("ha-ubuntu", "cp1", Some("cp2")),
        ("ha-flatcar", "cp1", Some("cp2")),
        ("external-etcd", "cp1", Some("cp2")),
        ("single-node", "home1", None),
    ] {
        let marks = ["kubeadm init", "init.yaml", "InitConfiguration", "bootstrapTokens"];
        let desk = Desk::of(name);
        assert_eq!(desk.run(&["render"]).code, 0);
        let before = read_tree(&desk.at("out"));
        assert_eq!(nodes_with(&before, &marks), [founder], "{name}");

        assert_eq!(desk.run(&["render", "--founded"]).code, 0);
        let after = read_tree(&desk.at("out"));
        assert_eq!(nodes_with(&after, &marks), [""; 0], "{name}");
        for (node, files) in &after {
            assert!(
                node == founder || *files == before[node],
                "{name}: {node} is another one"
            );
        }
        if let Some(joiner) = joiner {
            let names = |node: &str| after[node].keys().cloned().collect::<Vec<_>>();
            assert_eq!(names(founder), names(joiner), "{name}");
            let steps = |node: &str| -> Files {
                let files = after[node].clone().into_iter();
                files
                    .filter(|(path, _)| path.contains("/steps/") || path.ends_with("/driver"))
                    .collect()
            };
            assert!(steps(founder) == steps(joiner), "{name}: {founder} takes other steps");
        }
    }
}

/// Programs that run after it still rely on the manifest of the last full render.
#[test]
fn a_render_of_one_node_leaves_the_others() {
    let desk = Desk::of("mixed");
    assert_eq!(desk.run(&["render"]).code, 0);
    let before = tree(&desk.at("out"));
    let manifest = desk.read("out/manifest.json");
    assert_eq!(desk.run(&["render", "--node", "cp1", "--node", "burst"]).code, 0);
    assert_eq!(tree(&desk.at("out")), before, "nothing changed, so nothing is written");
    let set = ["render", "--node", "arm1", "--set", "nodes[arm{1..2}].labels.cpu=other"];
    let ran = desk.run(&set);
    assert_eq!(ran.code, 0, "{ran:?}");
    let changed = |after: &BTreeMap<String, Entry>| -> Vec<String> {
        let differs = |path: &&String| {
            after.get(*path).map(|entry| &entry.content) != before.get(*path).map(|entry| &entry.content)
        };
        before
            .keys()
            .chain(after.keys())
            .filter(differs)
            .cloned()
            .collect::<std::collections::BTreeSet<_>>()
            .into_iter()
            .collect()
    };
    let after = changed(&tree(&desk.at("out")));
    assert!(after.iter().any(|path| path == "manifest.json"), "{after:?}");
    let is_own =
        |path: &String| ["manifest.json", "record.yaml"].contains(&path.as_str()) || path.starts_with("nodes/arm1/");
    assert!(after.iter().all(is_own), "{after:?}");
    let manifest_after: Value = serde_json::from_str(&desk.read("out/manifest.json")).unwrap();
    for file in manifest_after["files"].as_array().unwrap() {
        let bytes = fs::read(desk.at("out").join(file["path"].as_str().unwrap())).unwrap();
        let digest: String = Sha256::digest(&bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        assert_eq!(file["sha256"], digest);
    }
    // A full render replaces exactly those files.
    assert_eq!(desk.run(&["render"]).code, 0);
    let without_records = |text: &str| {
        let mut manifest: serde_json::Value = serde_json::from_str(text).unwrap();
        manifest.as_object_mut().unwrap().shift_remove("records");
        manifest
    };
    let again = desk.read("out/manifest.json");
    assert_eq!(without_records(&again), without_records(&manifest));
    // The manifest must not confirm files that were edited, or are of another version.
    assert_eq!(
        desk.run(&["render", "--node", "cp1", "--set", "kubernetes.version=1.36.3"])
            .code,
        2
    );
    desk.write("out/nodes/gpu1/config.ign", "{}");
    let ran = desk.run(&["render", "--node", "cp1"]);
    assert!(ran.code == 1 && ran.stderr.contains("nodes/gpu1/config.ign"), "{ran:?}");
}

/// The manifest matches the changed document, so only the record and the checks can notice the change.
#[test]
fn a_render_of_one_node_checks_documents_that_the_record_does_not_know() {
    let desk = Desk::of("mixed");
    assert_eq!(desk.run(&["render"]).code, 0);
    let path = "out/nodes/gpu1/config.ign";
    let document = desk.read(path).replace("firelay.service", "firelay2.service");
    let mut manifest: Value = serde_json::from_str(&desk.read("out/manifest.json")).unwrap();
    for file in manifest["files"].as_array_mut().unwrap() {
        if file["path"] == "nodes/gpu1/config.ign" {
            file["bytes"] = document.len().into();
            file["sha256"] = Sha256::digest(document.as_bytes())
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>()
                .into();
        }
    }
    desk.write(path, &document);
    desk.write("out/manifest.json", &serde_json::to_string_pretty(&manifest).unwrap());
    let ran = desk.run(&["render", "--node", "cp1"]);
    assert!(ran.code == 5 && ran.stderr.contains("nodes/gpu1/config.ign"), "{ran:?}");
}

/// Otherwise the manifest would list no document of that node.
#[test]
fn a_render_of_one_node_misses_what_another_lacks() {
    let desk = Desk::of("mixed");
    assert_eq!(desk.run(&["render"]).code, 0);
    fs::remove_file(desk.at("out/admin.kubeconfig")).unwrap();
    fs::remove_file(desk.at("out/nodes/cp1/user-data")).unwrap();
    let before = desk.everything();
    let ran = desk.run(&["render", "--node", "cp2"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(
        ran.stderr.contains("render their nodes again") && ran.stderr.ends_with(":\n  nodes/cp1/user-data\n"),
        "{ran:?}"
    );
    assert_eq!(desk.everything(), before);
    assert_eq!(desk.run(&["render", "--node", "cp2", "--node", "cp1"]).code, 0);
    assert!(desk.read("out/manifest.json").contains("nodes/cp1/user-data"));
    assert!(
        !desk.read("out/manifest.json").contains("admin.kubeconfig"),
        "it was taken away"
    );
}

#[test]
fn a_document_goes_to_stdout_and_nothing_is_written() {
    let desk = Desk::of("single-node");
    let before = desk.everything();
    let ran = desk.run(&["render", "--node", "home1", "--out", "-"]);
    let says = "warning: without a record firelay.state.yaml the cluster counts as not founded";
    assert!(ran.code == 0 && ran.stderr.starts_with(says), "{ran:?}");
    assert_eq!(desk.everything(), before);
    let twice = desk.run(&["render", "--node", "home1", "--node", "home1", "--out", "-"]);
    assert_eq!((twice.code, &twice.stdout), (0, &ran.stdout));
    assert_eq!(desk.run(&["render"]).code, 0);
    assert_eq!(desk.read("out/nodes/home1/user-data"), ran.stdout);
}

#[test]
fn size_needs_no_bundle() {
    let desk = Desk::with_spec("mixed");
    let before = desk.everything();
    let ran = desk.run(&["size"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stderr.contains("measured with placeholder secrets"), "{ran:?}");
    assert!(
        ran.stdout
            .contains("azure takes cloud-init documents of up to 65535 bytes"),
        "{ran:?}"
    );
    assert!(before == desk.everything());
    // A bundle that is named has to exist.
    assert_eq!(desk.run(&["size", "--secrets", "lab.yaml"]).code, 4);
}
