//! A bill of materials: SPDX 2.3 as JSON (spdx.github.io/spdx-spec/v2.3), with package URLs (package-url/purl-spec).

use std::collections::BTreeSet;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use sha2::{Digest, Sha256};
use time::format_description::well_known::Rfc3339;

use super::{
    images::Image,
    inventory::{File, Kind},
};
use crate::{
    commands::{clock, failure::Failure},
    encoding::hex,
    mirror::{Reference, algorithm},
};

/// Not determined.
const UNKNOWN: &str = "NOASSERTION";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BillOfMaterials {
    spdx_version: &'static str,
    data_license: &'static str,
    #[serde(rename = "SPDXID")]
    id: &'static str,
    name: String,
    document_namespace: String,
    creation_info: Creation,
    packages: Vec<Package>,
    relationships: Vec<Relationship>,
}

#[derive(Serialize)]
struct Creation {
    created: String,
    creators: [&'static str; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Package {
    #[serde(rename = "SPDXID")]
    id: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version_info: Option<String>,
    download_location: String,
    files_analyzed: bool,
    checksums: Vec<Checksum>,
    license_concluded: &'static str,
    license_declared: &'static str,
    copyright_text: &'static str,
    primary_package_purpose: &'static str,
    external_refs: [External; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Checksum {
    algorithm: String,
    checksum_value: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct External {
    reference_category: &'static str,
    reference_type: &'static str,
    reference_locator: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Relationship {
    spdx_element_id: &'static str,
    relationship_type: &'static str,
    related_spdx_element: String,
}

/// The time that a document has.
pub(super) fn now() -> Result<String, Failure> {
    let whole = clock::now()?.replace_nanosecond(0)?;
    Ok(whole.format(&Rfc3339)?)
}

/// The files and images of a cluster. Its name follows from what it lists, so that the same list has the same.
pub(super) fn document(cluster: &str, files: &[File], images: &[Image], created: &str) -> BillOfMaterials {
    let mut packages: Vec<_> = files.iter().map(of_file).chain(images.iter().map(of_image)).collect();
    number(&mut packages);
    let described = packages.iter().map(|package| Relationship {
        spdx_element_id: "SPDXRef-DOCUMENT",
        relationship_type: "DESCRIBES",
        related_spdx_element: package.id.clone(),
    });
    let mut list = Sha256::new();
    for package in &packages {
        list.update(package.external_refs[0].reference_locator.as_bytes());
        list.update(b"\n");
    }
    let list = hex(&list.finalize());
    BillOfMaterials {
        spdx_version: "SPDX-2.3",
        data_license: "CC0-1.0",
        id: "SPDXRef-DOCUMENT",
        name: format!("firelay-{cluster}"),
        document_namespace: format!("https://firelay.dev/spdx/{cluster}-{list}"),
        creation_info: Creation {
            created: created.to_owned(),
            creators: [concat!("Tool: firelay-", env!("CARGO_PKG_VERSION"))],
        },
        relationships: described.collect(),
        packages,
    }
}

/// Makes identifiers unique: repeated ones get a number.
fn number(packages: &mut [Package]) {
    let mut taken = BTreeSet::new();
    for package in packages {
        let first = package.id.clone();
        for next in 2.. {
            if taken.insert(package.id.clone()) {
                break;
            }
            package.id = format!("{first}-{next}");
        }
    }
}

fn of_file(file: &File) -> Package {
    let source = file.upstream.as_ref().unwrap_or(&file.url);
    let version = file.version.as_ref().map(|version| format!("@{}", encoded(version)));
    let locator = format!(
        "pkg:generic/{}{}?checksum={}:{}&download_url={}",
        encoded(&file.name),
        version.unwrap_or_default(),
        file.digest.algorithm(),
        file.digest.0,
        encoded(source)
    );
    let purpose = match file.kind {
        Kind::Binary => "APPLICATION",
        Kind::Manifest => "FILE",
        Kind::ImageArchive => "ARCHIVE",
    };
    let id = [
        file.name.as_str(),
        file.version.as_deref().unwrap_or_default(),
        &file.digest.0[..12],
    ];
    Package {
        version_info: file.version.clone(),
        checksums: vec![checksum(&file.digest.0)],
        ..package(&id.join("-"), &file.name, source, purpose, locator)
    }
}

fn of_image(image: &Image) -> Package {
    let source = image.source();
    let (name, pulled) = (Reference::of(source), Reference::of(&image.image));
    let path = name.path();
    let last = path.rsplit('/').next().unwrap_or_default();
    let digest = pulled
        .digest
        .map(|digest| format!("@{}", encoded(digest)))
        .unwrap_or_default();
    let tag = name
        .tag
        .or(pulled.tag)
        .map(|tag| format!("&tag={}", encoded(tag)))
        .unwrap_or_default();
    let url = encoded(&format!("{}/{path}", name.registry));
    let locator = format!("pkg:oci/{}{digest}?repository_url={url}{tag}", encoded(last));
    let hex = pulled.digest.and_then(|digest| digest.strip_prefix("sha256:"));
    Package {
        version_info: pulled.tag.or(pulled.digest).map(str::to_owned),
        checksums: hex.map(checksum).into_iter().collect(),
        ..package(&format!("image-{source}"), source, UNKNOWN, "CONTAINER", locator)
    }
}

fn package(id: &str, name: &str, location: &str, purpose: &'static str, locator: String) -> Package {
    Package {
        id: format!("SPDXRef-{}", identifier(id)),
        name: name.to_owned(),
        version_info: None,
        download_location: location.to_owned(),
        files_analyzed: false,
        checksums: Vec::new(),
        license_concluded: UNKNOWN,
        license_declared: UNKNOWN,
        copyright_text: UNKNOWN,
        primary_package_purpose: purpose,
        external_refs: [External {
            reference_category: "PACKAGE-MANAGER",
            reference_type: "purl",
            reference_locator: locator,
        }],
    }
}

fn checksum(hex: &str) -> Checksum {
    Checksum {
        algorithm: algorithm(hex).to_ascii_uppercase(),
        checksum_value: hex.to_owned(),
    }
}

/// Letters, digits, `.` and `-` (SPDX 2.3 §7.2).
fn identifier(text: &str) -> String {
    let plain = |sign: char| sign.is_ascii_alphanumeric() || sign == '.' || sign == '-';
    text.chars().map(|sign| if plain(sign) { sign } else { '-' }).collect()
}

/// Percent-encodes all but unreserved characters (RFC 3986 §2.3).
fn encoded(text: &str) -> String {
    const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, RESERVED).to_string()
}
