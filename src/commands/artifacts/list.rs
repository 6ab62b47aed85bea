//! `artifacts list`.

use std::{fs, path::Path};

use serde::Serialize;

use super::{
    images::{self, Image},
    inventory::{self, File},
    spdx,
};
use crate::{
    cli::{ArtifactsList, Inventory},
    commands::{failure::Failure, project::Project, streams},
};

/// `--output json`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactReport<'a> {
    cluster: &'a str,
    files: &'a [File],
    images: &'a [Image],
    /// URLs of manifests with unknown images.
    fetched: Vec<String>,
}

/// Runs the verb.
pub fn run(args: &ArtifactsList) -> Result<(), Failure> {
    let project = Project::load(&args.spec)?;
    let plan = &project.plan;
    let mut files = inventory::of(plan);
    if let Some(directory) = &args.mirror {
        files.iter_mut().for_each(|file| file.size = size(file, directory));
    }
    let images = images::collect(&project)?;
    let fetched = images::fetched(plan);
    images::tell_unknown(&fetched);
    match args.output {
        Inventory::Json => streams::json(&ArtifactReport {
            cluster: &plan.name,
            files: &files,
            images: &images,
            fetched,
        }),
        Inventory::Spdx => streams::json(&spdx::document(&plan.name, &files, &images, &spdx::now()?)),
        Inventory::Text => streams::data(&text(&files, &images)),
    }
}

fn size(file: &File, directory: &Path) -> Option<u64> {
    let about = fs::metadata(directory.join(file.path.as_ref()?)).ok()?;
    about.is_file().then_some(about.len())
}

/// A line for each file (name, version, architectures, bytes or `-`, SHA-256, URL), then one for each image.
fn text(files: &[File], images: &[Image]) -> String {
    let width = files.iter().map(|file| file.name.len()).max().unwrap_or_default();
    let row = |file: &File| {
        let architectures: Vec<_> = file.architectures.iter().map(ToString::to_string).collect();
        let version = file.version.as_deref().unwrap_or("-");
        let size = file.size.map_or_else(|| "-".to_owned(), |size| size.to_string());
        format!(
            "{:<width$} {version:<9} {:<11} {size:>10}  {}  {}\n",
            file.name,
            architectures.join(","),
            file.sha256,
            file.upstream.as_ref().unwrap_or(&file.url)
        )
    };
    let files: String = files.iter().map(row).collect();
    let images: String = images.iter().map(|image| format!("image {}\n", image.image)).collect();
    files + &images
}
