//! Minimal documents, and files that enlarge them to a wanted size.

use std::sync::{Arc, LazyLock};

use base64::{Engine, engine::general_purpose::STANDARD};
use firelay::{
    delivery::{self, Artifact, Error, PayloadKeys},
    node::{NodeFile, NodeFiles},
    plan::NodePlan,
    profile::{DocumentFormat, PlatformProfile, UserData},
    secrets::Bundle,
};

use super::support::{
    example,
    plan::{PROFILES, node, resolve},
};

/// A system for each document format.
pub const SYSTEMS: [&str; 2] = ["ubuntu-24.04", "flatcar"];

/// A machine on every platform for each document format that it supports.
pub fn machines() -> Vec<NodePlan> {
    let platforms = PROFILES.platform.keys();
    let both = platforms.flat_map(|platform| SYSTEMS.map(|os| (os, platform)));
    both.filter(|(os, platform)| PROFILES.os[*os].user_data(&PROFILES.platform[*platform]).is_some())
        .map(|(os, platform)| machine(os, platform))
        .collect()
}

fn machine(os: &str, platform: &str) -> NodePlan {
    let plan = resolve(&format!(
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
    ));
    node(&plan, "cp1").clone()
}

/// The user-data limits of its platform for its document format.
pub fn user_data(node: &NodePlan) -> &UserData {
    node.os.user_data(&node.platform).unwrap()
}

/// The machine on a platform with other limits.
pub fn altered(node: &NodePlan, alter: impl FnOnce(&mut UserData)) -> NodePlan {
    let mut node = node.clone();
    let platform: &mut PlatformProfile = Arc::make_mut(&mut node.platform);
    let data = match node.os.document {
        DocumentFormat::CloudInit => &mut platform.cloud_init,
        DocumentFormat::Ignition => &mut platform.ignition,
    };
    alter(data.as_mut().unwrap());
    node
}

/// A name for messages.
pub fn told(node: &NodePlan) -> String {
    format!("{} on {}", node.os.name, node.platform.name)
}

/// No document here is encrypted, but the packing functions need the keys.
static KEYS: LazyLock<PayloadKeys> = LazyLock::new(|| {
    let bundle = std::fs::read_to_string(example("single-node").bundle).unwrap();
    PayloadKeys::of(&Bundle::parse("bundle", &bundle).unwrap())
});

pub fn package(node: &NodePlan, files: &NodeFiles) -> Result<Artifact, Error> {
    delivery::package("prod", node, files, &KEYS)
}

/// A file of the user with this content, and one more that is always present.
pub fn files(content: String) -> NodeFiles {
    let file = |path: &str, content: String| NodeFile {
        path: path.to_owned(),
        mode: 0o644,
        content: content.into(),
    };
    NodeFiles {
        files: vec![
            file("/etc/motd", "a machine of firelay\n".repeat(20)),
            file("/etc/pad", content),
        ],
        ..NodeFiles::default()
    }
}

/// A fixed text of this size that no encoder makes smaller than three quarters.
pub fn noise(bytes: usize) -> String {
    let mut state = 1_u64;
    let mut noise = Vec::new();
    while noise.len() < bytes {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        noise.push(u8::try_from(state >> 56).unwrap());
    }
    let mut text = STANDARD.encode(noise);
    text.truncate(bytes);
    text
}

/// The content of one of its files.
pub fn content<'a>(artifact: &'a Artifact, name: &str) -> &'a [u8] {
    let file = artifact.files.iter().find(|file| file.name == name);
    &file.unwrap_or_else(|| panic!("no {name}")).content
}
