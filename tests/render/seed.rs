//! `firelay seed`: volumes that other programs can read.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use crate::support;

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use serde_json::Value;
use support::{Entry, firelay, output, said, succeed, tree};

const SPEC: &str = "
apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: home
kubernetes: { version: 1.36.4 }
endpoint: { host: api.home.example.net }
platform: nocloud
os: debian-12
nodes:
  - name: cp1
    roles: [control-plane]
    addresses: [10.0.0.11]
    interfaces: [{ name: eno1, subnets: [10.0.0.0/24], gateways: [10.0.0.1], dns: { servers: [10.0.0.1] } }]
  - { name: w1, roles: [worker], addresses: [10.0.0.21], os: flatcar }
pools:
  - { name: burst, roles: [worker], platform: aws }
";

/// A directory with a rendered tree in `out`.
fn rendered() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("cluster.yaml"), SPEC).unwrap();
    run(directory.path(), &["render", "--new-secrets"]);
    directory
}

fn run(directory: &Path, arguments: &[&str]) -> String {
    succeed(firelay(arguments).current_dir(directory), "firelay")
}

fn refused(directory: &Path, arguments: &[&str], code: i32, reason: &str) {
    let output = output(firelay(arguments).current_dir(directory), "firelay");
    assert_eq!(output.status.code(), Some(code), "{}", said(&output));
    assert!(said(&output).contains(reason), "{}", said(&output));
}

/// A file of an image, read by cdrkit.
fn extracted(image: &Path, path: &str) -> Vec<u8> {
    let mut isoinfo = Command::new("isoinfo");
    isoinfo.args(["-J", "-x", path, "-i"]).arg(image);
    let output = output(&mut isoinfo, "genisoimage");
    assert!(output.status.success(), "{}", said(&output));
    output.stdout
}

fn listed(image: &Path, arguments: &[&str]) -> Vec<String> {
    let mut isoinfo = Command::new("isoinfo");
    isoinfo.args(arguments).arg("-f").arg("-i").arg(image);
    let said = succeed(&mut isoinfo, "genisoimage");
    said.lines()
        .filter(|line| line.starts_with('/'))
        .map(str::to_owned)
        .collect()
}

/// The type and the label that blkid detects.
fn probed(image: &Path) -> Vec<String> {
    let mut blkid = Command::new("blkid");
    blkid.args(["--probe", "--output", "export"]).arg(image);
    let said = succeed(&mut blkid, "util-linux");
    let known = |line: &&str| line.starts_with("TYPE=") || line.starts_with("LABEL=");
    let mut lines: Vec<_> = said.lines().filter(known).map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn the_same_tree_gives_the_same_volumes() {
    let desk = rendered();
    let at = |path: &str| desk.path().join(path);
    run(desk.path(), &["seed", "--node", "cp1", "--node", "w1", "--to", "one"]);
    // The same command on another day.
    let mut later = support::firelay_at(
        "2027-03-01 12:00:00",
        &["seed", "--node", "w1", "--node", "cp1", "--to", "two/below"],
    );
    succeed(later.current_dir(desk.path()), "firelay");
    let content = |entry: Entry| (entry.mode, entry.content);
    let [one, two] = ["one", "two/below"].map(|path| tree(&at(path)).into_iter().map(|(name, it)| (name, content(it))));
    let one: Vec<_> = one.collect();
    assert_eq!(one, two.collect::<Vec<_>>());
    let modes: Vec<_> = one.iter().map(|(name, (mode, _))| (name.as_str(), *mode)).collect();
    assert_eq!(modes, [("", 0o700), ("cp1.iso", 0o600), ("w1.iso", 0o600)]);
}

#[test]
fn others_find_the_label_and_every_file() {
    let desk = rendered();
    run(desk.path(), &["seed", "--node", "cp1", "--node", "w1"]);
    let image = |name: &str| desk.path().join(format!("out/seed/{name}.iso"));
    let node = |path: &str| fs::read(desk.path().join("out/nodes").join(path)).unwrap();
    assert_eq!(probed(&image("cp1")), ["LABEL=CIDATA", "TYPE=iso9660"]);
    assert_eq!(
        listed(&image("cp1"), &["-J"]),
        ["/meta-data", "/network-config", "/user-data"]
    );
    assert_eq!(
        listed(&image("cp1"), &[]),
        ["/META_DATA.;1", "/NETWORK_CONFIG.;1", "/USER_DATA.;1"]
    );
    for name in ["user-data", "meta-data", "network-config"] {
        assert_eq!(
            extracted(&image("cp1"), &format!("/{name}")),
            node(&format!("cp1/{name}")),
            "{name}"
        );
    }
    assert_eq!(probed(&image("w1")), ["LABEL=config-2", "TYPE=iso9660"]);
    assert_eq!(
        extracted(&image("w1"), "/openstack/latest/user_data"),
        node("w1/config.ign")
    );
    let meta_data: Value =
        serde_json::from_slice(&extracted(&image("w1"), "/openstack/latest/meta_data.json")).unwrap();
    assert_eq!(meta_data["hostname"], "w1");
    assert_eq!(meta_data["uuid"].as_str().unwrap().len(), 36);
    run(desk.path(), &["seed", "--node", "w1", "--form", "cidata"]);
    assert_eq!(probed(&image("w1")), ["LABEL=CIDATA", "TYPE=iso9660"]);
    assert_eq!(extracted(&image("w1"), "/user-data"), node("w1/config.ign"));
}

/// Parses a seed directory with cloud-init's own datasource.
const DATASOURCE: &str = "
import json, sys
from cloudinit import helpers, settings
from cloudinit.sources import DataSourceNoCloud as nocloud
paths = helpers.Paths({'cloud_dir': sys.argv[1], 'run_dir': sys.argv[1]})
source = nocloud.DataSourceNoCloud({'datasource': {'NoCloud': {'fs_label': None}}}, None, paths)
assert source._get_data(), 'no data'
data = source.userdata_raw
json.dump({'user': data if isinstance(data, str) else data.decode(), 'meta': source.metadata, 'network': source.network_config}, sys.stdout)
";

#[test]
fn cloud_init_takes_what_is_in_a_volume() {
    let desk = rendered();
    run(desk.path(), &["seed", "--node", "cp1"]);
    let image = desk.path().join("out/seed/cp1.iso");
    let seed = desk.path().join("cloud/seed/nocloud");
    fs::create_dir_all(&seed).unwrap();
    for name in ["user-data", "meta-data", "network-config"] {
        fs::write(seed.join(name), extracted(&image, &format!("/{name}"))).unwrap();
    }
    let mut python = Command::new("/usr/bin/python3");
    python.args(["-c", DATASOURCE]).arg(desk.path().join("cloud"));
    let output = output(&mut python, "cloud-init");
    assert!(output.status.success(), "{}", said(&output));
    let read: Value = serde_json::from_slice(&output.stdout).unwrap();
    let document = fs::read_to_string(desk.path().join("out/nodes/cp1/user-data")).unwrap();
    assert_eq!(read["user"], document);
    assert_eq!(read["meta"]["local-hostname"], "cp1");
    assert!(read["meta"]["instance-id"].as_str().unwrap().starts_with("home-cp1-"));
    assert_eq!(read["network"]["version"], 2);
    assert_eq!(read["network"]["ethernets"]["eno1"]["addresses"][0], "10.0.0.11/24");
}

#[test]
fn machines_of_a_pool_keep_their_names() {
    let desk = rendered();
    let spec = SPEC.replace("platform: aws }", "platform: nocloud, os: flatcar }");
    fs::write(desk.path().join("cluster.yaml"), spec).unwrap();
    run(desk.path(), &["render"]);
    run(desk.path(), &["seed", "--node", "burst"]);
    let path = "/openstack/latest/meta_data.json";
    let meta_data = extracted(&desk.path().join("out/seed/burst.iso"), path);
    let meta_data: Value = serde_json::from_slice(&meta_data).unwrap();
    let keys: Vec<_> = meta_data.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["uuid"]);
}

#[test]
fn a_volume_has_the_pointer_and_not_what_it_points_to() {
    let desk = rendered();
    let spec = SPEC.replace("platform: nocloud", "platform: vsphere")
        + "delivery: { form: pointer, pointer: { base: https://files.example.com/a } }\n";
    fs::write(desk.path().join("cluster.yaml"), spec).unwrap();
    run(desk.path(), &["render"]);
    run(desk.path(), &["seed", "--node", "w1"]);
    let read = extracted(&desk.path().join("out/seed/w1.iso"), "/openstack/latest/user_data");
    let stub: Value = serde_json::from_slice(&read).unwrap();
    assert!(
        stub.to_string().contains("https://files.example.com/a/home-w1-"),
        "{stub}"
    );
    refused(
        desk.path(),
        &["seed", "--node", "w1", "--form", "fw-cfg"],
        2,
        "write `platform: qemu` at the top of the spec",
    );
}

#[test]
fn a_render_names_the_volumes_that_are_not_of_its_documents() {
    let desk = rendered();
    run(desk.path(), &["seed", "--node", "cp1"]);
    run(desk.path(), &["seed", "--node", "w1", "--form", "cidata"]);
    fs::write(desk.path().join("out/seed/notes.iso"), "mine").unwrap();
    let render = || {
        let rendered = output(firelay(&["render"]).current_dir(desk.path()), "firelay");
        assert!(rendered.status.success(), "{}", said(&rendered));
        said(&rendered)
    };
    let said = render();
    assert!(!said.contains("volumes"), "{said}");
    let change = |spec: &str| fs::write(desk.path().join("cluster.yaml"), spec).unwrap();
    let told = |path: &str| format!("warning: volumes that are not of these documents: {path}\n");
    // A seed with a changed document, and one of a removed node.
    let later = SPEC.replace("subnets: [10.0.0.0/24]", "subnets: [10.0.0.0/23]");
    change(&later);
    let said = render();
    assert!(said.contains(&told("out/seed/cp1.iso")), "{said}");
    run(desk.path(), &["seed", "--node", "cp1"]);
    change(&later.replace("name: w1", "name: w2"));
    let said = render();
    assert!(said.contains(&told("out/seed/w1.iso")), "{said}");
    fs::remove_file(desk.path().join("out/seed/w1.iso")).unwrap();
    let said = render();
    assert!(!said.contains("volumes"), "{said}");
}

#[test]
fn qemu_is_told_where_a_document_is() {
    let desk = rendered();
    let said = run(desk.path(), &["seed", "--node", "w1", "--form", "fw-cfg"]);
    let path = desk.path().canonicalize().unwrap().join("out/nodes/w1/config.ign");
    assert_eq!(
        said,
        format!("-fw_cfg name=opt/com.coreos/config,file={}\n", path.display())
    );
    assert!(!desk.path().join("out/seed").exists());
}

#[test]
fn what_is_no_seed_is_neither_made_nor_replaced() {
    let desk = rendered();
    let at = desk.path();
    refused(
        at,
        &["seed", "--form", "fw-cfg", "--node", "cp1"],
        2,
        "cp1: this form is for Ignition",
    );
    refused(at, &["seed"], 2, "burst: its platform aws reads no volume");
    let key = "write `platform: nocloud` at the top of the spec, or in the entry of burst in `pools`, and render again";
    refused(at, &["seed"], 2, key);
    refused(at, &["seed", "--node", "w2"], 2, "did you mean w1?");
    refused(at, &["seed", "elsewhere"], 1, "there is no rendered tree at elsewhere");
    assert!(!at.join("out/seed").exists());
    fs::create_dir(at.join("to")).unwrap();
    fs::write(at.join("to/cp1.iso"), "mine").unwrap();
    refused(
        at,
        &["seed", "--node", "cp1", "--to", "to"],
        1,
        "is no seed of firelay's",
    );
    assert_eq!(fs::read(at.join("to/cp1.iso")).unwrap(), b"mine");
    // A document that was edited by hand does not match the manifest.
    let document = at.join("out/nodes/cp1/user-data");
    fs::set_permissions(&document, PermissionsExt::from_mode(0o600)).unwrap();
    fs::write(&document, "#cloud-config\n").unwrap();
    refused(at, &["seed", "--node", "cp1"], 1, "not as the last render left them");
}
