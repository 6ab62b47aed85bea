//! Machines and pools, resolved.

use std::{collections::BTreeMap, rc::Rc, sync::Arc};

use firelay_yaml::{
    Spanned,
    diagnostic::{Diagnostic, Span, nearest},
};
use serde_json::Value;

use super::{
    InterfacePlan, NodePlan, RoleSet, artifacts, artifacts::Store, delivery, group_addresses, host,
    inheritance::Inherited, interfaces, kubelet, labels, machine_ids, machines, machines::NodeGroup, names,
    network::Ranges, pki, report::Report, swap::SwapUse, tunnel::Tunnel,
};
use crate::{
    profile::{OsProfile, PlatformProfile, Profiles},
    spec::{Arch, Interface, JoinIdentity, Pool, Role, Settings, Spec},
};

/// Codes of findings that rest on what a system or platform can do.
const OF_SYSTEM: &[&str] = &[
    "FL0116", "FL0131", "FL0132", "FL0212", "FL0213", "FL0219", "FL0220", "FL0303", "FL0411", "FL0412", "FL0605",
    "FL0607", "FL0609", "FL0621", "FL0629", "FL0902", "FL0904", "FL0911", "FL0921",
];

/// The inputs that all machines share.
pub(super) struct Nodes<'a> {
    pub(super) spec: &'a Spec,
    pub(super) profiles: &'a Profiles,
    pub(super) store: Store<'a>,
    /// Reached without a proxy.
    pub(super) direct: host::Direct,
    pub(super) etcd_data: &'a str,
    pub(super) external_etcd: bool,
    /// Pods have IPv6 addresses.
    pub(super) ipv6: bool,
    pub(super) swap: SwapUse,
    pub(super) ranges: &'a Ranges,
    /// The network plugin's overhead per packet, in bytes.
    pub(super) tunnel: Option<&'a Tunnel>,
    /// Addresses that machines have.
    pub(super) assigned: interfaces::AssignedAddresses,
    /// The templates of machines without settings of their own, by their roles.
    pub(super) plain: BTreeMap<&'a [Spanned<Role>], Rc<Template<'a>>>,
}

/// A machine without its name and addresses.
pub(super) struct Template<'a> {
    node: NodePlan,
    interfaces: Vec<&'a Interface>,
}

impl<'a> Nodes<'a> {
    /// Named machines in the order of the spec, then pools. Refused ones are left out.
    pub(super) fn resolve(&mut self, groups: &[NodeGroup<'a>], report: &mut Report) -> Vec<NodePlan> {
        let mut nodes = Vec::new();
        for group in groups {
            self.resolve_row(group, &mut nodes, report);
        }
        if let Some(founder) = nodes.iter_mut().find(|node| node.roles.control_plane) {
            founder.founder = true;
        }
        machine_ids::check(groups, report);
        nodes.extend(
            self.spec
                .pools
                .iter()
                .filter_map(|pool| self.resolve_pool(pool, report)),
        );
        self.swap.check(report);
        nodes
    }

    fn resolve_row(&mut self, group: &NodeGroup<'a>, nodes: &mut Vec<NodePlan>, report: &mut Report) {
        let node = group.node;
        let macs = machine_ids::macs(group, report);
        let uuid = node.uuid.as_ref().and_then(|text| report.take(machine_ids::uuid(text)));
        let machine = NodeInput {
            roles: group.roles,
            listed: &node.roles,
            settings: node.settings(),
            place: node.name.span,
            machines: interfaces::Machines {
                names: &group.names,
                addresses: &group.addresses,
                pool: false,
            },
        };
        let Some((template, interfaces)) = self.resolve_machine(&machine, report) else {
            return;
        };
        let named = group.names.iter().zip(interfaces).zip(macs).enumerate();
        nodes.extend(named.map(|(at, ((name, interfaces), mac))| NodePlan {
            name: name.clone(),
            addresses: group_addresses::of_machine(&group.addresses, at),
            mac,
            uuid: uuid.clone(),
            interfaces,
            ..template.node.clone()
        }));
    }

    fn resolve_pool(&mut self, pool: &'a Pool, report: &mut Report) -> Option<NodePlan> {
        report.take(names::check("pool", &pool.name));
        let roles = machines::roles(&pool.roles, report);
        for role in pool.roles.iter().filter(|role| role.value != Role::Worker) {
            let finding = Diagnostic::error("FL0210", "a pool has workers only").at(role.span);
            let finding = finding.label("this role needs machines with known names");
            report.push(finding.help("list such machines under `nodes`"));
        }
        let machine = NodeInput {
            roles,
            listed: &pool.roles,
            settings: pool.settings(),
            place: pool.name.span,
            machines: interfaces::Machines {
                names: std::slice::from_ref(&pool.name.value),
                addresses: &[],
                pool: true,
            },
        };
        let (template, interfaces) = self.resolve_machine(&machine, report)?;
        Some(NodePlan {
            interfaces: interfaces.into_iter().next().unwrap_or_default(),
            name: pool.name.value.clone(),
            pool: true,
            identity: JoinIdentity::Token,
            ..template.node.clone()
        })
    }

    /// The template of machines and the interfaces of each.
    ///
    /// Without its system or platform a machine is resolved with another, so that this mistake hides no other.
    fn resolve_machine(&mut self, machine: &NodeInput<'_, 'a>, report: &mut Report) -> Option<Resolved<'a>> {
        let plain = machine.settings.is_empty();
        if let Some(known) = self.plain.get(machine.listed).filter(|_| plain).cloned() {
            return Some(self.with_interfaces(known, machine, report));
        }
        let settings = Inherited::new(self.spec, machine.listed, machine.settings);
        let systems = ProfileKind {
            key: "os",
            profiles: &self.profiles.os,
            aliases: |os| &os.aliases,
        };
        let platforms = ProfileKind {
            key: "platform",
            profiles: &self.profiles.platform,
            aliases: |platform| &platform.aliases,
        };
        let os = report.take(systems.find(settings.os, machine.place));
        let platform = report.take(platforms.find(settings.platform, machine.place));
        if let (Some(os), Some(platform)) = (&os, &platform) {
            let before = report.len();
            let template = Rc::new(self.template_of(machine, &settings, os, platform, report));
            // A finding names the place of its machine, so each machine has its own.
            if plain && report.len() == before {
                self.plain.insert(machine.listed, template.clone());
            }
            return Some(self.with_interfaces(template, machine, report));
        }
        let platform = platform
            .or_else(|| platforms.guess(settings.platform, self.profiles.suggested_platforms().first().copied()))?;
        let os = os.or_else(|| systems.guess(settings.os, self.profiles.suggested_systems().first().copied()))?;
        Some(report.guessing(OF_SYSTEM, |report| {
            let template = self.template_of(machine, &settings, &os, &platform, report);
            self.with_interfaces(Rc::new(template), machine, report)
        }))
    }

    fn with_interfaces(
        &mut self,
        template: Rc<Template<'a>>,
        machine: &NodeInput<'_, 'a>,
        report: &mut Report,
    ) -> Resolved<'a> {
        let node = &template.node;
        let site = interfaces::Site {
            os: &node.os,
            platform: &node.platform,
            ranges: self.ranges,
            tunnel: self.tunnel,
            ipv6: self.ipv6,
            dns: node.host.dns.is_some(),
            virtual_address: self
                .spec
                .endpoint
                .interface
                .as_ref()
                .filter(|_| node.roles.control_plane),
        };
        let interfaces = interfaces::resolve(
            &template.interfaces,
            &machine.machines,
            &site,
            &mut self.assigned,
            report,
        );
        (template, interfaces)
    }

    fn template_of(
        &mut self,
        machine: &NodeInput<'_, 'a>,
        settings: &Inherited<'a>,
        os: &Arc<OsProfile>,
        platform: &Arc<PlatformProfile>,
        report: &mut Report,
    ) -> Template<'a> {
        let roles = machine.roles;
        let labels = labels::sort(&settings.labels, roles.control_plane, settings.has_cloud(), report);
        let taints = labels::taints(settings.taints, roles.control_plane && !roles.worker, report);
        kubelet::validate_fields(&self.spec.kubernetes.kubelet.config, &settings.kubelet_config, report);
        let arch = settings.arch.map_or(Arch::Amd64, |arch| arch.value);
        report.take(check_carriage(os, platform, arch, settings, machine.place));
        let bin_dir = self.store.bin_dir(os);
        let site = host::Site {
            direct: &self.direct,
            metadata: &platform.metadata,
            os,
            bin_dir: &bin_dir,
            etcd_data: (roles.etcd || roles.control_plane && !self.external_etcd).then_some(self.etcd_data),
            kubelet: roles.kubernetes(),
            ipv6: self.ipv6,
        };
        let host = Arc::new(host::resolve(&settings.host, &site, report));
        if roles.kubernetes() {
            self.swap.note(
                &settings.kubelet_config,
                &self.spec.kubernetes.kubelet.config,
                host.swap,
            );
        }
        let interfaces = settings
            .host
            .replaced(|level| level.interfaces, |interface| &interface.name);
        let image_archives = artifacts::image_archives(&settings.image_archives, roles, arch);
        let delivery = Arc::new(delivery::resolve(settings, os, platform, report));
        let node = NodePlan {
            name: String::new(),
            pool: false,
            roles,
            founder: false,
            addresses: Vec::new(),
            mac: None,
            uuid: None,
            boot: None,
            arch,
            identity: pki::identity(self.spec),
            labels: labels.own,
            admin_labels: labels.admin,
            taints,
            kubelet_config: self.kubelet_config(settings, host.swap),
            kubelet_args: settings
                .kubelet_args
                .iter()
                .map(|arg| (arg.name.value.clone(), arg.value.value.clone()))
                .collect(),
            artifacts: self.store.of(roles, os, arch, !image_archives.is_empty(), report),
            image_archives,
            preinstalled: self.store.preinstalled(),
            bin_dir,
            interfaces: Vec::new(),
            host,
            os: os.clone(),
            platform: platform.clone(),
            delivery,
        };
        Template { node, interfaces }
    }
}

impl Nodes<'_> {
    /// The fields in which a kubelet differs from the cluster's. Swap must be enabled explicitly (Kubernetes docs,
    /// "Swap memory management"); `memorySwap` may set its use.
    fn kubelet_config(&self, settings: &Inherited<'_>, swap: bool) -> BTreeMap<String, Value> {
        let given = settings.kubelet_config.iter();
        let mut fields: BTreeMap<_, _> = given
            .map(|(key, branch)| (key.value.clone(), branch.value.clone()))
            .collect();
        let cluster = &self.spec.kubernetes.kubelet.config;
        if swap {
            fields.insert("failSwapOn".to_owned(), false.into());
        }
        if swap && !cluster.contains_key("memorySwap") {
            let limited = || serde_json::json!({ "swapBehavior": "LimitedSwap" });
            fields.entry("memorySwap".to_owned()).or_insert_with(limited);
        }
        fields
    }
}

/// The template of machines and the interfaces of each.
type Resolved<'a> = (Rc<Template<'a>>, Vec<Vec<InterfacePlan>>);

/// A node or a pool, as far as they are alike.
struct NodeInput<'n, 'a> {
    roles: RoleSet,
    listed: &'a [Spanned<Role>],
    settings: Settings<'a>,
    place: Span,
    machines: interfaces::Machines<'n>,
}

/// A kind of profile that a machine names.
struct ProfileKind<'a, T> {
    /// The key of the spec.
    key: &'static str,
    profiles: &'a BTreeMap<String, Arc<T>>,
    aliases: fn(&T) -> &[String],
}

impl<'a, T> ProfileKind<'a, T> {
    /// The profile that a machine names, or the finding.
    fn find(&self, name: Option<&Spanned<String>>, place: Span) -> Result<Arc<T>, Diagnostic> {
        let key = self.key;
        let help = || {
            let known: Vec<_> = self.profiles.keys().map(String::as_str).collect();
            format!("profiles: {}", known.join(", "))
        };
        let Some(name) = name else {
            let finding = Diagnostic::error("FL0218", format!("no `{key}` for this machine")).at(place);
            let finding = finding.label("neither it, nor its roles, nor the cluster names one");
            return Err(finding.help(help()));
        };
        self.profiles.get(&name.value).cloned().ok_or_else(|| {
            let finding = Diagnostic::error("FL0211", format!("no such `{key}` profile")).at(name.span);
            finding.suggest(self.meant(name)).help(help())
        })
    }

    /// The profile to go on with after a mistake.
    fn guess(&self, name: Option<&Spanned<String>>, suggested: Option<&str>) -> Option<Arc<T>> {
        let meant = name.and_then(|name| self.meant(name));
        self.profiles.get(meant.or(suggested)?).cloned()
    }

    /// The profile for another name: the newest one with this prefix (`ubuntu`), or one with a similar spelling.
    fn meant(&self, name: &str) -> Option<&'a str> {
        let bare = |name: &str| name.to_lowercase().replace(['-', '_', '.', ' '], "");
        let wanted = bare(name);
        let same = |alias: &str| bare(alias) == wanted;
        let known = || self.profiles.keys().map(String::as_str);
        let mut profiles = self.profiles.iter();
        let other = profiles.find(|(known, it)| same(known) || (self.aliases)(it).iter().any(|alias| same(alias)));
        let release = |known: &&str| {
            let rest = known.strip_prefix(&format!("{}-", name.to_lowercase()))?;
            let numbers = rest.split('.').map(|part| part.parse().ok());
            numbers.collect::<Option<Vec<u32>>>()
        };
        other
            .map(|(name, _)| name.as_str())
            .or_else(|| known().filter(|known| release(known).is_some()).max_by_key(release))
            .or_else(|| nearest(name, known()))
    }
}

/// Refuses an OS without images for the architecture, and one whose document the platform does not carry.
fn check_carriage(
    os: &OsProfile,
    platform: &PlatformProfile,
    arch: Arch,
    settings: &Inherited<'_>,
    place: Span,
) -> Result<(), Diagnostic> {
    if !os.architectures.contains(&arch) {
        let place = settings.arch.map_or(place, |arch| arch.span);
        return Err(Diagnostic::error("FL0212", format!("{} has no images for {arch}", os.name)).at(place));
    }
    if os.user_data(platform).is_none() {
        let place = settings.os.map_or(place, |os| os.span);
        let message = format!("{} cannot carry the document of {}", platform.name, os.name);
        let finding = Diagnostic::error("FL0213", message).at(place);
        return Err(finding.label("this OS reads another kind of user-data"));
    }
    Ok(())
}
