//! The table of the boot chain's steps, `templates/boot/steps.yaml`, as far as the scripts come from it.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::Deserialize;
use serde_json::Value;

use crate::template;

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let text = template::source("boot/steps.yaml").unwrap_or_default();
    // The table has keys for `verify`, which the decoder would refuse here.
    let value =
        firelay_yaml::parse::<Value>("steps.yaml", text).expect("a table that is built in, and that every test reads");
    serde_json::from_value(value).expect("the same")
});

#[derive(Debug, Deserialize)]
struct Table {
    steps: Vec<Step>,
}

/// A step of the chain.
#[derive(Debug, Deserialize)]
pub(super) struct Step {
    /// Its file below `steps/`.
    pub(super) file: String,
    template: Option<String>,
    /// Every machine has the step if there is no condition.
    pub(super) when: Option<Condition>,
    #[serde(default)]
    events: Vec<Event>,
}

/// The condition under which a machine has a step.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Condition {
    PackageSources,
    /// Certificates in the document lack their public keys.
    PublicKeys,
    Files,
    Disks,
    TrustedCas,
    CommandsFirst,
    KernelPackages,
    Packages,
    Mounts,
    MetadataFirewall,
    Kubernetes,
    Etcd,
    CommandsBefore,
    ControlPlane,
    /// A worker that is no control plane.
    Worker,
    EndpointInHosts,
    Founder,
    CommandsAfter,
    RestrictFiles,
}

/// A wait; actions have none of these keys.
#[derive(Debug, Deserialize)]
struct Event {
    wait: Option<String>,
    #[serde(default)]
    report: String,
    limit: Option<Limit>,
    #[serde(default)]
    poll: bool,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Limit {
    Seconds(u64),
    Variable(String),
}

/// All steps, in the order of running.
pub(super) fn all() -> &'static [Step] {
    &TABLE.steps
}

impl Step {
    /// The step's template below `templates/`.
    pub(super) fn template(&self) -> String {
        let own = || format!("boot/steps/{}.j2", self.file);
        self.template.clone().unwrap_or_else(own)
    }

    /// The calls that wait, by their names in the template.
    pub(super) fn waits(&self) -> BTreeMap<&str, String> {
        let events = self.events.iter();
        events
            .filter_map(|event| Some((event.wait.as_deref()?, event.call()?)))
            .collect()
    }
}

impl Event {
    fn call(&self) -> Option<String> {
        let function = if self.poll { "poll" } else { "wait_for" };
        let limit = match self.limit.as_ref()? {
            Limit::Seconds(seconds) => seconds.to_string(),
            Limit::Variable(name) => format!("\"${name}\""),
        };
        Some(format!("{function} {limit} \"{}\"", self.report))
    }
}
