//! The scripts of an update in place, from `templates/update/`. They use the library, the downloader and the Lease of the first boot.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::{
    Error, Text,
    boot::{self, StepContext},
    render,
    steps::{self, Step},
};
use crate::plan::{NodePlan, Plan};

/// Where a machine has an update that is not over.
pub const DIRECTORY: &str = "/var/lib/firelay/update";
/// Seconds for the pods of a machine to leave; then the drain is reported as failed, and begins again.
const DRAIN_SECONDS: u32 = 900;
/// Where a machine has manifests while it applies them.
pub const MANIFESTS_DIRECTORY: &str = "/var/lib/firelay/manifests";
/// The step of the first boot whose template downloads and places binaries.
const ARTIFACTS: &str = "20-artifacts";
/// The step of the first boot that applies manifests.
const ADDONS: &str = "70-addons";

/// The reload or restart of a unit.
#[derive(Clone, Debug, Serialize)]
pub struct UnitCall {
    /// systemctl's verb.
    pub verb: &'static str,
    /// The unit.
    pub unit: String,
    /// Only a machine that runs the unit calls it.
    pub where_active: bool,
}

/// The work of an update on one machine.
#[derive(Clone, Debug, Default, Serialize)]
pub struct UpdateSteps {
    /// Binaries are fetched.
    pub fetches: bool,
    /// New units that start at each boot.
    pub enable: Vec<String>,
    /// Units to reload and to restart that are neither etcd nor what pods need.
    pub units: Vec<UnitCall>,
    /// The time service gets its servers.
    pub time_servers: bool,
    /// It gets them, or its own file back.
    pub changes_time: bool,
    /// Templates that end what files had begun that go.
    pub undo: Vec<String>,
    /// Those of the way back.
    pub undo_back: Vec<String>,
    /// Steps of the first boot to run again.
    pub boot_steps: Vec<String>,
    /// A member of external etcd changes.
    pub restart_etcd: bool,
    /// Keys and certificates of a node change.
    pub certificates: bool,
    /// Those of a member of external etcd do.
    pub etcd_certificates: bool,
    /// Other CAs sign than before.
    pub signs_anew: bool,
    /// kubeadm upgrades the node.
    pub kubeadm: bool,
    /// This machine upgrades the cluster and uploads its configuration; all others wait for it.
    pub leads: bool,
    /// Kubernetes gets another version.
    pub upgrades: bool,
    /// The machine applies kubeadm's configuration of the cluster.
    pub configuration: bool,
    /// Settings or patches of stacked etcd change.
    pub etcd_configuration: bool,
    /// Settings of kube-proxy change.
    pub proxy_configuration: bool,
    /// The version of Kubernetes.
    pub version: String,
    /// The directory of kubeadm's patches, or nothing.
    pub patches: &'static str,
    /// Pods leave before.
    pub drain: bool,
    /// The label of pods that stay, as one of them may run the script; or nothing.
    pub undrained: String,
    /// The container runtime restarts.
    pub restart_runtime: bool,
    /// The kubelet restarts.
    pub kubelet: bool,
    /// Flags of the kubelet change.
    pub flags: bool,
    /// Labels of the Node change.
    pub labels: bool,
    /// Static pods to restart.
    pub pods: Vec<String>,
    /// Files or binaries wait for the restart of the kubelet.
    pub late: bool,
    /// Files go that running components needed until now.
    pub removes: bool,
    /// The version of the kubelet, if it is a new one.
    pub new_kubelet: String,
}

impl UpdateSteps {
    /// The steps that there is something to do in, in the order of running.
    fn steps(&self) -> Vec<&'static str> {
        let units = self.changes_time
            || [&self.enable, &self.boot_steps, &self.undo]
                .iter()
                .any(|list| !list.is_empty())
            || !self.units.is_empty();
        // kubeadm may write another configuration of the kubelet.
        let late = self.kubeadm
            || self.late
            || self.restart_runtime
            || self.kubelet
            || self.flags
            || self.labels
            || !self.pods.is_empty();
        let steps = [
            ("10-fetch", self.fetches),
            ("20-backup", true),
            ("40-files", true),
            ("50-units", units),
            ("60-etcd", self.restart_etcd),
            ("70-kubeadm", self.kubeadm),
            ("75-certificates", self.certificates),
            ("80-drain", self.drain || self.kubeadm),
            ("85-kubelet", late),
            ("88-remove", self.removes),
            ("90-ready", true),
        ];
        steps
            .into_iter()
            .filter_map(|(name, has)| has.then_some(name))
            .collect()
    }
}

#[derive(Serialize)]
struct UpdateContext<'a> {
    #[serde(flatten)]
    step: StepContext<'a>,
    #[serde(flatten)]
    steps: &'a UpdateSteps,
    boot_lib: &'a str,
    drain_seconds: u32,
}

#[derive(Serialize)]
struct ManifestsContext<'a> {
    #[serde(flatten)]
    step: StepContext<'a>,
    version: String,
}

/// The scripts of an update as `(path below its directory, mode, text)`.
pub fn scripts(plan: &Plan, node: &NodePlan, update: &UpdateSteps) -> Result<Vec<(String, u32, Text)>, Error> {
    let own = boot::update_context(plan, node, DIRECTORY);
    let context = UpdateContext {
        step: StepContext {
            context: &own,
            waits: waits(&[ARTIFACTS]),
        },
        steps: update,
        boot_lib: &node.os.paths.lib,
        drain_seconds: DRAIN_SECONDS,
    };
    let mut files = vec![
        ("lib.sh", 0o644, "boot/lib.sh.j2".to_owned()),
        ("artifacts", 0o755, format!("boot/steps/{ARTIFACTS}.j2")),
        ("driver", 0o755, "update/driver.j2".to_owned()),
        ("firelay-rollback", 0o755, "update/firelay-rollback.j2".to_owned()),
        (
            "firelay-update.service",
            0o644,
            "update/firelay-update.service.j2".to_owned(),
        ),
    ]
    .into_iter()
    .map(|(path, mode, template)| (path.to_owned(), mode, template))
    .collect::<Vec<_>>();
    let steps = update.steps().into_iter();
    files.extend(steps.map(|name| (format!("steps/{name}"), 0o755, format!("update/steps/{name}.j2"))));
    texts(node, files, &context)
}

/// The scripts that apply manifests, as those of an update.
pub fn manifest_scripts(plan: &Plan, node: &NodePlan) -> Result<Vec<(String, u32, Text)>, Error> {
    let own = boot::update_context(plan, node, MANIFESTS_DIRECTORY);
    let context = ManifestsContext {
        step: StepContext {
            context: &own,
            waits: waits(&[ARTIFACTS, ADDONS]),
        },
        version: plan.kubernetes.version.to_string(),
    };
    let files = [
        ("lib.sh", 0o644, "boot/lib.sh.j2".to_owned()),
        ("artifacts", 0o755, format!("boot/steps/{ARTIFACTS}.j2")),
        ("apply", 0o755, "update/apply.j2".to_owned()),
    ];
    let files = files
        .into_iter()
        .map(|(path, mode, template)| (path.to_owned(), mode, template));
    texts(node, files, &context)
}

/// The calls that wait, of these steps of the first boot.
fn waits(names: &[&str]) -> BTreeMap<&'static str, String> {
    let steps = steps::all().iter().filter(|step| names.contains(&step.file.as_str()));
    steps.flat_map(Step::waits).collect()
}

fn texts(
    node: &NodePlan,
    files: impl IntoIterator<Item = (String, u32, String)>,
    context: &impl Serialize,
) -> Result<Vec<(String, u32, Text)>, Error> {
    let text = |(path, mode, template): (String, u32, String)| {
        let text = render::text(node, &path, &template, context)?;
        Ok((path, mode, text))
    };
    files.into_iter().map(text).collect()
}

/// The script that an operator runs, from one of the templates under `templates/update/`; `what` names it in errors.
pub fn envelope(node: &NodePlan, what: &str, template: &str, values: &Value) -> Result<Text, Error> {
    render::text(node, what, &format!("update/{template}"), values)
}
