//! The objects beside the scripts by which the cluster runs them itself.

use std::{collections::BTreeSet, io, ops::Range};

use super::{MANIFESTS, described, script_name};
use crate::{
    addons::UpdateObjects,
    changes::{Action, Member, Step},
    commands::{failure::Failure, project::Project},
    tree::TreeWriter,
    update::{Carried, Run, SECRET_SIZE, in_a_row, waited},
};

/// The steps that the cluster takes itself.
pub(super) struct Written {
    addon: String,
    /// The machines of every step.
    steps: Vec<String>,
    taken: Range<usize>,
    /// The cluster applies the manifests, perhaps those of the add-on.
    applies: bool,
    /// Scripts that no Secret holds.
    large: Vec<String>,
}

/// The scripts of an update in the new tree.
struct Scripts<'a> {
    project: &'a Project,
    tree: &'a TreeWriter,
    directory: &'a str,
}

impl Scripts<'_> {
    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.tree.content(&format!("{}/{}", self.directory, script_name(name)))
    }

    fn is_large(&self, name: &str) -> bool {
        self.read(name).is_ok_and(|script| script.len() > SECRET_SIZE)
    }

    /// Puts the objects of a step's scripts beside them.
    fn carry(&self, template: &UpdateObjects, step: &Step, after: &[Run]) -> Result<Vec<Run>, Failure> {
        let carry = |machine: &String| {
            let (node, name) = (self.project.node(machine)?, script_of(step, machine));
            let script = String::from_utf8_lossy(&self.read(name)?).into_owned();
            let carried = Carried {
                plan: &self.project.plan,
                node,
                is_own: step.of != Member::Manifests,
                file: &script_name(name),
                script: &script,
                after,
            };
            let (run, text) = carried.objects(template)?;
            let described = described(self.directory, node, &format!("{name}.yaml"));
            self.tree.put(described, text.as_bytes())?;
            Ok(run)
        };
        step.machines.iter().map(carry).collect()
    }
}

impl Written {
    /// Puts a file of objects beside each script that the cluster runs itself; `None` without an add-on that does so.
    pub(super) fn write(
        project: &Project,
        tree: &TreeWriter,
        directory: &str,
        steps: &[Step],
    ) -> Result<Option<Self>, Failure> {
        let (Some((addon, _)), Some(template)) = (project.plan.updates(), UpdateObjects::of(&project.plan)) else {
            return Ok(None);
        };
        let scripts = Scripts {
            project,
            tree,
            directory,
        };
        let names = steps.iter().filter(|step| step.action == Action::InPlace);
        let names = names.flat_map(|step| step.machines.iter().map(|machine| script_of(step, machine)));
        let large: BTreeSet<_> = names.filter(|name| scripts.is_large(name)).collect();
        let taken = in_a_row(steps, |step, machine| {
            runs_on_node(project, step, machine) && !large.contains(script_of(step, machine))
        });
        let mut after: Vec<Run> = Vec::new();
        for step in &steps[taken.clone()] {
            let runs = scripts.carry(&template, step, &after)?;
            after = waited(after, runs);
        }
        Ok(Some(Self {
            addon: addon.choice.declaration.name.clone(),
            steps: steps.iter().map(|step| machines(project, step)).collect(),
            applies: steps[taken.clone()].iter().any(|step| step.of == Member::Manifests),
            taken,
            large: large.into_iter().map(str::to_owned).collect(),
        }))
    }

    /// The steps of the cluster, and those of the operator.
    pub(super) fn text(&self, scripts: &str) -> String {
        let (all, taken) = (self.steps.len(), &self.taken);
        let command = match taken.is_empty() {
            true => format!("{} can take no step: its Plans need Nodes with known names", self.addon),
            false => format!(
                "{} takes {}: kubectl apply --server-side --filename {scripts}",
                self.addon,
                named(taken)
            ),
        };
        let left = |when: &str, rest: Range<usize>| {
            let text = format!(
                "{when} do {} yourself: {}",
                named(&rest),
                self.steps[rest.clone()].join(", ")
            );
            (!rest.is_empty() && !taken.is_empty()).then_some(text)
        };
        let large = self.large.iter().map(|name| {
            let script = script_name(name);
            format!("warning: {script} has more than 1 MiB, and no Secret holds it: run it yourself")
        });
        let new = self.applies.then(|| {
            format!(
                "if this update is the one that brings {} into the cluster, first run the scripts up to {} yourself",
                self.addon,
                script_name(MANIFESTS)
            )
        });
        let steps = [
            left("first", 0..taken.start),
            new,
            Some(command),
            left("then", taken.end..all),
        ];
        steps.into_iter().flatten().chain(large).collect::<Vec<_>>().join("\n")
    }
}

/// The machines of a step, with the reason why the cluster does not reach them.
fn machines(project: &Project, step: &Step) -> String {
    let reason = match step.of {
        Member::Etcd => " (no Node)",
        _ if step.machines.iter().any(|name| is_pool(project, name)) => " (a pool)",
        _ => "",
    };
    format!("{}{reason}", step.machines.join(", "))
}

/// `steps 2 to 5 of ORDER`.
fn named(steps: &Range<usize>) -> String {
    match steps.len() {
        1 => format!("step {} of ORDER", steps.end),
        _ => format!("steps {} to {} of ORDER", steps.start + 1, steps.end),
    }
}

/// The name of the script of a machine in a step.
fn script_of<'a>(step: &Step, machine: &'a str) -> &'a str {
    match step.of {
        Member::Manifests => MANIFESTS,
        _ => machine,
    }
}

/// Members of external etcd are no Nodes, and Nodes of a pool have names that nobody knows beforehand.
fn runs_on_node(project: &Project, step: &Step, machine: &str) -> bool {
    step.action == Action::InPlace && step.of != Member::Etcd && !is_pool(project, machine)
}

fn is_pool(project: &Project, machine: &str) -> bool {
    project.node(machine).is_ok_and(|node| node.pool)
}
