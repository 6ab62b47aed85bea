//! Words of the manifest that the spec and the profiles use as well.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A role of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Role {
    ControlPlane,
    Worker,
    Etcd,
}

/// A form of a document, the one that asks the least of others first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema)]
#[schemars(rename = "Rung")]
#[serde(rename_all = "lowercase")]
pub enum DeliveryForm {
    /// As it is, or in base64 where the platform wants that.
    Plain,
    /// Compressed inside itself: a MIME part in cloud-init, a `data:` URL in Ignition. It stays text.
    Inner,
    /// Compressed as a whole, where platform and system are known to take that.
    Compressed,
    /// A small document that fetches the rest.
    Pointer,
}

impl DeliveryForm {
    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Inner => "inner",
            Self::Compressed => "compressed",
            Self::Pointer => "pointer",
        }
    }
}

/// The power that a document gives to its reader, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Exposure {
    /// Nothing: there is no secret in it.
    Public,
    /// Be this one machine towards the cluster, or use the passwords that you gave it.
    Identity,
    /// Bring a machine of their own into the cluster.
    Joins,
    /// Read and change everything in the cluster, until a certificate ends.
    Administers,
    /// Make certificates or tokens for anybody, until the cluster has other CAs and another service-account key.
    Signs,
}

/// A format of first-boot documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DocumentFormat {
    /// `#cloud-config`.
    CloudInit,
    /// Ignition JSON.
    Ignition,
}

impl DocumentFormat {
    /// All formats.
    pub const ALL: [Self; 2] = [Self::CloudInit, Self::Ignition];

    /// Name of the file by which a system asks for its document.
    pub fn file_name(self) -> &'static str {
        match self {
            Self::CloudInit => "user-data",
            Self::Ignition => "config.ign",
        }
    }
}

impl fmt::Display for DocumentFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CloudInit => "cloud-init",
            Self::Ignition => "ignition",
        })
    }
}

/// How a document is encoded for its platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
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

impl Encoding {
    /// The platform, or the system on it, has to decompress.
    pub fn is_gzip(self) -> bool {
        matches!(self, Self::Gzip | Self::GzipBase64)
    }

    /// It is base64 in the end.
    pub fn is_base64(self) -> bool {
        matches!(self, Self::Base64 | Self::GzipBase64)
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "plain text",
            Self::Base64 => "base64",
            Self::Gzip => "gzip",
            Self::GzipBase64 => "gzip and base64",
        })
    }
}

/// Machines on which a port is open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Place {
    /// Every one with a kubelet.
    #[default]
    All,
    /// Control planes.
    ControlPlane,
    /// Machines with the role of a worker.
    Worker,
    /// Members of etcd.
    Etcd,
}
