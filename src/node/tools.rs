//! Configuration of the tools that people use on a node: crictl and nerdctl.

use serde::Serialize;
use serde_json::json;

use super::{Error, NodeFile, render};
use crate::plan::{NodePlan, Plan};

/// `/etc/crictl.yaml`. The image endpoint is the runtime's when it is not named.
#[derive(Serialize)]
#[serde(rename_all = "kebab-case")]
struct Crictl {
    runtime_endpoint: String,
    /// Seconds; crictl's own 2 are too few for a pull.
    timeout: u32,
}

/// `/etc/crictl.yaml` and, where nerdctl is installed, `/etc/nerdctl/nerdctl.toml`.
pub fn files(plan: &Plan, node: &NodePlan) -> Result<Vec<NodeFile>, Error> {
    let mut files = vec![crictl(plan, node)?];
    if plan.runtime.nerdctl {
        let context = json!({ "snapshotter": plan.runtime.snapshotter, "cni_bin": node.os.paths.cni_bin });
        files.push(render::file(
            node,
            "/etc/nerdctl/nerdctl.toml",
            "runtime/nerdctl.toml.j2",
            &context,
        )?);
    }
    Ok(files)
}

fn crictl(plan: &Plan, node: &NodePlan) -> Result<NodeFile, Error> {
    let path = "/etc/crictl.yaml";
    let content = firelay_yaml::emit(&Crictl {
        runtime_endpoint: plan.runtime.endpoint(),
        timeout: 30,
    })
    .map_err(|source| Error::Yaml {
        node: node.name.clone(),
        file: path.to_owned(),
        source,
    })?;
    Ok(NodeFile::new(path, 0o644, content))
}
