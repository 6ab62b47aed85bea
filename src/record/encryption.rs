//! Steps of encryption at rest: an object that one API server writes, all have to read.

use firelay_yaml::diagnostic::Diagnostic;

use super::Change;
use crate::{
    plan::{BUNDLE, EncryptionPlan, IDENTITY, matches_resource},
    tree::Role,
};

const PATH: [&str; 3] = ["kubernetes", "apiServer", "encryption"];

/// Why a cluster cannot take a step, and the remedy.
type Refusal = (String, String);

/// A further step, while control planes may not have taken the last one.
fn unfinished(shown: &str) -> Refusal {
    (
        format!("encryption changes step by step, and the last update may not be over: {shown}"),
        "run all scripts in their order, then firelay update --done".to_owned(),
    )
}

impl Change<'_> {
    /// Keys and resources change in steps. A record of an earlier version has either key services or nothing, and nothing is at most
    /// the bundle's key.
    pub(super) fn encryption(&self) -> Option<Diagnostic> {
        let own = self.plan.kubernetes.control_plane.encryption.as_ref();
        let new = own.map(EncryptionPlan::recorded).unwrap_or_default();
        let bundle = own
            .filter(|own| own.kms().next().is_some())
            .map(|_| vec![BUNDLE.to_owned()]);
        let old = self.record.encryption.clone().or(bundle)?;
        let several = self.recorded(Role::ControlPlane).count() > 1;
        let resources = own.map(|own| own.resources.clone()).unwrap_or_default();
        let changes = old != new || self.record.encrypted_resources != resources;
        let changes = self.record.encryption.is_some() && changes;
        let (key, (message, help)) = match (key_step(&old, &new, several), self.open_step()) {
            (Some(refusal), _) => ("encryption", refusal),
            (None, Some(shown)) if several && changes => ("encryption", unfinished(&shown)),
            (None, _) => ("encryptedResources", self.resource_step(own?, several)?),
        };
        let at = self.place(&PATH).or_else(|| self.place(&PATH[..1]));
        let finding = Diagnostic::error("FL1224", message).at(at);
        Some(finding.label(self.recorded_encryption(key)).help(help))
    }

    /// The value of a key of the record, and its line.
    fn recorded_encryption(&self, key: &str) -> String {
        let line = self.text.line(&[key]);
        let list = match (key, &self.record.encryption) {
            ("encryptedResources", _) => &self.record.encrypted_resources,
            (_, Some(keys)) if keys.is_empty() => return format!("the record has no encryption ({line})"),
            (_, Some(keys)) => keys,
            _ => return "the record has no key service".to_owned(),
        };
        format!("the record has {} ({line})", list.join(", "))
    }

    fn resource_step(&self, own: &EncryptionPlan, several: bool) -> Option<Refusal> {
        let (old, new) = (&self.record.encrypted_resources, &own.resources);
        if old.is_empty() {
            return None;
        }
        let has = |list: &[String], resource: &str| list.iter().any(|pattern| matches_resource(pattern, resource));
        let with_services = own.kms().next().is_some();
        if let Some(gone) = old.iter().find(|resource| !has(new, resource)) {
            let message = format!("encrypted objects of {gone} could not be read any more");
            return Some((message, END_OF_RESOURCE[usize::from(with_services)].to_owned()));
        }
        let writes = several && own.recorded().first().is_some_and(|first| first != IDENTITY);
        let added = new.iter().find(|resource| writes && !has(old, resource))?;
        let message = format!("API servers that run could not read objects of {added} that others encrypt");
        Some((message, NEW_RESOURCE[usize::from(with_services)].to_owned()))
    }
}

/// Remedies where the bundle's key encrypts, and where a key service does.
const END_OF_RESOURCE: [&str; 2] = [
    "set bundleKey: reads, update all control planes, write its objects again, and then remove it with --accept FL1224: docs/kms.md",
    "write it again; --accept FL1224 if no object of it is encrypted",
];
/// Likewise.
const NEW_RESOURCE: [&str; 2] = [
    "set bundleKey: reads as well, update all control planes, and then remove bundleKey: docs/kms.md",
    "--accept FL1224 if such objects may be unreadable until all control planes are updated",
];

/// The name of a key in the record.
fn key_name(entry: &str) -> &str {
    entry.split_once('@').map_or(entry, |(name, _)| name)
}

/// Why a cluster cannot go from one list of keys to another. `several` API servers write while others still have the old list.
fn key_step(old: &[String], new: &[String], several: bool) -> Option<Refusal> {
    let mut keys = old.iter().filter(|own| *own != IDENTITY);
    if let Some(gone) = keys.find(|own| !new.contains(own)) {
        return Some(lost_key(key_name(gone), new));
    }
    let first = new.first().filter(|own| several && *own != IDENTITY)?;
    let writes = key_name(Some(first).filter(|own| !old.contains(own))?);
    let help = match old.is_empty() {
        true => {
            "begin with encryption: { bundleKey: reads }, update all control planes, and then remove bundleKey: docs/kms.md"
        }
        false => "put it behind the key that writes now, update all control planes, and then put it first: docs/kms.md",
    };
    let title = if writes == BUNDLE { "the bundle's key" } else { writes };
    let message = format!("API servers that run could not read what {title} writes");
    Some((message, help.to_owned()))
}

/// A key that encrypted objects is gone.
fn lost_key(name: &str, new: &[String]) -> Refusal {
    if new.iter().any(|own| key_name(own) == name) {
        let message = format!("key service {name} gets another key, and objects of the old one could not be read");
        let help = "give the new key an entry of its own with another name, behind this one: docs/kms.md";
        return (message, help.to_owned());
    }
    let title = match name {
        BUNDLE => "the bundle's key".to_owned(),
        name => format!("key service {name}"),
    };
    let help = match new.is_empty() {
        true => {
            "encrypt by the bundle's key alone and set bundleKey: reads, update all control planes, write all objects again, and then \
             remove it with --accept FL1224: docs/kms.md"
        }
        false => {
            "keep it behind the new one, write all objects again, and then remove it with --accept FL1224: docs/kms.md"
        }
    };
    let message = format!("objects that {title} has encrypted could not be read any more");
    (message, help.to_owned())
}
