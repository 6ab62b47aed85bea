//! The checks, as a table: what each proves, under which codes, and the function that does it.

mod certificates;
mod configs;
mod files;
mod ignition;
mod keys;
mod kubeconfigs;
mod machines;
mod names;
mod paths;
mod references;
mod schema;
mod scripts;
mod sequence;
mod settings;
mod shared;
mod units;
mod values;

use rayon::prelude::*;
use serde_json::Value;
use time::OffsetDateTime;

use super::{Finding, Level, Machine, Tree, cluster::Cluster, order, provided::PROVIDED};

use self::scripts::Shell;

/// What every check may look at beside the machine.
pub struct Known<'a> {
    /// The tree.
    pub tree: &'a Tree,
    /// What the documents say of the cluster as a whole.
    pub(super) cluster: Cluster,
    /// The time at which it has to hold.
    pub now: OffsetDateTime,
    pub(super) shell: &'a Shell,
    pub(super) read: &'a references::Read,
    authorities: keys::Authorities,
}

/// What a check looks at.
#[derive(Clone, Copy)]
enum Of {
    /// Each machine for itself.
    Machine(fn(&Machine, &Known<'_>) -> Vec<Finding>),
    /// The tree as a whole.
    Tree(fn(&Known<'_>) -> Vec<Finding>),
}

/// One check.
#[derive(Clone, Copy)]
pub struct Check {
    /// What holds where it finds nothing.
    pub proves: &'static str,
    /// The codes of its findings.
    pub codes: &'static [&'static str],
    of: Of,
}

/// Every check. docs/verify.md has the same table.
pub const CHECKS: &[Check] = &[
    Check {
        proves: "every file that manifest.json names is there, whole",
        codes: &["FL1001", "FL1002"],
        of: Of::Tree(files::whole),
    },
    Check {
        proves: "every machine of which the tree tells has its document, for a version of Kubernetes",
        codes: &["FL1009"],
        of: Of::Tree(machines::check),
    },
    Check {
        proves: "every document can be unpacked, on whatever rung it is, and its payload is the one that it names",
        codes: &["FL1003", "FL1004", "FL1006"],
        of: Of::Machine(files::read),
    },
    Check {
        proves: "what is handed over fits",
        codes: &["FL1005"],
        of: Of::Machine(files::fits),
    },
    Check {
        proves: "the readable document says the same as the one that is handed over",
        codes: &["FL1007"],
        of: Of::Machine(files::copies),
    },
    Check {
        proves: "a cloud-config is what cloud-init's own schema takes",
        codes: &["FL1010"],
        of: Of::Machine(schema::check),
    },
    Check {
        proves: "an Ignition config keeps the rules of its specification",
        codes: &["FL1011"],
        of: Of::Machine(ignition::check),
    },
    Check {
        proves: "no path is written twice, below a file, under a later mount or where every boot empties it",
        codes: &["FL1012", "FL1013", "FL1014", "FL1015"],
        of: Of::Machine(paths::check),
    },
    Check {
        proves: "what units start and read is there and can be run, the units that they name exist, and the chain is started",
        codes: &["FL1016", "FL1017", "FL1018", "FL1019", "FL1020"],
        of: Of::Machine(units::check),
    },
    Check {
        proves: "units come up in an order that holds at every boot",
        codes: &["FL1028"],
        of: Of::Machine(sequence::check),
    },
    Check {
        proves: "bash reads every shell script",
        codes: &["FL1021", "FL1008"],
        of: Of::Machine(scripts::check),
    },
    Check {
        proves: "every file that a script refers to is there or is made by a step",
        codes: &["FL1022"],
        of: Of::Machine(references::check),
    },
    Check {
        proves: "configuration of kubeadm, kubelet, kube-proxy, API server and scheduler has fields and values of its API version, and containerd's is TOML",
        codes: &["FL1024", "FL1025", "FL1026"],
        of: Of::Machine(configs::check),
    },
    Check {
        proves: "every file that configuration refers to is there, and inside of static pods as well",
        codes: &["FL1023"],
        of: Of::Machine(settings::check),
    },
    Check {
        proves: "certificates are there with their keys, signed by their authority, fit their use, and hold now and for 30 days",
        codes: &[
            "FL1030", "FL1031", "FL1032", "FL1034", "FL1035", "FL1036", "FL1037", "FL1039",
        ],
        of: Of::Machine(certificates::check),
    },
    Check {
        proves: "certificates have the names under which they are asked for",
        codes: &["FL1033"],
        of: Of::Machine(names::check),
    },
    Check {
        proves: "kubeconfigs lead to the cluster's endpoint, trust its authority and hold a pair that it signed",
        codes: &["FL1038"],
        of: Of::Tree(kubeconfigs::check),
    },
    Check {
        proves: "each machine has its own name, the cluster's endpoint, and times within its certificates",
        codes: &["FL1041"],
        of: Of::Machine(values::check),
    },
    Check {
        proves: "all machines have the same authorities",
        codes: &["FL1040"],
        of: Of::Tree(shared::check),
    },
    Check {
        proves: "no machine but control planes has the key of an authority or the one that signs service accounts",
        codes: &["FL1042"],
        of: Of::Machine(keys::check),
    },
    Check {
        proves: "the chain has its steps in their order, every wait of the first boot ends in time, one machine founds, and control planes join in turn",
        codes: &[
            "FL1051", "FL1052", "FL1053", "FL1054", "FL1055", "FL1056", "FL1057", "FL1058", "FL1059",
        ],
        of: Of::Tree(|known| order::check(known.tree)),
    },
];

/// What was looked at once, for however many machines it is the same.
#[derive(Debug, Default)]
pub(super) struct Seen {
    shell: Shell,
    read: references::Read,
}

impl Seen {
    /// What could not be looked at.
    pub(super) fn note(&self) -> Option<Finding> {
        self.shell.note()
    }
}

/// What all checks find, in the order of the documents. The clock comes in as a value.
pub fn check(tree: &Tree, now: OffsetDateTime) -> Vec<Finding> {
    let seen = Seen::default();
    let mut findings = part(tree, now, &seen);
    findings.extend(seen.note());
    findings.sort();
    findings.dedup();
    findings
}

/// The same without an order, for a tree that is a part of one.
pub(super) fn part(tree: &Tree, now: OffsetDateTime, seen: &Seen) -> Vec<Finding> {
    let known = Known {
        tree,
        cluster: Cluster::of(tree),
        now,
        shell: &seen.shell,
        read: &seen.read,
        authorities: keys::authorities(tree),
    };
    let of_tree = CHECKS.iter().flat_map(|check| match check.of {
        Of::Tree(run) => run(&known),
        Of::Machine(_) => Vec::new(),
    });
    let mut findings: Vec<_> = of_tree.chain(tree.faults.iter().cloned()).collect();
    findings.par_extend(tree.machines.par_iter().flat_map_iter(|machine| {
        let found = CHECKS.iter().flat_map(|check| match check.of {
            Of::Machine(run) => run(machine, &known),
            Of::Tree(_) => Vec::new(),
        });
        found.map(|finding| weighed(machine, &known, finding))
    }));
    findings
}

/// Codes of what nobody seems to put there.
const ABSENT: [&str; 4] = ["FL1016", "FL1018", "FL1022", "FL1023"];

/// Codes of what is wrong within a file, for those who read or run it.
const WITHIN: [&str; 5] = ["FL1017", "FL1021", "FL1024", "FL1025", "FL1026"];

/// The user may bring what no document shows, and files of his own that are meant for others than firelay takes them to be.
fn weighed(machine: &Machine, known: &Known<'_>, finding: Finding) -> Finding {
    let matters = || finding.path.as_deref().is_none_or(|path| known.matters(path));
    let is_certain = if ABSENT.contains(&finding.code) {
        !PROVIDED.may_bring(machine, finding.code) && matters()
    } else {
        !WITHIN.contains(&finding.code) || matters()
    };
    if is_certain {
        return finding;
    }
    Finding {
        level: finding.level.max(Level::Warning),
        ..finding
    }
}

impl Known<'_> {
    /// A mistake in the file keeps a machine from coming up: it is firelay's own, or configuration of Kubernetes names it.
    fn matters(&self, path: &str) -> bool {
        let configs = self.tree.machines.iter().flat_map(|machine| &machine.configs);
        let mut readers = configs.filter(|config| PROVIDED.is_read(&config.path) && config.path != path);
        PROVIDED.is_own(path) || readers.any(|config| names(&config.value, path))
    }
}

/// A value is the path, or the directory that it is in.
fn names(value: &Value, path: &str) -> bool {
    match value {
        Value::String(text) => path.strip_prefix(text.as_str()).is_some_and(is_within),
        Value::Array(items) => items.iter().any(|item| names(item, path)),
        Value::Object(entries) => entries.values().any(|value| names(value, path)),
        _ => false,
    }
}

/// What is left of a path is nothing, or a name.
fn is_within(rest: &str) -> bool {
    let name = rest.strip_prefix('/');
    rest.is_empty() || name.is_some_and(|name| !name.contains('/'))
}
