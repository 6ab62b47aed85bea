//! The report of an audit.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::{
    finding::Finding,
    machine_files::{MachineFiles, Payload, Role},
    policy::{Audit, Holding},
    secret::{Exposure, Secret},
};

/// The whole report.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Name of the cluster.
    pub cluster: String,
    /// The bundle whose secrets were searched; without one only secrets with a typical form are found.
    pub bundle: Option<String>,
    /// Every document.
    pub documents: Vec<Row>,
    /// Their readers.
    pub readers: Vec<Reader>,
    /// Secrets in places where they must not be.
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
    /// The platform's field for the document.
    pub attribute: String,
    /// The delivered file.
    pub file: String,
    /// In which form.
    pub form: Option<String>,
    /// The highest exposure of its secrets.
    pub exposure: Exposure,
    /// The highest allowed exposure, if the spec has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_exposure: Option<Exposure>,
    /// Secrets that its reader has.
    pub opens: BTreeSet<Secret>,
    /// Secrets that the machine fetches besides, with the identity that its cloud gave it.
    pub fetched: BTreeSet<Secret>,
    /// The payload, if the document is a pointer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub payload: Option<Payload>,
}

/// A platform, as far as it matters for readers.
#[derive(Clone, Debug, Default)]
pub struct Platform {
    /// The readers of its user-data, for people.
    pub readable_by: String,
    /// The Terraform resource whose state has the document, if there is one.
    pub terraform: Option<String>,
    /// Name or address of the service that hands documents to pods as well.
    pub metadata_service: Option<String>,
    /// Measures that exclude readers.
    pub narrowed_by: Vec<String>,
}

/// The readers of the documents of a platform.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reader {
    /// The platform.
    pub platform: String,
    /// The platform's field for the document.
    pub attribute: String,
    /// The readers, for people; `None` without a profile.
    pub readable_by: Option<String>,
    /// The resource and attribute in whose state Terraform keeps it, if the machine is made so.
    pub terraform: Option<String>,
    /// Machines boot from the network: the document is sent in plain text unless they request it with https://.
    pub network_boot: bool,
    /// The service from which pods can get it, if there is one.
    pub metadata_service: Option<String>,
    /// Measures that exclude readers.
    pub narrowed_by: Vec<String>,
}

impl Report {
    /// The report of an audit. `platform` finds a platform by its name and its field for the document.
    pub fn new(
        cluster: &str,
        bundle: Option<String>,
        audit: Audit,
        platform: impl Fn(&str, &str) -> Option<Platform>,
    ) -> Self {
        let readers = audit.machines.iter().map(|holding| {
            let machine = &holding.machine;
            Reader::new(machine, platform(&machine.platform, &machine.attribute))
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
            form: machine.form,
            exposure,
            max_exposure: machine.max_exposure,
            opens,
            fetched,
            payload: machine.payload,
        }
    }
}

impl Reader {
    fn new(machine: &MachineFiles, platform: Option<Platform>) -> Self {
        let readable_by = platform.as_ref().map(|platform| platform.readable_by.clone());
        let platform = platform.unwrap_or_default();
        Self {
            platform: machine.platform.clone(),
            attribute: machine.attribute.clone(),
            readable_by,
            terraform: platform
                .terraform
                .map(|resource| format!("{resource}.{}", machine.attribute)),
            network_boot: machine.network_boot,
            metadata_service: platform.metadata_service,
            narrowed_by: platform.narrowed_by,
        }
    }
}

impl Reader {
    /// Further readers, and measures that exclude some.
    pub fn remarks(&self) -> Vec<String> {
        let state = self
            .terraform
            .as_ref()
            .map(|resource| format!("and everyone who can read Terraform's state, if the document is in {resource}"));
        let network = self.network_boot.then(|| {
            "and everyone who can listen on the network while machines boot, unless delivery.pxe.url is https://"
                .to_owned()
        });
        let service = self.metadata_service.as_ref().map(|service| {
            format!(
                "fewer with `security: {{ metadataFirewall: true }}` or a network policy, which keep pods away from {service}"
            )
        });
        let narrowed = self.narrowed_by.iter().map(|narrow| format!("fewer with {narrow}"));
        [state, network, service]
            .into_iter()
            .flatten()
            .chain(narrowed)
            .collect()
    }
}
