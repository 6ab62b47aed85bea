//! `etcd`.

use firelay_yaml::Spanned;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Argument, EnvVar};

/// `etcd`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Etcd {
    /// Version of the external members' binary; the Kubernetes profile's if absent.
    pub version: Option<Spanned<String>>,
    /// Data directory; `/var/lib/etcd` if absent.
    pub data_dir: Option<Spanned<String>>,
    /// Flags without dashes, in order.
    pub extra_args: Vec<Argument>,
    /// Environment of stacked members.
    pub extra_envs: Vec<EnvVar>,
    /// Registry of the stacked members' image.
    pub image_repository: Option<Spanned<String>>,
    /// Tag of the stacked members' image; kubeadm's choice if absent.
    pub image_tag: Option<Spanned<String>>,
    /// Extra names and addresses in server certificates.
    pub server_cert_sans: Vec<Spanned<String>>,
    /// Extra names and addresses in peer certificates.
    pub peer_cert_sans: Vec<Spanned<String>>,
    /// Heartbeat in milliseconds; etcd's 100 if absent.
    pub heartbeat_interval_ms: Option<Spanned<u32>>,
    /// Election timeout in milliseconds; etcd's 1000 if absent.
    pub election_timeout_ms: Option<Spanned<u32>>,
    /// Backend quota in bytes; etcd's 2 GiB if absent.
    pub quota_backend_bytes: Option<Spanned<u64>>,
    /// Snapshots that each member takes by a timer; none if absent.
    pub backup: Option<EtcdBackup>,
}

/// `etcd.backup`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EtcdBackup {
    /// Time from one snapshot to the next, as Go writes durations.
    pub every: Option<Spanned<String>>,
    /// How many snapshots each member keeps.
    pub keep: Option<Spanned<u16>>,
    /// Directory on the member, or of a file system that is mounted there; or `s3://BUCKET/PREFIX`, where each snapshot is uploaded from
    /// `/var/backups/etcd`.
    pub to: Option<Spanned<String>>,
    /// The bucket's service, for `s3://`.
    pub s3: Option<S3>,
}

/// `etcd.backup.s3`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct S3 {
    /// Region of the bucket.
    pub region: Spanned<String>,
    /// URL of a service other than Amazon's; the bucket is the first part of its paths.
    pub endpoint: Option<Spanned<String>>,
    /// Access key of the members; the role of the instance if absent, on AWS.
    pub access_key: Option<S3AccessKey>,
}

/// `etcd.backup.s3.accessKey`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct S3AccessKey {
    /// Access key ID.
    pub id: Spanned<String>,
    /// Secret access key; redacted in every output for people.
    pub secret: crate::secret::Secret<String>,
}
