//! `pxe/`: scripts for iPXE, kernel arguments for other boot loaders, and a tree for matchbox.
//!
//! A machine requests `/m/KEY/…`, where KEY is its MAC address with hyphens or its UUID. The script of a machine begins
//! with a variable for that, so that a server may replace the name.

use serde::Serialize;
use serde_json::json;

use super::{Artifact, ArtifactFile, Error};
use crate::{
    document::{self, Compression},
    node::{NodeFile, NodeFiles, NodeUnit},
    plan::{BootPlan, InstallationPlan, NodePlan, PxePlan},
    profile::DocumentFormat,
    template,
    tree::network_boot::{self, INSTALLER, keys, script},
};

/// The variable of iPXE with the machine's key.
const WHO: &str = "${who}";

/// The script that all machines begin with.
pub fn first(pxe: &PxePlan) -> Result<String, template::Error> {
    template::render("pxe/boot.ipxe.j2", &json!({ "url": pxe.url }))
}

/// A machine's files, with paths within the tree; none for a machine without a key.
pub fn files(pxe: &PxePlan, node: &NodePlan, artifact: &Artifact) -> Result<Vec<ArtifactFile>, Error> {
    let keys = keys(node.mac.as_deref(), node.uuid.as_deref());
    let (Some(boot), Some(first)) = (&node.boot, keys.first()) else {
        return Ok(Vec::new());
    };
    let filling = Filling {
        pxe,
        instance: artifact.instance.as_deref().unwrap_or_default(),
    };
    let mut files = Vec::new();
    let installer = boot
        .installation
        .as_ref()
        .map(|plan| installer(node, plan))
        .transpose()?;
    for key in &keys {
        files.extend(
            installer
                .clone()
                .map(|text| ArtifactFile::text(network_boot::installer(key), text)),
        );
        let context = json!({
            "node": node.name,
            "who": key,
            "kernel": boot.kernel,
            "initrd": boot.initrd,
            "arguments": filling.arguments(boot, WHO),
        });
        let text = template::render("pxe/machine.ipxe.j2", &context).map_err(Error::of_text(node))?;
        files.push(ArtifactFile::text(script(key), text));
    }
    let words = filling.arguments(boot, first).join(" ");
    files.push(ArtifactFile::text(format!("pxe/arguments/{}", node.name), words + "\n"));
    if let Some(matchbox) = &pxe.matchbox {
        let first = installer.as_deref();
        files.extend(of_matchbox(matchbox, node, boot, (&filling, first), artifact));
    }
    Ok(files)
}

/// The unit of an installation, and its program below the system's own directory for programs of firelay.
const UNIT: &str = "firelay-install.service";

/// The Ignition document of a live system that installs the machine, and gives it its own document.
fn installer(node: &NodePlan, plan: &InstallationPlan) -> Result<String, Error> {
    let program = format!("{}/install", node.os.paths.lib);
    let unit = json!({ "program": program });
    let text = Error::of_text(node);
    let content = template::render("pxe/firelay-install.service.j2", &unit).map_err(&text)?;
    let script = template::render("pxe/install.sh.j2", plan).map_err(&text)?;
    let files = NodeFiles {
        files: vec![NodeFile::new(&program, 0o755, script)],
        units: vec![NodeUnit::new(UNIT, content, true)],
        ..NodeFiles::default()
    };
    let document = document::for_os(&node.os).and_then(|format| format.render(&files, Compression::None));
    document.map_err(Error::of_document(node))
}

/// Values of the placeholders in arguments.
struct Filling<'a> {
    pxe: &'a PxePlan,
    instance: &'a str,
}

impl Filling<'_> {
    /// The arguments of a machine with this key.
    fn arguments(&self, boot: &BootPlan, who: &str) -> Vec<String> {
        let seed = format!("{}/m/{who}/", self.pxe.url);
        let document = format!("{seed}{}", DocumentFormat::Ignition.file_name());
        self.with_urls(boot, &seed, &document, &format!("{seed}{INSTALLER}"))
    }

    fn with_urls(&self, boot: &BootPlan, seed: &str, document: &str, installer: &str) -> Vec<String> {
        let words = [
            ("{seed}", seed),
            ("{document}", document),
            ("{installer}", installer),
            ("{instance}", self.instance),
        ];
        let filled = |argument: &String| {
            let fill = |text: String, (word, value): &(&str, &str)| text.replace(word, value);
            words.iter().fold(argument.clone(), fill)
        };
        boot.arguments.iter().map(filled).collect()
    }
}

/// A profile of matchbox (its documentation, "Profiles").
#[derive(Serialize)]
struct Profile<'a> {
    id: &'a str,
    name: &'a str,
    boot: ProfileBoot<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignition_id: Option<String>,
}

#[derive(Default, Serialize)]
struct ProfileBoot<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    initrd: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    args: Vec<String>,
}

/// A group of one machine (the same, "Groups").
#[derive(Serialize)]
struct Group<'a> {
    id: &'a str,
    name: &'a str,
    profile: &'a str,
    selector: Selector<'a>,
}

#[derive(Serialize)]
struct Selector<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    mac: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    os: Option<&'a str>,
}

/// The value of `os` with which the installer asks for the document of the installed system, as in matchbox's own examples.
const INSTALLED: &str = "installed";

/// A profile and a group, whose query gets the Ignition document of the first name.
fn of_query(id: &str, ignition: Option<String>, boot: ProfileBoot<'_>, selector: Selector<'_>) -> [ArtifactFile; 2] {
    let profile = Profile {
        id,
        name: id,
        boot,
        ignition_id: ignition,
    };
    let group = Group {
        id,
        name: id,
        profile: id,
        selector,
    };
    [
        ArtifactFile::text(format!("pxe/matchbox/profiles/{id}.json"), json(&profile)),
        ArtifactFile::text(format!("pxe/matchbox/groups/{id}.json"), json(&group)),
    ]
}

fn of_matchbox(
    matchbox: &str,
    node: &NodePlan,
    boot: &BootPlan,
    (filling, installer): (&Filling<'_>, Option<&str>),
    artifact: &Artifact,
) -> Vec<ArtifactFile> {
    let name = node.name.as_str();
    let mac = node.mac.as_deref();
    let uuid = node.uuid.as_deref().filter(|_| mac.is_none());
    let selector = |os| Selector { mac, uuid, os };
    let query = match mac {
        Some(mac) => format!("mac={}", mac.replace(':', "-")),
        None => format!("uuid={}", uuid.unwrap_or_default()),
    };
    let key = keys(node.mac.as_deref(), node.uuid.as_deref()).into_iter().next();
    let seed = format!("{}/m/{}/", filling.pxe.url, key.unwrap_or_default());
    let named = (0..).zip(&boot.initrd);
    let mut args: Vec<_> = named.clone().map(|(at, _)| format!("initrd=initrd{at}")).collect();
    let url = format!("{matchbox}/ignition?{query}");
    args.extend(filling.with_urls(boot, &seed, &url, &url));
    let live = ProfileBoot {
        kernel: Some(&boot.kernel),
        initrd: named.map(|(at, url)| format!("--name initrd{at} {url}")).collect(),
        args,
    };
    // The delivered file: its platform uses no encoding, but it may be a pointer.
    let ignition = (node.os.document == DocumentFormat::Ignition).then(|| format!("{name}.ign"));
    let document = ignition.clone().and_then(|_| artifact.content(&artifact.handover.file));
    let stored = |name: &str, content: &[u8]| ArtifactFile {
        name: format!("pxe/matchbox/ignition/{name}.ign"),
        content: content.to_vec(),
    };
    let document = document.map(|content| stored(name, content));
    let Some(installer) = installer else {
        let files = of_query(name, ignition, live, selector(None));
        return files.into_iter().chain(document).collect();
    };
    let first = format!("{name}-install");
    let files = of_query(&first, Some(format!("{first}.ign")), live, selector(None));
    let last = of_query(name, ignition, ProfileBoot::default(), selector(Some(INSTALLED)));
    let installer = stored(&first, installer.as_bytes());
    files
        .into_iter()
        .chain(last)
        .chain([installer])
        .chain(document)
        .collect()
}

fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value).expect("structs of texts are JSON");
    text + "\n"
}
