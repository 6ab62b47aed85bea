#![allow(clippy::unwrap_used, clippy::panic)]

mod forms;

use std::{io::Read, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD};
use firelay_yaml::diagnostic::Source;

use super::*;
use crate::{
    document::{CloudInit, Compression, Document},
    encoding::sha256_hex,
    node::{NodeFile, NodeFiles},
    plan::{self, NodePlan},
    profile::{Encoding, Profiles},
    spec::{DeliveryForm, Role},
};

/// Calls [`super::package`] with fixed keys.
fn package(cluster: &str, node: &NodePlan, files: &NodeFiles) -> Result<Artifact, Error> {
    super::package(cluster, node, files, &PayloadKeys::known())
}

/// The only node of a cluster on this OS and platform.
fn node(os: &str, platform: &str) -> NodePlan {
    let text = format!(
        "apiVersion: firelay.dev/v1alpha1
kind: Cluster
name: prod
kubernetes: {{ version: 1.36.4 }}
endpoint: {{ host: api.example.com }}
os: {os}
platform: {platform}
nodes:
  - {{ name: cp1, roles: [control-plane], addresses: [10.0.0.11] }}
"
    );
    let source = Source::new("cluster.yaml", text);
    let (plan, _) = plan::load(&source.into(), &Profiles::embedded().unwrap()).unwrap();
    plan.nodes.into_iter().next().unwrap()
}

fn file(path: &str, content: &str) -> NodeFile {
    NodeFile::new(path, 0o644, content)
}

/// Base64 lines that no encoder makes smaller than three quarters, always the same.
fn noise(bytes: usize) -> String {
    let mut state = 1_u64;
    let mut noise = Vec::new();
    while noise.len() < bytes * 3 / 4 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        noise.push(u8::try_from(state >> 56).unwrap());
    }
    let text = STANDARD.encode(noise).into_bytes();
    text.chunks(64)
        .map(|line| format!("{}\n", String::from_utf8_lossy(line)))
        .collect()
}

/// Files that gzip makes smaller to about `noise` × 0.75 bytes.
fn files(noise_bytes: usize, text_lines: usize) -> NodeFiles {
    NodeFiles {
        files: vec![
            file(
                "/usr/local/lib/firelay/driver",
                &format!("#!/bin/bash\n{}", "printf 'waiting\\n'\n".repeat(text_lines)),
            ),
            file("/etc/firelay/pki/ca.crt", &noise(noise_bytes)),
        ],
        ..NodeFiles::default()
    }
}

fn names(artifact: &Artifact) -> Vec<&str> {
    artifact.files.iter().map(|file| file.name.as_str()).collect()
}

fn content<'a>(artifact: &'a Artifact, name: &str) -> &'a [u8] {
    &artifact.files.iter().find(|file| file.name == name).unwrap().content
}

fn gunzip(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(bytes).read_to_end(&mut text).unwrap();
    text
}

#[test]
fn ec2_counts_before_base64_and_after_gzip() {
    let artifact = package("prod", &node("ubuntu-24.04", "aws"), &files(12_000, 1000)).unwrap();
    assert_eq!(names(&artifact), ["user-data", "user-data.gz.b64"]);
    let compressed = STANDARD.decode(content(&artifact, "user-data.gz.b64")).unwrap();
    assert_eq!(gunzip(&compressed), content(&artifact, "user-data"));
    let handover = Handover {
        file: "user-data.gz.b64".to_owned(),
        attribute: "user_data_base64".to_owned(),
        form: DeliveryForm::Compressed,
        encoding: Encoding::GzipBase64,
        counted: compressed.len() as u64,
        limit: Some(16384),
    };
    assert_eq!(artifact.handover, handover);
}

#[test]
fn a_document_that_fits_plain_is_the_file_to_hand_over() {
    let artifact = package("prod", &node("ubuntu-24.04", "openstack"), &files(1000, 10)).unwrap();
    assert_eq!(names(&artifact), ["user-data"]);
    assert_eq!(artifact.handover.file, "user-data");
    let bytes = content(&artifact, "user-data").len();
    assert_eq!(
        artifact.handover.counted,
        bytes.div_ceil(3) as u64 * 4,
        "nova counts base64"
    );
}

#[test]
fn what_does_not_fit_is_compressed_inside_where_the_platform_allows() {
    let files = files(20_000, 3000);
    let artifact = package("prod", &node("ubuntu-24.04", "openstack"), &files).unwrap();
    assert_eq!(names(&artifact), ["user-data", "user-data.packed"]);
    let packed = CloudInit.render(&files, Compression::Inner).unwrap();
    assert_eq!(content(&artifact, "user-data.packed"), packed.as_bytes());
    assert_eq!(
        (artifact.handover.form, artifact.handover.encoding),
        (DeliveryForm::Inner, Encoding::Plain)
    );

    let artifact = package("prod", &node("flatcar", "aws"), &self::files(6000, 3000)).unwrap();
    assert_eq!(names(&artifact), ["config.ign", "config.ign.packed"]);
    assert!(
        content(&artifact, "config.ign.packed").starts_with(br#"{"ignition":{"version":"3.3.0","config":{"replace":"#)
    );
}

#[test]
fn guestinfo_takes_meta_data_as_base64_too() {
    let artifact = package("prod", &node("ubuntu-24.04", "vsphere"), &files(100, 1)).unwrap();
    assert_eq!(
        names(&artifact),
        ["user-data", "user-data.gz.b64", "meta-data", "meta-data.b64"]
    );
    let decoded = STANDARD.decode(content(&artifact, "meta-data.b64")).unwrap();
    assert_eq!(decoded, content(&artifact, "meta-data"));
    assert_eq!(
        names(&package("prod", &node("flatcar", "vsphere"), &files(1, 1)).unwrap()),
        ["config.ign", "config.ign.gz.b64"]
    );
}

#[test]
fn a_seed_has_an_instance_id_that_follows_the_user_data() {
    let mut node = node("debian-12", "nocloud");
    let artifact = package("prod", &node, &files(100, 1)).unwrap();
    assert_eq!(names(&artifact), ["user-data", "meta-data", "network-config"]);
    let digest = sha256_hex(content(&artifact, "user-data"));
    let meta_data = String::from_utf8_lossy(content(&artifact, "meta-data"));
    assert_eq!(
        meta_data,
        format!("instance-id: prod-cp1-{}\nlocal-hostname: cp1\n", &digest[..16])
    );
    assert!(content(&artifact, "network-config").is_empty());

    node.pool = true;
    let artifact = package("prod", &node, &files(100, 2)).unwrap();
    let pool = String::from_utf8_lossy(content(&artifact, "meta-data"));
    assert!(pool.starts_with("instance-id: prod-cp1-") && !pool.contains(&digest[..16]) && !pool.contains("hostname"));
}

#[test]
fn an_instance_follows_what_the_machine_is_given() {
    let mut node = node("debian-12", "nocloud");
    node.mac = Some("52:54:00:12:34:01".to_owned());
    node.boot = Some(crate::plan::BootPlan {
        kernel: "http://10.0.0.5:8080/mirror/vmlinuz".to_owned(),
        initrd: Vec::new(),
        arguments: vec!["i={instance}".to_owned()],
        memory: false,
        installation: None,
    });
    let pxe = crate::plan::PxePlan {
        url: "http://10.0.0.5:8080".to_owned(),
        matchbox: Some("http://10.0.0.6".to_owned()),
    };
    let mut told = |query: &str| {
        let delivery = Arc::make_mut(&mut node.delivery);
        (delivery.form, delivery.pointer) = (Some(DeliveryForm::Pointer), Some(pointer()));
        delivery.pointer.as_mut().unwrap().query = Some(crate::secret::Secret::new(query.to_owned()));
        let artifact = package("prod", &node, &files(100, 1)).unwrap();
        let written = pxe::files(&pxe, &node, &artifact).unwrap();
        let named = written.iter().filter(|file| {
            let text = String::from_utf8_lossy(&file.content);
            text.contains(&format!("i={}", artifact.instance.as_ref().unwrap()))
        });
        assert_eq!(named.count(), 3, "script, arguments and profile of matchbox");
        let meta_data = String::from_utf8_lossy(content(&artifact, "meta-data"));
        assert!(
            meta_data.starts_with(&format!("instance-id: {}\n", artifact.instance.as_ref().unwrap())),
            "{meta_data}"
        );
        (
            artifact.instance.clone().unwrap(),
            content(&artifact, "user-data").to_vec(),
        )
    };
    let (first, second) = (told("sig=expired"), told("sig=valid"));
    assert_eq!(first.1, second.1, "the whole document is the same");
    assert_ne!(
        first.0, second.0,
        "a machine that waits in vain has to read the other stub"
    );
    assert_eq!(first, told("sig=expired"));
}

#[test]
fn a_network_is_told_where_the_platform_reads_it_and_is_part_of_the_instance() {
    let interface = crate::plan::InterfacePlan {
        name: "eno1".to_owned(),
        device: crate::plan::Device::Physical { mac: None },
        controller: None,
        dhcp4: true,
        dhcp6: false,
        addresses: Vec::new(),
        routes: Vec::new(),
        mtu: None,
        dns: None,
    };
    let text = |artifact: &Artifact, name| String::from_utf8_lossy(content(artifact, name)).into_owned();
    let mut node_of_disk = node("debian-12", "nocloud");
    let without = package("prod", &node_of_disk, &files(100, 1)).unwrap();
    node_of_disk.interfaces.push(interface.clone());
    let with = package("prod", &node_of_disk, &files(100, 1)).unwrap();
    assert!(text(&with, "network-config").starts_with("version: 2\nethernets:\n  eno1:\n    dhcp4: true\n"));
    assert_ne!(text(&with, "meta-data"), text(&without, "meta-data"));
    assert_eq!(content(&with, "user-data"), content(&without, "user-data"));

    let mut node_of_guestinfo = node("debian-12", "vsphere");
    node_of_guestinfo.interfaces.push(interface);
    let with = package("prod", &node_of_guestinfo, &files(100, 1)).unwrap();
    assert!(text(&with, "meta-data").contains("\nnetwork:\n  version: 2\n  ethernets:\n    eno1:\n"));
    assert!(!names(&with).contains(&"network-config"));
}

#[test]
fn the_tree_is_told_which_file_to_hand_over() {
    let node = node("ubuntu-24.04", "aws");
    let artifact = package("prod", &node, &files(100, 1)).unwrap();
    let described: Vec<_> = artifact
        .tree_files(&node, None)
        .map(|(described, _)| described)
        .collect();
    let [readable, sent] = described.as_slice() else {
        panic!("{described:?}")
    };
    assert_eq!(
        (readable.path.as_str(), &readable.attribute, readable.counted),
        ("nodes/cp1/user-data", &None, None)
    );
    assert_eq!(
        (sent.path.as_str(), sent.limit),
        ("nodes/cp1/user-data.gz.b64", Some(16384))
    );
    assert_eq!(
        (sent.roles.as_slice(), sent.encoding),
        ([Role::ControlPlane].as_slice(), Some(Encoding::GzipBase64))
    );
}

#[test]
fn a_platform_that_carries_no_such_document_is_named() {
    let mut node = node("flatcar", "aws");
    Arc::make_mut(&mut node.platform).ignition = None;
    let message = package("prod", &node, &files(1, 1)).unwrap_err().to_string();
    assert_eq!(
        message,
        "cp1: platform aws carries no ignition documents, which os flatcar reads: choose another of the two"
    );
}

#[test]
fn an_error_of_the_document_names_the_node() {
    let mut files = files(1, 1);
    files.files.push(file("/run/a", ""));
    let message = package("prod", &node("flatcar", "aws"), &files)
        .unwrap_err()
        .to_string();
    assert_eq!(
        message,
        "cp1: /run/a lies under /run, which is empty after every boot: choose a path on disk"
    );
}

#[test]
fn too_large_says_by_what() {
    let mut files = files(22_000, 5);
    files.files.push(file("/etc/firelay/pki/ca.key", &noise(1700)));
    files
        .files
        .push(file("/etc/firelay/addons/20-cni/manifest.yaml", &noise(9000)));
    for index in 0..12 {
        files.files.push(file(&format!("/etc/many/{index:02}"), "x\n"));
    }
    let error = package("prod", &node("ubuntu-24.04", "aws"), &files).unwrap_err();
    let expected = "\
cp1: the cloud-init document is too large for user_data_base64 of platform aws: 17549 bytes (sent as gzip and base64), 1165 over the limit of 16384
       raw  counted  largest files
     22344    11757  /etc/firelay/pki/ca.crt
      9141     4812  /etc/firelay/addons/20-cni/manifest.yaml
      1727      922  /etc/firelay/pki/ca.key
       107       23  /usr/local/lib/firelay/driver
         2        2  /etc/many/00
         2        2  /etc/many/01
         2        2  /etc/many/02
         2        2  /etc/many/03
         2        2  /etc/many/04
         2        2  /etc/many/05
        12       12  6 more";
    assert_eq!(error.to_string(), expected);
}

/// A pointer to a web server without authentication.
fn pointer() -> crate::plan::PointerPlan {
    crate::plan::PointerPlan {
        store: crate::profile::Store::of("https").unwrap(),
        base: crate::profile::Place::parse("https://files.example.com").unwrap(),
        region: None,
        headers: std::collections::BTreeMap::new(),
        query: None,
        sealed: false,
    }
}

#[test]
fn shares_add_up_by_group() {
    let node = node("ubuntu-24.04", "aws");
    let files = files(8000, 100);
    let artifact = package("prod", &node, &files).unwrap();
    let size = NodeSize::new(&node, &files, (&artifact.handover, None), &CompressedSizes::default());
    let groups: Vec<_> = size.groups.iter().map(|size| size.group).collect();
    assert_eq!(groups, [Group::Pki, Group::Scripts]);
    let shares: u64 = size.groups.iter().map(|size| size.share).sum();
    assert!(shares <= size.counted && size.counted - shares < 3);
    assert!(
        size.groups[0].share > 50 * size.groups[1].share,
        "noise does not compress, lines do"
    );
    assert_eq!(size.percent, Some((size.counted * 100).div_ceil(16384)));
}
