//! Changes that a running cluster cannot take: the record compared with the plan of today's spec.
//!
//! Sources: kubeadm's version policy (cmd/kubeadm/app/phases/upgrade/policy.go), the Kubernetes version skew policy, and
//! etcd's upgrade guides, each of which goes over one minor.

use std::collections::{BTreeMap, BTreeSet};

use firelay_yaml::{
    Node,
    diagnostic::{Diagnostic, Span},
};
use semver::Version;
use time::{Duration, OffsetDateTime, format_description::well_known::Rfc3339};

use super::{Fixed, Founding, MachineRecord, Pending, Record, RecordText, Topology};
use crate::{
    plan::{NodePlan, Plan},
    profile::KubernetesProfile,
    spec::JoinIdentity,
    tree::Role,
};

/// Minors by which Kubernetes and etcd are upgraded at a time.
pub const MINOR_STEPS: u64 = 1;

/// Values that a running cluster cannot change and that differ, each as `the pod range: 10.244.0.0/16 → 10.99.0.0/16`.
pub fn changed_values(change: &Change<'_>) -> Vec<String> {
    let changed = change.changed_values().into_iter();
    changed
        .map(|FixedValue { title, old, new, .. }| format!("{title}: {old} → {new}"))
        .collect()
}

/// Codes of findings that a person may override.
pub const OVERRIDABLE: [&str; 20] = [
    "FL0209", "FL1207", "FL1211", "FL1212", "FL1213", "FL1214", "FL1215", "FL1216", "FL1217", "FL1218", "FL1222",
    "FL1223", "FL1224", "FL1225", "FL1227", "FL1228", "FL1229", "FL1230", "FL1240", "FL1241",
];

/// The endpoint is in kubeconfigs of every machine, in kube-proxy's, and in the API servers' certificates.
const KEEP_ENDPOINT: &str = "kubelets and kube-proxy of running machines keep it; a further name or address of the API servers goes \
     into pki.extraSans, and another endpoint needs a new cluster";
/// Workers reach the API servers by /etc/hosts, through the old provider.
const KEEP_PROVIDER: &str = "running machines reach the API servers through it, and would lose them at once";
/// The virtual address is in /etc/hosts of every machine.
const KEEP_ADDRESS: &str = "running machines have it in /etc/hosts, and each would be created anew";

/// The command that brings the token to the API server.
const MAKE_TOKEN: &str = "make it known: firelay secrets token --ttl 24h | kubectl --kubeconfig out/admin.kubeconfig apply -f - (docs/secrets.md)";

/// Settings of the founder that scripts apply to a running cluster.
#[derive(Clone, Copy, Debug)]
pub struct Applied {
    /// kubeadm's configuration.
    pub configuration: bool,
    /// Manifests.
    pub manifests: bool,
}

/// Names of what differs in settings of the founder, as far as it is known.
#[derive(Clone, Debug, Default)]
pub struct Differing {
    /// Fields of kubeadm's configuration.
    pub configuration: Vec<String>,
    /// Files of manifests.
    pub manifests: Vec<String>,
}

impl Differing {
    /// The first of them: `changed: ClusterConfiguration/apiServer/extraArgs/v/value`.
    pub fn label(&self, setting: Founding) -> String {
        let names = match setting {
            Founding::Manifests => &self.manifests,
            _ => &self.configuration,
        };
        let names: Vec<_> = names.iter().map(String::as_str).collect();
        match names.is_empty() {
            true => String::new(),
            false => format!("changed: {}", super::listed(&names)),
        }
    }
}

/// A record and the spec of a later render.
#[derive(Clone, Copy)]
pub struct Change<'a> {
    /// The record as it is on the disk.
    pub text: &'a RecordText,
    /// The record with newer machines of the tree.
    pub record: &'a Record,
    /// The values of today's spec and bundle.
    pub fixed: &'a Fixed,
    /// The digests of what a founder would apply today.
    pub founding: &'a BTreeMap<String, String>,
    /// What differs in them, as far as it is known.
    pub differing: &'a Differing,
    /// Changed settings of the founder that scripts apply.
    pub applied: Applied,
    /// Today's plan.
    pub plan: &'a Plan,
    /// The machines that are rendered.
    pub rendered: &'a [NodePlan],
    /// All machines are.
    pub whole: bool,
    /// A script of an earlier update that nobody has said is done.
    pub pending: Option<&'a str>,
    /// The first of them that brings another program.
    pub behind: Option<&'a str>,
    /// The CAs are between two steps of a rotation.
    pub rotating: bool,
    /// The spec, for places.
    pub spec: Option<&'a Node<'static>>,
    /// The profile of the oldest minor that machines may run, if firelay still has it.
    pub running: Option<&'a KubernetesProfile>,
    /// When the life of the bootstrap token began.
    pub token_since: OffsetDateTime,
    /// The present.
    pub now: OffsetDateTime,
}

/// The findings about a change of a cluster that was founded.
pub fn check(change: &Change<'_>) -> Vec<Diagnostic> {
    let mut findings = change.fixed_values();
    findings.extend(change.kubernetes());
    findings.extend(change.rotation());
    findings.extend(change.adopted());
    findings.extend(change.etcd());
    findings.extend(change.runtime());
    findings.extend(change.encryption());
    findings.extend(change.issuers());
    findings.extend(change.plugin());
    findings.extend(change.datapath());
    findings.extend(change.kube_proxy_stays());
    if change.whole {
        findings.extend(change.members("control plane", Role::ControlPlane));
        findings.extend(change.members("etcd member", Role::Etcd));
        findings.extend(change.removed());
    }
    findings.extend(change.demoted("control plane", Role::ControlPlane));
    findings.extend(change.demoted("etcd member", Role::Etcd));
    findings.extend(change.namesakes(false));
    findings.extend(change.namesakes(true));
    findings.extend(change.taken_addresses());
    findings.extend(change.token());
    findings.extend(change.uncarried());
    findings
}

impl<'a> Change<'a> {
    /// Whatever shows that control planes may not have the last step of keys, encryption or issuers.
    pub(super) fn open_step(&self) -> Option<String> {
        let script = self.pending.map(|script| format!("{script} is there"));
        let keys = self.record.pending().is_some_and(|own| own.keys);
        let recorded = || format!("{} says that control planes may lack it", self.text.line(&["pending"]));
        script.or_else(|| keys.then(recorded))
    }

    /// The place of the value at a path of the spec, if it has it.
    pub(super) fn place(&self, path: &[&str]) -> Option<Span> {
        let found = path.iter().try_fold(self.spec?, |node, key| node.get(key));
        found.map(|node| node.span)
    }

    fn fixed_values(&self) -> Vec<Diagnostic> {
        let changed = self.changed_values();
        changed.iter().map(|value| self.fixed_value(value)).collect()
    }

    fn changed_values(&self) -> Vec<FixedValue> {
        let values = [
            self.network_values(),
            self.etcd_values(),
            self.endpoint_values(),
            self.authorities(),
        ];
        // Another plugin may have no masks: FL1225 refuses it.
        let follows = |value: &FixedValue| self.is_other_plugin() && [&value.old, &value.new].contains(&&mask(None));
        let values = values.into_iter().flatten().filter(|value| value.old != value.new);
        values.filter(|value| !follows(value)).collect()
    }

    fn network_values(&self) -> Vec<FixedValue> {
        let (old, new) = (&self.record.fixed, self.fixed);
        vec![
            FixedValue::new(
                "the DNS domain",
                &["kubernetes", "dns", "domain"],
                "domain",
                [old.domain.clone(), new.domain.clone()],
            ),
            FixedValue::new(
                "the pod range",
                &["network", "pods"],
                "pods",
                [old.pods.join(", "), new.pods.join(", ")],
            ),
            FixedValue::new(
                "the service range",
                &["network", "services"],
                "services",
                [old.services.join(", "), new.services.join(", ")],
            ),
            FixedValue::new(
                "the mask of a node's IPv4 pods",
                &["network", "nodeMaskIpv4"],
                "nodeMaskIpv4",
                [mask(old.node_mask_ipv4), mask(new.node_mask_ipv4)],
            ),
            FixedValue::new(
                "the mask of a node's IPv6 pods",
                &["network", "nodeMaskIpv6"],
                "nodeMaskIpv6",
                [mask(old.node_mask_ipv6), mask(new.node_mask_ipv6)],
            ),
        ]
    }

    fn etcd_values(&self) -> Vec<FixedValue> {
        let (old, new) = (&self.record.fixed, self.fixed);
        vec![
            FixedValue::new(
                "etcd's topology",
                &["nodes"],
                "etcd",
                [old.etcd.name().to_owned(), new.etcd.name().to_owned()],
            ),
            FixedValue::new(
                "the directory of etcd's data",
                &["etcd", "dataDir"],
                "etcdData",
                known(old.etcd_data.as_ref(), new.etcd_data.as_ref()),
            ),
            FixedValue::new(
                "the prefix of the API servers' data in etcd",
                &["kubernetes", "apiServer", "extraArgs"],
                "etcdPrefix",
                known(old.etcd_prefix.as_ref(), new.etcd_prefix.as_ref()),
            ),
        ]
    }

    fn endpoint_values(&self) -> Vec<FixedValue> {
        let (old, new) = (&self.record.fixed, self.fixed);
        let values = [
            FixedValue::new(
                "the endpoint",
                &["endpoint"],
                "endpoint",
                known(old.endpoint.as_ref(), new.endpoint.as_ref()),
            ),
            FixedValue::new(
                "the endpoint's provider",
                &["endpoint", "provider"],
                "endpointProvider",
                known(old.endpoint_provider.as_ref(), new.endpoint_provider.as_ref()),
            ),
            FixedValue::new(
                "the endpoint's virtual address",
                &["endpoint", "address"],
                "endpointAddress",
                self.virtual_addresses(),
            ),
        ];
        let helps = [KEEP_ENDPOINT, KEEP_PROVIDER, KEEP_ADDRESS];
        let with_help = |(value, help)| FixedValue {
            help: Some(help),
            ..value
        };
        values.into_iter().zip(helps).map(with_help).collect()
    }

    /// A record of an earlier version does not have the provider: with a virtual address it was kube-vip.
    fn virtual_addresses(&self) -> [String; 2] {
        let (old, new) = (&self.record.fixed, self.fixed);
        match (&old.endpoint_provider, &old.endpoint_address, &new.endpoint_address) {
            (None, Some(address), None) => [address.clone(), "none".to_owned()],
            _ => known(old.endpoint_address.as_ref(), new.endpoint_address.as_ref()),
        }
    }

    fn authorities(&self) -> Vec<FixedValue> {
        let ca = |fixed: &Fixed, name: &str| fixed.authorities.get(name).cloned().unwrap_or_default();
        let value = |title, name| {
            let values = [ca(&self.record.fixed, name), ca(self.fixed, name)];
            FixedValue::new(title, &[], "authorities", values)
        };
        vec![
            value("the CA of Kubernetes", "kubernetes"),
            value("the CA of etcd", "etcd"),
            value("the CA of the front proxy", "frontProxy"),
        ]
    }

    fn fixed_value(&self, value: &FixedValue) -> Diagnostic {
        let FixedValue {
            title, old, new, help, ..
        } = value;
        let line = self.text.line(&value.record);
        let message = match self.place(value.spec).filter(|_| !value.spec.is_empty()) {
            Some(_) => format!("{title} of a running cluster cannot change"),
            None => format!("{title} of a running cluster cannot change from {old} ({line}) to {new}"),
        };
        let label = format!("it is {old} in {}, and {new} here", self.text.line(&value.record));
        let at = self.place(value.spec).filter(|_| !value.spec.is_empty());
        let finding = Diagnostic::error("FL1211", message).at(at).label(label);
        let rest = help.unwrap_or("another value needs a new cluster: another name, bundle and --out");
        finding.help(format!("write {old} again; {rest}"))
    }

    fn kubernetes(&self) -> Option<Diagnostic> {
        let old = Recorded {
            version: &self.record.kubernetes,
            path: vec!["kubernetes"],
        };
        let new = &self.plan.kubernetes.version;
        let at = self.place(&["kubernetes", "version"]);
        self.goes_back("Kubernetes", &old, new, at)
            .or_else(|| self.skips("Kubernetes", &old, new, at))
            .or_else(|| self.unfinished())
            .or_else(|| {
                self.older("Kubernetes", &self.plan.kubernetes.version, |own| {
                    own.kubernetes.as_ref()
                })
            })
    }

    /// A minor that follows one which machines may not have, as the record says.
    fn older(
        &self,
        program: &str,
        new: &Version,
        oldest: impl Fn(&'a Pending) -> Option<&'a Version>,
    ) -> Option<Diagnostic> {
        let oldest = self.record.pending().and_then(oldest)?;
        let is_skipped = (new.major, new.minor) > (oldest.major, oldest.minor + MINOR_STEPS);
        let message = format!("{program} is upgraded one minor at a time, and the last update may not be over");
        let key = program.to_lowercase();
        let at = self
            .place(&[&key, "version"])
            .or_else(|| self.place(&["kubernetes", "version"]));
        let finding = is_skipped.then(|| Diagnostic::error("FL1212", message).at(at))?;
        let line = self.text.line(&["pending"]);
        Some(finding.label(format!("machines may still have {oldest} ({line}), and {new} is more than one minor on")).help(
            "update or replace all machines in the order of the plan; when all have the version of the record: firelay update --done",
        ))
    }

    /// The next minor, while machines may not have the last one.
    fn unfinished(&self) -> Option<Diagnostic> {
        let (old, new) = (&self.record.kubernetes, &self.plan.kubernetes.version);
        let script = self
            .behind
            .filter(|_| (new.major, new.minor) != (old.major, old.minor))?;
        let message = "Kubernetes is upgraded one minor at a time, and the last update may not be over";
        let finding = Diagnostic::error("FL1212", message).at(self.place(&["kubernetes", "version"]));
        let finding = finding.label(format!(
            "{script} is there, and machines that have not run it may be older than {old} ({})",
            self.text.line(&["kubernetes"])
        ));
        Some(finding.help("run all scripts in their order, then firelay update --done"))
    }

    /// A version that changes while machines have the CAs of different steps.
    fn rotation(&self) -> Option<Diagnostic> {
        let (old, new) = (&self.record.kubernetes, &self.plan.kubernetes.version);
        if !self.rotating || old == new {
            return None;
        }
        let message = "the version of Kubernetes changes between two steps of a rotation of the CAs";
        let finding = Diagnostic::error("FL1227", message).at(self.place(&["kubernetes", "version"]));
        let finding = finding.label(format!("the cluster runs {old} ({})", self.text.line(&["kubernetes"])));
        Some(finding.help(format!(
            "keep {old} until the last step: firelay secrets rotate ca names the next one (docs/rotate.md)"
        )))
    }

    /// Control planes that something else created and that no script of firelay upgrades.
    fn adopted(&self) -> Option<Diagnostic> {
        let (old, new) = (&self.record.kubernetes, &self.plan.kubernetes.version);
        let own = self
            .recorded(Role::ControlPlane)
            .filter(|(_, machine)| machine.is_adopted());
        let names: Vec<_> = own.map(|(name, _)| name.as_str()).collect();
        let first = names.first().filter(|_| new > old)?;
        let message = format!(
            "firelay did not create {}, and upgrades no such machine",
            super::listed(&names)
        );
        let finding = Diagnostic::error("FL1223", message).at(self.place(&["kubernetes", "version"]));
        let finding = finding.label(format!(
            "{} was created by something else",
            self.text.line(&["machines", first])
        ));
        Some(finding.help(format!(
            "upgrade them to {new} with the tool that created them, and render with --accept FL1223; or keep {old}, and replace \
             them first"
        )))
    }

    fn etcd(&self) -> Vec<Diagnostic> {
        if !self.plan.etcd.external {
            return Vec::new();
        }
        let (old, new) = (&self.record.etcd, &self.plan.etcd.version);
        let at = self.place(&["etcd", "version"]);
        let [lowest, highest] = self.running_versions("etcd", &[Role::Etcd]);
        let back = highest.and_then(|highest| self.goes_back("etcd", &highest, new, at));
        let skips = || lowest.and_then(|lowest| self.skips("etcd", &lowest, new, at));
        let pending = || self.older("etcd", new, |own| own.etcd.as_ref());
        let mut findings: Vec<_> = back.or_else(skips).or_else(pending).into_iter().collect();
        if let Some(running) = self.running.filter(|running| old != new && !running.etcd.matches(new)) {
            let pending = self.record.pending_kubernetes();
            let key = if pending.is_some() { "pending" } else { "kubernetes" };
            let message = format!(
                "etcd {new} does not go with the running Kubernetes {}",
                pending.unwrap_or(&self.record.kubernetes)
            );
            let finding = Diagnostic::error("FL1214", message)
                .at(self
                    .place(&["etcd", "version"])
                    .or_else(|| self.place(&["kubernetes", "version"])))
                .label(format!(
                    "Kubernetes {} ({}) goes with etcd {}",
                    running.minor,
                    self.text.line(&[key]),
                    running.etcd
                ));
            findings.push(finding.help(format!(
                "members change first: keep etcd with `etcd: {{ version: {old} }}` until all machines have the new Kubernetes (firelay update \
                 --done), and upgrade etcd then"
            )));
        }
        findings
    }

    /// The container runtime. Its releases of a minor read each other's data.
    fn runtime(&self) -> Option<Diagnostic> {
        let runtime = &self.plan.runtime;
        let (name, new) = (runtime.service.name.as_str(), &runtime.version);
        let [_, highest] = self.running_versions(name, &[Role::ControlPlane, Role::Worker]);
        let old = highest.filter(|old| (new.major, new.minor) < (old.version.major, old.version.minor))?;
        let place = self.place(&["runtime", name, "version"]);
        self.goes_back(name, &old, new, place.or_else(|| self.place(&["runtime", "version"])))
    }

    /// The lowest version of a program on all machines with these roles, and the highest one on those that are rendered.
    fn running_versions(&self, program: &'a str, roles: &[Role]) -> [Option<Recorded<'a>>; 2] {
        let has_role = |(_, machine): &(&String, &MachineRecord)| roles.iter().any(|role| machine.roles.contains(role));
        let rendered = { self.rendered.iter() }.filter_map(|node| self.record.machines.get_key_value(&node.name));
        let version = |(name, machine): (&'a String, &'a MachineRecord)| match machine.versions.get_key_value(program) {
            Some((program, version)) => Some(Recorded {
                version,
                path: vec!["machines", name, "versions", program],
            }),
            None => self.record.program(program).map(|version| Recorded {
                version,
                path: vec![program],
            }),
        };
        let lowest = { self.record.machines.iter() }.filter(has_role).filter_map(version);
        let highest = rendered.filter(has_role).filter_map(version);
        [
            lowest.min_by_key(|own| own.version),
            highest.max_by_key(|own| own.version),
        ]
    }

    /// A version that goes back.
    fn goes_back(&self, program: &str, old: &Recorded<'_>, new: &Version, at: Option<Span>) -> Option<Diagnostic> {
        let Recorded { version: old, path } = old;
        (new < *old).then(|| {
            let message = format!("{program} cannot go back from {old} to {new}");
            let finding = Diagnostic::error("FL1213", message).at(at);
            let is_open = self.record.pending().is_some_and(|own| own.kubernetes.is_some());
            let (runs, way) = match is_open {
                true => (
                    "machines may run",
                    "; if no machine has run a script of this upgrade: bring record and spec back from version control, remove the output \
                     directory, and render",
                ),
                false => ("the cluster runs", ""),
            };
            let finding = finding.label(format!("{runs} {old} ({})", self.text.line(path)));
            finding.help(format!(
                "write {old}; data that a newer version stored may be unreadable for an older one{way}"
            ))
        })
    }

    /// A version over a minor.
    fn skips(&self, program: &str, old: &Recorded<'_>, new: &Version, at: Option<Span>) -> Option<Diagnostic> {
        let Recorded { version: old, path } = old;
        let skipped = new.major != old.major || new.minor > old.minor + MINOR_STEPS;
        skipped.then(|| {
            let last = if new.major == old.major {
                new.minor
            } else {
                old.minor + 1
            };
            let minors: Vec<_> = (old.minor + 1..=last)
                .map(|minor| format!("{}.{minor}", old.major))
                .collect();
            let finding = Diagnostic::error("FL1212", format!("{program} is upgraded one minor at a time")).at(at);
            let finding = finding.label(format!(
                "the cluster runs {old} ({}), and {new} is more than one minor on",
                self.text.line(path)
            ));
            finding.help(format!(
                "go by way of {}, each when every machine runs the one before",
                minors.join(", ")
            ))
        })
    }

    /// Machines of a role in the record.
    pub(super) fn recorded(&self, role: Role) -> impl Iterator<Item = (&'a String, &'a MachineRecord)> {
        let machines = self.record.machines.iter();
        machines.filter(move |(_, machine)| machine.roles.contains(&role))
    }

    fn has(&self, name: &str, role: Role) -> bool {
        let is = |node: &&NodePlan| match role {
            Role::ControlPlane => node.roles.control_plane,
            Role::Worker => node.roles.worker,
            Role::Etcd => node.roles.etcd,
        };
        let mut nodes = self.plan.nodes.iter().filter(is);
        nodes.any(|node| node.name == name)
    }

    /// Machines of a role that hold etcd's data: some have to stay, and a quorum of them.
    fn members(&self, title: &str, role: Role) -> Option<Diagnostic> {
        let names: Vec<_> = self.recorded(role).map(|(name, _)| name.as_str()).collect();
        let (stay, go): (Vec<&str>, Vec<&str>) = names.iter().partition(|name| self.has(name, role));
        let first = go.first()?;
        let line = self.text.line(&["machines", first]);
        let at = self.place(&["nodes"]);
        if !stay.iter().any(|name| self.record.has_joined(name)) {
            let message = format!("no {title} of the running cluster would stay");
            let finding = Diagnostic::error("FL1215", message).at(at);
            if !stay.is_empty() {
                let stay = super::listed(&stay);
                let line = self.text.line(&["pending"]);
                let finding = finding.label(format!("{stay} may not have joined yet ({line})"));
                return Some(finding.help(super::once_joined(&stay)));
            }
            let finding = finding.label(format!(
                "the record has {} ({line}), the spec has none of them",
                go.join(", ")
            ));
            return Some(
                finding.help("add the new machines first, and take the old ones away when the new ones are ready"),
            );
        }
        let holds_data = role == Role::Etcd || !self.plan.etcd.external;
        let finding = match go.len() {
            // A single one leaves etcd while all are well, as FL1218 asks.
            1 => self.early_removal(&go, &stay),
            _ => self
                .early_removal(&go, &stay)
                .or_else(|| Some(members_go(&go, names.len(), &line))),
        };
        finding.filter(|_| holds_data).map(|finding| finding.at(at))
    }

    /// Members go, and those that are known to have joined are no quorum of those that stay.
    fn early_removal(&self, gone: &[&str], stay: &[&str]) -> Option<Diagnostic> {
        let has_joined = |name: &&str| self.record.has_joined(name);
        let (joined, absent): (Vec<&str>, Vec<&str>) = stay.iter().partition(|name| has_joined(name));
        if !gone.iter().any(has_joined) || joined.len() >= super::quorum(stay.len()) {
            return None;
        }
        let (joined, stay, absent) = (joined.len(), stay.len(), super::listed(&absent));
        let gone = super::listed(gone);
        let verb = if joined == 1 { "is" } else { "are" };
        let message = format!(
            "{gone} would go, and {joined} of the other {stay} members of etcd {verb} known to have joined: it may lose its quorum"
        );
        let line = self.text.line(&["pending"]);
        let finding = Diagnostic::error("FL1216", message).label(format!("{absent} may not have joined yet ({line})"));
        Some(finding.help(super::once_joined(&absent)))
    }

    /// Machines that the spec no longer has.
    fn removed(&self) -> Vec<Diagnostic> {
        let names: BTreeSet<_> = self.plan.nodes.iter().map(|node| node.name.as_str()).collect();
        let gone = self
            .record
            .machines
            .keys()
            .filter(|name| !names.contains(name.as_str()));
        let gone: Vec<_> = gone.map(String::as_str).collect();
        let Some(first) = gone.first() else { return Vec::new() };
        let (count, list) = (gone.len(), super::listed(&gone));
        let message = match count {
            1 => format!("the spec no longer has the machine {list}"),
            count => format!("the spec no longer has {count} machines: {list}"),
        };
        let line = self.text.line(&["machines", first]);
        let finding = Diagnostic::error("FL1218", message).at(self.place(&["nodes"]));
        let finding = finding.label(format!("{line} has {first}, and it may still be in the cluster"));
        vec![finding.help(self.way_out(&gone))]
    }

    /// Machines that stay and lose a role: a member of etcd would stay behind, and its data on the machine.
    fn demoted(&self, title: &str, role: Role) -> Option<Diagnostic> {
        let rendered: BTreeSet<_> = self.rendered.iter().map(|node| node.name.as_str()).collect();
        let lost = self.recorded(role).map(|(name, _)| name.as_str());
        let lost: Vec<_> = lost
            .filter(|name| rendered.contains(name) && !self.has(name, role))
            .collect();
        let (first, list) = (lost.first()?, super::listed(&lost));
        let message = format!("{list} would not be of the role {title} any more");
        let finding = Diagnostic::error("FL1218", message).at(self.place(&["nodes"]));
        let finding = finding.label(format!(
            "{} has {first} with it, and its member or Node may still be in the cluster",
            self.text.line(&["machines", first])
        ));
        Some(finding.help(format!(
            "{}; then create it anew from its new document",
            self.way_out(&lost)
        )))
    }

    /// Machines with the name of a pool, or pools with that of a machine: what had the name would stay in the cluster.
    fn namesakes(&self, pools: bool) -> Option<Diagnostic> {
        let is_other = |node: &&NodePlan| {
            self.record
                .machines
                .get(&node.name)
                .is_some_and(|own| own.pool != pools)
        };
        let others = self.rendered.iter().filter(|node| node.pool == pools).filter(is_other);
        let names: Vec<_> = others.map(|node| node.name.as_str()).collect();
        let (first, list) = (names.first()?, super::listed(&names));
        let line = self.text.line(&["machines", first]);
        let (message, label, kind) = match pools {
            true => (
                format!("{list} would be a pool of machines, and was one"),
                format!("{line} has the machine {first}, and it may still be in the cluster"),
                "pool",
            ),
            false => (
                format!("{list} would be a machine, and was a pool of them"),
                format!("{line} has the pool {first}, and its machines may still be in the cluster"),
                "machine",
            ),
        };
        let finding = Diagnostic::error("FL1218", message).at(self.place(&[if pools { "pools" } else { "nodes" }]));
        let finding = finding.label(label);
        Some(finding.help(format!("give the {kind} another name; or {}", self.way_out(&names))))
    }

    /// How members of etcd leave, and machines without one.
    fn way_out(&self, gone: &[&str]) -> String {
        let of = |role| {
            self.recorded(role)
                .map(|(name, _)| name.as_str())
                .collect::<BTreeSet<_>>()
        };
        let (etcd, servers) = (of(Role::Etcd), of(Role::ControlPlane));
        let is_stacked = |name: &&str| self.record.fixed.etcd == Topology::Stacked && servers.contains(name);
        let (members, nodes): (Vec<&str>, Vec<&str>) = gone.iter().partition(|name| etcd.contains(*name));
        let (stacked, nodes): (Vec<&str>, Vec<&str>) = nodes.iter().partition(|name| is_stacked(name));
        let ways = [
            (
                "members of etcd",
                members,
                "one after the other, firelay-reset --yes on its machine, until `etcdctl member list` no longer shows it",
            ),
            (
                "control planes with their members of etcd",
                stacked,
                "one after the other, drain the Node, and firelay-reset --yes on its machine, until neither `etcdctl member list` nor \
                 `kubectl get nodes` shows it",
            ),
            (
                "Nodes",
                nodes,
                "drain and delete them, until `kubectl get nodes` no longer shows them",
            ),
        ];
        let ways = ways.into_iter().filter(|(_, names, _)| !names.is_empty());
        let ways: Vec<_> = ways
            .map(|(kind, names, way)| format!("{kind} ({}): {way}", super::listed(&names)))
            .collect();
        format!(
            "{} (docs/day-two.md); then render with --accept FL1218",
            ways.join("; ")
        )
    }

    /// Settings that only the founder applied, which no document carries to a running cluster.
    fn uncarried(&self) -> Vec<Diagnostic> {
        let changed = |setting: &Founding| self.record.applies_otherwise(self.founding, *setting);
        let kubeadm = Founding::KUBEADM.into_iter().filter(changed).take(1);
        let manifests = [Founding::Manifests].into_iter().filter(changed);
        let kubeadm = kubeadm.filter(|_| !self.applied.configuration);
        let finding = |setting: Founding| {
            let line = self.text.line(&["founding", setting.name()]);
            let (title, flag) = match setting {
                Founding::Manifests => (
                    "a manifest of an add-on, of the network plugin or of yours",
                    "manifests",
                ),
                _ => ("kubeadm's configuration of the cluster", "configuration"),
            };
            let message = format!("{title} is not that of {line}, and no document carries the change");
            let help =
                format!("firelay update writes scripts that apply it; after this render, firelay update --{flag} does");
            let label = self.differing.label(setting);
            Diagnostic::warning("FL1221", message).label(label).help(help)
        };
        kubeadm
            .chain(manifests.filter(|_| !self.applied.manifests))
            .map(finding)
            .collect()
    }

    /// Pools that come to a cluster whose founder had no token for machines: it knows none.
    fn unknown_token(&self) -> Option<Diagnostic> {
        let had_users = self.record.machines.values().any(|own| own.pool);
        let mut machines = self.plan.nodes.iter().filter(|node| !node.pool);
        if had_users || machines.any(|node| node.identity == JoinIdentity::Token) {
            return None;
        }
        let pools = self
            .plan
            .nodes
            .iter()
            .filter(|node| node.pool && node.roles.kubernetes());
        let names: Vec<_> = pools.map(|node| node.name.as_str()).collect();
        let list = (!names.is_empty()).then(|| super::listed(&names))?;
        let message = format!("the cluster does not know the bootstrap token with which machines of {list} would join");
        let finding = Diagnostic::warning("FL1219", message).at(self.place(&["pools"]));
        let label = format!("no machine of {} joins with a token", self.text.line(&["machines"]));
        Some(finding.label(label).help(MAKE_TOKEN))
    }

    /// Machines that need the bootstrap token, after it has ended.
    fn token(&self) -> Option<Diagnostic> {
        let ttl = self.plan.join.token_ttl;
        let end = self.token_since.checked_add(ttl)?;
        let unknown = self.unknown_token();
        if unknown.is_some() || ttl == Duration::ZERO || self.now < end {
            return unknown;
        }
        let needs = |node: &&NodePlan| {
            node.roles.kubernetes()
                && (node.pool
                    || (node.identity == JoinIdentity::Token && !self.record.machines.contains_key(&node.name)))
        };
        let names: Vec<_> = self
            .plan
            .nodes
            .iter()
            .filter(needs)
            .map(|node| node.name.as_str())
            .collect();
        let list = (!names.is_empty()).then(|| super::listed(&names))?;
        let message = format!("the bootstrap token has ended, with which {list} would join");
        let finding = Diagnostic::warning("FL1219", message);
        let finding = finding.at(self.place(&["join"]).or_else(|| self.place(&["pools"])));
        let since = match self.text.record.founded_at == Some(self.token_since) {
            true => format!("the founding ({})", self.text.line(&["foundedAt"])),
            false => format!("its rotation on {}", self.token_since.date()),
        };
        let finding = finding.label(format!("the token lasted {}h after {since}", ttl.whole_hours()));
        Some(finding.help(format!(
            "it ended on {}, unless you made it known again since; {MAKE_TOKEN}; named machines need none with join: {{ identity: certificate }}",
            end.format(&Rfc3339).unwrap_or_default()
        )))
    }
}

/// Several of all members of etcd that go at once.
fn members_go(go: &[&str], all: usize, line: &str) -> Diagnostic {
    let (quorum, count, list) = (super::quorum(all), go.len(), go.join(", "));
    let help = "take one member away at a time: keep the others in the spec, firelay-reset --yes on its machine, render, and go on with the next \
                one when all others are healthy";
    let (code, message, rest) = match all - count < quorum {
        true => (
            "FL1216",
            format!("etcd would lose its quorum: {count} of {all} members go at once"),
            format!("{quorum} have to stay"),
        ),
        false => (
            "FL1241",
            format!("{count} of {all} members of etcd go at once"),
            "one goes at a time".to_owned(),
        ),
    };
    let finding = Diagnostic::error(code, message);
    finding
        .label(format!("the record has {list} ({line}), and {rest}"))
        .help(help)
}

/// A version in the record, and its place there.
#[derive(Clone)]
struct Recorded<'a> {
    version: &'a Version,
    path: Vec<&'a str>,
}

/// A value that a running cluster cannot change, in the record and in the spec.
struct FixedValue {
    title: &'static str,
    spec: &'static [&'static str],
    record: [&'static str; 2],
    old: String,
    new: String,
    /// A way out other than the old value.
    help: Option<&'static str>,
}

impl FixedValue {
    fn new(title: &'static str, spec: &'static [&'static str], key: &'static str, [old, new]: [String; 2]) -> Self {
        Self {
            title,
            spec,
            record: ["fixed", key],
            old,
            new,
            help: None,
        }
    }
}

fn mask(mask: Option<u8>) -> String {
    mask.map_or_else(|| "none".to_owned(), |mask| format!("/{mask}"))
}

/// Both values, or twice the one that is known: a record of an earlier version does not have it, or the cluster has none.
fn known(old: Option<&String>, new: Option<&String>) -> [String; 2] {
    [old.or(new), new.or(old)].map(|value| value.cloned().unwrap_or_default())
}
