//! The output tree: modes, what is replaced, what is refused, and what a render that dies leaves behind.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use firelay::delivery::{
    Manifest, ManifestFile,
    tree::{Error, Report, TreeWriter},
};
use rayon::prelude::*;

struct Out {
    directory: tempfile::TempDir,
}

impl Out {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn root(&self) -> PathBuf {
        self.directory.path().join("out")
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Renders a tree of these files.
    fn render(&self, files: &[(&str, &str)]) -> Result<Report, Error> {
        let writer = self.put(files)?;
        writer.finish(manifest())
    }

    fn put(&self, files: &[(&str, &str)]) -> Result<TreeWriter, Error> {
        let writer = TreeWriter::begin(&self.root())?;
        for (path, content) in files {
            writer.put(ManifestFile::new(*path), content.as_bytes())?;
        }
        Ok(writer)
    }

    /// Every file with its content, and every directory with none.
    fn listing(&self) -> BTreeMap<String, Option<String>> {
        let mut found = BTreeMap::new();
        let mut waiting = vec![self.root()];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self.root()).unwrap().to_str().unwrap().to_owned();
                if path.is_symlink() || path.is_file() {
                    found.insert(name, Some(fs::read_to_string(path).unwrap()));
                } else {
                    found.insert(name, None);
                    waiting.push(path);
                }
            }
        }
        found
    }

    fn names(&self) -> Vec<String> {
        self.listing().into_keys().collect()
    }
}

fn manifest() -> Manifest {
    Manifest::new("prod", "1.36.4", "0123")
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

const TREE: [(&str, &str); 3] = [
    ("admin.kubeconfig", "admin"),
    ("nodes/cp1/user-data", "cp1"),
    ("nodes/w1/user-data", "w1"),
];

#[test]
fn a_tree_is_for_its_owner_only_and_says_what_it_is() {
    let out = Out::new();
    let report = out.render(&TREE).unwrap();
    assert_eq!(
        report.written,
        [
            ".gitignore",
            "admin.kubeconfig",
            "nodes/cp1/user-data",
            "nodes/w1/user-data"
        ]
    );
    assert_eq!(mode(&out.root()), 0o700);
    for (path, content) in out.listing() {
        assert_eq!(
            mode(&out.at(&path)),
            if content.is_some() { 0o600 } else { 0o700 },
            "{path}"
        );
    }
    assert_eq!(fs::read_to_string(out.at(".gitignore")).unwrap(), "*\n");
    assert_eq!(fs::read_to_string(out.at("nodes/cp1/user-data")).unwrap(), "cp1");

    let manifest: Manifest = serde_json::from_slice(&fs::read(out.at("manifest.json")).unwrap()).unwrap();
    let files: Vec<_> = manifest
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.bytes))
        .collect();
    assert_eq!(
        files,
        [
            (".gitignore", 2),
            ("admin.kubeconfig", 5),
            ("nodes/cp1/user-data", 3),
            ("nodes/w1/user-data", 2)
        ]
    );
    // printf admin | sha256sum
    let digest = "8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918";
    assert_eq!(manifest.files[1].sha256, digest);
}

#[test]
fn the_manifest_is_stable_text() {
    let out = Out::new();
    out.render(&[("a", "")]).unwrap();
    let expected = format!(
        r#"{{
  "apiVersion": "firelay.dev/v1alpha1",
  "kind": "Manifest",
  "cluster": "prod",
  "firelayVersion": "{}",
  "kubernetesVersion": "1.36.4",
  "bundleFingerprint": "0123",
  "ports": [],
  "files": [
    {{
      "path": ".gitignore",
      "bytes": 2,
      "sha256": "cdbcae15105d6b781e620813c79c7e868740d4e9cc53ce6f5fcbbc12387adf4b"
    }},
    {{
      "path": "a",
      "bytes": 0,
      "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    }}
  ]
}}
"#,
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(fs::read_to_string(out.at("manifest.json")).unwrap(), expected);
}

#[test]
fn a_second_render_leaves_equal_files_alone() {
    let out = Out::new();
    out.render(&TREE).unwrap();
    let before: Vec<_> = out
        .names()
        .iter()
        .map(|path| fs::metadata(out.at(path)).unwrap().ino())
        .collect();
    let report = out.render(&TREE).unwrap();
    assert_eq!(
        (report.written.len(), report.unchanged.len(), report.removed.len()),
        (0, 4, 0)
    );
    let after: Vec<_> = out
        .names()
        .iter()
        .map(|path| fs::metadata(out.at(path)).unwrap().ino())
        .collect();
    assert_eq!(before, after, "a file was written anew");
}

#[test]
fn a_second_render_replaces_and_removes_what_the_first_wrote() {
    let out = Out::new();
    out.render(&TREE).unwrap();
    fs::write(out.at("nodes/notes.txt"), "mine").unwrap();
    fs::set_permissions(out.at("admin.kubeconfig"), fs::Permissions::from_mode(0o644)).unwrap();
    let report = out
        .render(&[("admin.kubeconfig", "admin"), ("nodes/cp1/user-data", "new")])
        .unwrap();
    assert_eq!(report.written, ["admin.kubeconfig", "nodes/cp1/user-data"]);
    assert_eq!(report.unchanged, [".gitignore"]);
    assert_eq!(report.removed, ["nodes/w1/user-data"]);
    let names = [
        ".gitignore",
        "admin.kubeconfig",
        "manifest.json",
        "nodes",
        "nodes/cp1",
        "nodes/cp1/user-data",
        "nodes/notes.txt",
    ];
    assert_eq!(out.names(), names);
    assert_eq!(mode(&out.at("admin.kubeconfig")), 0o600);
    assert_eq!(fs::read_to_string(out.at("nodes/notes.txt")).unwrap(), "mine");
}

#[test]
fn foreign_files_in_the_way_are_all_named_and_nothing_changes() {
    let out = Out::new();
    out.render(&TREE[..1]).unwrap();
    fs::create_dir_all(out.at("nodes/w1/user-data")).unwrap();
    fs::create_dir_all(out.at("nodes/cp1")).unwrap();
    fs::write(out.at("nodes/cp1/user-data"), "mine").unwrap();
    let before = out.listing();
    let error = out
        .render(&[&TREE[1..], &[("admin.kubeconfig", "other")]].concat())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "these stand in the way and are not firelay's; move them, or choose another output directory:\n  \
         nodes/cp1/user-data\n  nodes/w1/user-data"
    );
    assert_eq!(out.listing(), before);
}

#[test]
fn links_are_not_followed() {
    let out = Out::new();
    out.render(&TREE).unwrap();
    let elsewhere = out.directory.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    fs::write(elsewhere.join("user-data"), "cp1").unwrap();
    fs::remove_dir_all(out.at("nodes/cp1")).unwrap();
    symlink(&elsewhere, out.at("nodes/cp1")).unwrap();
    fs::remove_file(out.at("admin.kubeconfig")).unwrap();
    symlink(elsewhere.join("user-data"), out.at("admin.kubeconfig")).unwrap();
    // Neither to write through them nor, when the node is gone, to remove through them.
    for files in [&[("admin.kubeconfig", "x"), ("nodes/cp1/user-data", "x")][..], &[]] {
        let Error::Foreign { paths } = out.render(files).unwrap_err() else {
            panic!("another error")
        };
        assert_eq!(paths, ["admin.kubeconfig", "nodes/cp1"]);
    }
    assert_eq!(fs::read_to_string(elsewhere.join("user-data")).unwrap(), "cp1");
}

#[test]
fn names_stay_within_the_tree() {
    let out = Out::new();
    let names = [
        "",
        "/etc/passwd",
        "../a",
        "a/../../b",
        "a//b",
        "./a",
        "a/",
        "manifest.json",
        ".firelay-staging-1/a",
        "a\nb",
    ];
    for name in names {
        let error = out.render(&[(name, "")]).unwrap_err();
        assert!(matches!(error, Error::Name { .. }), "{name:?}: {error}");
    }
    assert!(matches!(
        out.render(&[("a", ""), ("a", "")]).unwrap_err(),
        Error::Duplicate { .. }
    ));
    assert!(!out.root().exists(), "a refused render makes no directory");
}

#[test]
fn a_manifest_that_is_not_ours_stops_the_render() {
    let cases = [
        ("{", "EOF while parsing"),
        (r#"{"name": "extension"}"#, "missing field `apiVersion`"),
        (
            r#"{"apiVersion":"v1","kind":"List","cluster":"","firelayVersion":"","kubernetesVersion":"","bundleFingerprint":"","files":[]}"#,
            "it is v1 List",
        ),
        (
            r#"{"apiVersion":"firelay.dev/v1alpha1","kind":"Manifest","cluster":"","firelayVersion":"","kubernetesVersion":"",
                "bundleFingerprint":"","files":[{"path":"../../precious","bytes":0,"sha256":""}]}"#,
            "it names \"../../precious\"",
        ),
    ];
    for (text, reason) in cases {
        let out = Out::new();
        fs::create_dir(out.root()).unwrap();
        fs::write(out.at("manifest.json"), text).unwrap();
        let message = out.render(&TREE).unwrap_err().to_string();
        assert!(
            message.contains("manifest.json is not a manifest of firelay") && message.contains(reason),
            "{message}"
        );
        assert_eq!(out.names(), ["manifest.json"]);
    }
}

#[test]
fn the_output_must_be_a_directory() {
    let out = Out::new();
    fs::write(out.root(), "").unwrap();
    assert!(
        out.render(&TREE)
            .unwrap_err()
            .to_string()
            .ends_with("out is not a directory: choose another output directory")
    );
}

#[test]
fn a_render_that_is_given_up_leaves_nothing() {
    let out = Out::new();
    out.render(&TREE).unwrap();
    let before = out.listing();
    drop(
        out.put(&[("admin.kubeconfig", "other"), ("nodes/cp2/user-data", "cp2")])
            .unwrap(),
    );
    assert_eq!(out.listing(), before);
}

#[test]
fn a_render_that_died_between_its_renames_is_finished_by_the_next() {
    let out = Out::new();
    out.render(&TREE).unwrap();
    // What kill -9 leaves after the first of two renames: the manifest of the new names in the staging directory.
    let mut dying = manifest();
    dying.files = vec![
        ManifestFile::new("nodes/cp2/user-data"),
        ManifestFile::new("nodes/cp3/user-data"),
    ];
    fs::create_dir_all(out.at(".firelay-staging-died")).unwrap();
    fs::write(out.at(".firelay-staging-died/manifest.json"), dying.to_json()).unwrap();
    fs::write(out.at(".firelay-staging-died/2"), "cp3").unwrap();
    fs::create_dir(out.at("nodes/cp2")).unwrap();
    fs::write(out.at("nodes/cp2/user-data"), "cp2").unwrap();
    // And what one leaves that died before.
    fs::create_dir_all(out.at(".firelay-staging-died-early")).unwrap();
    fs::write(
        out.at(".firelay-staging-died-early/manifest.json"),
        "{\"apiVersion\": \"fire",
    )
    .unwrap();

    // A render that fails changes nothing of that.
    fs::create_dir(out.at("a")).unwrap();
    out.render(&[("a", "")]).unwrap_err();
    let report = out
        .render(&[("admin.kubeconfig", "admin"), ("nodes/cp3/user-data", "new")])
        .unwrap();
    assert_eq!(report.written, ["nodes/cp3/user-data"]);
    assert_eq!(
        report.removed,
        ["nodes/cp1/user-data", "nodes/cp2/user-data", "nodes/w1/user-data"]
    );
    let names = [
        ".gitignore",
        "a",
        "admin.kubeconfig",
        "manifest.json",
        "nodes",
        "nodes/cp3",
        "nodes/cp3/user-data",
    ];
    assert_eq!(out.names(), names);
}

#[test]
fn two_renders_do_not_mix() {
    let out = Out::new();
    let _first = out.put(&TREE).unwrap();
    assert!(matches!(out.put(&TREE).unwrap_err(), Error::Busy { .. }));
}

#[test]
fn threads_may_share_a_writer() {
    let out = Out::new();
    let writer = TreeWriter::begin(&out.root()).unwrap();
    (0..500).into_par_iter().for_each(|index: usize| {
        let file = ManifestFile::new(format!("nodes/w{index:03}/user-data"));
        writer.put(file, index.to_string().as_bytes()).unwrap();
    });
    let report = writer.finish(manifest()).unwrap();
    assert_eq!(report.written.len(), 501);
    assert_eq!(fs::read_to_string(out.at("nodes/w123/user-data")).unwrap(), "123");
    assert!(report.written.is_sorted());
}

/// The umask belongs to the process, so this test runs another of the tests again in a process of its own.
#[test]
fn the_umask_does_not_matter() {
    for umask in ["000", "022", "077"] {
        let test = std::env::current_exe().unwrap();
        let script = "umask $1 && exec \"$0\" --exact a_tree_is_for_its_owner_only_and_says_what_it_is";
        let output = Command::new("sh")
            .args(["-c", script])
            .arg(test)
            .arg(umask)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("1 passed"),
            "umask {umask}: {said}"
        );
    }
}
