//! The files that cloud-init's datasources read beside the user-data.

use serde::Serialize;

use super::ArtifactFile;
use crate::{
    document::NetworkConfig,
    encoding::{base64, sha256_hex},
    plan::NodePlan,
    profile::{self, Encoding},
};

/// Hex digits of the user-data's digest in the instance-id.
const DIGEST_DIGITS: usize = 16;

/// `meta-data` (DataSourceNoCloud, DataSourceVMware).
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct MetaData<'a> {
    /// cloud-init does its per-instance work once for each: it follows the user-data and the network, so that what has
    /// changed is read.
    instance_id: &'a str,
    /// Absent for pools.
    #[serde(skip_serializing_if = "Option::is_none")]
    local_hostname: Option<&'a str>,
    /// The network configuration, if it has no separate file.
    #[serde(skip_serializing_if = "Option::is_none")]
    network: Option<NetworkConfig<'a>>,
}

/// The files that the platform's profile requires.
///
/// If user-data is sent as base64 with a `meta-data`, both are values of one key-value store (VMware's guestinfo), so
/// `meta-data.b64` is added. `network-config` is empty if the image configures the network; it is present because
/// NoCloud over HTTP requests it since 24.3 and retries when it is missing.
pub(super) fn files(node: &NodePlan, instance: Option<&str>, encoding: Encoding) -> Vec<ArtifactFile> {
    let mut files = Vec::new();
    if let Some(instance) = instance.filter(|_| node.platform.meta_data) {
        let meta_data = meta_data(node, instance);
        let encoded = matches!(encoding, Encoding::Base64 | Encoding::GzipBase64).then(|| base64(meta_data.as_bytes()));
        files.push(ArtifactFile::text("meta-data", meta_data));
        files.extend(encoded.map(|encoded| ArtifactFile::text("meta-data.b64", encoded)));
    }
    if node.platform.network_config == Some(profile::NetworkConfig::File) {
        files.push(ArtifactFile::text("network-config", network_config(node)));
    }
    files
}

fn network_config(node: &NodePlan) -> String {
    NetworkConfig::new(&node.interfaces).map_or_else(String::new, |config| text(&config))
}

/// `instance-id`, derived from `told`: the stub if the machine gets that, else the whole document.
pub(super) fn instance_id(cluster: &str, node: &NodePlan, told: &str) -> String {
    let followed = format!("{told}{}", network_config(node));
    let digest = &sha256_hex(followed.as_bytes())[..DIGEST_DIGITS];
    format!("{cluster}-{}-{digest}", node.name)
}

fn meta_data(node: &NodePlan, instance: &str) -> String {
    let within = node.platform.network_config == Some(profile::NetworkConfig::MetaData);
    text(&MetaData {
        instance_id: instance,
        local_hostname: (!node.pool).then_some(&node.name),
        network: NetworkConfig::new(&node.interfaces).filter(|_| within),
    })
}

fn text(value: &impl Serialize) -> String {
    firelay_yaml::emit(value).expect("a struct of texts and numbers is YAML")
}
