//! Volumes and arguments by which a virtual machine, or a machine with virtual media, gets its document.

use std::collections::BTreeMap;

use serde::Serialize;
use thiserror::Error;

use super::{
    Machine, ManifestFile, iso9660,
    tree::{self, TreeReader},
};
use crate::{encoding::sha256_hex, profile::DocumentFormat};

/// How a document is brought to a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A volume labelled CIDATA: cloud-init's NoCloud, and Ignition on Proxmox VE and KubeVirt.
    Cidata,
    /// A volume labelled config-2 as OpenStack attaches it; Ignition reads it on every platform with OpenStack support.
    ConfigDrive,
    /// QEMU's `fw_cfg`, which reads the document's own file.
    FwCfg,
}

impl Form {
    /// Its name, which is also an alias of the platform that uses it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cidata => "cidata",
            Self::ConfigDrive => "config-drive",
            Self::FwCfg => "fw-cfg",
        }
    }

    /// The form in which a format is usually read.
    pub fn of(format: DocumentFormat) -> Self {
        match format {
            DocumentFormat::CloudInit => Self::Cidata,
            DocumentFormat::Ignition => Self::ConfigDrive,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seed {
    /// An ISO 9660 image.
    Image {
        label: &'static str,
        /// The content; it contains secrets.
        bytes: Vec<u8>,
    },
    /// Arguments of qemu-system, for which the document stays where it is.
    Arguments(String),
}

/// Why a machine has no seed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SeedError {
    #[error("{machine}: {why}\n  = help: {help}")]
    Form {
        /// Name of the node or pool.
        machine: String,
        why: String,
        /// The key to change, or the form to choose.
        help: String,
    },
    #[error(transparent)]
    Tree(#[from] tree::Error),
}

/// A machine's seed, from a tree with its manifest. `platform_of` finds the platform whose machines use a form, for the
/// error of a refusal.
pub fn seed(
    tree: &TreeReader,
    machine: &Machine<'_>,
    form: Form,
    platform_of: impl Fn(Form) -> Option<String>,
) -> Result<Seed, SeedError> {
    let document = machine.document.file;
    match (form, machine.document.format) {
        (Form::Cidata, DocumentFormat::CloudInit) => match (machine.meta_data, machine.network_config) {
            (Some(meta_data), Some(network_config)) => cidata(
                tree,
                &[
                    ("user-data", document),
                    ("meta-data", meta_data),
                    ("network-config", network_config),
                ],
            ),
            _ => refuse(
                machine,
                format!("its platform {} reads no volume", platform(machine)),
                &platform_key(machine, platform_of(form).as_deref()),
            ),
        },
        (Form::Cidata, DocumentFormat::Ignition) => cidata(tree, &[("user-data", document)]),
        (Form::ConfigDrive, DocumentFormat::Ignition) => Ok(config_drive(machine, &tree.read_text(document)?)),
        (Form::FwCfg, DocumentFormat::Ignition) if !machine.document.is_plain() => refuse(
            machine,
            format!(
                "its pointer is encoded for its platform {}, and QEMU takes a file as it is",
                platform(machine)
            ),
            &platform_key(machine, platform_of(form).as_deref()),
        ),
        (Form::FwCfg, DocumentFormat::Ignition) => {
            // A comma ends a value of QEMU's options unless it is doubled (qemu(1)).
            let path = tree.root.join(&document.path).display().to_string().replace(',', ",,");
            Ok(Seed::Arguments(format!(
                "-fw_cfg name=opt/com.coreos/config,file={path}"
            )))
        }
        (Form::ConfigDrive | Form::FwCfg, DocumentFormat::CloudInit) => refuse(
            machine,
            "this form is for Ignition, and its system reads cloud-init".to_owned(),
            "--form cidata, the volume from which cloud-init takes its network as well",
        ),
    }
}

fn refuse(machine: &Machine<'_>, why: String, help: &str) -> Result<Seed, SeedError> {
    Err(SeedError::Form {
        machine: machine.name.to_owned(),
        why,
        help: help.to_owned(),
    })
}

fn platform<'m>(machine: &Machine<'m>) -> &'m str {
    machine.document.file.platform.as_deref().unwrap_or_default()
}

/// The key of the spec that chooses another platform.
fn platform_key(machine: &Machine<'_>, platform: Option<&str>) -> String {
    let platform = platform.unwrap_or("NAME");
    let list = if machine.pool { "pools" } else { "nodes" };
    format!(
        "write `platform: {platform}` at the top of the spec, or in the entry of {} in `{list}`, and render again",
        machine.name
    )
}

fn cidata(tree: &TreeReader, files: &[(&str, &ManifestFile)]) -> Result<Seed, SeedError> {
    let contents = files.iter().map(|(name, file)| Ok((*name, tree.read_text(file)?)));
    let contents = contents.collect::<Result<Vec<_>, tree::Error>>()?;
    let files = contents.iter().map(|(name, bytes)| (*name, bytes.as_slice())).collect();
    Ok(image("CIDATA", &files))
}

fn image(label: &'static str, files: &BTreeMap<&str, &[u8]>) -> Seed {
    Seed::Image {
        label,
        bytes: iso9660::image(label, files),
    }
}

/// `meta_data.json` of OpenStack.
#[derive(Serialize)]
struct MetaData<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    hostname: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    uuid: String,
}

/// The tree that OpenStack writes, as far as Ignition and Afterburn read it (Ignition, internal/providers/openstack;
/// Afterburn, src/providers/openstack/configdrive.rs of 33a93ef2, where the host name is optional). The instance's ID
/// depends on the document. Machines of a pool have their own names, so the tree contains none.
fn config_drive(machine: &Machine<'_>, document: &[u8]) -> Seed {
    let digest = sha256_hex(document);
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digest[part]);
    let name = (!machine.pool).then_some(machine.name);
    let meta_data = MetaData {
        hostname: name,
        name,
        uuid: parts.join("-"),
    };
    let meta_data = serde_json::to_string(&meta_data).expect("texts are JSON");
    let files = BTreeMap::from([
        ("openstack/latest/meta_data.json", meta_data.as_bytes()),
        ("openstack/latest/user_data", document),
    ]);
    image("config-2", &files)
}
