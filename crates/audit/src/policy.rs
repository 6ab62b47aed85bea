//! The secrets of each machine, and the rule that a machine has no keys of others.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use crate::{
    catalogue::{Catalogue, KUBELET},
    finding::Finding,
    key_index::{Found, KeyIndex},
    machine_files::{Document, MachineFiles, Payload, Role},
    patterns::Mark,
    secret::{Exposure, Holder, Secret},
};

/// Secrets that a finding lists.
const FEW: usize = 3;

/// The secrets that the document of a machine discloses.
#[derive(Clone, Debug)]
pub struct Holding {
    /// The machine, without what is in its files.
    pub machine: MachineFiles,
    /// Secrets that the document's reader has, with those of the payload if the document alone is enough to fetch it.
    pub opens: BTreeSet<Secret>,
    /// Secrets that the machine fetches besides, with the identity that its cloud gave it.
    pub fetched: BTreeSet<Secret>,
}

impl Holding {
    /// The highest exposure of the document's secrets.
    pub fn exposure(&self) -> Exposure {
        self.opens
            .iter()
            .map(|secret| secret.exposure)
            .max()
            .unwrap_or_default()
    }
}

/// The result of an audit.
#[derive(Clone, Debug)]
pub struct Audit {
    /// Every machine, in the order in which they were given.
    pub machines: Vec<Holding>,
    /// Secrets in places where they must not be, by document.
    pub findings: Vec<Finding>,
}

impl Audit {
    /// A tree without machines contains no secret, but was not rendered by firelay either.
    pub fn without_machines(&self) -> Option<Finding> {
        self.machines.is_empty().then(|| Finding {
            document: "manifest.json".to_owned(),
            wrapped: String::new(),
            code: "FL1088",
            message: "the manifest names no machine".to_owned(),
            help: "render the tree anew: nothing was searched".to_owned(),
        })
    }
}

/// Checks the files of machines, and the `shared` ones that belong to no machine. `by_identity` returns for the scheme
/// of a payload's URL whether a machine authenticates with its cloud identity.
pub fn audit(
    catalogue: &Catalogue,
    mut machines: Vec<MachineFiles>,
    shared: &[Document],
    by_identity: fn(&str) -> bool,
) -> Audit {
    machines.par_iter_mut().for_each(MachineFiles::complete_certificates);
    let key_index = KeyIndex::of(catalogue, &machines, shared);
    let mut findings = Vec::new();
    for file in shared {
        findings.extend(key_index.of_no_machine(catalogue, file));
        findings.extend(unsearched(file).into_iter().chain(changed(file)));
    }
    let hold = |machine: MachineFiles| {
        let all = machine
            .files
            .iter()
            .map(|file| (file, key_index.secrets(catalogue, &file.contents)));
        let all: Vec<_> = all.collect();
        let mut findings = Rule::new(&machine, &all, catalogue.is_of_a_bundle()).findings();
        findings.extend(machine.files.iter().filter_map(unsearched));
        findings.extend(machine.files.iter().filter_map(changed));
        findings.extend(undelivered(&machine));
        let holding = hold(&machine, &all, by_identity);
        findings.extend(too_open(&holding));
        let holding = Holding {
            machine: MachineFiles {
                files: Vec::new(),
                ..machine
            },
            ..holding
        };
        (holding, findings)
    };
    let (machines, of_machines): (Vec<_>, Vec<_>) = machines.into_par_iter().map(hold).unzip();
    findings.extend(of_machines.into_iter().flatten());
    findings.sort();
    Audit { machines, findings }
}

/// The rule on one machine.
struct Rule<'a> {
    machine: &'a MachineFiles,
    /// The first file that each secret is in.
    first: BTreeMap<&'a Secret, (&'a str, &'a str)>,
    /// It can join without a token.
    certified: bool,
    founds: bool,
    /// It signs with the key of etcd's CA.
    signs_for_etcd: bool,
    /// The bundle's secrets are known, so that a found token is the bundle's.
    searched: bool,
}

impl<'a> Rule<'a> {
    fn new(machine: &'a MachineFiles, all: &'a [(&'a Document, Found)], searched: bool) -> Self {
        let mut first = BTreeMap::new();
        for (file, found) in all {
            for (secret, wrapped) in found {
                first.entry(secret).or_insert((file.path.as_str(), wrapped.as_str()));
            }
        }
        let own = Holder::Machine(machine.name.clone());
        let kubelet = first
            .keys()
            .any(|secret| secret.title == KUBELET && secret.holder == own);
        let marked = |mark| machine.files.iter().any(|file| file.contents.marks.contains_key(&mark));
        let founds = machine.roles.contains(&Role::ControlPlane) && marked(Mark::Founds);
        Self {
            machine,
            first,
            certified: kubelet || !machine.roles.iter().any(|role| *role != Role::Etcd),
            founds,
            signs_for_etcd: marked(Mark::SignsForEtcd),
            searched,
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let findings = self.first.iter().filter_map(|(secret, (document, wrapped))| {
            let (code, message, help) = self.broken(secret)?;
            Some(Finding {
                document: (*document).to_owned(),
                wrapped: (*wrapped).to_owned(),
                code,
                message,
                help: help.to_owned(),
            })
        });
        findings.collect()
    }

    /// Code, message and help if the secret must not be on this machine.
    fn broken(&self, secret: &Secret) -> Option<(&'static str, String, &'static str)> {
        let Self { machine, .. } = self;
        let (name, title) = (&machine.name, &secret.title);
        let (control_plane, etcd) = (self.has(Role::ControlPlane), self.has(Role::Etcd));
        let whose = "look in `files`, `commands`, `manifests` and patches for who put it there, then make new secrets: it was told";
        match &secret.holder {
            Holder::Anybody => None,
            Holder::EtcdSigner if (control_plane || etcd) && self.signs_for_etcd => None,
            // Without the bundle nothing says whether control planes run etcd.
            Holder::EtcdSigner if control_plane && !self.searched => None,
            Holder::Nobody | Holder::EtcdSigner if self.searched => Some((
                "FL1084",
                format!("{name} holds what belongs into no document: {title}"),
                whose,
            )),
            Holder::Machine(owner) if owner != name => {
                Some(("FL1082", format!("{name} holds a key of {owner}: {title}"), whose))
            }
            Holder::Joiners if self.certified && !self.founds && self.searched => Some((
                "FL1083",
                format!("{name} holds the bootstrap token, and joins without it"),
                "take it out of `files`, `commands`, `manifests` and patches; only pools and the founder need it",
            )),
            Holder::Joiners if self.certified && !self.founds => Some((
                "FL1083",
                format!("{name} holds a token in kubeadm's form, and joins without one"),
                "take it out; if it is another cluster's, name the bundle with --secrets: then only its own token is looked for",
            )),
            Holder::Machine(_) | Holder::Joiners if secret.exposure <= Exposure::Joins => None,
            Holder::Machine(_) | Holder::Etcd if control_plane || etcd => None,
            Holder::ControlPlanes if control_plane => None,
            _ => Some((
                "FL1081",
                format!("{name} is no control plane and holds what is for control planes alone: {title}"),
                whose,
            )),
        }
    }

    fn has(&self, role: Role) -> bool {
        self.machine.roles.contains(&role)
    }
}

fn hold(machine: &MachineFiles, all: &[(&Document, Found)], by_identity: fn(&str) -> bool) -> Holding {
    let everything: BTreeSet<_> = all.iter().flat_map(|(_, found)| found.keys().cloned()).collect();
    let given = all.iter().find(|(file, _)| file.path == machine.given);
    let given: BTreeSet<_> = given.into_iter().flat_map(|(_, found)| found.keys().cloned()).collect();
    // Elsewhere the pointer has all that is needed to fetch the payload.
    let needs_identity = |payload: &Payload| {
        let scheme = payload.url.split_once("://").map_or("", |(scheme, _)| scheme);
        by_identity(scheme)
    };
    let alone = machine.payload.as_ref().is_none_or(needs_identity);
    let opens = if alone && !machine.given.is_empty() {
        given
    } else {
        everything.clone()
    };
    let beyond = |secret: &Secret| machine.payload.is_some() && !opens.contains(secret);
    Holding {
        machine: machine.clone(),
        fetched: everything.into_iter().filter(beyond).collect(),
        opens,
    }
}

/// A file that was not searched to its end.
fn unsearched(file: &Document) -> Option<Finding> {
    let unsearched = file.contents.unsearched?;
    let (message, help) = unsearched.explained();
    Some(Finding {
        document: file.path.clone(),
        wrapped: String::new(),
        code: "FL1087",
        message: message.to_owned(),
        help: help.to_owned(),
    })
}

/// A file that was changed after the render. A damaged document unpacks to nothing, and would seem to hold no secret.
fn changed(file: &Document) -> Option<Finding> {
    file.changed.then(|| Finding {
        document: file.path.clone(),
        wrapped: String::new(),
        code: "FL1089",
        message: "this file is not as it was rendered".to_owned(),
        help: "render the tree again; what is searched here is not what the manifest describes".to_owned(),
    })
}

/// A machine without a document in the manifest, so that its delivered file is unknown.
fn undelivered(machine: &MachineFiles) -> Option<Finding> {
    let first = machine.files.first().filter(|_| machine.given.is_empty())?;
    Some(Finding {
        document: first.path.clone(),
        wrapped: String::new(),
        code: "FL1088",
        message: format!(
            "the manifest does not tell which file is the document of {}",
            machine.name
        ),
        help: "render the tree anew; all files of the machine were taken for its document".to_owned(),
    })
}

/// A document that discloses more than `security.maxExposure` allows.
fn too_open(holding: &Holding) -> Option<Finding> {
    let (machine, exposure) = (&holding.machine, holding.exposure());
    let most = machine.max_exposure.filter(|most| exposure > *most)?;
    let above = holding.opens.iter().rev().filter(|secret| secret.exposure > most);
    let above: Vec<_> = above.map(|secret| secret.title.as_str()).collect();
    let more = match above.len().saturating_sub(FEW) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(Finding {
        document: machine.given.clone(),
        wrapped: String::new(),
        code: "FL1086",
        message: format!(
            "whoever reads the document of {} {}, and `security.maxExposure` is {most}",
            machine.name,
            exposure.of_reader()
        ),
        help: format!(
            "it holds {}{more}; `delivery: {{ form: pointer }}` keeps it from the platform, or raise `security.maxExposure`",
            above[..above.len().min(FEW)].join(", ")
        ),
    })
}
