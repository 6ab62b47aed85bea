//! The output tree: modes, replaced files, refusals, and the state after a killed render.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, symlink},
        process::ExitStatusExt,
    },
    path::{Path, PathBuf},
    process::Command,
};

use firelay::delivery::{
    Manifest, ManifestFile,
    tree::{Error, Report, TreeReader, TreeWriter, UnlockedManifest},
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

    /// Every file with its content, and every directory without.
    fn listing(&self) -> BTreeMap<String, Option<String>> {
        let mut found = BTreeMap::new();
        let mut waiting = vec![self.root()];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(self.root()).unwrap().to_str().unwrap().to_owned();
                if path.is_symlink() {
                    found.insert(name, Some(format!("-> {}", fs::read_link(path).unwrap().display())));
                } else if path.is_dir() {
                    found.insert(name, None);
                    waiting.push(path);
                } else {
                    let content = path.is_file().then(|| fs::read_to_string(path).unwrap());
                    found.insert(name, Some(content.unwrap_or_default()));
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
    // Symlinks are followed neither when writing nor when removing files of a deleted node.
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
    // State after kill -9 behind the first of two renames: the manifest with the new names is in the staging
    // directory.
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
    // State after an earlier kill.
    fs::create_dir_all(out.at(".firelay-staging-died-early")).unwrap();
    fs::write(
        out.at(".firelay-staging-died-early/manifest.json"),
        "{\"apiVersion\": \"fire",
    )
    .unwrap();

    // A failing render does not change that.
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
fn a_manifest_that_was_read_before_the_lock_counts_as_long_as_nobody_changes_it() {
    let out = Out::new();
    assert!(UnlockedManifest::read(&out.root()).is_none());
    out.render(&TREE).unwrap();
    let paths = |unlocked| {
        let writer = TreeWriter::begin_after(&out.root(), unlocked).unwrap();
        let files = writer.last().unwrap().files.iter();
        files.map(|file| file.path.clone()).collect::<Vec<_>>()
    };
    let read = || UnlockedManifest::read(&out.root());
    let (before, of_tree) = (read(), paths(None));
    assert!(before.is_some());
    assert_eq!(paths(read()), of_tree);
    out.render(&NEXT).unwrap();
    assert_ne!(paths(None), of_tree);
    assert_eq!(paths(before), paths(None));
    fs::write(out.at("manifest.json"), "{}").unwrap();
    assert!(read().is_none());
    assert!(matches!(
        TreeWriter::begin_after(&out.root(), None).unwrap_err(),
        Error::Manifest { .. }
    ));
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

/// The umask belongs to the process, so this test runs another test in a separate process.
#[test]
fn the_umask_does_not_matter() {
    for umask in ["000", "022", "077"] {
        let test = std::env::current_exe().unwrap();
        let script = "umask $1 && exec \"$0\" --exact tree::a_tree_is_for_its_owner_only_and_says_what_it_is";
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

/// The tree that [`a_render_of_its_own`] writes over [`TREE`].
const NEXT: [(&str, &str); 4] = [
    ("admin.kubeconfig", "admin"),
    ("nodes/cp1/user-data", "changed"),
    ("nodes/w2/meta-data", "w2"),
    ("nodes/w2/user-data", "w2"),
];
/// The variable with its output directory.
const OUT: &str = "FIRELAY_TEST_OUT";
/// The variable that makes it write more than a small file system can hold.
const FULL: &str = "FIRELAY_TEST_FULL";
/// System calls that change a file system, on the Linux architectures that have them.
const CHANGES: &str = "?mkdir,?mkdirat,?rename,?renameat,renameat2,?link,linkat,?unlink,unlinkat,?rmdir,fsync,?chmod,fchmod,fchmodat,write";

/// A helper instead of a test: others run it in a separate process and kill it.
#[test]
#[ignore = "run by other tests"]
fn a_render_of_its_own() {
    let Some(out) = std::env::var_os(OUT) else { return };
    let writer = TreeWriter::begin(Path::new(&out)).unwrap();
    for (path, content) in NEXT {
        writer.put(ManifestFile::new(path), content.as_bytes()).unwrap();
    }
    if std::env::var_os(FULL).is_some() {
        let large = vec![b'x'; 1 << 16];
        writer
            .put(ManifestFile::new("large"), &large)
            .unwrap_or_else(|error| panic!("{error}"));
    }
    let report = writer.finish(manifest()).unwrap();
    assert_eq!(report.left, Vec::<PathBuf>::new());
}

impl Out {
    /// A rendered tree with files in it that are not firelay's.
    fn rendered() -> Self {
        let out = Self::new();
        out.render(&TREE).unwrap();
        fs::create_dir_all(out.at("mine/closed")).unwrap();
        fs::write(out.at("mine/notes.txt"), "mine").unwrap();
        fs::write(out.at("nodes/notes.txt"), "mine").unwrap();
        fs::write(out.at("nodes/w1/notes.txt"), "mine").unwrap();
        fs::write(out.at(".firelay-serve"), "").unwrap();
        symlink("nowhere", out.at("mine/link")).unwrap();
        fs::set_permissions(out.at("mine/closed"), fs::Permissions::from_mode(0o555)).unwrap();
        out
    }

    /// The command that writes [`NEXT`], prefixed with other commands.
    fn next(&self, before: &[&str]) -> Command {
        let test = std::env::current_exe().unwrap();
        let mut command = Command::new(before.first().map_or(test.as_os_str(), |program| program.as_ref()));
        command.args(before.iter().skip(1));
        if !before.is_empty() {
            command.arg(&test);
        }
        command.args(["--ignored", "--exact", "tree::a_render_of_its_own"]);
        command.env(OUT, self.root());
        command
    }

    /// The same command with a fault injected by strace.
    fn struck(&self, inject: &[&str]) -> Command {
        let trace = format!("trace={CHANGES}");
        let mut strace = vec!["strace", "-f", "-e", &trace];
        strace.extend(inject.iter().flat_map(|inject| ["-e", *inject]));
        let mut command = self.next(&strace);
        // strace counts the calls of each thread.
        command.env("RAYON_NUM_THREADS", "1");
        command
    }

    /// The files in place, as listed by the manifest; a changed file is shown with its error.
    fn described(&self) -> Vec<String> {
        let text = fs::read(self.at("manifest.json")).unwrap();
        let manifest: Manifest = serde_json::from_slice(&text).unwrap();
        let reader = TreeReader::open(&self.root()).unwrap();
        let whole = |file: &ManifestFile| reader.read(file).map_err(|error| format!("{}: {error}", file.path));
        let files = manifest.files.iter().map(|file| match whole(file) {
            Ok(bytes) => format!("{} {}", file.path, String::from_utf8(bytes).unwrap()),
            Err(error) => error,
        });
        files.collect()
    }

    /// The names beside the tree.
    fn beside(&self) -> Vec<String> {
        let entries = fs::read_dir(self.directory.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name != "out").collect()
    }

    /// Entries that are not firelay's.
    fn foreign(&self) -> BTreeMap<String, u64> {
        let names = self.names().into_iter();
        let foreign = names.filter(|name| ["mine", "notes", "serve"].iter().any(|word| name.contains(word)));
        foreign
            .map(|name| {
                let metadata = fs::symlink_metadata(self.at(&name)).unwrap();
                let is_file = !metadata.is_dir();
                (
                    name,
                    if is_file {
                        metadata.ino()
                    } else {
                        u64::from(metadata.mode())
                    },
                )
            })
            .collect()
    }
}

/// The output of `described` for these files.
fn as_described(files: &[(&str, &str)]) -> Vec<String> {
    let all = [(".gitignore", "*\n")].into_iter().chain(files.iter().copied());
    all.map(|(path, content)| format!("{path} {content}")).collect()
}

/// Kills a render at each change of the file system in turn, and passes the remaining state to `look`. `inject` is for
/// strace.
fn killed_everywhere(inject: &[&str], step: usize, look: impl Fn(&Out, &str)) {
    let changes = changes(inject);
    assert!(changes.len() > 60, "{changes:?}");
    let mut killed = 0;
    for (call, at) in changes.into_iter().step_by(step) {
        let out = Out::rendered();
        let kill = format!("inject={call}:signal=KILL:when={at}");
        let ended = out.struck(&[inject, &[&kill]].concat()).output().unwrap();
        look(&out, &format!("{call} {at}"));
        // The number of calls per thread differs between runs.
        killed += usize::from(ended.status.signal() == Some(9));
        assert!(
            ended.status.success() || ended.status.signal() == Some(9),
            "{call} {at}: {ended:?}"
        );
    }
    assert!(killed > 50 / step, "{killed}");
}

/// The changes of a render: the system call, and its index among calls of the same kind.
fn changes(inject: &[&str]) -> Vec<(String, usize)> {
    let out = Out::rendered();
    let mut command = out.struck(inject);
    let trace = String::from_utf8(command.output().unwrap().stderr).unwrap();
    let mut counts = BTreeMap::new();
    let calls = trace
        .lines()
        .filter_map(|line| line.split('(').next()?.split_whitespace().last());
    let calls = calls.filter(|call| CHANGES.split(',').any(|change| change.trim_start_matches('?') == *call));
    let counted = calls.map(|call| {
        let count = counts.entry(call.to_owned()).or_insert(0);
        *count += 1;
        (call.to_owned(), *count)
    });
    counted.collect()
}

/// The next render succeeds, and nothing is left over or lost.
fn goes_on(out: &Out, at: &str, foreign: &BTreeMap<String, u64>) {
    let report = out.render(&NEXT).unwrap();
    assert_eq!((report.left, out.beside()), (Vec::new(), Vec::new()), "{at}");
    assert_eq!(out.described(), as_described(&NEXT), "{at}");
    assert_eq!(&out.foreign(), foreign, "{at}");
    assert!(!out.names().iter().any(|name| name.contains("staging")), "{at}");
    assert!(!out.at("nodes/w1/user-data").exists(), "{at}");
}

#[test]
fn a_killed_render_leaves_the_old_tree_or_the_new_one() {
    let seen = std::cell::RefCell::new(Vec::new());
    killed_everywhere(&[], 1, |out, at| {
        let described = out.described();
        let new = described == as_described(&NEXT);
        assert!(new || described == as_described(&TREE), "{at}: {described:?}");
        // Neither does a file of the other tree remain beside those of the manifest.
        assert_eq!(
            (out.at("nodes/w1/user-data").exists(), out.at("nodes/w2").exists()),
            (!new, new),
            "{at}"
        );
        let foreign = out.foreign();
        assert_eq!(foreign.len(), 7, "{at}: {foreign:?}");
        seen.borrow_mut().push(new);
        goes_on(out, at, &foreign);
    });
    let seen = seen.into_inner();
    let new = seen.iter().filter(|new| **new).count();
    assert!(new > 5 && seen.len() - new > 30, "{new} of {}", seen.len());
}

#[test]
fn where_trees_cannot_be_exchanged_every_file_is_whole_and_the_next_render_finishes() {
    killed_everywhere(&["inject=renameat2:error=EINVAL"], 3, |out, at| {
        let allowed = as_described(&[TREE.as_slice(), NEXT.as_slice()].concat());
        for (path, content) in out.listing() {
            let Some(content) = content else { continue };
            let ours = allowed.contains(&format!("{path} {content}")) || path == "manifest.json";
            let foreign = path.starts_with("mine") || path.contains("notes") || path.starts_with(".firelay-");
            assert!(ours || foreign, "{at}: {path} {content}");
        }
        goes_on(out, at, &out.foreign());
    });
}

#[test]
fn what_is_not_firelays_is_carried_over_as_it_is() {
    let out = Out::rendered();
    let socket = std::os::unix::net::UnixListener::bind(out.at("mine/socket")).unwrap();
    let then = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let set = |path: &str| fs::File::open(out.at(path)).unwrap().set_modified(then).unwrap();
    ["mine/notes.txt", "mine/closed", "mine"]
        .iter()
        .for_each(|path| set(path));
    // A server appends to its state all the time.
    let mut open = fs::File::options().append(true).open(out.at(".firelay-serve")).unwrap();
    let (before, root) = (out.foreign(), fs::metadata(out.root()).unwrap().ino());
    out.render(&NEXT).unwrap();
    assert_ne!(fs::metadata(out.root()).unwrap().ino(), root, "it was not exchanged");
    assert_eq!(out.foreign(), before);
    let changed = |path: &str| fs::metadata(out.at(path)).unwrap().modified().unwrap();
    assert_eq!(["mine/notes.txt", "mine/closed", "mine"].map(changed), [then; 3]);
    assert_eq!(fs::metadata(out.at("mine/notes.txt")).unwrap().nlink(), 1);
    std::io::Write::write_all(&mut open, b"given\n").unwrap();
    assert_eq!(fs::read_to_string(out.at(".firelay-serve")).unwrap(), "given\n");
    drop(socket);
    assert_eq!(out.beside(), Vec::<String>::new());
}

#[test]
fn a_directory_that_was_there_before_keeps_its_mode_and_owner() {
    let out = Out::new();
    fs::create_dir(out.root()).unwrap();
    fs::write(out.at("notes.txt"), "mine").unwrap();
    fs::set_permissions(out.root(), fs::Permissions::from_mode(0o2755)).unwrap();
    let root = rustix::process::geteuid().is_root();
    if root {
        std::os::unix::fs::chown(out.root(), Some(4242), Some(4343)).unwrap();
        fs::set_permissions(out.root(), fs::Permissions::from_mode(0o2755)).unwrap();
    }
    let before = fs::metadata(out.root()).unwrap();
    out.render(&TREE).unwrap();
    let after = fs::metadata(out.root()).unwrap();
    assert_eq!(
        (mode(&out.root()), after.uid(), after.gid()),
        (0o2755, before.uid(), before.gid())
    );
    assert_ne!(after.ino(), before.ino());
}

/// In each of these cases the directory stays, and its files are replaced one by one.
#[test]
fn trees_are_not_exchanged_where_somebody_would_lose_by_it() {
    let stays = |prepare: &dyn Fn(&Out), before: &[&str], inside: bool| {
        let out = Out::rendered();
        prepare(&out);
        let (root, foreign) = (fs::metadata(out.root()).unwrap().ino(), out.foreign());
        let mut next = out.next(before);
        if inside {
            next.current_dir(out.at("nodes"));
        }
        let ended = next.env("OUT", out.root()).output().unwrap();
        assert!(ended.status.success(), "{ended:?}");
        assert_eq!(fs::metadata(out.root()).unwrap().ino(), root);
        assert_eq!((out.described(), out.foreign()), (as_described(&NEXT), foreign));
        assert_eq!(out.beside(), Vec::<String>::new());
        assert!(!out.names().iter().any(|name| name.contains("staging")));
    };
    // A process has it as working directory.
    stays(&|_| {}, &[], true);
    // A file system is mounted there, the same or another one.
    let mount = "mount --bind \"$OUT\" \"$OUT\" && exec \"$@\"";
    stays(&|_| {}, &["unshare", "--mount", "sh", "-c", mount, "sh"], false);
    // An extended attribute, such as an ACL, may restrict it further than its mode.
    let label =
        |out: &Out| rustix::fs::setxattr(out.root(), "user.kept", b"1", rustix::fs::XattrFlags::empty()).unwrap();
    stays(&label, &[], false);
    // It contains more than firelay's tree.
    let many = |out: &Out| (0..1001).for_each(|at| fs::write(out.at(&format!("mine/{at}")), "").unwrap());
    stays(&many, &[], false);
}

#[test]
fn through_a_link_the_tree_behind_it_is_exchanged() {
    let out = Out::rendered();
    let real = out.directory.path().join("real");
    fs::rename(out.root(), &real).unwrap();
    symlink("real", out.root()).unwrap();
    out.render(&NEXT).unwrap();
    assert!(out.root().is_symlink());
    assert_eq!(
        (out.described(), out.beside()),
        (as_described(&NEXT), vec!["real".to_owned()])
    );
}

#[test]
fn leftovers_go_and_nothing_that_is_not_firelays() {
    let out = Out::rendered();
    let beside = |name: &str| out.directory.path().join(name);
    let directory = |name: &str, mode: u32| {
        fs::create_dir(beside(name)).unwrap();
        fs::set_permissions(beside(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    // Leftovers of a run that was killed early, immediately, or after the exchange, when the old tree had just been
    // written to.
    directory(".firelay-staging-out-abcdef", 0o700);
    fs::write(beside(".firelay-staging-out-abcdef/.gitignore"), "*\n").unwrap();
    fs::write(beside(".firelay-staging-out-abcdef/user-data"), "secret").unwrap();
    directory(".firelay-staging-out-ghijkl", 0o700);
    directory(".firelay-exchange-out-abcdef", 0o700);
    directory(".firelay-exchange-out-abcdef/late", 0o750);
    let mut old = manifest();
    old.files = vec![ManifestFile::new("nodes/w0/user-data")];
    fs::write(beside(".firelay-exchange-out-abcdef/manifest.json"), old.to_json()).unwrap();
    fs::create_dir_all(beside(".firelay-exchange-out-abcdef/nodes/w0")).unwrap();
    fs::write(beside(".firelay-exchange-out-abcdef/nodes/w0/user-data"), "secret").unwrap();
    fs::write(beside(".firelay-exchange-out-abcdef/late/notes.txt"), "mine").unwrap();
    // Directories of other trees, or of users with similar names.
    let stay = [
        ".firelay-staging-out-b-abcdef",
        ".firelay-staging-out-abc",
        ".firelay-staging-out-mnopqr",
    ];
    stay.iter().for_each(|name| directory(name, 0o700));
    fs::write(beside(".firelay-staging-out-mnopqr/notes.txt"), "mine").unwrap();

    let report = out.render(&TREE).unwrap();
    assert_eq!(
        report.left,
        [beside(".firelay-staging-out-mnopqr").canonicalize().unwrap()]
    );
    let mut names = out.beside();
    names.sort();
    let mut expected = stay.map(str::to_owned).to_vec();
    expected.sort();
    assert_eq!(names, expected);
    assert_eq!(fs::read_to_string(out.at("late/notes.txt")).unwrap(), "mine");
    assert_eq!(mode(&out.at("late")), 0o750);
    assert!(!out.at("nodes/w0").exists());

    // A file in the way of a rescued one stays in place.
    directory(".firelay-exchange-out-abcdef", 0o700);
    directory(".firelay-exchange-out-abcdef/late", 0o750);
    fs::write(beside(".firelay-exchange-out-abcdef/late/notes.txt"), "mine, too").unwrap();
    let report = out.render(&TREE).unwrap();
    assert_eq!(report.left.len(), 2, "{report:?}");
    assert_eq!(fs::read_to_string(out.at("late/notes.txt")).unwrap(), "mine");
    let other = beside(".firelay-exchange-out-abcdef/late/notes.txt");
    assert_eq!(fs::read_to_string(other).unwrap(), "mine, too");
}

#[test]
fn a_full_disk_changes_nothing() {
    // The tree, or its parent, is a file system with room for little more than one tree.
    for mounted in ["", "/out"] {
        let out = Out::new();
        let place = out.directory.path().display().to_string() + mounted;
        let script = "mkdir -p \"$PLACE\" && mount -t tmpfs -o size=64k tmpfs \"$PLACE\" && \"$0\" \"$@\" && \
                      find \"$OUT\" -type f -exec sha256sum {} + >\"$SUMS\"; \
                      FIRELAY_TEST_FULL=1 \"$0\" \"$@\"; sha256sum --quiet --check \"$SUMS\" && ls -A \"$OUT\" \"$OUT/..\"";
        let sums = tempfile::NamedTempFile::new().unwrap();
        let mut next = out.next(&["unshare", "--mount", "sh", "-c", script]);
        let ended = next
            .env("PLACE", place)
            .env("SUMS", sums.path())
            .env("OUT", out.root())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ended.stdout);
        assert!(
            ended.status.success() && said.contains("No space left on device"),
            "{mounted}: {ended:?}"
        );
        assert!(!said.contains("\n.firelay-"), "{mounted}: {said}");
        assert_eq!(fs::read_to_string(sums.path()).unwrap().lines().count(), 6, "{ended:?}");
    }
}

#[test]
fn a_signal_leaves_the_old_tree_or_waits_for_the_new_one() {
    for (signal, number) in [("INT", 2), ("TERM", 15)] {
        // Failures while writing files, and just before exchanging the trees.
        for (call, at, new) in [("fchmod", 2, false), ("fsync", 1, true)] {
            let out = Out::rendered();
            let inject = format!("inject={call}:signal={signal}:when={at}");
            let ended = out.struck(&[&inject]).output().unwrap();
            assert_eq!(ended.status.signal(), Some(number), "{call}: {ended:?}");
            assert_eq!(out.described(), as_described(if new { &NEXT } else { &TREE }));
            assert_eq!(out.beside(), Vec::<String>::new());
            assert_eq!(out.foreign().len(), 7);
        }
    }
}
