//! The layout of a cluster: its main choices and its machines, for people.

use firelay_base::table::{Column, table};

use crate::plan::{NodePlan, Plan, ProviderPlan};

/// Machines that are listed.
const MACHINES: usize = 20;

/// The choices in one line, and a table of the machines.
pub fn text(plan: &Plan) -> String {
    let mut text = head(plan) + "\n\n";
    text += &machines(plan);
    if let Some(more) = plan.nodes.len().checked_sub(MACHINES).filter(|more| *more > 0) {
        text += &format!("and {more} more\n");
    }
    text
}

fn head(plan: &Plan) -> String {
    let founder = plan.founder();
    let plugin = plan.addons.iter().find(|addon| addon.is_cni());
    let plugin = plugin.map_or("no network plugin", |plugin| plugin.key());
    let provider = match &plan.endpoint.provider {
        ProviderPlan::External => "by your load balancer".to_owned(),
        ProviderPlan::KubeVip { address, .. } => format!("by kube-vip on {address}"),
        ProviderPlan::Local { .. } => "by a proxy on each worker".to_owned(),
    };
    format!(
        "{}: Kubernetes {}, {} on {}, {plugin}\nAPI: https://{}:{}, {provider}",
        plan.name,
        plan.kubernetes.version,
        founder.os.name,
        founder.platform.name,
        plan.endpoint.host,
        plan.endpoint.port
    )
}

fn machines(plan: &Plan) -> String {
    let mut columns = vec![Column::left("NAME"), Column::left("ROLE"), Column::left("ADDRESS")];
    let has_mac = plan.nodes.iter().any(|node| node.mac.is_some());
    if has_mac {
        columns.push(Column::left("MAC"));
    }
    let row = |node: &NodePlan| {
        let addresses: Vec<_> = node.addresses.iter().map(ToString::to_string).collect();
        let mac = has_mac.then(|| node.mac.clone().unwrap_or_default());
        let mut row = vec![node.name.clone(), node.role(), addresses.join(" ")];
        row.extend(mac);
        row
    };
    let rows: Vec<_> = plan.nodes.iter().take(MACHINES).map(row).collect();
    table(&columns, &rows)
}
