//! The user's spec compared with the cluster that it shall describe.

use firelay_yaml::{
    Node,
    diagnostic::{Diagnostic, Span},
};
use serde_json::Value;

use super::{draft::Draft, machines::Machine};
use crate::plan::{NodePlan, Plan};

/// The findings about a spec that is not the cluster's.
pub fn compare(draft: &Draft, plan: &Plan, root: Option<&Node<'static>>) -> Vec<Diagnostic> {
    let differs = values(draft, plan)
        .into_iter()
        .filter(|value| value.cluster != value.spec);
    let mut findings: Vec<_> = differs.map(|value| value.finding(root)).collect();
    findings.extend(
        draft
            .machines
            .iter()
            .filter_map(|machine| check_machine(machine, plan, root)),
    );
    findings
}

struct Compared {
    title: &'static str,
    path: &'static [&'static str],
    cluster: String,
    spec: String,
}

impl Compared {
    fn finding(&self, root: Option<&Node<'static>>) -> Diagnostic {
        let Self {
            title, cluster, spec, ..
        } = self;
        Diagnostic::error(
            "FL1316",
            format!("{title} is {cluster} in the cluster, and {spec} here"),
        )
        .at(place(root, self.path))
        .help(format!("write {cluster}; change it when the cluster is adopted"))
    }
}

fn values(draft: &Draft, plan: &Plan) -> Vec<Compared> {
    let text = |path: &[&str], default: &str| {
        let value = path.iter().fold(&draft.spec, |value, key| &value[key]);
        value.as_str().unwrap_or(default).to_owned()
    };
    let list = |key: &str, default: String| match draft.spec["network"][key].as_array() {
        Some(items) if !items.is_empty() => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        _ => default,
    };
    let joined = |ranges: &[ipnet::IpNet]| ranges.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let (pods, services) = (joined(&plan.network.pods), joined(&plan.network.services));
    let value = |title, path, cluster, spec| Compared {
        title,
        path,
        cluster,
        spec,
    };
    let version = plan.kubernetes.version.to_string();
    let domain = &["kubernetes", "dns", "domain"];
    let mut values = vec![
        value(
            "the version of Kubernetes",
            &["kubernetes", "version"][..],
            text(&["kubernetes", "version"], ""),
            version,
        ),
        value(
            "the DNS domain",
            domain,
            text(domain, "cluster.local"),
            plan.kubernetes.dns.domain.clone(),
        ),
        value("the pod range", &["network", "pods"], list("pods", pods.clone()), pods),
        value(
            "the service range",
            &["network", "services"],
            list("services", services.clone()),
            services,
        ),
        value(
            "the endpoint",
            &["endpoint", "host"],
            text(&["endpoint", "host"], ""),
            plan.endpoint.host.clone(),
        ),
    ];
    if !plan.etcd.external {
        let path = &["etcd", "dataDir"];
        values.push(value(
            "the directory of etcd's data",
            path,
            text(path, "/var/lib/etcd"),
            plan.etcd.data_dir.clone(),
        ));
    }
    values
}

fn check_machine(machine: &Machine, plan: &Plan, root: Option<&Node<'static>>) -> Option<Diagnostic> {
    let own = plan.nodes.iter().find(|node| node.name == machine.name);
    let message = match own {
        None => format!("the machine {} is in the cluster, and not in the spec", machine.name),
        Some(node) if same_role(machine, node) => return None,
        Some(_) => format!(
            "the machine {} has another role in the cluster than in the spec",
            machine.name
        ),
    };
    let finding = Diagnostic::error("FL1316", message).at(place(root, &["nodes"]));
    Some(finding.help("describe the cluster as it is; change it when the cluster is adopted"))
}

/// Whether a control plane is one, and a member of etcd.
fn same_role(machine: &Machine, node: &NodePlan) -> bool {
    machine.control_plane == node.roles.control_plane && machine.etcd == node.roles.etcd
}

fn place(root: Option<&Node<'static>>, path: &[&str]) -> Option<Span> {
    let found = path.iter().try_fold(root?, |node, key| node.get(key));
    found.map(|node| node.span)
}
