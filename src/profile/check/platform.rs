//! Checks of a platform's profile.

use regex_lite::Regex;

use super::Check;
use crate::profile::{PlatformProfile, ProviderId, Store, UserData};

/// Fewer bytes than a document ever has.
const LEAST: u64 = 4096;

impl Check<'_> {
    pub(in crate::profile) fn platform(&mut self, platform: &PlatformProfile) {
        let documents = [("cloudInit", &platform.cloud_init), ("ignition", &platform.ignition)];
        if documents.iter().all(|(_, document)| document.is_none()) {
            self.wrong(
                "name",
                "a platform that takes no document",
                "",
                "write cloudInit: {…}, ignition: {…} or both",
            );
        }
        for (key, document) in documents {
            if let Some(document) = document {
                self.user_data(key, document);
            }
        }
        if let Some(command) = platform.hostname.as_ref().and_then(|name| name.command.as_ref()) {
            self.command("hostname/command", command);
        }
        self.words("metadata/names", &platform.metadata.names, "-.");
        self.identity(&platform.identity);
        if let Some(id) = &platform.provider_id {
            self.provider_id(id);
        }
    }

    fn identity(&mut self, schemes: &[String]) {
        let asking = Store::all().filter(|store| !store.auth).filter_map(Store::scheme);
        let known: Vec<_> = asking.collect();
        for (at, scheme) in schemes.iter().enumerate() {
            if !known.contains(&scheme.as_str()) {
                let help = format!("identity: {}", known.join(", "));
                self.wrong(
                    &format!("identity/{at}"),
                    "no store that asks for an identity",
                    "",
                    &help,
                );
            }
        }
    }

    fn provider_id(&mut self, id: &ProviderId) {
        if !id.form.contains("://") {
            let help = "write it as spec.providerID of a node is: name://what-differs";
            self.wrong("providerId/form", "not the form of a provider ID", "", help);
        }
        if let Some(pattern) = id.node_names.as_ref().filter(|pattern| Regex::new(pattern).is_err()) {
            let label = format!("{pattern} is no regular expression");
            self.wrong("providerId/nodeNames", "names that nobody can match", &label, "");
        }
    }

    fn user_data(&mut self, key: &str, document: &UserData) {
        self.word(&format!("{key}/attribute"), &document.attribute, "-_./");
        if document.encodings.is_empty() {
            let help = "encodings: plain, base64, gzip, gzip-base64";
            self.wrong(&format!("{key}/encodings"), "a document in no encoding", "", help);
        }
        if let Some(limit) = document.limit.filter(|limit| *limit < LEAST) {
            let help = format!(
                "a limit counts bytes: {limit} KiB are {}; leave it out if there is none",
                limit * 1024
            );
            self.wrong(&format!("{key}/limit"), "a limit that no document keeps", "", &help);
        }
    }
}
