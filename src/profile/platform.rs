//! Platforms: their user-data formats and size limits.

use std::net::IpAddr;

pub use firelay_tree::Encoding;
use serde::Deserialize;

use crate::spec::DeliveryForm;

/// Which bytes a platform counts against its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Counted {
    /// The bytes that the instance reads: before base64, after gzip.
    Decoded,
    /// The bytes of the API's request: always after base64.
    Encoded,
    /// The text that is handed over, as it is: with base64 only if that is the encoding.
    Sent,
}

/// A platform's limits for one document format.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UserData {
    /// Terraform attribute, metadata key or file that takes it.
    pub attribute: String,
    /// Terraform resource with that attribute; absent where no provider has one.
    pub terraform: Option<String>,
    /// The way without Terraform, for people: a call of the API and its field, a client's option, a kernel argument.
    pub api: Option<String>,
    /// Encodings to try, in order; those without gzip first.
    pub encodings: Vec<Encoding>,
    /// Most bytes; absent when there is no practical limit.
    pub limit: Option<u64>,
    /// Which bytes count.
    pub counted: Counted,
    /// The document may be compressed inside itself: a MIME part in cloud-init, a `data:` URL in Ignition. Tried after the
    /// encodings without gzip, in these.
    pub inner_compression: bool,
}

impl UserData {
    /// The forms that the platform has by itself, the lowest first.
    pub fn forms(&self) -> Vec<DeliveryForm> {
        let compressed = self.encodings.iter().any(|encoding| encoding.is_gzip());
        let literal = self.encodings.iter().any(|encoding| !encoding.is_gzip());
        let forms = [
            (literal, DeliveryForm::Plain),
            (literal && self.inner_compression, DeliveryForm::Inner),
            (compressed, DeliveryForm::Compressed),
        ];
        forms
            .into_iter()
            .filter_map(|(has, form)| has.then_some(form))
            .collect()
    }
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

/// Where a machine has its host name from when its document gives none, as those of pools do not.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HostName {
    /// The source, for people.
    pub source: String,
    /// Machines that got the same document have different names.
    #[serde(default)]
    pub distinct: bool,
    /// One line of shell that prints the name by which the cloud controller looks for the machine; absent where that is the
    /// host name as it is. The machine of a pool takes this name before it joins.
    pub command: Option<String>,
}

/// How the platform's cloud controller knows the machine of a node.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProviderId {
    /// Form of `spec.providerID`, with what differs in capitals: `aws:///ZONE/INSTANCE-ID`.
    pub form: String,
    /// By what a machine is looked for as long as its node has none, for people.
    pub found_by: String,
    /// Regular expression of the node names that can be found; absent where any name can be given to a machine.
    pub node_names: Option<String>,
    /// One of those names, for people.
    pub example: Option<String>,
}

/// The service that tells a machine about itself, and its document to whoever asks from within.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MetadataService {
    /// Its addresses, and others of the platform that no proxy leads to.
    pub addresses: Vec<IpAddr>,
    pub names: Vec<String>,
    /// The header that it wants to see, for people.
    pub header: Option<String>,
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
    /// Where host names come from; absent if it is not known.
    pub hostname: Option<HostName>,
    /// How cloud controllers find machines; absent where there is no cloud controller.
    pub provider_id: Option<ProviderId>,
    /// The metadata service; absent where there is none.
    #[serde(default)]
    pub metadata: MetadataService,
    /// Schemes of `delivery.pointer.base` where a machine shows the identity that the platform gave it.
    #[serde(default)]
    pub identity: Vec<String>,
    /// The network delivers by a table of its own: an address that a machine announces by itself leads nowhere.
    #[serde(default)]
    pub routes_by_table: bool,
    /// The network drops packets of addresses that it did not give: how to allow one, with `{address}` for it, for people.
    pub allow_address: Option<String>,
    /// Machines may boot from the network: `delivery.pxe` is for them.
    #[serde(default)]
    pub pxe: bool,
    /// Others who can read the user-data, for people.
    pub readable_by: String,
    /// Measures that keep others from reading it, for people: a setting of the machine, its image or its permissions.
    #[serde(default)]
    pub narrowed_by: Vec<String>,
    /// Terraform's state has a hash of the document, not the document.
    #[serde(default)]
    pub state_is_hashed: bool,
}
