//! `delivery.pxe`: what machines boot from the network.

use std::collections::{BTreeMap, BTreeSet};

use firelay_yaml::{
    Spanned,
    diagnostic::{Diagnostic, nearest},
};

use super::{BootPlan, InstallationPlan, NodePlan, PxePlan, artifacts, names, report::Report};
use crate::{
    profile::{OsProfile, Profiles, SystemBoot},
    spec::{Pxe, PxeSystem, Spec},
};

/// Placeholders in braces that are filled in here; those for the machine's document remain.
const ARCH: &str = "{arch}";
const ROOTFS: &str = "{rootfs}";
const DISK: &str = "{disk}";

/// The placeholders that are valid in the spec's own arguments.
const WORDS: [&str; 4] = [ARCH, "{seed}", "{document}", "{instance}"];

/// Where everything is, and with each machine what it boots.
pub(super) fn resolve(
    spec: &Spec,
    profiles: &Profiles,
    nodes: &mut [NodePlan],
    report: &mut Report,
) -> Option<PxePlan> {
    let pxe = spec.delivery.pxe.as_ref()?;
    let url = base(&pxe.url, report);
    let matchbox = pxe.matchbox.as_ref().map(|url| base(url, report));
    pxe.systems.values().for_each(|system| check_system(system, report));
    check_names(pxe, profiles, report);
    let mut booted: BTreeSet<String> = BTreeSet::new();
    let mut unknown = Vec::new();
    for node in nodes.iter_mut().filter(|node| node.platform.pxe && !node.pool) {
        if booted.insert(node.os.name.clone()) {
            check_bootable(pxe, &node.os, report);
        }
        node.boot = boot(pxe, &url, node);
        if node.mac.is_none() && node.uuid.is_none() {
            unknown.push(node.name.as_str());
        }
    }
    if !unknown.is_empty() {
        let finding = Diagnostic::warning("FL0911", "machines that boot from the network and cannot be told apart");
        let finding = finding
            .at(pxe.url.span)
            .label(format!("nothing is written here for {}", unknown.join(", ")));
        report.push(
            finding.help("give each its `mac` or `uuid`; `firelay serve --tokens` needs neither for the documents"),
        );
    }
    check_memory(pxe, nodes, report);
    check_unused(pxe, &booted, report);
    Some(PxePlan { url, matchbox })
}

/// A URL to which paths are appended.
fn base(url: &Spanned<String>, report: &mut Report) -> String {
    artifacts::check_url(url, report);
    if url.contains(['?', '#', '$']) {
        let finding = Diagnostic::error("FL0307", "not a URL that can be fetched").at(url.span);
        report.push(finding.label("paths are put behind it, so it has no `?`, `#` or `$`"));
    }
    url.trim_end_matches('/').to_owned()
}

/// The settings of a system, if the spec has any.
fn system<'a>(pxe: &'a Pxe, os: &OsProfile) -> Option<&'a PxeSystem> {
    pxe.systems.get(os.name.as_str())
}

fn boot(pxe: &Pxe, url: &str, node: &NodePlan) -> Option<BootPlan> {
    let own = system(pxe, &node.os);
    let of_os = node.os.pxe.as_ref()?;
    let place = |text: &str| location(&text.replace(ARCH, &node.arch.to_string()), url);
    let given = |text: &Spanned<String>| place(text);
    let kernel = own.and_then(|own| own.kernel.as_ref()).map(given);
    let initrd = own.and_then(|own| own.initrd.as_ref());
    let rootfs = own.and_then(|own| own.rootfs.as_ref()).map(given);
    let disk = own.and_then(|own| own.disk.as_ref()).map(|disk| disk.value.clone());
    let image = own.and_then(|own| own.image.as_ref()).map(given);
    let installation = of_os.installer.clone().zip(disk.clone());
    let installation = installation.map(|(program, disk)| InstallationPlan { program, disk, image });
    let further = own.into_iter().flat_map(|own| &own.arguments);
    let arguments = chosen(of_os, disk.is_some()).iter().filter_map(|argument| {
        let argument = fill(argument, ROOTFS, rootfs.as_deref())?;
        fill(&argument, DISK, disk.as_deref())
    });
    Some(BootPlan {
        kernel: kernel.or_else(|| of_os.kernel.as_deref().map(place))?,
        initrd: match initrd {
            Some(given) => given.iter().map(|it| place(it)).collect(),
            None => of_os.initrd.iter().map(|it| place(it)).collect(),
        },
        arguments: arguments
            .chain(further.map(|argument| argument.replace(ARCH, &node.arch.to_string())))
            .collect(),
        memory: of_os.memory && disk.is_none() && !further_root(own),
        installation,
    })
}

/// Whether the arguments of the spec name a root file system on a disk.
fn further_root(own: Option<&PxeSystem>) -> bool {
    own.is_some_and(|own| own.arguments.iter().any(|argument| argument.starts_with("root=")))
}

/// The arguments of an installation, or of a system that runs from memory or from a disk that has it.
fn chosen(of_os: &SystemBoot, install: bool) -> &[String] {
    match (&of_os.install, install) {
        (Some(install), true) => install,
        _ => &of_os.arguments,
    }
}

/// An argument with its placeholder filled; `None` without a value.
fn fill(argument: &str, word: &str, value: Option<&str>) -> Option<String> {
    match value {
        Some(value) => Some(argument.replace(word, value)),
        None => (!argument.contains(word)).then(|| argument.to_owned()),
    }
}

/// A URL, or a path in the mirror.
fn location(text: &str, url: &str) -> String {
    if names::is_url(text) {
        text.to_owned()
    } else {
        format!("{url}/mirror/{text}")
    }
}

fn check_system(system: &PxeSystem, report: &mut Report) {
    let initrd = system.initrd.iter().flatten();
    for place in system
        .kernel
        .iter()
        .chain(initrd)
        .chain(&system.rootfs)
        .chain(&system.image)
    {
        let filled = place.replace(ARCH, "amd64");
        if !names::is_url(&filled) && !is_path(&filled) {
            let finding = Diagnostic::error("FL0911", "neither a URL nor a path in the mirror").at(place.span);
            let finding = finding.label("not what a boot loader can fetch");
            report
                .push(finding.help(
                    "write https://…, or a path below the directory of `firelay serve --mirror`: debian/vmlinuz",
                ));
        }
    }
    for word in system.arguments.iter().chain(&system.disk) {
        if word.is_empty() || word.contains(|it: char| it.is_whitespace() || it.is_control() || it == '$') {
            let finding = Diagnostic::error("FL0911", "not a kernel argument").at(word.span);
            let finding = finding.label("empty, or with a blank or `$` in it");
            report.push(finding.help("write each argument as an entry of its own: [console=ttyS0, quiet]"));
        } else if let Some(unknown) = unfilled(word) {
            let finding = Diagnostic::error("FL0911", format!("nothing fills `{unknown}`")).at(word.span);
            let finding = finding.label("the machine would be told this word as it stands");
            report.push(finding.help(format!("words in braces: {}", WORDS.join(", "))));
        }
    }
}

/// A placeholder in braces that is not one of [`WORDS`].
fn unfilled(argument: &str) -> Option<&str> {
    let braces = argument.match_indices('{').filter_map(|(start, _)| {
        let word = &argument[start..];
        Some(&word[..=word.find('}')?])
    });
    let is_word =
        |text: &&str| text.len() > 2 && text[1..text.len() - 1].bytes().all(|byte| byte.is_ascii_alphabetic());
    braces.filter(is_word).find(|word| !WORDS.contains(word))
}

/// Plain names with slashes between them.
fn is_path(text: &str) -> bool {
    let plain = |part: &str| !matches!(part, "" | "." | "..") && names::is_plain(part, "._-+~");
    text.split('/').all(plain)
}

fn check_names(pxe: &Pxe, profiles: &Profiles, report: &mut Report) {
    let known = || profiles.os.keys().map(String::as_str);
    for name in pxe.systems.keys().filter(|name| !profiles.os.contains_key(&name.value)) {
        let finding = Diagnostic::error("FL0211", "no such `os` profile").at(name.span);
        let help = format!("profiles: {}", known().collect::<Vec<_>>().join(", "));
        report.push(finding.suggest(nearest(name, known())).help(help));
    }
}

/// Refuses a system without a known kernel.
fn check_bootable(pxe: &Pxe, os: &OsProfile, report: &mut Report) {
    let own = system(pxe, os);
    let Some(of_os) = &os.pxe else {
        let finding = Diagnostic::error("FL0911", format!("nobody says how {} boots from the network", os.name));
        let help = format!(
            "write `pxe` in its profile; `firelay profile show {}` prints that",
            os.name
        );
        return report.push(finding.at(pxe.url.span).help(help));
    };
    if of_os.kernel.is_none() && own.is_none_or(|own| own.kernel.is_none()) {
        let finding = Diagnostic::error("FL0911", format!("no kernel for {}", os.name)).at(pxe.url.span);
        let help = format!(
            "write systems: {{ {}: {{ kernel: …, initrd: [ … ] }} }} beside `url`",
            os.name
        );
        report.push(finding.label("its profile knows no lasting URL of one").help(help));
    }
    check_rootfs(pxe, os, of_os, report);
    check_image(own, os, of_os, report);
    if let (Some(disk), None) = (own.and_then(|own| own.disk.as_ref()), &of_os.install) {
        let finding = Diagnostic::error("FL0911", format!("{} is not installed by kernel arguments", os.name));
        let help = "write its image onto the disk by other means, and remove `disk`";
        report.push(finding.at(disk.span).label("no argument takes it").help(help));
    }
}

/// Refuses images for an installer that does not run, or that takes none.
fn check_image(own: Option<&PxeSystem>, os: &OsProfile, of_os: &SystemBoot, report: &mut Report) {
    let Some(own) = own else { return };
    let (label, help) = match (&own.image, &own.disk, &of_os.installer) {
        (Some(_), _, None) => ("no installer takes it", "remove `image`"),
        (Some(_), None, Some(_)) => ("nothing is installed", "write the `disk`, or remove `image`"),
        _ => return,
    };
    let finding = Diagnostic::error("FL0911", format!("`image` has no effect on {}", os.name));
    report.push(
        finding
            .at(own.image.as_ref().map(|image| image.span))
            .label(label)
            .help(help),
    );
}

/// Refuses a system without a root file system. The argument that names it is optional, for users who append it to the
/// RAM disk or load it as the second one.
fn check_rootfs(pxe: &Pxe, os: &OsProfile, of_os: &SystemBoot, report: &mut Report) {
    let own = system(pxe, os);
    let given = own.is_some_and(|own| own.rootfs.is_some());
    let install = own.is_some_and(|own| own.disk.is_some());
    let disks = own
        .and_then(|own| own.initrd.as_ref())
        .map_or(of_os.initrd.len(), Vec::len);
    let arguments = chosen(of_os, install).iter();
    let asked = arguments.filter(|argument| argument.contains(ROOTFS)).count() > 0;
    if given || !asked || disks > 1 {
        return;
    }
    let finding = Diagnostic::error("FL0911", format!("no `rootfs` for {}", os.name));
    let named = pxe.systems.get_key_value(os.name.as_str());
    let help = "write `rootfs`, the URL or path of the live system's root of the same release, or list it as the second `initrd`";
    let finding = finding
        .at(named.map_or(pxe.url.span, |(name, _)| name.span))
        .label("its kernel and RAM disk alone find no root and stop");
    report.push(finding.help(help));
}

/// Refuses etcd where a reboot empties it: the founder would found a second cluster, and another member would be one that the
/// others still expect with its data.
fn check_memory(pxe: &Pxe, nodes: &[NodePlan], report: &mut Report) {
    let forgets = |node: &&NodePlan| {
        let etcd = node.roles.control_plane || node.roles.etcd;
        etcd && node.boot.as_ref().is_some_and(|boot| boot.memory)
    };
    let mut by_system: BTreeMap<&str, Vec<&NodePlan>> = BTreeMap::new();
    for node in nodes.iter().filter(forgets) {
        by_system.entry(&node.os.name).or_default().push(node);
    }
    for (name, nodes) in by_system {
        let place = pxe.systems.get_key_value(name);
        let place = place.map_or(pxe.url.span, |(system, _)| system.span);
        let finding = Diagnostic::error("FL0921", "a control plane or etcd member whose root is in memory").at(place);
        let names: Vec<_> = nodes.iter().map(|node| node.name.as_str()).collect();
        let installs = nodes
            .iter()
            .all(|node| node.os.pxe.as_ref().is_some_and(|boot| boot.install.is_some()));
        let help = if installs {
            format!("have it installed: systems: {{ {name}: {{ disk: /dev/sda }} }}")
        } else {
            format!("name a root on a disk: systems: {{ {name}: {{ arguments: [root=LABEL=ROOT] }} }}")
        };
        let label = format!(
            "{} runs from memory on {}: a reboot loses etcd's data",
            name,
            names.join(", ")
        );
        report.push(finding.label(label).help(help));
    }
}

/// Reports systems that no machine boots.
fn check_unused(pxe: &Pxe, booted: &BTreeSet<String>, report: &mut Report) {
    if booted.is_empty() {
        let finding = Diagnostic::warning("FL0511", "`delivery.pxe` has no effect").at(pxe.url.span);
        report.push(finding.label("no machine's platform boots from the network; write platform: metal"));
        return;
    }
    for name in pxe.systems.keys().filter(|name| !booted.contains(&name.value)) {
        let finding = Diagnostic::warning("FL0511", format!("`{}` has no effect", name.value)).at(name.span);
        report.push(finding.label("no machine that boots from the network has this system"));
    }
}
