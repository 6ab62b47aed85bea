//! Flags of etcd's versions.

use semver::{Version, VersionReq};
use serde::Deserialize;

/// `profiles/etcd.yaml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EtcdProfile {
    /// Flags of members on machines of their own.
    pub member_arguments: Vec<MemberArgument>,
}

/// A flag of a range of versions.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MemberArgument {
    /// Versions that have it.
    pub versions: VersionReq,
    pub name: String,
    pub value: String,
    /// The user's flag that takes its place.
    pub unless: Option<String>,
}

impl EtcdProfile {
    /// The flags of a version, less those whose place the user's flags take.
    pub fn member_arguments(&self, version: &Version, given: &[(String, String)]) -> Vec<(String, String)> {
        let taken = |argument: &MemberArgument| given.iter().any(|(name, _)| Some(name) == argument.unless.as_ref());
        let own = self.member_arguments.iter();
        own.filter(|argument| argument.versions.matches(version) && !taken(argument))
            .map(|argument| (argument.name.clone(), argument.value.clone()))
            .collect()
    }
}
