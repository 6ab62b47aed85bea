//! What cloud-init's datasources read beside the user-data.

use serde::Serialize;

use super::ArtifactFile;
use crate::{
    document::{base64, sha256_hex},
    plan::NodePlan,
    profile::Encoding,
    yaml,
};

/// Hex digits of the user-data's digest in the instance-id.
const DIGEST_DIGITS: usize = 16;

/// `meta-data` (DataSourceNoCloud, DataSourceVMware).
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct MetaData<'a> {
    /// cloud-init does its per-instance work once for each: it follows the user-data, so that changed user-data is read.
    instance_id: String,
    /// Absent for pools.
    #[serde(skip_serializing_if = "Option::is_none")]
    local_hostname: Option<&'a str>,
}

/// The files that the platform's profile asks for.
///
/// Where user-data is sent as base64 beside a `meta-data`, both are values of one key-value store (VMware's guestinfo), so
/// `meta-data.b64` goes with it. `network-config` is empty, which leaves the network to the image; it is there because
/// NoCloud over HTTP asks for it since 24.3 and retries when it is missing.
pub(super) fn files(cluster: &str, node: &NodePlan, user_data: &str, encoding: Encoding) -> Vec<ArtifactFile> {
    let mut files = Vec::new();
    if node.platform.meta_data {
        let meta_data = meta_data(cluster, node, user_data);
        let encoded = matches!(encoding, Encoding::Base64 | Encoding::GzipBase64).then(|| base64(meta_data.as_bytes()));
        files.push(file("meta-data", meta_data));
        files.extend(encoded.map(|encoded| file("meta-data.b64", encoded)));
    }
    if node.platform.network_config {
        files.push(file("network-config", String::new()));
    }
    files
}

fn meta_data(cluster: &str, node: &NodePlan, user_data: &str) -> String {
    let digest = &sha256_hex(user_data.as_bytes())[..DIGEST_DIGITS];
    let meta_data = MetaData {
        instance_id: format!("{cluster}-{}-{digest}", node.name),
        local_hostname: (!node.pool).then_some(&node.name),
    };
    yaml::emit(&meta_data).expect("a struct of texts is YAML")
}

fn file(name: &str, content: String) -> ArtifactFile {
    ArtifactFile {
        name: name.to_owned(),
        content: content.into_bytes(),
    }
}
