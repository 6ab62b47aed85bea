//! Terraform's variables of a render: those of its machines, and of all others as the last render left them.

use std::collections::BTreeSet;

use serde::{Serialize, de::DeserializeOwned};
use time::OffsetDateTime;

use super::{failure::Failure, project::Project};
use crate::{
    delivery::{
        Artifact, ManifestFile,
        terraform::{self, Cluster, SecretVariables, UserData, Variables},
        tree::TreeWriter,
    },
    plan::NodePlan,
    secrets::Bundle,
    spec::Beside,
};

/// What the variables say of one machine or pool; nothing unless it is asked for.
#[derive(Debug)]
pub(super) struct Machine {
    name: String,
    pool: bool,
    open: Option<terraform::Machine>,
    secret: Option<UserData>,
}

/// Those of a render.
pub(super) type Machines = Vec<Machine>;

impl Machine {
    pub(super) fn new(
        asked: &BTreeSet<Beside>,
        node: &NodePlan,
        artifact: &Artifact,
        expires: Option<OffsetDateTime>,
    ) -> Self {
        let asks = |beside| asked.contains(&beside);
        Self {
            name: node.name.clone(),
            pool: node.pool,
            open: asks(Beside::Terraform).then(|| terraform::Machine::new(node, artifact, expires)),
            secret: asks(Beside::TerraformSecrets).then(|| UserData::new(artifact)),
        }
    }
}

/// The path of a file of variables, which tells of machines of this render and of others.
pub(super) fn is_one(path: &str) -> bool {
    [Variables::PATH, SecretVariables::PATH].contains(&path)
}

/// Writes what the spec asks for.
pub(super) fn put(
    tree: &TreeWriter,
    project: &Project,
    bundle: &Bundle,
    machines: Machines,
    some: bool,
) -> Result<(), Failure> {
    let plan = &project.plan;
    let last = |path| if some { read_last(tree, path) } else { Ok(None) };
    let mut open = Variables {
        firelay_cluster: Cluster::new(plan, &bundle.fingerprint()),
        firelay_nodes: Default::default(),
        firelay_pools: Default::default(),
    };
    let mut secret = SecretVariables::default();
    if plan.beside.contains(&Beside::Terraform) {
        let last: Option<Variables> = decode(Variables::PATH, last(Variables::PATH)?)?;
        (open.firelay_nodes, open.firelay_pools) =
            last.map_or_else(Default::default, |last| (last.firelay_nodes, last.firelay_pools));
    }
    if plan.beside.contains(&Beside::TerraformSecrets) {
        secret = decode(SecretVariables::PATH, last(SecretVariables::PATH)?)?.unwrap_or_default();
    }
    for machine in machines {
        let map = if machine.pool {
            &mut open.firelay_pools
        } else {
            &mut open.firelay_nodes
        };
        map.extend(machine.open.map(|open| (machine.name.clone(), open)));
        let secret = &mut secret.firelay_user_data;
        secret.extend(machine.secret.map(|secret| (machine.name, secret)));
    }
    if plan.beside.contains(&Beside::Terraform) {
        write(tree, Variables::PATH, &open)?;
    }
    if plan.beside.contains(&Beside::TerraformSecrets) {
        write(tree, SecretVariables::PATH, &secret)?;
    }
    Ok(())
}

/// The last render's file; nothing if there was no render. One that told of other machines must have written the file, or
/// nobody knows what to say of them.
fn read_last(tree: &TreeWriter, path: &str) -> Result<Option<Vec<u8>>, Failure> {
    let found = tree.read_last(path).map_err(|error| Failure::io(&error))?;
    if found.is_none() && tree.last().is_some() {
        return Err(Failure::Usage(format!(
            "{path} tells of all machines, and the last render wrote none\n  = help: render all nodes once"
        )));
    }
    Ok(found)
}

fn decode<T: DeserializeOwned>(path: &str, bytes: Option<Vec<u8>>) -> Result<Option<T>, Failure> {
    let decode = |bytes: Vec<u8>| {
        serde_json::from_slice(&bytes).map_err(|error| {
            Failure::Io(format!("{path} is not what firelay writes ({error})\n  = help: render all nodes"))
        })
    };
    bytes.map(decode).transpose()
}

fn write(tree: &TreeWriter, path: &str, variables: &impl Serialize) -> Result<(), Failure> {
    let mut json = serde_json::to_string_pretty(variables).map_err(|error| Failure::io(&error))?;
    json.push('\n');
    tree.put(ManifestFile::new(path), json.as_bytes())
        .map_err(|error| Failure::io(&error))
}
