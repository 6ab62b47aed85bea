//! Node names that a platform or the controller of a cloud changes or does not find.

use std::collections::BTreeMap;

use firelay_yaml::diagnostic::Diagnostic;
use regex_lite::Regex;

use super::{NodePlan, machines::NodeGroup, report::Report};
use crate::{profile::ProviderId, spec::Spec};

/// Machines with the same document and the same name are one node: each replaces the previous one.
pub(super) fn check_pools(spec: &Spec, nodes: &[NodePlan], report: &mut Report) {
    for pool in &spec.pools {
        let plan = nodes.iter().find(|node| node.pool && node.name == pool.name.value);
        let Some(platform) = plan.map(|node| &node.platform) else {
            continue;
        };
        let Some(hostname) = platform.hostname.as_ref().filter(|hostname| !hostname.distinct) else {
            continue;
        };
        let message = format!("machines of a pool may all have one name on {}", platform.name);
        let finding = Diagnostic::warning("FL0219", message).at(pool.name.span);
        report.push(finding.label(format!("host name: {}", hostname.source)).help(
            "list them under `nodes`, or see to it that each has a name of its own before firelay.service starts",
        ));
    }
}

/// A node whose machine the cloud's controller does not find stays out of use, and may be deleted.
pub(super) fn check_found(groups: &[NodeGroup<'_>], nodes: &[NodePlan], report: &mut Report) {
    let watched: BTreeMap<_, _> = nodes.iter().filter_map(watched).collect();
    for group in groups {
        let Some((id, pattern)) = group.names.iter().find_map(|name| watched.get(name.as_str()).copied()) else {
            continue;
        };
        let Ok(pattern) = Regex::new(pattern) else { continue };
        let Some(name) = group.names.iter().find(|name| !pattern.is_match(name)) else {
            continue;
        };
        let finding = Diagnostic::warning("FL0220", "a node that the cloud's controller will not find");
        let example = id
            .example
            .as_ref()
            .map(|name| format!(", as {name}"))
            .unwrap_or_default();
        report.push(
            finding
                .at(group.node.name.span)
                .label(format!("it looks for {}, and not for {name}", id.found_by))
                .help(format!(
                    "name it so{example}; or let each kubelet say its machine's `provider-id`"
                )),
        );
    }
}

/// A node's name and its cloud's pattern, if a cloud controller finds the node by name and not by a provider ID.
fn watched(node: &NodePlan) -> Option<(&str, (&ProviderId, &str))> {
    let said = |flag: &str| node.kubelet_args.iter().find(|(name, _)| name == flag);
    let external = said("cloud-provider").is_some_and(|(_, value)| value == "external");
    let id = node.platform.provider_id.as_ref()?;
    let pattern = id.node_names.as_deref()?;
    let found = external && said("provider-id").is_none() && !node.pool && node.roles.kubernetes();
    found.then_some((node.name.as_str(), (id, pattern)))
}
