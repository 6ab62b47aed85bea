//! Configuration of the tools that people use on a node: crictl and nerdctl.

use std::sync::LazyLock;

use firelay_base::memo::Memo;
use serde::Serialize;
use serde_json::json;

use super::{Error, NodeFile, Text, render};
use crate::plan::{NodePlan, Plan};

/// crictl's configuration by the endpoint, which is the same on every machine.
static TEXTS: LazyLock<Memo<Text>> = LazyLock::new(Memo::default);

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
    let runtime_endpoint = plan.runtime.endpoint();
    let name = runtime_endpoint.clone();
    let text = || {
        firelay_yaml::emit(&Crictl {
            runtime_endpoint,
            timeout: 30,
        })
    };
    let content = TEXTS.try_of(&name, b"", || text().map(Text::from));
    let content = content.map_err(|source| Error::Yaml {
        node: node.name.clone(),
        file: path.to_owned(),
        source,
    })?;
    Ok(NodeFile::new(path, 0o644, Text::clone(&content)))
}
