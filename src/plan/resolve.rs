//! Spec and profiles to plan.

use std::{collections::BTreeMap, net::IpAddr};

use firelay_yaml::diagnostic::Diagnostic;

use super::{
    Plan, Requirements, access, addons, addresses,
    artifacts::{self, Store, Versions},
    conflicts, delivery, endpoint, etcd, extra_outputs, host,
    images::{self, Images},
    interfaces, kubelet, kubernetes,
    machines::{self, NodeGroup},
    manifests, metadata, names,
    network::{self, Parts, Ranges},
    node_names,
    nodes::Nodes,
    objects, patches, pki, pxe,
    release::{self, Release},
    report::Report,
    runtime, security,
    swap::SwapUse,
    tunnel, unused, update,
};
use crate::{profile::Profiles, spec::Spec};

/// The plan of a spec with its warnings, or everything that is wrong with the spec, in the order of its text.
pub fn resolve(spec: &Spec, profiles: &Profiles) -> Result<(Plan, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut report = Report::default();
    let plan = plan(spec, profiles, &mut report);
    report.finish(plan)
}

/// The release of the spec. If it is refused, resolution continues with another one, so that further mistakes are
/// found.
fn release(spec: &Spec, profiles: &Profiles, report: &mut Report) -> Option<Release> {
    report.take(release::release(spec, profiles)).or_else(|| {
        let (release, guessed) = release::placeholder(spec, profiles)?;
        report.guess(guessed);
        Some(release)
    })
}

/// Every stage, in the order of dependencies. No stage ends the run because another found a mistake.
#[expect(clippy::too_many_lines, reason = "the stages in their order, a line each")]
fn plan(spec: &Spec, profiles: &Profiles, report: &mut Report) -> Option<Plan> {
    report.take(names::check("cluster", &spec.name));
    access::check(&spec.access, report);
    let manifests = manifests::resolve(spec, report);
    artifacts::check(spec, profiles, report);
    runtime::check(&spec.runtime, report);
    host::check(spec, profiles, report);
    delivery::check(spec, report);
    let mut images = Images::new(spec);
    let ranges = Ranges::read(&spec.network, report);
    let groups = machines::expand(spec, report);
    host::check_names(spec, &groups, report);
    addresses::check(&groups, &ranges, report);
    let patches = patches::resolve(spec, &groups, report);
    unused::check(spec, &groups, report);
    let endpoint = endpoint::resolve(spec, profiles, &ranges, &groups, &mut images, report);
    let parts = Parts {
        node_cidr_allocator: addons::node_cidr_allocator(spec),
        nodes: kubelets(&groups) + spec.pools.len(),
        max_pods: kubelet::max_pods(spec),
    };
    let network = network::resolve(spec, &ranges, parts, report);
    let release = release(spec, profiles, report);
    let mut pki = pki::resolve(spec, release.as_ref(), report);
    let join = pki::join(spec, report);
    let security = security::resolve(spec, profiles, report);
    conflicts::check_token(spec, &join, report);
    conflicts::check_cgroup_drivers(spec, report);
    if let Some(endpoint) = &endpoint {
        conflicts::check_strict_arp(spec, endpoint, report);
    }

    let release = release?;
    let addons = addons::chosen(spec, &release, &mut images, report);
    conflicts::check_plugin(&addons, manifests.len(), report);
    let written = [manifests::of_choices(spec), spec.manifests.clone()].concat();
    objects::check(&written, &addons, &release, report);
    kubelet::check(spec, &release, report);
    kubelet::validate_fields(&spec.kubernetes.kubelet.config, &BTreeMap::new(), report);
    if let Some(network) = &network {
        kubelet::check_dns(spec, &ranges, network.cluster_dns, report);
    }
    let kubernetes = kubernetes::resolve(spec, &release, &images, report);
    let external = groups.iter().any(|group| group.roles.etcd);
    let mut versions = versions(spec, &release, report);
    if let Some(tools) = etcd::tools(&spec.etcd, &release, &profiles.catalog).filter(|_| !external) {
        versions
            .components
            .insert("etcd", (tools, spec.kubernetes.version.span));
    }
    let service = runtime::service(spec, profiles);
    let chosen = versions.components.get(service.name.as_str()).cloned();
    let etcd = versions
        .components
        .get("etcd")
        .map(|(version, _)| etcd::resolve(spec, external, version, profiles, &release, &images, report));
    if let Some(etcd) = &etcd {
        conflicts::check_etcd(spec, etcd, &release, report);
    }
    let runtime = chosen.map(|version| runtime::resolve(spec, profiles, &release, &version, &mut images, report));
    let store = Store::new(spec, profiles, versions, &service.name);
    let etcd_data = etcd
        .as_ref()
        .map_or(etcd::directory::DATA, |etcd| &etcd.data_dir)
        .to_owned();
    let tunnel = tunnel::tunnel(&addons);
    let mut nodes = Nodes {
        spec,
        profiles,
        store,
        direct: host::Direct::new(&kubernetes.dns.domain, &ranges, &spec.endpoint, &groups),
        etcd_data: &etcd_data,
        external_etcd: external,
        ipv6: network
            .as_ref()
            .is_some_and(|network| network.pods.iter().any(|range| range.addr().is_ipv6())),
        swap: SwapUse::default(),
        ranges: &ranges,
        tunnel: tunnel.as_ref(),
        assigned: interfaces::AssignedAddresses::new(own_addresses(&groups)),
        plain: BTreeMap::new(),
    };
    let machines = nodes.resolve(&groups, report);
    let store = nodes.store;
    let mut nodes = machines;
    endpoint::check_platforms(spec, &nodes, report);
    if let Some(etcd) = &etcd {
        etcd::backup::check_identity(spec, etcd, &nodes, report);
    }
    conflicts::check_pods(spec, &nodes, report);
    if let Some(endpoint) = &endpoint {
        endpoint::check_reach(spec, endpoint, &nodes, report);
    }
    node_names::check_pools(spec, &nodes, report);
    let extra_outputs = extra_outputs::resolve(&spec.delivery.extra_outputs, &nodes, report);
    let pxe = pxe::resolve(spec, profiles, &mut nodes, report);
    let endpoint = endpoint.unwrap_or_else(|| endpoint::placeholder(spec));
    pki.extra_sans = endpoint::sans(&endpoint, &ranges, pki.extra_sans);
    let mut plan = Plan {
        name: spec.name.value.clone(),
        kubernetes,
        endpoint,
        network: network?,
        etcd: etcd?,
        runtime: runtime?,
        mirror: artifacts::prefix(spec).map(str::to_owned),
        images,
        addons,
        requirements: Requirements::default(),
        manifests,
        access: spec.access.clone(),
        pki,
        join,
        metadata_firewall: metadata::firewall(spec, &nodes, report),
        security,
        nodes,
        extra_outputs,
        max_unavailable: update::max_unavailable(spec, report),
        pxe,
        patches,
    };
    addons::apply_requirements(&mut plan, spec, &store, report);
    artifacts::check_apart(spec, &plan, report);
    images::check(spec, &plan, report);
    node_names::check_found(&groups, &plan.nodes, report);
    kubelet::check_approval(spec, &plan.requirements, report);
    kubelet::check_signer(spec, report);
    security::check_serving(spec, &plan.requirements, report);
    conflicts::check_services(spec, &plan, report);
    Some(plan)
}

/// The addresses of all machines.
fn own_addresses<'r>(groups: &'r [NodeGroup<'_>]) -> impl Iterator<Item = (IpAddr, String)> + 'r {
    groups.iter().flat_map(|group| {
        let named = move |entry: &'r Vec<IpAddr>| entry.iter().copied().zip(group.names.iter().cloned());
        group.addresses.iter().flat_map(named)
    })
}

/// Named machines that run a kubelet.
fn kubelets(groups: &[NodeGroup<'_>]) -> usize {
    groups
        .iter()
        .filter(|group| group.roles.kubernetes())
        .map(|group| group.names.len())
        .sum()
}

/// The versions that belong to Kubernetes: the profile's, of which the spec may set four.
fn versions<'a>(spec: &Spec, release: &'a Release, report: &mut Report) -> Versions<'a> {
    let crio = spec.runtime.crio.as_ref().and_then(|crio| crio.version.clone());
    let chosen = [
        ("containerd", &spec.runtime.version),
        ("crio", &crio),
        ("runc", &spec.runtime.runc_version),
        ("etcd", &spec.etcd.version),
    ];
    let mut components = BTreeMap::new();
    for name in release.profile.components.keys() {
        let given = chosen
            .iter()
            .find(|(key, _)| key == name)
            .and_then(|(_, version)| version.as_ref());
        let version = runtime::version(name, given, spec, release, report)
            .or_else(|| runtime::version(name, None, spec, release, report));
        components.extend(version.map(|version| (name.as_str(), version)));
    }
    Versions {
        kubernetes: (&release.version, spec.kubernetes.version.span),
        components,
    }
}
