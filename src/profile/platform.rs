//! Platforms: what they take as user-data, and how many bytes of it.

use serde::Deserialize;

/// A form in which user-data is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// The document itself.
    Plain,
    /// base64 of the document.
    Base64,
    /// gzip of the document, as bytes.
    Gzip,
    /// base64 of gzip of the document.
    GzipBase64,
}

/// Which bytes a platform counts against its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// What the instance will read: before base64, after gzip.
    Decoded,
    /// What is sent over the API: after base64.
    Encoded,
}

/// What a platform takes from one document format.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UserData {
    /// Terraform attribute, metadata key or file that takes it.
    pub attribute: String,
    /// Encodings to try, in order; the first that fits is used.
    pub encodings: Vec<Encoding>,
    /// Most bytes; absent when there is no practical limit.
    pub limit: Option<u64>,
    /// Which bytes count.
    pub counted: Counted,
    /// The document may be compressed inside itself: a MIME part in cloud-init, a `data:` URL in Ignition.
    /// Tried after the encodings above.
    pub inner_compression: bool,
}

/// Where cloud-init finds the network configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkConfig {
    /// In a file of its own beside the user-data.
    File,
    /// Under `network` in `meta-data`.
    MetaData,
}

/// `profiles/platform/NAME.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlatformProfile {
    /// The profile's name, equal to the file's.
    pub name: String,
    /// For people.
    pub title: String,
    /// Other names by which people know it. Not accepted; the refusal says which profile was meant.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Its place among those that `init` offers by name, from 1; the first is taken if nobody says anything.
    pub suggest: Option<u8>,
    /// cloud-init documents; absent when the platform cannot carry them.
    pub cloud_init: Option<UserData>,
    /// Ignition documents; absent when the platform cannot carry them.
    pub ignition: Option<UserData>,
    /// A `meta-data` file is read beside the user-data of cloud-init.
    #[serde(default)]
    pub meta_data: bool,
    /// Where cloud-init finds `network-config`; absent where the platform hands out the network by itself, and then a
    /// machine is given no other by its document either.
    pub network_config: Option<NetworkConfig>,
    /// First version of cloud-init, `24.3`, that fetches the file `network-config` here; absent if all do.
    pub network_config_since: Option<String>,
    /// The platform sets the host name itself, and what firelay sets would be overwritten.
    #[serde(default)]
    pub sets_hostname: bool,
    /// The network delivers by a table of its own: an address that a machine announces by itself leads nowhere.
    #[serde(default)]
    pub routes_by_table: bool,
    /// Machines may boot from the network: `delivery.pxe` is for them.
    #[serde(default)]
    pub pxe: bool,
    /// Who else can read the user-data, for people.
    pub readable_by: String,
}
