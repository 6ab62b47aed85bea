//! Rules of merging: which elements of lists are the same, and which mappings are choices.

use firelay_yaml::Rules;

/// The merge keys of a spec's lists: the key whose value identifies an element.
pub const RULES: Rules = Rules {
    lists: &[
        ("disks", "mount"),
        ("extraArgs", "name"),
        ("extraEnvs", "name"),
        ("extraVolumes", "name"),
        ("custom.files", "name"),
        ("files", "path"),
        ("imageArchives", "url"),
        ("interfaces", "name"),
        ("manifests", "name"),
        ("mirrors", "url"),
        ("mounts", "mount"),
        ("nodes", "name"),
        ("packageSources", "name"),
        ("calico.bgp.peers", "name"),
        ("peers", "address"),
        ("pools", "name"),
        ("registries", "host"),
        ("runtimes", "name"),
        ("users", "name"),
        // For security profiles, which are merged by the same rules.
        ("guards", "path"),
        ("yields", "path"),
    ],
    choices: &["network.cni"],
    keeps_removals: false,
};

/// The same above a security profile: a text may remove values of the profile.
pub(super) const RULES_ABOVE_BASELINE: Rules = Rules {
    keeps_removals: true,
    ..RULES
};
