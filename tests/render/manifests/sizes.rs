//! docs/sizes.md: the space of each plugin and add-on in a document, compared with upstream's manifests.

use std::{fs, sync::Arc, thread};

use firelay::declaration::{self, Declaration, Kind};
use regex_lite::Regex;
use serde_json::{Map, Value};

use super::{Case, files, newest, support};

/// The size of upstream's manifests after gzip -9, of firelay's release or the nearest; measured in August 2026.
const UPSTREAM: &[(&str, &str)] = &[
    ("calico", "about 36,000 (calico.yaml)"),
    ("cilium", "12,000 to 14,000 (the chart without hubble and L7)"),
    ("flannel", "1,400"),
    ("hcloud-cloud-controller", "1,350"),
    ("kube-router", "1,460"),
    ("local-path", "1,200"),
    ("multus", "2,280"),
    ("node-feature-discovery", "3,700 (its CRDs alone)"),
];

const HEAD: &str = "# What plugins and add-ons take of a document

Only the founder's document holds manifests. Bytes of those of each plugin and add-on after gzip -9, with its first example, for one control plane,
IPv4 and the newest Kubernetes; in a document they share what is alike, and certificates and settings on the machine are not counted.
`firelay size` tells the whole of yours. This page is made by the tests (`just bless`).

| | bytes, gzipped | upstream's, gzipped |
|---|---|---|
";

fn text_of(declaration: &Declaration, version: &str) -> Option<String> {
    let none = Map::new();
    let parameters = declaration.examples.first().unwrap_or(&none);
    let of = |platform, chosen: &Declaration, parameters: &Map<String, Value>| {
        let case = Case {
            declaration: chosen,
            parameters,
            version,
            family: "ipv4",
            proxy: "{}",
            platform,
        };
        case.plan().ok().map(|plan| files(&plan))
    };
    let base = match declaration.kind {
        Kind::Cni => declaration::all().find(|it| it.name == "none")?,
        Kind::Addon | Kind::Kms => declaration::all().find(|it| it.default)?,
    };
    let texts = super::PLATFORMS
        .iter()
        .find_map(|platform| of(platform, declaration, parameters))?;
    let others = of("metal", base, &none)?;
    Some(texts.into_iter().filter(|text| !others.contains(text)).collect())
}

fn row(declaration: &Declaration, version: &str) -> Option<String> {
    let text = text_of(declaration, version)?;
    let upstream = UPSTREAM.iter().find(|(name, _)| *name == declaration.name);
    let size = support::gzipped(&text);
    (!text.is_empty()).then(|| {
        let folder = declaration.folder();
        format!(
            "| [{}](../templates/{folder}) | {size} | {} |\n",
            declaration.key,
            upstream.map_or("", |it| it.1)
        )
    })
}

const FOUNDERS: &str = "
## The founder's document

Bytes that the platform counts of the first control plane's document: Ubuntu 24.04, three control planes, the whole PKI, each network plugin with its
defaults. Placeholder secrets; others differ by some bytes. Bold ones are too large, and need `delivery.pointer`. Platforms with higher
limits take all of them.

";

/// Platforms whose limit a founder's document may reach.
const LIMITED: [(&str, u64); 6] = [
    ("aws", 16384),
    ("linode", 16384),
    ("oci", 32000),
    ("cloudstack", 32768),
    ("hetzner", 32768),
    ("nutanix", 32768),
];

/// The size of the founder's document on a platform with a plugin, as `firelay size` counts it; bold if above the
/// limit.
fn founder(platform: &str, plugin: &str) -> String {
    let directory = tempfile::tempdir().unwrap();
    let spec = directory.path().join("cluster.yaml");
    let text = format!(
        "apiVersion: firelay.dev/v1alpha1\nkind: Cluster\nname: founder\nkubernetes: {{ version: 1.36.4 }}\n\
         endpoint: {{ host: api.example.com }}\nnetwork: {{ pods: [10.192.0.0/16], services: [10.96.0.0/16], cni: {{ {plugin}: {{}} }} }}\n\
         os: ubuntu-24.04\nplatform: {platform}\nnodes:\n  \
         - {{ name: \"cp{{1..3}}\", roles: [control-plane, worker], addresses: [172.16.0.11-172.16.0.13] }}\n"
    );
    fs::write(&spec, text).unwrap();
    let mut size = support::firelay(&["size", "--node", "cp1", "--output", "json"]);
    let output = support::output(size.arg(&spec), "faketime");
    if let Ok(report) = serde_json::from_slice::<Value>(&output.stdout) {
        return report[0]["counted"].to_string();
    }
    let said = support::said(&output);
    let counted = Regex::new(r": (\d+) bytes \(")
        .unwrap()
        .captures(&said)
        .map(|found| found[1].to_owned());
    format!(
        "**{}**",
        counted.unwrap_or_else(|| panic!("{platform} {plugin}: {said}"))
    )
}

/// The table with a row for each plugin and a column for each platform.
fn founders() -> String {
    let plugins = declaration::all().filter(|it| it.kind == Kind::Cni && it.manifests.is_none());
    let names = LIMITED.map(|(platform, limit)| format!("{platform} ({limit})"));
    let head = format!("| | {} |\n|---|{}\n", names.join(" | "), "---|".repeat(LIMITED.len()));
    let row = |plugin: &Arc<Declaration>| {
        let key = plugin.key.as_str();
        let sizes = thread::scope(|scope| {
            let running = LIMITED.map(|(platform, _)| scope.spawn(move || founder(platform, key)));
            running.map(|size| size.join().unwrap())
        });
        format!("| {key} | {} |\n", sizes.join(" | "))
    };
    head + &plugins.map(row).collect::<String>()
}

#[test]
fn the_page_of_sizes_is_as_rendered() {
    let version = newest().pop().unwrap();
    let rows: String = declaration::all()
        .filter(|it| it.manifests.is_none())
        .filter_map(|it| row(it, &version))
        .collect();
    assert!(rows.lines().count() >= 18, "{rows}");
    let path = support::root().join("docs/sizes.md");
    let page = format!("{HEAD}{rows}{FOUNDERS}{}", founders());
    if std::env::var_os("FIRELAY_BLESS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), page, "just bless");
}
