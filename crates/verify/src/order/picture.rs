//! The order as it is drawn: equal machines together, the waits between them, and when what is expected.

use serde::Serialize;

/// The whole of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Picture {
    /// Name of the cluster.
    pub cluster: String,
    /// How many machines; a pool counts as one.
    pub machines: usize,
    /// The cluster exists: no machine founds it.
    pub standing: bool,
    /// Seconds from the first step to the end of the last, if all machines are powered on at once. An estimate.
    pub seconds: u64,
    /// Machines that do the same.
    pub groups: Vec<Group>,
    /// Waits of one step for another.
    pub edges: Vec<Edge>,
    /// The expected times, of machines that have the same together.
    pub timeline: Vec<Bar>,
}

/// Machines that do the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Group {
    /// `m0`.
    pub id: String,
    /// `worker-1..40`.
    pub title: String,
    /// Names of the machines.
    pub machines: Vec<String>,
    /// Their roles.
    pub roles: Vec<String>,
    /// It is a pool.
    pub pool: bool,
    /// It founds the cluster.
    pub founds: bool,
    /// In the order of running.
    pub steps: Vec<PictureStep>,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PictureStep {
    /// `m0s3`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its file, whose number is its place in the order.
    pub file: String,
    /// When the first machine begins and the last has ended, in seconds; nothing if one never gets there.
    pub time: Option<(u64, u64)>,
    /// Actions that others wait for.
    pub does: Vec<String>,
    /// Its waits.
    pub waits: Vec<PictureWait>,
}

/// A wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PictureWait {
    /// The condition, for people.
    pub title: String,
    /// The machines that end it.
    pub on: String,
    /// The machine itself ends it.
    pub itself: bool,
    /// Seconds after which it gives up.
    pub gives_up_after: Option<u64>,
}

/// A wait of one step for another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Edge {
    /// The step that ends it.
    pub from: String,
    /// The step that waits.
    pub to: String,
    /// The condition, for people.
    pub title: String,
}

/// The expected times of machines that have the same ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bar {
    /// Their names.
    pub title: String,
    /// Their times, without gaps.
    pub spans: Vec<Span>,
    /// Waits that take time, in their order.
    pub waits: Vec<BarWait>,
}

/// A wait for another machine that takes time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BarWait {
    /// Its length.
    pub seconds: u64,
    /// The condition, for people.
    pub title: String,
    /// The machines that end it.
    pub on: String,
}

/// A piece of a bar.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Span {
    /// Name of the step.
    pub step: String,
    /// Begin, in seconds.
    pub from: u64,
    /// End.
    pub to: u64,
    /// It waits for another machine.
    pub waits: bool,
}
