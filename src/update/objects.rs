//! Objects by which the cluster runs the scripts of an update itself, where an add-on brings them to their machines.

use std::ops::Range;

use serde::Serialize;

use crate::{
    addons::{self, UpdateObjects},
    changes::Step,
    encoding::sha256_hex,
    plan::{NodePlan, Plan},
};

/// Most bytes that a Secret holds (`MaxSecretSize`, pkg/apis/core/types.go).
pub const SECRET_SIZE: usize = 1 << 20;
/// Most characters of a name: with `secret-` before it, it is a volume (pkg/upgrade/job/job.go).
const NAME: usize = 56;
/// Earlier runs for which a script waits, at least.
const WAITED: usize = 100;
/// Digits of a digest in a name or version.
const DIGITS: usize = 16;

/// A script that the cluster runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Run {
    /// The name of its objects: the same in every update, so that a Node keeps one label of it.
    pub name: String,
    /// The digest of the script.
    pub version: String,
}

impl Run {
    /// The run of a machine's script, or of the cluster's if there is no machine.
    fn of(machine: Option<&String>, script: &str) -> Self {
        let short = |text: &str| sha256_hex(text.as_bytes())[..DIGITS].to_owned();
        // Names of some objects take no dots.
        let plain = |name: &str| match machine {
            Some(machine) if name.len() > NAME || machine.contains('.') => format!("firelay-node-{}", short(machine)),
            _ => name.to_owned(),
        };
        let name = machine.map_or_else(
            || "firelay-manifests".to_owned(),
            |own| plain(&format!("firelay-node-{own}")),
        );
        Self {
            name,
            version: short(script),
        }
    }
}

#[derive(Serialize)]
struct Context<'a> {
    cluster: &'a str,
    node: &'a str,
    control_plane: bool,
    script_name: &'a str,
    script: &'a str,
    own: &'a Run,
    after: &'a [Run],
}

/// A script, and where and when the cluster runs it.
#[derive(Clone, Copy, Debug)]
pub struct Carried<'a> {
    /// The cluster.
    pub plan: &'a Plan,
    /// The machine on whose Node it runs.
    pub node: &'a NodePlan,
    /// It is the script of this machine, and not that of the cluster.
    pub is_own: bool,
    /// The name of its file.
    pub file: &'a str,
    /// Its text.
    pub script: &'a str,
    /// Runs that have to be complete before.
    pub after: &'a [Run],
}

impl Carried<'_> {
    /// Its objects.
    pub fn objects(&self, template: &UpdateObjects) -> Result<(Run, String), addons::Error> {
        let name = &self.node.name;
        let own = Run::of(self.is_own.then_some(name), self.script);
        let text = template.render(&Context {
            cluster: &self.plan.name,
            node: name,
            control_plane: self.node.roles.control_plane,
            script_name: self.file,
            script: self.script,
            own: &own,
            after: self.after,
        })?;
        Ok((own, text))
    }
}

/// The runs for which the next step waits: those of the last steps. One step is not enough, since a Plan without a Node is complete
/// before its turn. All of them would be too long for one argument of a program in a large cluster.
pub fn waited(after: Vec<Run>, step: Vec<Run>) -> Vec<Run> {
    let dropped = (after.len() + step.len()).saturating_sub(WAITED.max(step.len()));
    after.into_iter().chain(step).skip(dropped).collect()
}

/// The steps that the cluster takes itself: the first ones in a row whose machines it all reaches. Those before and after are left to
/// the operator, as no object can wait for them.
pub fn in_a_row(steps: &[Step], reaches: impl Fn(&Step, &str) -> bool) -> Range<usize> {
    let takes = |step: &Step| step.machines.iter().all(|name| reaches(step, name));
    let first = steps.iter().position(takes).unwrap_or(steps.len());
    let more = steps[first..].iter().take_while(|step| takes(step)).count();
    first..first + more
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::changes::{Action, Member};

    proptest! {
        /// Nothing is taken out of its turn, and nothing is left that could be taken.
        #[test]
        fn steps_are_taken_in_a_row(machines in prop::collection::vec(prop::collection::vec(any::<bool>(), 1..4), 0..12)) {
            let step = |names: &Vec<bool>| Step {
                action: Action::InPlace,
                of: Member::Worker,
                machines: names.iter().map(bool::to_string).collect(),
            };
            let steps: Vec<_> = machines.iter().map(step).collect();
            let taken = in_a_row(&steps, |_, name| name == "true");
            let whole = |at: usize| machines.get(at).is_some_and(|own| own.iter().all(|reached| *reached));
            prop_assert!((0..taken.start).all(|at| !whole(at)));
            prop_assert!(taken.clone().all(whole) && !whole(taken.end));
            prop_assert!(!taken.is_empty() || !(0..steps.len()).any(whole));
        }
    }

    #[test]
    fn a_step_waits_for_many_runs_before_it() {
        let runs = |names: Range<usize>| {
            names
                .map(|name| Run::of(Some(&name.to_string()), ""))
                .collect::<Vec<_>>()
        };
        assert_eq!(waited(runs(0..2), runs(2..3)), runs(0..3));
        assert_eq!(waited(runs(0..WAITED), runs(WAITED..WAITED + 2)), runs(2..WAITED + 2));
        assert_eq!(waited(runs(0..3), runs(3..2 * WAITED)), runs(3..2 * WAITED));
    }

    #[test]
    fn names_fit_label_keys_and_volumes() {
        let name = |machine: &str| Run::of(Some(&machine.to_owned()), "").name;
        assert_eq!(name("cp1"), "firelay-node-cp1");
        assert_eq!(Run::of(None, "").name, "firelay-manifests");
        let (long, dotted) = (name(&"a".repeat(NAME)), name("cp1.example.com"));
        assert!(long.len() <= NAME && long != name(&"b".repeat(NAME)));
        assert!(!dotted.contains('.') && dotted != name("cp1-example-com"));
    }
}
