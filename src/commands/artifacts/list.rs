//! `artifacts list`.

use std::{fs, path::Path};

use firelay_base::table::{Column, table, yellow};
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
        Inventory::Text => streams::text(&text(&files, &images, args.mirror.is_some())),
    }
}

fn size(file: &File, directory: &Path) -> Option<u64> {
    let about = fs::metadata(directory.join(file.path.as_ref()?)).ok()?;
    about.is_file().then_some(about.len())
}

/// A line for each file, with `-` for bytes that are not known, then one for each image. What a mirror does not have is yellow.
fn text(files: &[File], images: &[Image], mirrored: bool) -> String {
    let unknown = if mirrored { yellow("-") } else { "-".to_owned() };
    let row = |file: &File| {
        let architectures: Vec<_> = file.architectures.iter().map(ToString::to_string).collect();
        vec![
            file.name.clone(),
            file.version.as_deref().unwrap_or("-").to_owned(),
            architectures.join(","),
            file.size.map_or_else(|| unknown.clone(), |size| size.to_string()),
            file.digest.0.clone(),
            file.upstream.as_ref().unwrap_or(&file.url).clone(),
        ]
    };
    let columns = [
        Column::left("FILE"),
        Column::left("VERSION"),
        Column::left("ARCH"),
        Column::right("BYTES"),
        Column::left("DIGEST"),
        Column::left("URL"),
    ];
    let files = table(&columns, &files.iter().map(row).collect::<Vec<_>>());
    let images: Vec<_> = images.iter().map(|image| vec![image.image.clone()]).collect();
    format!("{files}\n{}", table(&[Column::left("IMAGE")], &images))
}
