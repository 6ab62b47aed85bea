//! The manifests that the founder applies after `kubeadm init`, by phase.
//!
//! A plugin or add-on is a folder under `templates/` with its manifests and a [declaration](crate::declaration). Nothing
//! outside of that folder knows one by name.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    declaration::PhaseName,
    pki::{AddonCertificate, AddonCertificates},
    plan::{self, AddonPlan, ManifestSource, Plan},
    template,
};

/// A file's name within its phase, and its content.
pub type PhaseFile = (String, String);

/// Manifests that are applied together, with server-side apply and in the order of their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// Directory name; phases are applied in the order of names, `10-crds` first.
    pub name: String,
    /// Files in order.
    pub files: Vec<PhaseFile>,
}

/// An add-on that cannot be rendered; a mistake in firelay itself.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A manifest could not be rendered.
    #[error(transparent)]
    Template(#[from] template::Error),
}

/// Every manifest by phase, in the order of application; phases without files are omitted.
///
/// Without certificates the manifests that contain them are rendered with placeholders.
pub fn phases(plan: &Plan, certificates: &AddonCertificates) -> Result<Vec<Phase>, Error> {
    let mut all: BTreeMap<PhaseName, Vec<PhaseFile>> = BTreeMap::new();
    all.entry(PhaseName::Core).or_default().extend(core(plan)?);
    let whole = plan::context(plan);
    for addon in &plan.addons {
        let mut context = plan::context_of(&whole, addon);
        context["certs"] = texts(addon, certificates.get(addon.key()));
        for (phase, file) in rendered(addon, &context)? {
            all.entry(phase).or_default().push(file);
        }
    }
    for phase in PhaseName::ALL {
        let own: Vec<_> = own_manifests(plan, phase).collect();
        if !own.is_empty() {
            all.entry(phase).or_default().extend(own);
        }
    }
    Ok(all
        .into_iter()
        .map(|(phase, files)| Phase {
            name: phase.directory().to_owned(),
            files,
        })
        .collect())
}

/// The template of the objects by which an add-on brings scripts of an update to their machines.
pub struct UpdateObjects {
    template: String,
    context: Value,
}

impl UpdateObjects {
    /// That of the add-on in the plan that does so, if there is one.
    pub fn of(plan: &Plan) -> Option<Self> {
        let (addon, updates) = plan.updates()?;
        Some(Self {
            template: format!("{}/{}", addon.choice.declaration.folder(), updates.file),
            context: plan::context_of(&plan::context(plan), addon),
        })
    }

    /// The objects of one script; `update` has its variables.
    pub fn render(&self, update: &impl Serialize) -> Result<String, Error> {
        let mut context = self.context.clone();
        context["update"] = json!(update);
        Ok(template::render(&self.template, &context)?)
    }
}

/// Certificates in the form that templates use.
fn texts(addon: &AddonPlan, issued: Option<&BTreeMap<String, AddonCertificate>>) -> Value {
    let text = |name: &String| match issued.and_then(|issued| issued.get(name)) {
        Some(own) => json!({ "ca": own.ca, "certificate": own.certificate, "key": own.key.expose() }),
        None => json!({ "ca": "a CA", "certificate": "a certificate", "key": "a key" }),
    };
    let all = addon.certificates.keys().map(|name| (name.clone(), text(name)));
    Value::Object(all.collect())
}

/// The manifests of a plugin or add-on.
fn rendered(addon: &AddonPlan, context: &Value) -> Result<Vec<(PhaseName, PhaseFile)>, Error> {
    let declaration = &addon.choice.declaration;
    let folder = declaration.folder();
    let release = addon.release();
    let mut files = Vec::new();
    for file in &declaration.files {
        if let Some(when) = &file.when
            && !template::holds(&folder, when, context)?
        {
            continue;
        }
        let other = release.and_then(|release| release.files.get(&file.file));
        let template = other.unwrap_or(&file.file);
        let text = template::render(&format!("{folder}/{template}"), context)?;
        files.push((file.phase, (name(&declaration.name, &file.file), text)));
    }
    Ok(files)
}

/// The name of a file among those of others in its phase: `calico-bgp.yaml`.
fn name(addon: &str, file: &str) -> String {
    let file = file.trim_end_matches(".j2");
    match file.starts_with(addon) {
        true => file.to_owned(),
        false => format!("{addon}-{file}"),
    }
}

/// Manifests without an add-on. kubeadm creates the binding only in `init` and `upgrade apply` (kubernetes#138957).
/// Without it the API server may not request logs and exec from kubelets. Machines with a proxy of their own read which API servers there are.
fn core(plan: &Plan) -> Result<Vec<PhaseFile>, Error> {
    let proxy = plan.nodes.iter().any(|node| plan.endpoint.proxy_on(node));
    let names = ["apiserver-kubelet-client.yaml"]
        .into_iter()
        .chain(proxy.then_some("endpoint-servers.yaml"));
    let file = |name: &str| Ok((name.to_owned(), template::render(&format!("addons/{name}.j2"), &())?));
    names.map(file).collect()
}

/// The user's own of a phase; what is fetched is no part of a document.
fn own_manifests(plan: &Plan, phase: PhaseName) -> impl Iterator<Item = PhaseFile> {
    let own = plan
        .manifest_files()
        .filter(move |(_, manifest)| manifest.phase == phase);
    own.filter_map(|(file, manifest)| match &manifest.source {
        ManifestSource::Content(content) => Some((file, format!("{}\n", content.trim_end_matches('\n')))),
        ManifestSource::Url { .. } => None,
    })
}
