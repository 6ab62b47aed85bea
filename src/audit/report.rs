//! What an audit says, for machines and for the table.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::{
    finding::Finding,
    judge::{Audit, Holding, MachineFiles},
    secret::Secret,
};
use crate::{
    profile::PlatformProfile,
    spec::{DeliveryForm, Exposure, Role},
};

/// The whole of it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Name of the cluster.
    pub cluster: String,
    /// The bundle whose secrets were searched for; without one what shows by itself was found.
    pub bundle: Option<String>,
    /// What each document opens.
    pub documents: Vec<Row>,
    /// Who can read them.
    pub readers: Vec<Reader>,
    /// What is where it must not be.
    pub findings: Vec<Finding>,
}

/// One document.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Row {
    /// The node or pool.
    pub node: String,
    /// It is a pool.
    pub pool: bool,
    /// Its roles.
    pub roles: Vec<Role>,
    /// Its platform.
    pub platform: String,
    /// What takes the document.
    pub attribute: String,
    /// The file that is handed over.
    pub file: String,
    /// In which form.
    pub rung: Option<DeliveryForm>,
    /// The most of what it opens.
    pub exposure: Exposure,
    /// The most that it may open, if the spec says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_exposure: Option<Exposure>,
    /// What who reads it has.
    pub opens: BTreeSet<Secret>,
    /// What the machine fetches besides, with an identity that its cloud gave it.
    pub fetched: BTreeSet<Secret>,
    /// Where that lies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Lying>,
}

/// A payload where it lies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Lying {
    /// Its URL.
    pub url: String,
    /// Who reads it sees nothing.
    pub sealed: bool,
}

/// Who can read what a platform was handed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reader {
    /// The platform.
    pub platform: String,
    /// What takes the document.
    pub attribute: String,
    /// Who, for people; `None` if no profile tells.
    pub readable_by: Option<String>,
    /// The resource and attribute in whose state Terraform keeps it, if the machine is made so.
    pub terraform: Option<String>,
    /// Machines boot from the network: the document goes by in clear unless it is asked for with https://.
    pub network_boot: bool,
    /// What pods can ask for it, if there is such a service.
    pub metadata_service: Option<String>,
    /// What keeps others from reading it.
    pub narrowed_by: Vec<String>,
}

impl Report {
    /// Puts one together.
    pub fn new(
        cluster: &str,
        bundle: Option<String>,
        audit: Audit,
        profile: impl Fn(&str) -> Option<PlatformProfile>,
    ) -> Self {
        let readers = audit.machines.iter().map(|holding| {
            let machine = &holding.machine;
            Reader::new(machine, profile(&machine.platform).as_ref())
        });
        Self {
            cluster: cluster.to_owned(),
            bundle,
            readers: readers.collect::<BTreeSet<_>>().into_iter().collect(),
            documents: audit.machines.into_iter().map(Row::new).collect(),
            findings: audit.findings,
        }
    }
}

impl Row {
    fn new(holding: Holding) -> Self {
        let exposure = holding.exposure();
        let Holding {
            machine,
            opens,
            fetched,
        } = holding;
        Self {
            node: machine.name,
            pool: machine.pool,
            roles: machine.roles,
            platform: machine.platform,
            attribute: machine.attribute,
            file: machine.given,
            rung: machine.rung,
            exposure,
            max_exposure: machine.max_exposure,
            opens,
            fetched,
            payload: machine.payload.map(|(url, sealed)| Lying { url, sealed }),
        }
    }
}

impl Reader {
    fn new(machine: &MachineFiles, profile: Option<&PlatformProfile>) -> Self {
        let takes = profile
            .into_iter()
            .flat_map(|profile| [&profile.cloud_init, &profile.ignition]);
        let takes = takes.flatten().find(|takes| takes.attribute == machine.attribute);
        let hashed = profile.is_some_and(|profile| profile.state_is_hashed);
        let resource = takes.filter(|_| !hashed).and_then(|takes| takes.terraform.as_ref());
        Self {
            platform: machine.platform.clone(),
            attribute: machine.attribute.clone(),
            readable_by: profile.map(|profile| profile.readable_by.clone()),
            terraform: resource.map(|resource| format!("{resource}.{}", machine.attribute)),
            network_boot: machine.network_boot,
            metadata_service: profile.and_then(metadata_service),
            narrowed_by: profile.map(|profile| profile.narrowed_by.clone()).unwrap_or_default(),
        }
    }
}

/// The name or address under which it hands documents out.
fn metadata_service(profile: &PlatformProfile) -> Option<String> {
    let service = &profile.metadata;
    let addresses = service.addresses.iter().map(ToString::to_string);
    let mut all = service.names.iter().cloned().chain(addresses);
    all.find(|name| profile.readable_by.contains(name))
}

/// Documents that open the same in the same place, and their names.
pub(super) fn groups(report: &Report) -> Vec<Vec<&Row>> {
    let mut groups: BTreeMap<_, Vec<&Row>> = BTreeMap::new();
    for row in &report.documents {
        let titles = |secrets: &BTreeSet<Secret>| -> BTreeSet<_> {
            secrets
                .iter()
                .map(|secret| (secret.exposure, secret.title.clone()))
                .collect()
        };
        let lies = row
            .payload
            .as_ref()
            .map(|lying| (place(&lying.url).to_owned(), lying.sealed));
        let exposure = std::cmp::Reverse(row.exposure);
        let kind = (
            row.roles.clone(),
            row.pool,
            row.platform.as_str(),
            row.attribute.as_str(),
        );
        groups
            .entry((kind, exposure, titles(&row.opens), titles(&row.fetched), lies))
            .or_default()
            .push(row);
    }
    groups.into_values().collect()
}

/// Where a payload lies, without its name.
pub(super) fn place(url: &str) -> &str {
    url.rsplit_once('/').map_or(url, |(place, _)| place)
}
