//! `pxe/`: scripts for iPXE, kernel arguments for other boot loaders, and a tree for matchbox.
//!
//! A machine requests `/m/KEY/…`, where KEY is its MAC address with hyphens or its UUID. The script of a machine begins
//! with a variable for that, so that a server may replace the name.

use serde::Serialize;

use super::{Artifact, ArtifactFile};
use crate::{
    plan::{BootPlan, NodePlan, PxePlan},
    profile::DocumentFormat,
    template,
    tree::network_boot::{keys, script},
};

/// The variable of iPXE with the machine's key.
const WHO: &str = "${who}";

/// The script that all machines begin with.
pub fn first(pxe: &PxePlan) -> Result<String, template::Error> {
    template::render("pxe/boot.ipxe.j2", &First { url: &pxe.url })
}

#[derive(Serialize)]
struct First<'a> {
    url: &'a str,
}

#[derive(Serialize)]
struct Script<'a> {
    node: &'a str,
    who: &'a str,
    kernel: &'a str,
    initrd: &'a [String],
    arguments: Vec<String>,
}

/// A machine's files, with paths within the tree; none for a machine without a key.
pub fn files(pxe: &PxePlan, node: &NodePlan, artifact: &Artifact) -> Result<Vec<ArtifactFile>, template::Error> {
    let keys = keys(node.mac.as_deref(), node.uuid.as_deref());
    let (Some(boot), Some(first)) = (&node.boot, keys.first()) else {
        return Ok(Vec::new());
    };
    let filling = Filling {
        pxe,
        instance: &artifact.instance,
    };
    let mut files = Vec::new();
    for key in &keys {
        let context = Script {
            node: &node.name,
            who: key,
            kernel: &boot.kernel,
            initrd: &boot.initrd,
            arguments: filling.arguments(boot, WHO),
        };
        files.push(ArtifactFile::text(
            script(key),
            template::render("pxe/machine.ipxe.j2", &context)?,
        ));
    }
    let words = filling.arguments(boot, first).join(" ");
    files.push(ArtifactFile::text(format!("pxe/arguments/{}", node.name), words + "\n"));
    if let Some(matchbox) = &pxe.matchbox {
        files.extend(of_matchbox(matchbox, node, boot, &filling, artifact));
    }
    Ok(files)
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
        self.with_document(boot, &seed, &format!("{seed}{}", DocumentFormat::Ignition.file_name()))
    }

    fn with_document(&self, boot: &BootPlan, seed: &str, document: &str) -> Vec<String> {
        let words = [
            ("{seed}", seed),
            ("{document}", document),
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

#[derive(Serialize)]
struct ProfileBoot<'a> {
    kernel: &'a str,
    initrd: Vec<String>,
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
#[serde(rename_all = "lowercase")]
enum Selector<'a> {
    Mac(&'a str),
    Uuid(&'a str),
}

fn of_matchbox(
    matchbox: &str,
    node: &NodePlan,
    boot: &BootPlan,
    filling: &Filling<'_>,
    artifact: &Artifact,
) -> Vec<ArtifactFile> {
    let name = node.name.as_str();
    let (selector, query) = match (&node.mac, &node.uuid) {
        (Some(mac), _) => (Selector::Mac(mac), format!("mac={}", mac.replace(':', "-"))),
        (None, uuid) => {
            let uuid = uuid.as_deref().unwrap_or_default();
            (Selector::Uuid(uuid), format!("uuid={uuid}"))
        }
    };
    let key = keys(node.mac.as_deref(), node.uuid.as_deref()).into_iter().next();
    let seed = format!("{}/m/{}/", filling.pxe.url, key.unwrap_or_default());
    let named = (0..).zip(&boot.initrd);
    let mut args: Vec<_> = named.clone().map(|(at, _)| format!("initrd=initrd{at}")).collect();
    args.extend(filling.with_document(boot, &seed, &format!("{matchbox}/ignition?{query}")));
    let ignition = (node.os.document == DocumentFormat::Ignition).then(|| format!("{name}.ign"));
    let profile = Profile {
        id: name,
        name,
        boot: ProfileBoot {
            kernel: &boot.kernel,
            initrd: named.map(|(at, url)| format!("--name initrd{at} {url}")).collect(),
            args,
        },
        ignition_id: ignition.clone(),
    };
    let group = Group {
        id: name,
        name,
        profile: name,
        selector,
    };
    // The delivered file: its platform uses no encoding, but it may be a pointer.
    let document = ignition.and_then(|file| Some((file, artifact.content(&artifact.handover.file)?.to_vec())));
    let mut files = vec![
        ArtifactFile::text(format!("pxe/matchbox/profiles/{name}.json"), json(&profile)),
        ArtifactFile::text(format!("pxe/matchbox/groups/{name}.json"), json(&group)),
    ];
    files.extend(document.map(|(file, content)| ArtifactFile {
        name: format!("pxe/matchbox/ignition/{file}"),
        content,
    }));
    files
}

fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value).expect("structs of texts are JSON");
    text + "\n"
}
