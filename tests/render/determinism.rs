//! The same spec and the same bundle give the same bytes, for every place, time and user. A change of one node does not
//! change others, and no document contains a secret that its node must not have.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use crate::support;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
};

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use firelay::{
    commands::{assembly::Assembly, project::Project},
    plan::NodePlan,
    secrets::Bundle,
    spec::{CaKeys, JoinIdentity},
};
use support::{Entry, Example, example, examples, firelay, read_tree, said, succeed, tree};

/// The place and the time of a render.
struct Setting {
    umask: &'static str,
    /// For `faketime`; `None` is now.
    clock: Option<&'static str>,
    environment: &'static [(&'static str, &'static str)],
}

const HERE: Setting = Setting {
    umask: "022",
    clock: Some(support::NOW),
    environment: &[("LC_ALL", "C"), ("TZ", "UTC"), ("RAYON_NUM_THREADS", "1")],
};

const ELSEWHERE: Setting = Setting {
    umask: "000",
    clock: Some("2027-11-19 23:59:59"),
    environment: &[
        ("LC_ALL", "tr_TR.UTF-8"),
        ("TZ", "Asia/Kathmandu"),
        ("RAYON_NUM_THREADS", "7"),
    ],
};

const STRICT: Setting = Setting {
    umask: "077",
    clock: Some("1999-12-31 00:00:01"),
    environment: &[("LANG", "de_DE"), ("TZ", "America/St_Johns"), ("HOME", "/nonexistent")],
};

/// Renders a spec in its own directory; returns the output and the directory.
fn render(setting: &Setting, spec: &Path, example: &Example) -> (String, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    example.lay_folder(directory.path());
    fs::copy(spec, directory.path().join("cluster.yaml")).unwrap();
    example.lay_bundle(&directory.path().join("firelay.secrets.yaml"));
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &format!("umask {}; exec \"$@\"", setting.umask), "sh"])
        .current_dir(directory.path())
        .env_remove("FIRELAY_SECRETS")
        .envs(setting.environment.iter().copied());
    if let Some(clock) = setting.clock {
        shell.args(["faketime", clock]);
    }
    shell.arg(env!("CARGO_BIN_EXE_firelay")).arg("render");
    let said = succeed(&mut shell, "faketime");
    (said, directory)
}

/// A tree without file times.
fn timeless(directory: &tempfile::TempDir) -> BTreeMap<String, Entry> {
    let mut found = tree(&directory.path().join("out"));
    found.values_mut().for_each(|entry| entry.changed = None);
    found
}

/// Every example is rendered here and in one of the two other settings, in turn.
#[test]
fn every_tree_is_the_same_everywhere_and_for_its_owner_only() {
    for (number, example) in examples().into_iter().enumerate() {
        let (_, here) = render(&HERE, &example.spec, &example);
        let here = timeless(&here);
        assert!(here.contains_key("manifest.json") && here.contains_key(".gitignore"));
        for (path, entry) in &here {
            let mode = if entry.content.is_some() { 0o600 } else { 0o700 };
            assert_eq!(entry.mode, mode, "{} {path}", example.name);
        }
        let setting = if number % 2 == 0 { ELSEWHERE } else { STRICT };
        let (said, elsewhere) = render(&setting, &example.spec, &example);
        // Only the warning about expiring certificates depends on the clock. Those of ca-offline are valid for
        // years.
        let soon = setting.clock == ELSEWHERE.clock && example.name != "ca-offline";
        assert_eq!(said.contains("warning[FL1037]: it ends on"), soon, "{said}");
        let elsewhere = timeless(&elsewhere);
        assert!(here.keys().eq(elsewhere.keys()), "{}", example.name);
        for (path, entry) in &here {
            assert!(*entry == elsewhere[path], "{} {path} differs", example.name);
        }
    }
}

/// Renders an example, then the example with a change; all files of the first render's nodes must stay the same.
fn assert_others_stay(name: &str, new: &str, change: impl Fn(&str) -> String) {
    assert_eq!(changed_by(name, new, change), BTreeSet::new(), "{name}");
}

/// The nodes whose files change with another spec; nothing else may change.
fn changed_by(name: &str, new: &str, change: impl Fn(&str) -> String) -> BTreeSet<String> {
    let example = example(name);
    let (_, before) = render(&HERE, &example.spec, &example);
    let spec = fs::read_to_string(&example.spec).unwrap();
    let changed = change(&spec);
    assert_ne!(spec, changed);
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), changed).unwrap();
    let (_, after) = render(&HERE, file.path(), &example);
    let (before, after) = (timeless(&before), timeless(&after));
    assert!(after.contains_key(&format!("nodes/{new}")), "{:?}", after.keys());
    let own = before
        .iter()
        .filter(|(path, _)| !matches!(path.as_str(), "manifest.json" | "node-names" | "record.yaml"));
    let differ = own.filter(|(path, entry)| after[*path] != **entry);
    let node = |path: &String| path.split('/').nth(1).map_or(path.clone(), str::to_owned);
    let differ = differ.map(|(path, _)| node(path)).collect();
    let more: Vec<_> = after.keys().filter(|path| !before.contains_key(*path)).collect();
    assert!(
        more.iter().all(|path| path.starts_with(&format!("nodes/{new}"))),
        "{more:?}"
    );
    differ
}

#[test]
fn a_new_worker_changes_no_other_node() {
    let more = |line: &'static str| move |spec: &str| format!("{}\n{line}\n", spec.trim_end());
    let worker = "  - { name: extra, roles: [worker], addresses: [10.0.1.200], labels: { a: b } }";
    for name in ["ha-ubuntu", "ha-flatcar", "external-etcd"] {
        assert_others_stay(name, "extra", more(worker));
    }
    // In the middle of the list, so that every later index changes.
    assert_others_stay("ha-ubuntu", "extra", |spec| {
        spec.replace("  - { name: cp2", &format!("{worker}\n  - {{ name: cp2"))
    });
}

#[test]
fn a_new_pool_changes_no_node_but_the_first_brings_the_founder_the_token() {
    for name in ["ha-ubuntu", "ha-flatcar", "air-gapped"] {
        let changed = changed_by(name, "burst", |spec| {
            format!("{}\npools:\n  - {{ name: burst, roles: [worker] }}\n", spec.trim_end())
        });
        assert_eq!(changed, BTreeSet::from(["cp1".to_owned()]), "{name}");
    }
    assert_others_stay("mixed", "spare", |spec| {
        spec.replace(
            "pools:\n",
            "pools:\n  - { name: spare, roles: [worker], os: flatcar }\n",
        )
    });
}

#[test]
fn two_bundles_of_one_spec_share_no_secret() {
    let directory = tempfile::tempdir().unwrap();
    let spec = example("ha-ubuntu").spec;
    let [one, other] = ["one", "other"].map(|name| {
        let path = directory.path().join(name);
        let mut new = firelay(&["secrets", "new"]);
        succeed(new.arg(&spec).arg("--secrets").arg(&path), "firelay");
        Bundle::parse(name, &fs::read_to_string(path).unwrap()).unwrap()
    });
    assert_ne!(one.fingerprint(), other.fingerprint());
    for (one, other) in needles(&one).iter().zip(&needles(&other)) {
        assert!(one.bytes != other.bytes, "{}", one.name);
    }
}

/// A secret, as the bytes to search for.
struct Needle {
    name: String,
    bytes: Vec<u8>,
}

impl Needle {
    fn new(name: impl Into<String>, bytes: &[u8]) -> Self {
        assert!(bytes.len() >= 16);
        Self {
            name: name.into(),
            bytes: bytes.to_vec(),
        }
    }
}

/// The secret part of a PEM key: the scalar of an elliptic curve, or the end of an RSA key, which is the coefficient.
fn secret_part(pem: &str) -> Vec<u8> {
    let (_, block) = x509_parser::pem::parse_x509_pem(pem.as_bytes()).unwrap();
    let der = block.contents;
    match (block.label.as_str(), der.get(5..7)) {
        ("EC PRIVATE KEY", Some([0x04, length])) => der[7..7 + usize::from(*length)].to_vec(),
        ("PRIVATE KEY", _) => der[der.len() - 64..].to_vec(),
        other => panic!("{other:?}"),
    }
}

/// Every secret of a bundle.
fn needles(bundle: &Bundle) -> Vec<Needle> {
    let key = |name: &str, pem: &str| Needle::new(name, &secret_part(pem));
    let decode = |text: &str| base64().decode(text).unwrap();
    let hex = bundle.certificate_key.expose();
    let certificate_key: Vec<_> = (0..32)
        .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    vec![
        key("kubernetes CA", bundle.kubernetes.key.expose()),
        key("etcd CA", bundle.etcd.key.expose()),
        key("front-proxy CA", bundle.front_proxy.key.expose()),
        key("service account", bundle.service_account_key.expose()),
        Needle::new("seed", bundle.seed.expose()),
        Needle::new("token", &bundle.bootstrap_token.expose().as_bytes()[7..]),
        Needle::new("certificate key", &certificate_key),
        Needle::new("certificate key as text", hex.as_bytes()),
        Needle::new("encryption key", &decode(bundle.encryption_key.expose())),
    ]
}

fn base64() -> GeneralPurpose {
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    GeneralPurpose::new(&STANDARD, config)
}

/// A text and everything encoded in it, at any depth: base64 in one line or in the lines of PEM or YAML, gzip,
/// percent-encoding.
fn layers(bytes: &[u8], depth: usize, found: &mut Vec<String>) {
    found.push(searchable(bytes));
    if depth == 0 {
        return;
    }
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut plain = Vec::new();
        if std::io::Read::read_to_end(&mut flate2::read::MultiGzDecoder::new(bytes), &mut plain).is_ok() {
            layers(&plain, depth - 1, found);
        }
        return;
    }
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    if text.contains('%') {
        let plain = unescape(text.as_bytes());
        if plain != bytes {
            layers(&plain, depth - 1, found);
        }
    }
    let is_base64 = |character: char| character.is_ascii_alphanumeric() || matches!(character, '+' | '/' | '=');
    // Runs of base64 as written, and runs joined across their line breaks.
    let words = text.split(|character| !is_base64(character)).map(str::to_owned);
    for word in words.chain(joined(text)).filter(|word| word.len() >= 20) {
        if let Ok(plain) = base64().decode(&word) {
            layers(&plain, depth - 1, found);
        }
    }
}

/// Lines of pure base64, each joined with the next if that is pure base64, too.
fn joined(text: &str) -> Vec<String> {
    let is_base64 = |line: &str| {
        !line.is_empty()
            && line
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
    };
    let mut blocks = vec![String::new()];
    for line in text.lines().map(str::trim) {
        if is_base64(line) {
            blocks.last_mut().unwrap().push_str(line);
        } else {
            blocks.push(String::new());
        }
    }
    blocks
}

fn unescape(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes
            .get(at + 1..at + 3)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) if bytes[at] == b'%' => {
                plain.push(byte);
                at += 3;
            }
            _ => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    plain
}

fn all_layers(bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    layers(bytes, 5, &mut found);
    found
}

fn holds(layers: &[String], needle: &Needle) -> bool {
    let text = searchable(&needle.bytes);
    layers.iter().any(|layer| layer.contains(&text))
}

/// Each byte as the character of that number: in debug builds only text search is fast.
fn searchable(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

#[test]
fn nothing_hides_a_secret_from_the_search() {
    use std::io::Write;
    let needle = Needle::new("secret", b"0123456789abcdefghij");
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let encode = |bytes: &[u8]| base64::engine::general_purpose::STANDARD.encode(bytes);
    let lines = |text: String| -> String {
        let lines = text
            .as_bytes()
            .chunks(16)
            .map(|line| format!("    {}\n", std::str::from_utf8(line).unwrap()));
        lines.collect()
    };
    let plain = [b"key: ", needle.bytes.as_slice(), b"\n"].concat();
    let kubeconfig = format!(
        "client-key-data: {}\n",
        encode(format!("-----BEGIN-----\n{}-----END-----\n", lines(encode(&plain))).as_bytes())
    );
    for hidden in [
        plain.clone(),
        encode(&plain).into_bytes(),
        gzip(&plain),
        encode(&gzip(&plain)).into_bytes(),
        kubeconfig.clone().into_bytes(),
        format!(
            "#cloud-config\nwrite_files:\n- content: !!binary |\n{}",
            lines(encode(&gzip(kubeconfig.as_bytes())))
        )
        .into_bytes(),
        format!("{{\"source\":\"data:;base64,{}\"}}", encode(&gzip(&plain))).into_bytes(),
        plain
            .iter()
            .flat_map(|byte| format!("%{byte:02X}").into_bytes())
            .collect(),
        gzip(format!("data:;base64,{}", encode(&gzip(kubeconfig.as_bytes()))).as_bytes()),
    ] {
        assert!(
            holds(&all_layers(&hidden), &needle),
            "{}",
            String::from_utf8_lossy(&hidden)
        );
    }
    assert!(!holds(
        &all_layers(encode(b"something else entirely").as_bytes()),
        &needle
    ));
}

/// The secrets of the bundle that a node's document may contain, besides the node's own leaf keys.
fn allowed(node: &NodePlan, ca_keys: CaKeys, external_etcd: bool, token: bool) -> Vec<&'static str> {
    let mut allowed = Vec::new();
    if node.roles.control_plane {
        allowed.push("service account");
        if ca_keys != CaKeys::None {
            allowed.push("kubernetes CA");
        }
        if ca_keys == CaKeys::ControlPlane {
            allowed.push("front-proxy CA");
            if !external_etcd {
                allowed.push("etcd CA");
            }
        }
    }
    if (node.founder && token) || node.identity == JoinIdentity::Token {
        allowed.push("token");
    }
    allowed
}

/// Every key in a PEM text among a node's files.
fn leaf_keys(node: &str, files: &[firelay::pki::PkiFile]) -> Vec<Needle> {
    let key = |file: &firelay::pki::PkiFile| {
        let text = file.content.expose();
        let start = text.find("-----BEGIN EC PRIVATE KEY")?;
        let shared = ["pki/ca.key", "pki/etcd/ca.key", "pki/front-proxy-ca.key", "pki/sa.key"];
        (!shared.contains(&file.path.as_str()))
            .then(|| Needle::new(format!("{node}'s {}", file.path), &secret_part(&text[start..])))
    };
    files.iter().filter_map(key).collect()
}

/// Every file of a tree below `nodes/NAME/` with all decoded contents, and the files that its reader writes.
fn held(out: &Path) -> BTreeMap<String, Vec<String>> {
    let mut held: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, entry) in tree(out) {
        let node = path.strip_prefix("nodes/").and_then(|path| path.split_once('/'));
        if let (Some((node, _)), Some(content)) = (node, entry.content) {
            held.entry(node.to_owned()).or_default().extend(all_layers(&content));
        }
    }
    for (node, files) in read_tree(out) {
        let contents = files.values().flat_map(|(_, content)| all_layers(content.as_bytes()));
        held.get_mut(&node).unwrap().extend(contents);
    }
    held
}

fn assert_nothing_leaks(spec: &Path, example: &Example) -> usize {
    let Ok(project) = Project::load(&spec.into()) else {
        panic!("{} is refused", example.name)
    };
    let bundle = Bundle::parse("bundle", &fs::read_to_string(&example.bundle).unwrap()).unwrap();
    let Ok(assembly) = Assembly::new(&project, &bundle, false) else {
        panic!("{}", example.name)
    };
    let (_, directory) = render(&HERE, spec, example);
    let out = directory.path().join("out");
    let held = held(&out);
    let plan = &project.plan;
    let mut leaves = Vec::new();
    for node in &plan.nodes {
        let Ok(pki) = assembly.pki(node) else {
            panic!("{}", node.name)
        };
        leaves.extend(
            leaf_keys(&node.name, &pki.files)
                .into_iter()
                .map(|needle| (&node.name, needle)),
        );
    }
    let Ok(admin) = assembly.admin_kubeconfig() else {
        panic!("{}", example.name)
    };
    let admin = admin_key(admin.expose());
    assert!(holds(
        &all_layers(&fs::read(out.join("admin.kubeconfig")).unwrap()),
        &admin
    ));
    for node in &plan.nodes {
        let (place, layers) = (format!("{} {}", example.name, node.name), &held[&node.name]);
        let token = plan.nodes.iter().any(|node| node.identity == JoinIdentity::Token);
        let mut allowed = allowed(node, plan.pki.ca_keys, plan.etcd.external, token);
        if node.roles.control_plane && plan.kubernetes.control_plane.encryption.is_some() {
            allowed.push("encryption key");
        }
        for needle in needles(&bundle) {
            // Finding the allowed secrets shows that the search works.
            assert_eq!(
                holds(layers, &needle),
                allowed.contains(&needle.name.as_str()),
                "{place}: {}",
                needle.name
            );
        }
        for (owner, needle) in &leaves {
            assert_eq!(holds(layers, needle), **owner == node.name, "{place}: {}", needle.name);
        }
        assert!(!holds(layers, &admin), "{place}: admin.kubeconfig");
    }
    for path in ["manifest.json", "admin.kubeconfig", ".gitignore"] {
        let layers = all_layers(&fs::read(out.join(path)).unwrap());
        for needle in needles(&bundle).iter().chain(leaves.iter().map(|(_, needle)| needle)) {
            assert!(!holds(&layers, needle), "{} {path}: {}", example.name, needle.name);
        }
    }
    leaves.len()
}

fn admin_key(kubeconfig: &str) -> Needle {
    let data = kubeconfig
        .lines()
        .find_map(|line| line.trim().strip_prefix("client-key-data: "))
        .unwrap();
    let pem = String::from_utf8(base64().decode(data.trim_matches('"')).unwrap()).unwrap();
    Needle::new("admin", &secret_part(&pem))
}

#[test]
fn no_document_holds_a_secret_that_is_not_its_nodes() {
    let leaves: usize = examples()
        .iter()
        .map(|example| assert_nothing_leaks(&example.spec, example))
        .sum();
    assert!(leaves > 150, "{leaves}");
}

#[test]
fn ca_keys_stay_in_the_bundle_where_the_spec_says_so() {
    let example = example("ha-ubuntu");
    let spec = fs::read_to_string(&example.spec).unwrap();
    for (pki, join) in [("signer", "certificate"), ("none", "certificate"), ("signer", "token")] {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(
            file.path(),
            format!("{spec}pki: {{ caKeys: {pki} }}\njoin: {{ identity: {join} }}\n"),
        )
        .unwrap();
        assert_nothing_leaks(file.path(), &example);
    }
}

#[test]
fn no_verb_says_a_secret() {
    let example = example("ha-ubuntu");
    let bundle = Bundle::parse("bundle", &fs::read_to_string(&example.bundle).unwrap()).unwrap();
    let (spoken, directory) = render(&HERE, &example.spec, &example);
    let mut spoken = vec![spoken];
    for verb in [
        &["check"][..],
        &["size", "--node", "cp1"],
        &["size", "--output", "json"],
        &["render", "--output", "json"],
        &["secrets", "show", "--output", "json"],
    ] {
        let output = firelay(verb).current_dir(directory.path()).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        spoken.push(said(&output));
    }
    for text in spoken {
        let layers = all_layers(text.as_bytes());
        for needle in needles(&bundle) {
            assert!(!holds(&layers, &needle), "{}: {text}", needle.name);
        }
        assert!(!text.contains("PRIVATE KEY"));
    }
}
