//! Checks of a security profile.

use super::Check;
use crate::profile::SecurityProfile;

/// Keys of a spec that a profile cannot say for others.
const OF_ONE_CLUSTER: [&str; 8] = [
    "apiVersion",
    "kind",
    "include",
    "name",
    "endpoint",
    "nodes",
    "pools",
    "patches",
];

impl Check<'_> {
    /// It is merged under every spec, so it can say nothing of one cluster's own.
    pub(in crate::profile) fn security(&mut self, security: &SecurityProfile) {
        let Some(spec) = security.spec.as_object() else {
            return self.wrong("spec", "not a part of a spec", "a mapping is needed", "");
        };
        for key in OF_ONE_CLUSTER.iter().filter(|key| spec.contains_key(**key)) {
            let place = format!("spec/{key}");
            self.wrong(
                &place,
                "what only one cluster can have",
                "a profile is for many",
                "remove it",
            );
        }
        if security.spec.pointer("/security/profile").is_some() {
            let help = "begin the file with extends: NAME";
            self.wrong(
                "spec/security/profile",
                "a profile that asks for another",
                "it is not read",
                help,
            );
        }
        for (at, guard) in security.controls.iter().enumerate() {
            let empty = guard.path.split('.').any(str::is_empty);
            if empty {
                self.wrong(
                    &format!("guards/{at}/path"),
                    "not a path",
                    "keys with dots between them",
                    "",
                );
            }
        }
    }
}
