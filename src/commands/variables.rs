//! Terraform's variables of a render: those of its machines, and of all others as the last render left them.

use serde::{Serialize, de::DeserializeOwned};

use super::{
    documents::{Documents, TreeFile},
    failure::Failure,
    project::Project,
};
use crate::{
    delivery::{
        ManifestFile,
        terraform::{self, Cluster, SecretVariables, UserData, Variables},
        tree::TreeWriter,
    },
    plan::Plan,
    secrets::Bundle,
    spec::ExtraOutput,
};

/// The variables of one machine or pool; empty unless the spec enables them.
#[derive(Debug)]
pub(super) struct MachineVariables {
    name: String,
    pool: bool,
    open: Option<terraform::Machine>,
    secret: Option<UserData>,
}

impl MachineVariables {
    pub(super) fn new(project: &Project, documents: &Documents<'_>) -> Self {
        let asks = |output| project.plan.extra_outputs.contains(&output);
        let (node, artifact) = (documents.node, &documents.artifact);
        let open = || terraform::Machine::new(node, artifact, documents.expires());
        Self {
            name: node.name.clone(),
            pool: node.pool,
            open: asks(ExtraOutput::Terraform).then(open),
            secret: asks(ExtraOutput::TerraformSecrets).then(|| UserData::new(artifact)),
        }
    }
}

/// Whether the spec enables a file of variables.
pub(super) fn are_written(plan: &Plan) -> bool {
    let files = [ExtraOutput::Terraform, ExtraOutput::TerraformSecrets];
    files.iter().any(|output| plan.extra_outputs.contains(output))
}

/// Whether a path is that of a file of variables, which has machines of this render and of others.
pub(super) fn is_one(path: &str) -> bool {
    [Variables::PATH, SecretVariables::PATH].contains(&path)
}

/// Writes the files that the spec enables; after a render of some machines (`some`) the entries of others stay.
pub(super) fn put(
    tree: &TreeWriter,
    project: &Project,
    bundle: &Bundle,
    machines: Vec<MachineVariables>,
    some: bool,
) -> Result<(), Failure> {
    for (file, bytes) in files(some.then_some(tree), project, bundle, machines)? {
        tree.put(file, &bytes)?;
    }
    Ok(())
}

/// The files that the spec enables; entries of the last render for other machines stay.
pub(super) fn files(
    kept: Option<&TreeWriter>,
    project: &Project,
    bundle: &Bundle,
    machines: Vec<MachineVariables>,
) -> Result<Vec<TreeFile>, Failure> {
    let asks = |output| project.plan.extra_outputs.contains(&output);
    let mut files = Vec::new();
    if asks(ExtraOutput::Terraform) {
        let last = kept.map(|tree| last(tree, Variables::PATH)).transpose()?.flatten();
        let cluster = Cluster::new(&project.plan, &bundle.fingerprint());
        files.push(file(Variables::PATH, &open(cluster, last, &machines))?);
    }
    if asks(ExtraOutput::TerraformSecrets) {
        let last = kept
            .map(|tree| last(tree, SecretVariables::PATH))
            .transpose()?
            .flatten();
        let mut variables: SecretVariables = last.unwrap_or_default();
        let secrets = machines
            .into_iter()
            .filter_map(|machine| Some((machine.name, machine.secret?)));
        variables.firelay_user_data.extend(secrets);
        files.push(file(SecretVariables::PATH, &variables)?);
    }
    Ok(files)
}

/// The variables of the last render, with those of these machines replaced.
fn open(cluster: Cluster, last: Option<Variables>, machines: &[MachineVariables]) -> Variables {
    let (nodes, pools) = last.map_or_else(Default::default, |last| (last.firelay_nodes, last.firelay_pools));
    let mut variables = Variables {
        firelay_cluster: cluster,
        firelay_nodes: nodes,
        firelay_pools: pools,
    };
    for machine in machines {
        let map = match machine.pool {
            true => &mut variables.firelay_pools,
            false => &mut variables.firelay_nodes,
        };
        map.extend(machine.open.clone().map(|open| (machine.name.clone(), open)));
    }
    variables
}

/// The variables of the last render, if there was one. If that render did not write the file, the variables of its machines
/// are unknown, which is an error.
fn last<T: DeserializeOwned>(tree: &TreeWriter, path: &str) -> Result<Option<T>, Failure> {
    let Some(bytes) = tree.read_last(path)? else {
        return match tree.last() {
            None => Ok(None),
            Some(_) => Err(Failure::Usage(format!(
                "{path} tells of all machines, and the last render wrote none\n  = help: render all nodes once"
            ))),
        };
    };
    let variables = serde_json::from_slice(&bytes);
    variables.map(Some).map_err(|error| {
        Failure::Io(format!(
            "{path} is not what firelay writes ({error})\n  = help: render all nodes"
        ))
    })
}

fn file(path: &str, variables: &impl Serialize) -> Result<TreeFile, Failure> {
    let mut json = serde_json::to_string_pretty(variables)?;
    json.push('\n');
    Ok((ManifestFile::new(path), json.into_bytes()))
}
