//! Requirements of plugins and add-ons, added to the plan. A setting of the user wins; a contradiction is a finding.

use std::sync::Arc;

use firelay_yaml::{
    OptionalKey,
    diagnostic::{Diagnostic, Span},
};

use super::node_cidr_allocator;
use crate::{
    plan::{
        ArtifactPlan, NodePlan, Plan, among, artifacts::Store, kubelet::SERVER_TLS_BOOTSTRAP, names, report::Report,
    },
    spec::Spec,
};

pub(super) fn apply(plan: &mut Plan, spec: &Spec, store: &Store<'_>, report: &mut Report) {
    let requirements = plan.requirements.clone();
    if requirements.without_kube_proxy {
        report.extend(unused_proxy(spec));
        plan.kubernetes.kube_proxy = None;
    }
    let mut controller_manager = requirements.controller_manager_arguments;
    if requirements.without_node_cidrs {
        controller_manager.insert(node_cidr_allocator::FLAG.to_owned(), "false".to_owned());
    }
    let kubernetes = &mut plan.kubernetes;
    for (component, arguments) in [
        (&mut kubernetes.api_server, requirements.api_server_arguments),
        (&mut kubernetes.controller_manager, controller_manager),
    ] {
        let taken = |name: &String| {
            let mut all = component.own_args.iter().chain(&component.extra_args);
            all.any(|(other, _)| other == name)
        };
        let free: Vec<_> = arguments.into_iter().filter(|(name, _)| !taken(name)).collect();
        component.own_args.extend(free);
    }
    for (field, value) in requirements.kubelet_config {
        kubernetes.kubelet_config.entry(field).or_insert(value);
    }
    if requirements.serving_certificates {
        ask_for_certificates(plan);
    }
    for san in requirements.sans {
        if !plan.pki.extra_sans.contains(&san) {
            plan.pki.extra_sans.push(san);
        }
    }
    for node in plan.nodes.iter_mut().filter(|node| node.roles.kubernetes()) {
        for (name, value) in &requirements.kubelet_arguments {
            if !node.kubelet_args.iter().any(|(other, _)| other == name) {
                node.kubelet_args.push((name.clone(), value.clone()));
            }
        }
        let wanted = requirements
            .binaries
            .iter()
            .filter(|(_, roles)| among(roles, node.roles));
        let further: Vec<_> = wanted
            .filter_map(|(name, _)| fetched(name, node, store, report))
            .collect();
        if !further.is_empty() {
            Arc::make_mut(&mut node.artifacts).extend(further);
        }
        install(node, &requirements.packages);
    }
    plan.pki.renews_etcd = requirements.etcd_key;
    let servers = plan
        .nodes
        .iter_mut()
        .filter(|node| node.roles.control_plane || node.roles.etcd);
    servers.for_each(|node| install(node, &requirements.etcd_packages));
}

/// Adds packages of the system, where it has a package manager and programs are downloaded.
fn install(node: &mut NodePlan, packages: &[String]) {
    if node.os.package_command.is_some() && !node.preinstalled && !packages.is_empty() {
        let host = Arc::make_mut(&mut node.host);
        host.packages = names::distinct(host.packages.iter().chain(packages).cloned());
    }
}

/// Documents of named machines contain the serving certificates of their kubelets. Pool machines have no name yet, and
/// request theirs.
fn ask_for_certificates(plan: &mut Plan) {
    if plan.kubernetes.kubelet_config.contains_key(SERVER_TLS_BOOTSTRAP) {
        return;
    }
    for pool in plan.nodes.iter_mut().filter(|node| node.pool) {
        let field = pool.kubelet_config.entry(SERVER_TLS_BOOTSTRAP.to_owned());
        field.or_insert(true.into());
    }
}

fn fetched(name: &str, node: &NodePlan, store: &Store<'_>, report: &mut Report) -> Option<ArtifactPlan> {
    let there = node.preinstalled || node.artifacts.iter().any(|artifact| artifact.name == name);
    (!there).then(|| store.one(name, &node.os, node.arch, report)).flatten()
}

/// Settings of a kube-proxy that is not deployed.
fn unused_proxy(spec: &Spec) -> Option<Diagnostic> {
    let proxy = &spec.kubernetes.kube_proxy;
    let kept = Some(proxy.disabled.span).filter(|span| !*proxy.disabled && *span != Span::default());
    let mode = proxy.mode.span();
    let place = kept
        .or(mode)
        .or_else(|| proxy.config.keys().next().map(|key| key.span))?;
    let finding = Diagnostic::error("FL0804", "settings of kube-proxy, which is not deployed").at(place);
    let label = "the network plugin does its work, as its parameters say";
    Some(
        finding
            .label(label)
            .help("remove it, or choose parameters that leave services to kube-proxy"),
    )
}
