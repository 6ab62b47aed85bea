//! etcd's members while machines come, go and are replaced: their quorum, their number, and their addresses.

use std::collections::BTreeSet;

use firelay_yaml::diagnostic::{Diagnostic, Span};
use semver::Version;

use super::Update;
use crate::{
    changes::{Action, MachineChange},
    plan::{NodePlan, Plan, ProviderPlan},
    record::{self, MachineRecord},
    tree::Role,
};

/// What is wrong where an earlier change of addresses may not be over, and the way out.
const UNKNOWN: &str = "no server would stay at an address that all machines know";
const FINISH: &str =
    "finish the last change first: update or replace all machines in the order of its plan, then firelay update --done";

/// The way out for changes that a document alone would bring by a new machine.
const IN_PLACE: &str = "changes that `firelay plan` marks with ~ are made in place by `firelay update`";

impl Update<'_> {
    /// Judges the changes of members of etcd.
    pub fn check_members(&mut self, changes: &[MachineChange]) {
        if self.base.is_none() || !self.is_founded() {
            return;
        }
        let changes: Vec<_> = changes.iter().filter(|change| !change.known).cloned().collect();
        let findings = [
            self.lost_quorum(&changes),
            self.restarted_members(&changes),
            self.lost_addresses(&changes),
            self.last_server(&changes),
            self.lost_servers(&changes),
        ];
        self.findings.extend(findings.into_iter().flatten());
    }

    /// Those that have joined are to be a quorum while one of them is away. The order of the steps replaces one at a time.
    fn lost_quorum(&self, changes: &[MachineChange]) -> Option<Diagnostic> {
        let members = self.replaced(changes, |roles| self.is_member(roles));
        let (replaced, count) = (&members.names, members.staying);
        let first = *replaced.first()?;
        let total = count + members.absent.len() + members.joining;
        let away = replaced.iter().any(|name| !members.absent.contains(name));
        if count + members.joining >= record::quorum(total) + usize::from(away) {
            return None;
        }
        let message = match (count, members.absent.is_empty()) {
            (1, true) => {
                format!("{first} would be replaced, and it is the only member of etcd: the cluster would be lost")
            }
            (_, true) => format!(
                "{} would be replaced, and etcd has {count} members: it would lose its quorum",
                replaced.join(", ")
            ),
            (_, false) => format!(
                "{} would be replaced, and {count} of etcd's {total} members {} known to have joined: it may lose its quorum",
                replaced.join(", "),
                if count == 1 { "is" } else { "are" },
            ),
        };
        let finding = self.lost_member(message, first, &members, "add members first, so that there are three");
        let Some(again) = replaced.iter().find(|name| members.absent.contains(name)) else {
            return Some(finding);
        };
        let absent = record::once_joined(&record::listed(&members.absent));
        Some(finding.help(format!(
            "{absent}; if {again} does not join, replace it first, with --accept FL1217; {IN_PLACE}"
        )))
    }

    /// Members that are all needed for the quorum do not restart while others are on their way: of two, each is.
    fn restarted_members(&self, changes: &[MachineChange]) -> Option<Diagnostic> {
        let members = self.replaced(changes, |roles| self.is_member(roles));
        let restarted = changes
            .iter()
            .filter(|change| self.is_member(&change.roles) && change.restarts_etcd());
        let restarted = restarted.map(|change| change.name.as_str());
        let restarted: Vec<_> = restarted.filter(|name| !members.absent.contains(name)).collect();
        let (joined, absent) = (members.staying, members.absent.len());
        let is_short = joined.saturating_sub(1) < record::quorum(joined + absent);
        let waits = absent > 0 || members.joining > 0 && joined > 1;
        if restarted.is_empty() || !is_short || !waits {
            return None;
        }
        let message = format!(
            "etcd would restart on {} while only {joined} of its members {} known to have joined: it would lose its quorum",
            record::listed(&restarted),
            if joined == 1 { "is" } else { "are" }
        );
        let finding = Diagnostic::error("FL1216", message).at(self.nodes_place());
        if members.absent.is_empty() {
            let help =
                "make two changes: first the new member alone; when it is Ready, firelay update --done; then the rest";
            return Some(finding.label(self.recorded(&self.members_before())).help(help));
        }
        let absent = record::listed(&members.absent);
        let label = format!(
            "{absent} may not have joined yet ({})",
            self.recorded_line(&["pending"])
        );
        Some(finding.label(label).help(record::once_joined(&absent)))
    }

    /// With external etcd a control plane that is created anew joins through another one.
    fn last_server(&self, changes: &[MachineChange]) -> Option<Diagnostic> {
        let servers = self.replaced(changes, |roles| roles.contains(&Role::ControlPlane));
        let is_external = self.render.project.plan.etcd.external;
        let mut joined = servers.names.iter().filter(|name| !servers.absent.contains(name));
        let first = *joined.next().filter(|_| is_external)?;
        if servers.staying + servers.joining > 1 {
            return None;
        }
        let only = match servers.absent.is_empty() {
            true => "it is the only control plane",
            false => "no other control plane is known to have joined",
        };
        let message = format!("{first} would be replaced, and {only}: the new one would find no API server to join");
        Some(self.lost_member(message, first, &servers, "add a control plane first"))
    }

    /// Without the machine that is replaced nothing is left to join. New machines count when somebody says that they have joined.
    fn lost_member(&self, message: String, first: &str, of_role: &Replaced<'_>, more: &str) -> Diagnostic {
        let finding = Diagnostic::error("FL1217", message).at(self.nodes_place());
        if of_role.absent.is_empty() {
            return finding.label(self.recorded(&[first])).help(format!(
                "{more}, and replace afterwards; or undo the change of this machine; {IN_PLACE}"
            ));
        }
        let absent = record::listed(&of_role.absent);
        let line = self.recorded_line(&["pending"]);
        finding
            .label(format!("{absent} may not have joined yet ({line})"))
            .help(format!("{}; {IN_PLACE}", record::once_joined(&absent)))
    }

    /// API servers know members of external etcd by their addresses, and get new ones when all members have changed.
    fn lost_addresses(&self, changes: &[MachineChange]) -> Option<Diagnostic> {
        let before = self.members_before();
        let plan = &self.render.project.plan;
        let moves = |name: &str| changes.iter().any(|change| change.name == name && change.moves);
        let member = |name: &str| plan.etcd_members().find(|node| node.name == name);
        let is_lost = |name: &&str| moves(name) || member(name).is_none();
        let is_found = |name: &&str| !is_lost(name) && member(name).is_some_and(|node| self.is_known(node));
        let is_judged = plan.etcd.external && before.iter().any(|name| member(name).is_some());
        let found: Vec<_> = before.iter().filter(|name| is_found(name)).collect();
        // One that all machines know is away while it is created anew.
        let is_away = |name: &str| is_replaced(changes, name);
        let is_led = match found[..] {
            [only] => !is_away(only),
            _ => !found.is_empty(),
        };
        let is_change = |name: &&str| is_lost(name) || self.noted().is_some() && is_away(name);
        if !is_judged || !before.iter().any(is_change) || is_led {
            return None;
        }
        let message = "no member of etcd would keep its address, and API servers would know none that lives";
        let help = "keep the address of one member: replace the others, run the scripts of the control planes, and then change the last one";
        Some(self.unreachable(message.to_owned(), &before, help))
    }

    /// With `provider: local` machines know the API servers by the control planes' addresses alone, and the first control plane that is
    /// created joins through another one that lives.
    fn lost_servers(&self, changes: &[MachineChange]) -> Option<Diagnostic> {
        let plan = &self.render.project.plan;
        let local = matches!(plan.endpoint.provider, ProviderPlan::Local { .. });
        let machines = self.base.iter().flat_map(|base| &base.machines).filter(|_| local);
        let before = machines.filter(|(_, own)| own.roles.contains(&Role::ControlPlane));
        let (stay, go): (Vec<_>, Vec<_>) = before.partition(|(name, own)| keeps_address(plan, name, own));
        let is_known = |name: &str| {
            plan.control_planes()
                .any(|node| node.name == name && self.is_known(node))
        };
        let first = first_created(changes).map(|first| first.name.as_str());
        let leads = |name: &str| is_known(name) && Some(name) != first;
        // A machine that is rendered alone gets the new addresses, too.
        let has_new = !stay.is_empty() || first.is_some() || !self.render.whole;
        let is_judged = !go.is_empty() && has_new || self.noted().is_some() && first.is_some();
        if !local || !is_judged || stay.iter().any(|(name, _)| leads(name)) {
            return None;
        }
        let message = match first {
            Some(first) => format!("{first} would be created before any other control plane has its new address"),
            None => "no control plane would keep an address that all machines know".to_owned(),
        };
        let names: Vec<_> = go.iter().map(|(name, _)| name.as_str()).collect();
        let help = "with endpoint.provider: local a control plane joins through the addresses of the others: keep that of one that stays, \
                    replace the others, update the rest of the machines, and then change the last one";
        Some(self.unreachable(message, &names, help))
    }

    /// Nobody would find a server. An earlier change that may not be over is to be finished first.
    fn unreachable(&self, message: String, names: &[&str], help: &str) -> Diagnostic {
        let (message, label, help) = match self.noted() {
            Some(noted) => (UNKNOWN.to_owned(), noted, FINISH),
            None => (message, self.recorded(names), help),
        };
        let finding = Diagnostic::error("FL1228", message).at(self.nodes_place());
        finding.label(label).help(help)
    }

    /// Whether all machines know a server by its address.
    fn is_known(&self, node: &NodePlan) -> bool {
        let base = self.base.as_ref();
        let known = base.and_then(|base| base.known_to_all(&self.render.project.plan));
        known.is_none_or(|known| node.addresses.first().is_some_and(|own| known.contains(own)))
    }

    /// `machines may know 10.0.0.13 alone (firelay.state.yaml:9)`, where the record has such addresses.
    fn noted(&self) -> Option<String> {
        let known = self.base.as_ref()?.pending()?.addresses.as_ref()?;
        let known: Vec<_> = known.iter().map(ToString::to_string).collect();
        let line = self.recorded_line(&["pending"]);
        Some(match known.is_empty() {
            true => format!("machines may know no address that is left ({line})"),
            false => format!("machines may know {} alone ({line})", known.join(", ")),
        })
    }

    /// Judges a new version of Kubernetes, to which one of the running control planes has to bring the cluster.
    pub fn check_upgrade(&mut self, changes: &[MachineChange]) {
        let finding = self.unled_upgrade(changes);
        self.findings.extend(finding);
    }

    /// `kubeadm upgrade apply` runs on a control plane that takes the change in place. One that is created anew joins the cluster as it is:
    /// kubeadm's preflight refuses to join one of an older minor, and of an older patch release it takes the version. The last upgrade
    /// may not be over.
    fn unled_upgrade(&self, changes: &[MachineChange]) -> Option<Diagnostic> {
        let base = self.base.as_ref().filter(|_| self.is_founded())?;
        let pending = base.pending_kubernetes();
        let old = pending.unwrap_or(&base.kubernetes);
        let new = &self.render.project.plan.kubernetes.version;
        let is_running = |change: &&MachineChange| {
            change.roles.contains(&Role::ControlPlane) && !matches!(change.action, Action::Add | Action::Remove)
        };
        let running: Vec<_> = changes.iter().filter(is_running).collect();
        let is_led = running.iter().any(|change| change.action != Action::Replace);
        let first = running.iter().find(|change| change.action == Action::Replace);
        let first = first.filter(|_| old < new && (!is_led || pending.is_some()))?;
        if is_led {
            return Some(self.early_replacement(&first.name, old));
        }
        let message = format!(
            "Kubernetes goes from {old} to {new} while every control plane is created anew: none would run `kubeadm upgrade apply`"
        );
        let finding = Diagnostic::error("FL1240", message).at(self.place(&["kubernetes", "version"]));
        let finding = finding.label(format!(
            "the cluster {} {old} ({}), and {} is created anew ({})",
            if pending.is_some() { "may still run" } else { "runs" },
            self.recorded_line(&[if pending.is_some() { "pending" } else { "kubernetes" }]),
            first.name,
            first.cause()
        ));
        Some(finding.help(format!(
            "make two changes of it: first the version alone, with firelay update, and the rest when all machines are done; or first \
             the rest with Kubernetes {old}, and the version when all control planes are Ready"
        )))
    }

    /// One control plane is created anew while the last upgrade may not be over. If it led the upgrade, the others wait for it.
    fn early_replacement(&self, name: &str, old: &Version) -> Diagnostic {
        let message = format!("{name} would be created anew, and the last upgrade of Kubernetes may not be over");
        let finding = Diagnostic::warning("FL1240", message).at(self.place(&["kubernetes", "version"]));
        let finding = finding.label(format!(
            "the cluster may still run {old} ({}), and a newer kubeadm may not join it",
            self.recorded_line(&["pending"])
        ));
        finding.help(format!(
            "if all machines have the new version: firelay update --done. If none has, bring back the spec and the record of before the upgrade, \
             and replace {name} with Kubernetes {old}"
        ))
    }

    /// A cluster has an even number of members on its way to another number alone.
    pub(super) fn even_members(&self) -> Option<Diagnostic> {
        let plan = &self.render.project.plan;
        let count = match plan.etcd.external {
            true => plan.etcd_members().count(),
            false => plan.control_planes().count(),
        };
        let before = self.members_before();
        if count % 2 != 0 || count == before.len() {
            return None;
        }
        let message = format!("etcd would have {count} members, and an even number is for the way to another one");
        let finding = Diagnostic::error("FL0209", message).at(self.nodes_place());
        let finding = finding.label(self.recorded(&before));
        Some(finding.help(format!(
            "use {} or {}; as a step to another number of members, one at a time, render with --accept FL0209 (docs/day-two.md)",
            count - 1,
            count + 1
        )))
    }

    /// The members of the record, by name.
    fn members_before(&self) -> Vec<&str> {
        let machines = self.base.iter().flat_map(|base| &base.machines);
        let members = machines.filter(|(_, own)| self.is_member(&own.roles));
        members.map(|(name, _)| name.as_str()).collect()
    }

    /// `the record has etcd1, etcd2 (firelay.state.yaml:40)`.
    fn recorded(&self, names: &[&str]) -> String {
        let text = self.state.text.as_ref().zip(names.first());
        let label = text.map(|(text, first)| {
            let line = text.line(&["machines", first]);
            format!("the record has {} ({line})", record::listed(names))
        });
        label.unwrap_or_default()
    }

    fn replaced<'c>(&'c self, changes: &'c [MachineChange], has_role: impl Fn(&[Role]) -> bool) -> Replaced<'c> {
        let machines = self.base.iter().flat_map(|base| &base.machines);
        let before: Vec<_> = machines.filter(|(_, own)| has_role(&own.roles)).collect();
        let nodes = { self.render.project.plan.nodes.iter() }.filter(|node| has_role(&crate::delivery::roles(node)));
        let stays: BTreeSet<_> = nodes.map(|node| node.name.as_str()).collect();
        let of_role = changes.iter().filter(|change| has_role(&change.roles));
        let (old, new): (Vec<_>, Vec<_>) =
            of_role.partition(|change| before.iter().any(|(name, _)| **name == change.name));
        let has_joined = |name: &&str| self.base.as_ref().is_none_or(|base| base.has_joined(name));
        let stay = before
            .iter()
            .map(|(name, _)| name.as_str())
            .filter(|name| stays.contains(name));
        let (staying, absent): (Vec<_>, Vec<_>) = stay.partition(has_joined);
        let leaves = |change: &&&MachineChange| matches!(change.action, Action::Replace | Action::Unknown);
        let joins = |change: &&&MachineChange| matches!(change.action, Action::Add | Action::Replace);
        Replaced {
            names: old.iter().filter(leaves).map(|change| change.name.as_str()).collect(),
            staying: staying.len(),
            absent,
            joining: new.iter().filter(joins).count(),
        }
    }

    fn nodes_place(&self) -> Option<Span> {
        self.place(&["nodes"])
    }

    /// The place of the value at a path of the spec, if it has it.
    fn place(&self, path: &[&str]) -> Option<Span> {
        let root = self.render.project.spec.root()?;
        let found = path.iter().try_fold(root, |node, key| node.get(key));
        found.map(|node| node.span)
    }

    fn is_member(&self, roles: &[Role]) -> bool {
        let external = self.render.project.plan.etcd.external;
        roles.contains(if external { &Role::Etcd } else { &Role::ControlPlane })
    }
}

/// Machines of a role that are replaced, and how many there are beside.
struct Replaced<'c> {
    /// Those of the record that are created anew. Nobody knows whether a machine takes an unknown change in place.
    names: Vec<&'c str>,
    /// The number of those of the record that stay and have joined.
    staying: usize,
    /// Those of the record that stay and may not have joined.
    absent: Vec<&'c str>,
    /// The number of new ones. A worker that becomes a control plane is created anew, and joins etcd.
    joining: usize,
}

/// Whether a control plane of the record is found at the same address. A record of an earlier version has none.
fn keeps_address(plan: &Plan, name: &str, own: &MachineRecord) -> bool {
    let mut servers = plan.control_planes().filter(|node| node.name == name);
    let known = own.addresses.first();
    servers.any(|node| known.is_none() || node.addresses.first() == known)
}

/// Whether a machine is created anew. Nobody knows whether it takes an unknown change in place.
fn is_replaced(changes: &[MachineChange], name: &str) -> bool {
    let mut own = changes.iter().filter(|change| change.name == name);
    own.any(|change| matches!(change.action, Action::Replace | Action::Unknown))
}

/// The first control plane that is created: new ones come before others are replaced.
fn first_created(changes: &[MachineChange]) -> Option<&MachineChange> {
    let of = |action| {
        let mut servers = changes
            .iter()
            .filter(|change| change.roles.contains(&Role::ControlPlane));
        servers.find(|change| change.action == action)
    };
    of(Action::Add).or_else(|| of(Action::Replace))
}
