//! docs/platforms: a page for each platform, with a table generated from the profile and a valid spec.

use std::{collections::BTreeSet, fs, net::IpAddr};

use firelay::profile::{Counted, Encoding, PlatformProfile, UserData};

use super::support::{
    self,
    golden::blessing,
    plan::{PROFILES, try_resolve},
};

const BEGIN: &str = "<!-- profile -->\n";
const END: &str = "<!-- /profile -->\n";

/// The table of a profile.
fn table(profile: &PlatformProfile) -> String {
    let documents = [("cloud-init", &profile.cloud_init), ("Ignition", &profile.ignition)];
    let mut rows: Vec<(String, String)> = documents
        .into_iter()
        .filter_map(|(name, data)| Some((name.to_owned(), data.as_ref()?)))
        .flat_map(|(name, data)| taken(&name, data))
        .collect();
    let row = |what: &str, text: String| (what.to_owned(), text);
    if let Some(hostname) = &profile.hostname {
        rows.push(row("host name of a pool machine", hostname.source.clone()));
    }
    if let Some(id) = &profile.provider_id {
        rows.push(row(
            "`spec.providerID`",
            format!("`{}`, found by {}", id.form, id.found_by),
        ));
    }
    let metadata = &profile.metadata;
    let addresses = metadata.addresses.iter().map(IpAddr::to_string);
    let service: Vec<_> = addresses
        .chain(metadata.names.iter().cloned())
        .map(|name| format!("`{name}`"))
        .collect();
    if !service.is_empty() {
        let header = metadata.header.as_ref().map(|header| format!(", header `{header}`"));
        rows.push(row(
            "metadata service",
            service.join(", ") + &header.unwrap_or_default(),
        ));
    }
    if !profile.identity.is_empty() {
        let schemes = profile.identity.iter().map(|scheme| format!("`{scheme}://`"));
        rows.push(row(
            "accepts the machine's identity",
            schemes.collect::<Vec<_>>().join(", "),
        ));
    }
    rows.push(row("readers", profile.readable_by.clone()));
    let rows: String = rows
        .iter()
        .map(|(what, text)| format!("| {what} | {text} |\n"))
        .collect();
    format!("| | |\n|---|---|\n{rows}")
}

fn taken(name: &str, data: &UserData) -> Vec<(String, String)> {
    let forms = data.encodings.iter().map(|encoding| match encoding {
        Encoding::Plain => "plain",
        Encoding::Base64 => "base64",
        Encoding::Gzip => "gzip",
        Encoding::GzipBase64 => "gzip and base64",
    });
    let inner = data.inner_compression.then_some("compressed inside");
    let counted = match data.counted {
        Counted::Decoded => "before base64",
        Counted::Encoded => "after base64",
        Counted::Sent => "as they are sent",
    };
    let limit = data.limit.map_or("none known".to_owned(), |limit| {
        format!("{limit} bytes, counted {counted}")
    });
    let resource = data.terraform.as_ref().map(|resource| format!(" of `{resource}`"));
    let api = data.api.as_ref().map(|api| format!("; {api}"));
    let attribute = format!(
        "`{}`{}{}",
        data.attribute,
        resource.unwrap_or_default(),
        api.unwrap_or_default()
    );
    vec![
        (format!("attribute for {name}"), attribute),
        (
            format!("encodings for {name}"),
            forms.chain(inner).collect::<Vec<_>>().join(", or "),
        ),
        (format!("limit for {name}"), limit),
    ]
}

#[test]
fn every_platform_has_a_page_with_what_its_profile_says() {
    let folder = support::root().join("docs/platforms");
    let mut failures = Vec::new();
    for (name, profile) in &PROFILES.platform {
        let path = folder.join(format!("{name}.md"));
        let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let (head, rest) = page.split_once(BEGIN).unwrap_or_else(|| panic!("{name}: no {BEGIN}"));
        let (agreed, tail) = rest.split_once(END).unwrap_or_else(|| panic!("{name}: no {END}"));
        let made = format!("\n{}\n", table(profile));
        if agreed == made {
            continue;
        }
        if blessing() {
            fs::write(&path, format!("{head}{BEGIN}{made}{END}{tail}")).unwrap();
        } else {
            failures.push(format!("{name}:\n{made}"));
        }
    }
    assert!(failures.is_empty(), "just bless writes these:\n{}", failures.join("\n"));
    let pages = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let pages: BTreeSet<_> = pages
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let known: BTreeSet<_> = PROFILES.platform.keys().cloned().collect();
    assert_eq!(pages, known);
}

#[test]
fn the_spec_of_every_page_is_without_a_finding() {
    for name in PROFILES.platform.keys() {
        let page = fs::read_to_string(support::root().join(format!("docs/platforms/{name}.md"))).unwrap();
        let spec = page.split("```yaml\n").nth(1).unwrap().split("```").next().unwrap();
        let (plan, findings) = try_resolve(spec).unwrap_or_else(|said| panic!("{name}: {said}"));
        assert!(findings.is_empty(), "{name}: {findings:?}");
        assert!(plan.nodes.iter().all(|node| node.platform.name == *name), "{name}");
    }
}

#[test]
fn every_page_says_how_to_hand_over_and_where_that_is_from() {
    for (name, profile) in &PROFILES.platform {
        let page = fs::read_to_string(support::root().join(format!("docs/platforms/{name}.md"))).unwrap();
        for heading in [
            "Spec and documents",
            "Create the machines",
            "Readers",
            "Check that it works",
            "Traps",
        ] {
            assert!(page.contains(&format!("\n## {heading}\n")), "{name}: {heading}");
        }
        assert!(page.contains("<!-- Sources, read 2026-"), "{name}");
        let carried = [&profile.cloud_init, &profile.ignition].into_iter().flatten();
        for resource in carried.filter_map(|data| data.terraform.as_ref()) {
            assert!(page.contains(resource.as_str()), "{name}: {resource}");
        }
    }
}
