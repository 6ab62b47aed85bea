//! The checks, as a table: what each proves, under which codes, and the function that does it.

mod artifacts;
mod certificates;
mod configs;
mod container_runtime;
mod dns;
mod encryption;
mod endpoint;
mod etcd;
mod files;
mod ignition;
mod json_schema;
mod kernel;
mod keys;
mod kubeadm;
mod kubeconfigs;
mod machines;
mod names;
mod networks;
mod objects;
mod owners;
mod paths;
mod references;
mod schema;
mod scripts;
mod sequence;
mod settings;
mod shared;
mod started;
mod unit_facts;
mod units;
mod values;

use std::{
    collections::{BTreeSet, HashSet},
    sync::{Arc, Mutex, PoisonError},
};

use rayon::prelude::*;
use serde_json::Value;
use time::OffsetDateTime;

use super::{
    Finding, Level, Machine, Tree, class::Proven, cluster::Cluster, order, provided::PROVIDED, tree::SHARE,
    unpack::Pool,
};

use self::scripts::Shell;

/// The context of every check, besides the machine.
pub struct Known<'a> {
    /// The tree.
    pub tree: &'a Tree,
    /// Settings of the cluster as a whole, from the documents.
    pub(super) cluster: Cluster,
    /// The time for validity checks.
    pub now: OffsetDateTime,
    pub(super) shell: &'a Shell,
    pub(super) read: &'a references::Read,
    objects: &'a objects::Objects,
    owners: &'a networks::Owners,
    authorities: keys::Authorities,
}

/// A cause for which a tree can fail a check although firelay has just rendered it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// The user's patches change documents and units.
    Patches,
    /// The user's files, disks and mounts: others may refer to them, hide each other, or be no YAML.
    Files,
    /// The user's commands and packages.
    Commands,
    /// The user's manifests, and plugins of the user's own.
    Manifests,
    /// Settings of the spec: arguments that name a file, timeouts that end too early.
    Settings,
    /// The size of a document.
    Size,
    /// The time of the render: an imported authority may end soon.
    Time,
}

impl Cause {
    /// Causes in every render, whatever the user adds.
    pub const ALWAYS: [Self; 3] = [Self::Settings, Self::Size, Self::Time];
}

/// The subject of a check.
#[derive(Clone, Copy)]
enum Of {
    /// Each machine for itself.
    Machine(fn(&Machine, &Known<'_>) -> Vec<Finding>),
    /// Each class of machines: the check does not depend on a machine's own name, addresses, certificates and keys.
    Class(fn(&Machine, &Known<'_>) -> Vec<Finding>),
    /// The tree as a whole.
    Tree(fn(&Known<'_>) -> Vec<Finding>),
}

/// One check.
#[derive(Clone, Copy)]
pub struct Check {
    /// The property that is proven by having no finding.
    pub proves: &'static str,
    /// The codes of its findings.
    pub codes: &'static [&'static str],
    /// Causes for which a tree can fail it that firelay has just rendered. `render` runs a check only where the spec has one of these; a check
    /// without any finds what was changed afterwards.
    pub causes: &'static [Cause],
    of: Of,
}

/// The checks that are to be run.
#[derive(Clone, Debug)]
pub enum Chosen {
    /// All checks.
    All,
    /// Some of the checks, on some of the machines.
    By {
        /// Checks that one of these causes can make fail.
        causes: BTreeSet<Cause>,
        /// Workers with these names, or all. Control planes and etcd members are always checked.
        machines: Option<BTreeSet<String>>,
    },
}

impl Chosen {
    fn has(&self, check: &Check) -> bool {
        match self {
            Self::All => true,
            Self::By { causes, .. } => check.causes.iter().any(|cause| causes.contains(cause)),
        }
    }

    /// Whether a machine that only runs pods is to be looked at.
    pub(crate) fn has_machine(&self, name: &str) -> bool {
        match self {
            Self::By {
                machines: Some(machines),
                ..
            } => machines.contains(name),
            _ => true,
        }
    }
}

/// Every check. `just bless` writes this table into docs/verify.md.
pub const CHECKS: &[Check] = &[
    Check {
        proves: "every file that manifest.json names is there, whole",
        codes: &["FL1001", "FL1002"],
        causes: &[],
        of: Of::Tree(files::whole),
    },
    Check {
        proves: "every machine of which the tree tells has its document, for a version of Kubernetes",
        codes: &["FL1009"],
        causes: &[Cause::Patches],
        of: Of::Tree(machines::check),
    },
    Check {
        proves: "every document can be unpacked, in whatever form it is, and its payload is the one that it names",
        codes: &["FL1003", "FL1004", "FL1006"],
        causes: &[Cause::Files, Cause::Manifests, Cause::Patches],
        of: Of::Machine(files::read),
    },
    Check {
        proves: "what is handed over fits",
        codes: &["FL1005"],
        causes: &[Cause::Size],
        of: Of::Machine(files::fits),
    },
    Check {
        proves: "the readable document says the same as the one that is handed over",
        codes: &["FL1007"],
        causes: &[],
        of: Of::Machine(files::copies),
    },
    Check {
        proves: "a cloud-config is what cloud-init's own schema takes",
        codes: &["FL1010"],
        causes: &[],
        of: Of::Class(schema::check),
    },
    Check {
        proves: "an Ignition config keeps the rules of its specification",
        codes: &["FL1011"],
        causes: &[],
        of: Of::Class(ignition::check),
    },
    Check {
        proves: "no path is written twice, below a file, under a later mount or where every boot empties it",
        codes: &["FL1012", "FL1013", "FL1014", "FL1015"],
        causes: &[Cause::Files],
        of: Of::Class(paths::check),
    },
    Check {
        proves: "what units start and read is there and can be run, the units that they name exist, and the chain is started",
        codes: &["FL1016", "FL1017", "FL1018", "FL1019", "FL1020"],
        causes: &[Cause::Patches, Cause::Files, Cause::Commands],
        of: Of::Class(units::check),
    },
    Check {
        proves: "units come up in an order that holds at every boot",
        codes: &["FL1028"],
        causes: &[Cause::Patches, Cause::Files],
        of: Of::Class(sequence::check),
    },
    Check {
        proves: "bash reads every shell script",
        codes: &["FL1021", "FL1008"],
        causes: &[Cause::Commands, Cause::Files],
        of: Of::Class(scripts::check),
    },
    Check {
        proves: "the scripts of the boot chain are those that firelay writes",
        codes: &["FL1029"],
        causes: &[],
        of: Of::Class(chain_scripts),
    },
    Check {
        proves: "every file that a script refers to is there or is made by a step",
        codes: &["FL1022"],
        causes: &[Cause::Files],
        of: Of::Class(references::check),
    },
    Check {
        proves: "configuration of kubeadm, kubelet, kube-proxy, API server and scheduler has fields and values of its API version, and the container runtime's is TOML",
        codes: &["FL1024", "FL1025", "FL1026"],
        causes: &[Cause::Patches, Cause::Files],
        of: Of::Class(configs::check),
    },
    Check {
        proves: "every file that configuration refers to is there, and inside of static pods as well",
        codes: &["FL1023"],
        causes: &[Cause::Patches, Cause::Files, Cause::Settings],
        of: Of::Class(settings::check),
    },
    Check {
        proves: "certificates are there with their keys, signed by their authority, fit their use, and hold no longer than it",
        codes: &["FL1030", "FL1031", "FL1032", "FL1034", "FL1035", "FL1039", "FL1063"],
        causes: &[Cause::Files],
        of: Of::Machine(certificates::check),
    },
    Check {
        proves: "certificates hold now and for 30 days",
        codes: &["FL1036", "FL1037"],
        causes: &[Cause::Files, Cause::Time],
        of: Of::Machine(certificates::hold),
    },
    Check {
        proves: "certificates have the names under which they are asked for",
        codes: &["FL1033"],
        causes: &[Cause::Patches],
        of: Of::Machine(names::check),
    },
    Check {
        proves: "kubeconfigs lead to the cluster's endpoint, trust its authority and hold a pair that it signed",
        codes: &["FL1038"],
        causes: &[Cause::Patches, Cause::Files],
        of: Of::Tree(kubeconfigs::check),
    },
    Check {
        proves: "each machine has its own name, the cluster's endpoint, and times within its certificates",
        codes: &["FL1041"],
        causes: &[Cause::Patches],
        of: Of::Machine(values::check),
    },
    Check {
        proves: "all machines have the same authorities",
        codes: &["FL1040"],
        causes: &[],
        of: Of::Tree(shared::check),
    },
    Check {
        proves: "no machine but control planes has the key of an authority or the one that signs service accounts",
        codes: &["FL1042"],
        causes: &[],
        of: Of::Machine(keys::check),
    },
    Check {
        proves: "the kubelet's DNS address and domain are those of the DNS Service",
        codes: &["FL1043"],
        causes: &[Cause::Patches, Cause::Manifests, Cause::Settings],
        of: Of::Tree(dns::check),
    },
    Check {
        proves: "the kubelet, kubeadm and crictl ask the container runtime where it listens, by one cgroup driver, and it finds plugins and registries",
        codes: &["FL1044"],
        causes: &[Cause::Patches, Cause::Files],
        of: Of::Class(container_runtime::check),
    },
    Check {
        proves: "pods, Services, the network plugin and machines have ranges and addresses that go together, and there is a plugin",
        codes: &["FL1045", "FL1061"],
        causes: &[Cause::Patches, Cause::Manifests],
        of: Of::Tree(networks::check),
    },
    Check {
        proves: "members of etcd ask for certificates, know each other, and are those that control planes ask",
        codes: &["FL1046"],
        causes: &[Cause::Patches],
        of: Of::Tree(etcd::check),
    },
    Check {
        proves: "kube-vip's address and port, the proxy's servers and the chain's peers lead to the API servers",
        codes: &["FL1047"],
        causes: &[Cause::Patches],
        of: Of::Tree(endpoint::check),
    },
    Check {
        proves: "API servers reach the plugin of each key service by a socket of their machine",
        codes: &["FL1064"],
        causes: &[Cause::Patches],
        of: Of::Class(encryption::check),
    },
    Check {
        proves: "firelay's own files and keys belong to root, and nobody else can write them",
        codes: &["FL1048"],
        causes: &[],
        of: Of::Class(owners::check),
    },
    Check {
        proves: "kernel parameters and modules are those that a kubelet and kube-proxy need",
        codes: &["FL1049"],
        causes: &[Cause::Patches, Cause::Files],
        of: Of::Class(kernel::check),
    },
    Check {
        proves: "each unit of the chain starts its own program, with the arguments and files that kubeadm expects",
        codes: &["FL1027"],
        causes: &[Cause::Patches, Cause::Files],
        of: Of::Class(started::check),
    },
    Check {
        proves: "manifests refer to objects that are there",
        codes: &["FL1060"],
        causes: &[Cause::Patches, Cause::Manifests],
        of: Of::Tree(objects::check),
    },
    Check {
        proves: "programs and the sandbox image are those of the catalogue, for one architecture and the cluster's version",
        codes: &["FL1062"],
        causes: &[],
        of: Of::Class(artifacts::check),
    },
    Check {
        proves: "the chain has its steps in their order, every wait of the first boot ends in time, one machine founds, and control planes join in turn",
        codes: &[
            "FL1051", "FL1052", "FL1053", "FL1054", "FL1055", "FL1056", "FL1057", "FL1058", "FL1059",
        ],
        causes: &[Cause::Patches, Cause::Settings],
        of: Of::Tree(|known| order::check(known.tree)),
    },
];

/// Results that are the same for many machines, so that each is computed once.
#[derive(Debug, Default)]
pub(super) struct Seen {
    pub(super) pool: Arc<Pool>,
    shell: Shell,
    read: references::Read,
    objects: objects::Objects,
    owners: networks::Owners,
    /// Names of machines whose own checks have run: servers are in every part of a tree.
    machines: Mutex<HashSet<String>>,
}

impl Seen {
    /// Whether the checks of this machine have not run.
    fn is_first(&self, machine: &Machine) -> bool {
        let mut machines = self.machines.lock().unwrap_or_else(PoisonError::into_inner);
        machines.insert(machine.name.clone())
    }

    /// A note about checks that could not be made.
    pub(super) fn note(&self) -> Option<Finding> {
        self.shell.note()
    }
}

/// The findings of all checks, in the order of the documents. The time is an argument.
pub fn check(tree: &Tree, now: OffsetDateTime) -> Vec<Finding> {
    let seen = Seen::default();
    let mut findings = part(tree, now, &seen, &Chosen::All);
    findings.extend(seen.note());
    findings.sort();
    findings.dedup();
    findings
}

/// The same without an order, for a tree that is a part of one.
pub(super) fn part(tree: &Tree, now: OffsetDateTime, seen: &Seen, chosen: &Chosen) -> Vec<Finding> {
    let checks: Vec<_> = CHECKS.iter().filter(|check| chosen.has(check)).collect();
    let (cluster, authorities) = rayon::join(|| Cluster::of(tree), || keys::authorities(tree));
    let known = Known {
        tree,
        cluster,
        now,
        shell: &seen.shell,
        read: &seen.read,
        objects: &seen.objects,
        owners: &seen.owners,
        authorities,
    };
    let of_tree = checks.par_iter().flat_map_iter(|check| match check.of {
        Of::Tree(run) => run(&known),
        Of::Machine(_) | Of::Class(_) => Vec::new(),
    });
    let proven = Proven::default();
    let mut findings: Vec<_> = of_tree.collect();
    findings.extend(tree.faults.iter().cloned());
    let machines = tree.machines.par_iter().with_max_len(SHARE);
    let machines = machines.filter(|machine| seen.is_first(machine));
    findings.par_extend(machines.flat_map_iter(|machine| {
        let own = checks.iter().flat_map(|check| match check.of {
            Of::Machine(run) => run(machine, &known),
            Of::Class(_) | Of::Tree(_) => Vec::new(),
        });
        let of_class = || {
            let found = checks.iter().flat_map(|check| match check.of {
                Of::Class(run) => run(machine, &known),
                Of::Machine(_) | Of::Tree(_) => Vec::new(),
            });
            found.collect()
        };
        let found = own.chain(proven.of(machine, of_class));
        found.map(|finding| weighed(machine, &known, finding))
    }));
    findings
}

/// Codes for files that no known program provides.
const ABSENT: [&str; 4] = ["FL1016", "FL1018", "FL1022", "FL1023"];

/// Codes of mistakes within a file, for the program that reads or runs it.
const WITHIN: [&str; 5] = ["FL1017", "FL1021", "FL1024", "FL1025", "FL1026"];

/// Codes of what the user's commands may settle otherwise on the machine.
const SETTLED: [&str; 2] = ["FL1044", "FL1049"];

/// Lowers the level of a finding if the user may provide the missing file, or may mean the file for another program.
fn weighed(machine: &Machine, known: &Known<'_>, finding: Finding) -> Finding {
    let matters = || finding.path.as_deref().is_none_or(|path| known.matters(path));
    let is_certain = if ABSENT.contains(&finding.code) {
        !PROVIDED.may_bring(machine, finding.code) && matters()
    } else if SETTLED.contains(&finding.code) {
        !PROVIDED.may_bring(machine, finding.code)
    } else {
        !WITHIN.contains(&finding.code) || matters()
    };
    if is_certain {
        return finding;
    }
    let level = finding.level.max(Level::Warning);
    finding.level(level)
}

impl Known<'_> {
    /// The tree has all machines of a role, and all of them could be unpacked.
    fn knows(&self, role: &str) -> bool {
        let mut machines = self.tree.machines.iter().filter(|machine| machine.is(role));
        self.tree.manifest.whole && machines.all(files::is_unpacked)
    }

    /// The objects of the manifests.
    fn objects(&self) -> &[objects::Object] {
        self.objects.of(self.tree)
    }

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

/// The rest of a path is empty, or a name.
fn is_within(rest: &str) -> bool {
    let name = rest.strip_prefix('/');
    rest.is_empty() || name.is_some_and(|name| !name.contains('/'))
}

/// Another version of firelay may write other scripts, so its tree gets warnings.
fn chain_scripts(machine: &Machine, known: &Known<'_>) -> Vec<Finding> {
    let own = known.tree.manifest.firelay_version == env!("CARGO_PKG_VERSION");
    let findings = order::check_scripts(machine).into_iter();
    findings.map(|finding| finding.level(Level::error_if(own))).collect()
}
