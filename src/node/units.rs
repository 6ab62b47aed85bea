//! Units of the daemons that firelay runs. The document enables none of them: the chain starts each in its turn.
//!
//! They are in /etc/systemd/system and so override a distribution's unit of the same name.

use serde_json::{Value, json};

use super::{Error, NodeUnit, firewall, host, render};
use crate::{
    plan::{NodePlan, Plan, among},
    template,
};

/// Name of the drop-ins with sandboxes.
const SANDBOX: &str = "90-firelay-sandbox.conf";

/// `kubelet.service`, with kubeadm's drop-in `10-kubeadm.conf`; `None` on a node without a kubelet.
pub fn kubelet(plan: &Plan, node: &NodePlan) -> Result<Option<NodeUnit>, Error> {
    if !node.roles.kubernetes() {
        return Ok(None);
    }
    let mut unit = unit(plan, node, "kubelet.service")?;
    let name = "10-kubeadm.conf";
    let dropin = render::text(node, name, "units/kubelet-10-kubeadm.conf.j2", &context(plan, node))?;
    unit.dropins.push((name.to_owned(), dropin));
    Ok(Some(unit))
}

/// `containerd.service` or `crio.service`; `None` on a node without a kubelet. Where the image has the runtime and its own
/// unit, only a drop-in if there is one, else `None`.
pub fn runtime(plan: &Plan, node: &NodePlan) -> Result<Option<NodeUnit>, Error> {
    let ours = node.roles.kubernetes() && !node.preinstalled;
    let name = plan.runtime.unit();
    let unit = ours.then(|| unit(plan, node, &name)).transpose()?;
    Ok(match host::runtime_dropin(node)? {
        Some(dropin) => {
            let mut unit = unit.unwrap_or_else(|| NodeUnit::new(&name, "", false));
            unit.dropins.push(dropin);
            Some(unit)
        }
        None => unit,
    })
}

/// `etcd.service` of an external member; `None` on other nodes.
///
/// Its start job lasts until the cluster has a leader: start it with `--no-block`.
pub fn etcd(plan: &Plan, node: &NodePlan) -> Result<Option<NodeUnit>, Error> {
    node.roles.etcd.then(|| unit(plan, node, "etcd.service")).transpose()
}

/// The unit of the metadata firewall, where there is one.
pub fn firewall(plan: &Plan, node: &NodePlan) -> Result<Option<NodeUnit>, Error> {
    let wanted = !plan.kept_from_pods(node).is_empty();
    wanted.then(|| unit(plan, node, firewall::UNIT)).transpose()
}

/// Units that plugins and add-ons need.
pub fn implied(plan: &Plan, node: &NodePlan) -> Vec<NodeUnit> {
    let units = plan.requirements.units.iter();
    let wanted = units.filter(|unit| among(&unit.roles, node.roles));
    wanted
        .map(|unit| NodeUnit::new(&unit.name, unit.content.as_str(), unit.enable))
        .collect()
}

/// Adds a drop-in to each unit that has a template for it, `templates/units/sandbox/UNIT.conf.j2`. It removes
/// permissions that the unit does not need.
pub fn sandbox(plan: &Plan, node: &NodePlan, units: &mut [NodeUnit]) -> Result<(), Error> {
    let context = json!({ "etcd_data": plan.etcd.data_dir });
    for unit in units {
        let name = format!("units/sandbox/{}.conf.j2", unit.name);
        if template::source(&name).is_some() {
            let content = render::text(node, SANDBOX, &name, &context)?;
            unit.dropins.push((SANDBOX.to_owned(), content));
        }
    }
    Ok(())
}

fn context(plan: &Plan, node: &NodePlan) -> Value {
    json!({ "bin_dir": node.bin_dir, "runtime": plan.runtime.unit() })
}

fn unit(plan: &Plan, node: &NodePlan, name: &str) -> Result<NodeUnit, Error> {
    let content = render::text(node, name, &format!("units/{name}.j2"), &context(plan, node))?;
    Ok(NodeUnit::new(name, content, false))
}
