//! Documents, parsed by their real readers: cloud-init's own code and the Ignition binary.
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::support;

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::Path,
    process::Command,
};

use firelay::{
    document::{CloudInit, Compression, Document, Ignition},
    encoding::gzip,
    node::{NodeDirectory, NodeFile, NodeFiles, NodeLink, NodeUnit, NodeUser},
    secret::Secret,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{read_cloud_init, succeed};

/// Debian's path of a program that is not in PATH (dracut runs it).
const IGNITION: &str = "/usr/lib/dracut/modules.d/30ignition/ignition";

const COMPRESSIONS: [Compression; 2] = [Compression::None, Compression::Inner];

fn ignition() -> Ignition {
    Ignition {
        version: "3.3.0".to_owned(),
    }
}

fn assert_valid_cloud_config(user_data: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("user-data");
    fs::write(&path, user_data).unwrap();
    let mut schema = Command::new("cloud-init");
    schema.args(["schema", "--annotate", "--config-file"]).arg(path);
    let said = succeed(&mut schema, "cloud-init");
    assert!(said.contains("Valid"), "{said}");
    assert!(!said.to_lowercase().contains("deprecat"), "{said}");
}

fn assert_valid_ignition(config: &str) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config.ign");
    fs::write(&path, config).unwrap();
    assert_eq!(succeed(Command::new("ignition-validate").arg(path), "ignition"), "");
    let (_, warnings) = ignition_config::Config::parse_str(config).unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
}

/// Lets the real Ignition fetch a document and write its files below a directory. A `setfiles` that does nothing
/// replaces the final SELinux labelling.
fn ignite(config: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("root");
    fs::create_dir_all(root.join("etc/selinux")).unwrap();
    fs::create_dir_all(root.join("usr")).unwrap();
    fs::write(
        root.join("etc/selinux/config"),
        "SELINUX=disabled\nSELINUXTYPE=targeted\n",
    )
    .unwrap();
    symlink("/bin/true", directory.path().join("setfiles")).unwrap();
    fs::write(root.join("etc/hostname"), "of-the-image\n").unwrap();
    fs::write(directory.path().join("config.ign"), config).unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let (root, cache, neednet, state) = (at("root"), at("cache"), at("neednet"), at("state"));
    let path = format!("{}:{}", directory.path().display(), std::env::var("PATH").unwrap());
    for stage in ["fetch", "files"] {
        let mut ignition = Command::new(IGNITION);
        ignition
            .args(["--platform=file", "--log-to-stdout", "--stage", stage, "--root", &root])
            .args(["--config-cache", &cache, "--neednet", &neednet, "--state-file", &state])
            .current_dir(directory.path())
            .env("PATH", &path);
        succeed(&mut ignition, "ignition");
    }
    directory
}

fn file(path: &str, mode: u32, content: &str) -> NodeFile {
    NodeFile {
        path: path.to_owned(),
        mode,
        content: content.into(),
    }
}

const SERVICE: &str =
    "[Unit]\nDescription=firelay\n\n[Service]\nExecStart=/bin/true\n\n[Install]\nWantedBy=multi-user.target\n";

/// A node with everything that both formats support, except users: creating them needs a whole system.
fn node() -> NodeFiles {
    let unit = |name: &str, content: &str, enabled| NodeUnit {
        name: name.to_owned(),
        content: content.into(),
        enabled,
        dropins: Vec::new(),
    };
    let mut containerd = unit("containerd.service", "", false);
    containerd.dropins = vec![(
        "10-proxy.conf".to_owned(),
        "[Service]\nEnvironment=NO_PROXY=no\n".into(),
    )];
    let directory = |path: &str, mode| NodeDirectory {
        path: path.to_owned(),
        mode,
    };
    NodeFiles {
        hostname: Some("cp1".to_owned()),
        directories: vec![
            directory("/etc/firelay", 0o755),
            directory("/etc/firelay/pki", 0o700),
            directory("/var/lib/etcd", 0o700),
            directory("/var/lib/kubelet", 0o755),
        ],
        files: vec![
            file(
                "/usr/local/lib/firelay/driver",
                0o755,
                "#!/bin/bash\nset -eu\nprintf '%s\\n' \"${1:-no}\" # {{ braces }}\n",
            ),
            file(
                "/etc/firelay/pki/ca.key",
                0o600,
                "-----BEGIN EC PRIVATE KEY-----\nMHcCAQ==\n-----END EC PRIVATE KEY-----\n",
            ),
            file("/etc/empty", 0o640, ""),
            file(
                "/etc/long",
                0o644,
                &"a line that comes back again and again\n".repeat(200),
            ),
        ],
        links: vec![
            NodeLink {
                path: "/var/lib/kubelet/pki/current.pem".into(),
                target: "/var/lib/kubelet/pki/1.pem".into(),
            },
            NodeLink {
                path: "/etc/extensions/kubernetes.raw".into(),
                target: "/opt/kubernetes.raw".into(),
            },
        ],
        units: vec![
            unit("firelay.service", SERVICE, true),
            unit("etcd.service", SERVICE, false),
            containerd,
        ],
        masked_units: vec!["docker.service".to_owned(), "docker.socket".to_owned()],
        ..NodeFiles::default()
    }
}

fn users() -> NodeFiles {
    let user = |name: &str, sudo, groups: &[&str]| NodeUser {
        name: name.to_owned(),
        gecos: None,
        home_dir: None,
        primary_group: None,
        password_hash: None,
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        ssh_authorized_keys: vec![format!(
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ{} {name}@example.com",
            "x".repeat(60)
        )],
        sudo,
        shell: "/bin/bash".to_owned(),
    };
    NodeFiles {
        ssh_authorized_keys: vec!["ssh-ed25519 AAAA admin: of #1".to_owned()],
        users: vec![
            user("alice", true, &["wheel", "systemd-journal"]),
            user("no", false, &[]),
        ],
        units: node().units,
        ..NodeFiles::default()
    }
}

/// Contents that YAML, URLs or their parsers tend to change.
fn nasty() -> Vec<String> {
    let texts = [
        "",
        "\n",
        "\n\n\n",
        " ",
        "  \n",
        " \n a\n",
        "\t",
        "\tx\n\ty",
        "no",
        "on",
        "1:30",
        "0644",
        "=",
        "~",
        "null",
        "1_000",
        "2026-01-01",
        "no newline at the end",
        "a\n\n\n",
        "a\n  ",
        "\n\na\n",
        "  indented\nless\n",
        "\n  indented\nless\n",
        "   \na\n",
        "a\r\nb\r\n",
        "a\rb",
        "# comment\n",
        "- a\n- b\n",
        "key: value\n",
        "{{ .Values }}\n",
        "{% raw %}\n",
        "${HOME} %{if}\n",
        "a: 'b' \"c\" \\ `d`\n",
        "|\n",
        ">-\n",
        "---\na\n...\n",
        "%YAML 1.1\n",
        "&a *a !!binary x\n",
        "nul \0 bell \u{7} esc \u{1b}[0m\n",
        "del \u{7f}\n",
        "nel\u{85}ls\u{2028}ps\u{2029}\n",
        "\u{feff}bom\n",
        "a\u{feff}b\n",
        "é ü 漢字 \u{1f525}\n",
        "\u{a0}nbsp\n",
        "\u{fffd}\u{10ffff}\n",
        "100%\n",
        "a?b#c[d]{e}|f^g<h>i\"j'k\n",
        "data:;base64,AAAA\n",
        "trailing   \nblanks\t\n",
        "MIME-Version: 1.0\nContent-Type: multipart/mixed\n",
        "#cloud-config\nruncmd: []\n",
        "## template: jinja\n",
        "line\n \n  \n   \nend\n",
        "x\n\t\n y\n",
    ];
    texts
        .iter()
        .map(|text| (*text).to_owned())
        .chain([
            format!("{}\n", "word ".repeat(60)),
            "a".repeat(5000),
            "x\n".repeat(3000),
        ])
        .collect()
}

fn node_of(contents: &[String]) -> NodeFiles {
    let files = contents
        .iter()
        .enumerate()
        .map(|(index, content)| file(&format!("/etc/t/{index:04}"), 0o600, content));
    NodeFiles {
        files: files.collect(),
        ..NodeFiles::default()
    }
}

fn assert_cloud_init_keeps(contents: &[String]) {
    for compression in COMPRESSIONS {
        let document = CloudInit.render(&node_of(contents), compression).unwrap();
        let read = read_cloud_init(document.as_bytes());
        assert_eq!(read.files.len(), contents.len());
        for (content, (path, (mode, found))) in contents.iter().zip(&read.files) {
            assert_eq!((*mode, found), (0o600, content), "{path}, {compression:?}");
        }
    }
}

fn assert_ignition_keeps(contents: &[String]) {
    for compression in COMPRESSIONS {
        let directory = ignite(&ignition().render(&node_of(contents), compression).unwrap());
        for (index, content) in contents.iter().enumerate() {
            let path = directory.path().join(format!("root/etc/t/{index:04}"));
            assert_eq!(&fs::read_to_string(path).unwrap(), content, "{compression:?}");
        }
    }
}

#[test]
fn cloud_init_keeps_nasty_contents() {
    assert_cloud_init_keeps(&nasty());
}

#[test]
fn ignition_keeps_nasty_contents() {
    assert_ignition_keeps(&nasty());
}

proptest! {
    // A case has two documents of up to 300 files.
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_content_comes_back(contents in prop::collection::vec(prop_oneof![
        "[ \t\n\r#:\\-'\"{}|>%&*!,\\[\\]?@`~=a-b0-1.]{0,12}",
        "[ \n\ta]{0,8}",
        "\\PC{0,20}",
        any::<String>(),
    ], 1..300)) {
        assert_cloud_init_keeps(&contents);
        assert_ignition_keeps(&contents);
    }
}

#[test]
fn cloud_init_says_what_the_node_is() {
    for compression in COMPRESSIONS {
        let document = CloudInit.render(&node(), compression).unwrap();
        let read = read_cloud_init(document.as_bytes());
        assert_valid_cloud_config(&read.text);
        let expected = json!({
            "hostname": "cp1", "fqdn": "cp1", "preserve_hostname": false, "manage_etc_hosts": false,
            "bootcmd": [
                ["sh", "-c", "[ -e /var/lib/firelay/laid ] || { sync; rm -f /var/lib/cloud/instance/sem/config_*; }"],
                ["systemctl", "mask", "docker.service", "docker.socket"],
                ["install", "-d", "-m", "0755", "-o", "root", "-g", "root", "/etc/firelay"],
                ["install", "-d", "-m", "0700", "-o", "root", "-g", "root", "/etc/firelay/pki", "/var/lib/etcd"],
                ["install", "-d", "-m", "0755", "-o", "root", "-g", "root", "/var/lib/kubelet"],
            ],
            "runcmd": [
                ["mkdir", "-p", "/var/lib/kubelet/pki", "/etc/extensions"],
                ["ln", "-sfn", "/var/lib/kubelet/pki/1.pem", "/var/lib/kubelet/pki/current.pem"],
                ["ln", "-sfn", "/opt/kubernetes.raw", "/etc/extensions/kubernetes.raw"],
                ["systemctl", "stop", "docker.service", "docker.socket"],
                ["sync"],
                ["systemctl", "enable", "--now", "--no-block", "firelay.service"],
            ],
        });
        assert_eq!(read.config, expected);
        let mut files: BTreeMap<_, _> = node()
            .files
            .into_iter()
            .map(|file| (file.path, (file.mode, file.content.to_string())))
            .collect();
        let system = |name: &str| format!("/etc/systemd/system/{name}");
        files.insert(system("firelay.service"), (0o644, SERVICE.to_owned()));
        files.insert(system("etcd.service"), (0o644, SERVICE.to_owned()));
        files.insert(
            system("containerd.service.d/10-proxy.conf"),
            (0o644, "[Service]\nEnvironment=NO_PROXY=no\n".to_owned()),
        );
        assert_eq!(read.files, files);
    }
}

#[test]
fn cloud_init_names_users() {
    let files = users();
    let document = CloudInit.render(&files, Compression::None).unwrap();
    assert_valid_cloud_config(&document);
    let config = read_cloud_init(document.as_bytes()).config;
    assert_eq!(config["ssh_authorized_keys"], json!(files.ssh_authorized_keys));
    let expected = json!([
        "default",
        {
            "name": "alice", "groups": ["wheel", "systemd-journal"], "shell": "/bin/bash", "sudo": "ALL=(ALL) NOPASSWD:ALL",
            "ssh_authorized_keys": files.users[0].ssh_authorized_keys,
        },
        { "name": "no", "shell": "/bin/bash", "ssh_authorized_keys": files.users[1].ssh_authorized_keys },
    ]);
    assert_eq!(config["users"], expected);
    assert_eq!(config.get("hostname"), None);
}

/// Both formats describe a user in the same way.
#[test]
fn a_user_has_a_password_a_home_and_a_group() {
    let hash = "$6$abcdefgh$M/eYsB4rVXAm3ZNc88J.UD9rCKAT6FB1rahiwJCHtEndQNORCub5qhjxn50qbqVVthkM.9HpEwtf0t.iV9uH0/";
    let mut files = users();
    files.users.truncate(1);
    let user = &mut files.users[0];
    user.gecos = Some("Alice: no, Operations".to_owned());
    user.home_dir = Some("/srv/alice".to_owned());
    user.primary_group = Some("users".to_owned());
    user.password_hash = Some(Secret::new(hash.to_owned()));
    assert!(!format!("{files:?}").contains(hash));
    let document = CloudInit.render(&files, Compression::None).unwrap();
    assert_valid_cloud_config(&document);
    let said = &read_cloud_init(document.as_bytes()).config["users"][1];
    let keys = ["gecos", "homedir", "primary_group", "lock_passwd", "hashed_passwd"].map(|key| said[key].clone());
    let expected: [Value; 5] = [
        "Alice: no, Operations".into(),
        "/srv/alice".into(),
        "users".into(),
        false.into(),
        hash.into(),
    ];
    assert_eq!(keys, expected);
    let document = ignition().render(&files, Compression::None).unwrap();
    assert_valid_ignition(&document);
    let document: Value = serde_json::from_str(&document).unwrap();
    let said = &document["passwd"]["users"][1];
    let keys = ["gecos", "homeDir", "primaryGroup", "passwordHash"].map(|key| said[key].clone());
    assert_eq!(keys, ["Alice: no, Operations", "/srv/alice", "users", hash]);
}

#[test]
fn a_pool_gets_no_hostname_and_an_empty_node_is_valid() {
    let document = CloudInit.render(&NodeFiles::default(), Compression::None).unwrap();
    assert_eq!(document, "#cloud-config\nmanage_etc_hosts: false\n");
    assert_valid_cloud_config(&document);
    assert_valid_ignition(&ignition().render(&NodeFiles::default(), Compression::None).unwrap());
}

#[test]
fn cloud_init_unpacks_a_compressed_document() {
    let document = CloudInit.render(&node(), Compression::None).unwrap();
    let read = read_cloud_init(&gzip(document.as_bytes()));
    assert_eq!(read.config, read_cloud_init(document.as_bytes()).config);
}

#[test]
fn inner_compression_makes_documents_smaller_and_stays_ascii() {
    let files = node_of(&["α some text that repeats\n".repeat(100)]);
    for document in [&CloudInit as &dyn Document, &ignition()] {
        let [plain, inner] = COMPRESSIONS.map(|compression| document.render(&files, compression).unwrap());
        assert!(inner.len() * 2 < plain.len(), "{} of {}", inner.len(), plain.len());
        assert!(inner.is_ascii());
    }
}

#[test]
fn ignition_lays_what_the_node_is() {
    for compression in COMPRESSIONS {
        let document = ignition().render(&node(), compression).unwrap();
        assert_valid_ignition(&document);
        let directory = ignite(&document);
        let root = directory.path().join("root");
        let at = |path: &str| root.join(path.trim_start_matches('/'));
        for file in node().files {
            let metadata = fs::metadata(at(&file.path)).unwrap();
            assert_eq!(
                (metadata.permissions().mode() & 0o7777, metadata.uid(), metadata.gid()),
                (file.mode, 0, 0),
                "{}",
                file.path
            );
            assert_eq!(fs::read_to_string(at(&file.path)).unwrap(), *file.content);
        }
        for directory in node().directories {
            let mode = fs::metadata(at(&directory.path)).unwrap().permissions().mode() & 0o7777;
            assert_eq!(mode, directory.mode, "{}", directory.path);
        }
        for link in node().links {
            assert_eq!(fs::read_link(at(&link.path)).unwrap(), Path::new(&link.target));
        }
        let system = root.join("etc/systemd/system");
        assert_eq!(fs::read_to_string(root.join("etc/hostname")).unwrap(), "cp1\n");
        assert_eq!(fs::read_to_string(system.join("firelay.service")).unwrap(), SERVICE);
        assert!(
            system.join("containerd.service.d/10-proxy.conf").is_file() && !system.join("containerd.service").exists()
        );
        assert_eq!(
            fs::read_link(system.join("docker.socket")).unwrap(),
            Path::new("/dev/null")
        );
        let preset = fs::read_to_string(root.join("etc/systemd/system-preset/20-ignition.preset")).unwrap();
        assert_eq!(preset, "enable firelay.service\n");
    }
}

#[test]
fn ignition_names_users() {
    let mut files = users();
    files.users.push(NodeUser {
        name: "core".into(),
        ..files.users[1].clone()
    });
    let document = ignition().render(&files, Compression::None).unwrap();
    assert_valid_ignition(&document);
    let config: Value = serde_json::from_str(&document).unwrap();
    let expected = json!([
        { "name": "alice", "groups": ["wheel", "systemd-journal"], "shell": "/bin/bash", "sshAuthorizedKeys": files.users[0].ssh_authorized_keys },
        { "name": "no", "shell": "/bin/bash", "sshAuthorizedKeys": files.users[1].ssh_authorized_keys },
        { "name": "core", "shell": "/bin/bash", "sshAuthorizedKeys": [files.users[2].ssh_authorized_keys[0], files.ssh_authorized_keys[0]] },
    ]);
    assert_eq!(config["passwd"]["users"], expected);
    let sudoers = &config["storage"]["files"][0];
    assert_eq!(
        (&sudoers["path"], &sudoers["mode"]),
        (&json!("/etc/sudoers.d/90-firelay-users"), &json!(0o440))
    );

    let config = ignition().render(&users(), Compression::None).unwrap();
    let config: Value = serde_json::from_str(&config).unwrap();
    assert_eq!(
        config["passwd"]["users"][0],
        json!({ "name": "core", "sshAuthorizedKeys": ["ssh-ed25519 AAAA admin: of #1"] })
    );
}

/// Modules that cloud-init's own code would run in this boot, if all have run in an earlier one.
const MODULES_TO_RUN: &str = "
import json, os, subprocess, sys
from cloudinit import helpers, settings
script, root, laid = json.load(sys.stdin)
state = os.path.join(root, 'var/lib/firelay')
sem = os.path.join(root, 'var/lib/cloud/instance/sem')
os.makedirs(state)
os.makedirs(sem)
if laid:
    open(os.path.join(state, 'laid'), 'w').close()
runners = helpers.FileSemaphores(sem)
modules = ['config-write-files', 'config-users_groups', 'config-runcmd', 'config-scripts-user', 'consume_data']
for module in modules:
    with runners.lock(module, settings.PER_INSTANCE):
        pass
subprocess.run(['sh', '-c', script.replace('/var/lib', root + '/var/lib').replace('sync;', '')], check=True)
json.dump([module for module in modules if not runners.has_run(module, settings.PER_INSTANCE)], sys.stdout)
";

#[test]
fn cloud_init_runs_its_modules_again_until_the_document_is_on_disk() {
    let document = CloudInit.render(&node(), Compression::None).unwrap();
    let read = read_cloud_init(document.as_bytes());
    let script = &read.config["bootcmd"][0][2];
    for (laid, again) in [
        (
            false,
            json!([
                "config-write-files",
                "config-users_groups",
                "config-runcmd",
                "config-scripts-user"
            ]),
        ),
        (true, json!([])),
    ] {
        let root = tempfile::tempdir().unwrap();
        let input = json!([script, root.path(), laid]).to_string();
        assert_eq!(support::python(MODULES_TO_RUN, &input), again, "laid: {laid}");
    }
}

#[test]
fn cloud_init_cannot_compress_inside_what_is_not_ascii() {
    let files = NodeFiles {
        ssh_authorized_keys: vec!["ssh-ed25519 AAAA andré".to_owned()],
        ..node_of(&["contents may be ünïcode\n".to_owned()])
    };
    let read = read_cloud_init(CloudInit.render(&files, Compression::None).unwrap().as_bytes());
    assert_eq!(read.config["ssh_authorized_keys"], json!(files.ssh_authorized_keys));
    let message = CloudInit.render(&files, Compression::Inner).unwrap_err().to_string();
    assert_eq!(
        message,
        "cloud-init garbles what is not ASCII in a document that is compressed inside: rewrite \"- ssh-ed25519 AAAA andré\""
    );
}

#[test]
fn what_ignition_cannot_say_is_refused() {
    let setuid = NodeFiles {
        files: vec![file("/opt/bin/a", 0o4755, "")],
        ..NodeFiles::default()
    };
    let hostname = NodeFiles {
        hostname: Some("a".into()),
        files: vec![file("/etc/hostname", 0o644, "b\n")],
        ..NodeFiles::default()
    };
    let cases = [
        (
            setuid,
            "ignition has no mode (4755 of /opt/bin/a): setuid, setgid and sticky bits are lost before spec 3.6: set them from a step",
        ),
        (hostname, "/etc/hostname is written twice: keep one of the two"),
    ];
    let newest = Ignition {
        version: "3.6.0".to_owned(),
    };
    assert!(newest.render(&cases[0].0, Compression::None).unwrap().contains("2541"));
    for (files, message) in cases {
        assert_eq!(
            ignition().render(&files, Compression::Inner).unwrap_err().to_string(),
            message
        );
    }
}

#[test]
fn same_files_same_bytes() {
    for document in [&CloudInit as &dyn Document, &ignition()] {
        for compression in COMPRESSIONS {
            assert_eq!(
                document.render(&node(), compression).unwrap(),
                document.render(&node(), compression).unwrap()
            );
        }
    }
}
