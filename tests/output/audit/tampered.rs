//! Misplaced secrets, in every encoding.

use std::{fmt::Write as _, fs, io::Write as _};

use serde_json::Value;

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use firelay::{
    audit::{Audit, Catalogue, Contents, Document, Exposure, MachineFiles, Role, audit},
    commands::known_secrets::{self, KeyHolder},
    delivery::PayloadKeys,
    pki::LeafKeys,
};

use super::{rendered::Rendered, support::said};

/// The DER of a PEM text.
pub fn der(pem: &str) -> Vec<u8> {
    let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    STANDARD.decode(body).unwrap()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn indented(text: &str, width: usize) -> String {
    let lines = text.as_bytes().chunks(width);
    lines
        .map(|line| format!("    {}\n", std::str::from_utf8(line).unwrap()))
        .collect()
}

/// The bytes that every encoding of a key contains.
fn part(der: &[u8]) -> &[u8] {
    match der[5] {
        4 => &der[7..7 + usize::from(der[6])],
        _ => &der[der.len() - 64..],
    }
}

/// A key in its encodings, and whether the audit recognizes it without the bundle.
fn encodings(pem: &str) -> Vec<(&'static str, Vec<u8>, bool)> {
    let der = der(pem);
    let part = part(&der);
    let text = |text: String| text.into_bytes();
    let colons: Vec<_> = part.iter().map(|byte| format!("{byte:02X}")).collect();
    vec![
        ("PEM behind #", text(format!("# {}", pem.replace('\n', "\n# "))), false),
        (
            "PEM in YAML",
            text(format!("a: |\n  {}", pem.replace('\n', "\n  "))),
            true,
        ),
        ("PEM in JSON", text(serde_json::to_string(pem).unwrap()), true),
        ("PEM of CRLF", text(pem.replace('\n', "\r\n")), true),
        ("DER", der.clone(), true),
        ("base64 of DER", text(STANDARD.encode(&der)), true),
        (
            "base64 of DER in lines of 40",
            text(indented(&STANDARD.encode(&der), 40)),
            true,
        ),
        ("base64 of DER for URLs", text(URL_SAFE_NO_PAD.encode(&der)), true),
        ("base64 of PEM", text(STANDARD.encode(pem)), true),
        (
            "base64 of base64 of PEM",
            text(STANDARD.encode(STANDARD.encode(pem))),
            true,
        ),
        (
            "base64 that begins elsewhere",
            text(format!("x{}", STANDARD.encode(&der))),
            false,
        ),
        ("hex of DER", text(hex(&der)), true),
        ("hex of the scalar", text(hex(part)), false),
        ("hex in capitals", text(hex(part).to_uppercase()), false),
        ("hex with colons", text(colons.join(":")), false),
        ("hex of PEM", text(hex(pem.as_bytes())), true),
        ("the scalar", part.to_vec(), false),
        ("base64 of the scalar", text(STANDARD.encode(part)), false),
        ("gzip", gzip(pem.as_bytes()), true),
        ("gzip in base64", text(STANDARD.encode(gzip(pem.as_bytes()))), true),
        (
            "gzip in base64 in gzip",
            gzip(STANDARD.encode(gzip(&der)).as_bytes()),
            true,
        ),
        (
            "a data: URL",
            text(format!("data:;base64,{}", STANDARD.encode(gzip(pem.as_bytes())))),
            true,
        ),
        (
            "percent-encoding",
            text(format!("data:,{}", pem.replace('\n', "%0A").replace('+', "%2B"))),
            true,
        ),
    ]
}

/// PKCS#8 of a P-256 key.
fn pkcs8(pem: &str) -> String {
    let head = [
        0x30, 0x4d, 2, 1, 0, 0x30, 0x13, 6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1,
    ];
    let curve = [6, 8, 0x2a, 0x86, 0x48, 0xce, 0x3d, 3, 1, 7, 4, 0x33];
    firelay::secrets::to_pem("PRIVATE KEY", &[&head[..], &curve, &der(pem)].concat())
}

/// A worker and a control plane of an example.
pub struct Beside {
    pub catalogue: Catalogue,
    control_plane: MachineFiles,
}

impl Beside {
    pub fn new(tree: &Rendered, with_bundle: bool) -> Self {
        let machines = ["cp1", "w1", "w2"].map(|name| KeyHolder { name, serves: true });
        let known = with_bundle.then(|| known_secrets::of_bundle(&tree.bundle(), machines, false));
        let catalogue = Catalogue::new(known.unwrap_or_default());
        let bytes = fs::read(tree.at("out/nodes/cp1/user-data")).unwrap();
        let control_plane = machine(&catalogue, "cp1", Role::ControlPlane, &bytes);
        Self {
            catalogue,
            control_plane,
        }
    }

    /// Code and message of the findings after these bytes were added to the worker's document.
    pub fn findings(&self, bytes: &[u8]) -> Vec<(&'static str, String)> {
        let document = [b"#cloud-config\nruncmd: [[true]]\n", bytes, b"\n"].concat();
        let worker = machine(&self.catalogue, "w1", Role::Worker, &document);
        let audited = audited(&self.catalogue, vec![self.control_plane.clone(), worker]);
        let findings = audited.findings.into_iter();
        findings.map(|finding| (finding.code, finding.message)).collect()
    }
}

/// An audit of these machines alone, without payloads.
pub fn audited(catalogue: &Catalogue, machines: Vec<MachineFiles>) -> Audit {
    audit(catalogue, machines, &[], |_| true)
}

pub fn machine(catalogue: &Catalogue, name: &str, role: Role, bytes: &[u8]) -> MachineFiles {
    let path = format!("nodes/{name}/user-data");
    let contents = Contents::read(catalogue, bytes);
    MachineFiles {
        name: name.to_owned(),
        roles: vec![role],
        given: path.clone(),
        files: vec![Document {
            path,
            contents: contents.into(),
            changed: false,
        }],
        ..MachineFiles::default()
    }
}

/// A CA key (P-256, P-384 or RSA) in a worker's document is found in every encoding, once, and with the right name.
#[test]
fn a_ca_key_in_a_worker_is_found_in_every_encoding() {
    for example in ["mixed", "external-etcd", "air-gapped"] {
        let tree = Rendered::of(example);
        let bundle = tree.bundle();
        let (searching, recognising) = (Beside::new(&tree, true), Beside::new(&tree, false));
        for (key, title) in [
            (&bundle.kubernetes.key, "CA kubernetes"),
            (&bundle.service_account_key, "service-account key"),
        ] {
            let message = format!("w1 is no control plane and holds what is for control planes alone: {title}");
            let mut all = encodings(key.expose());
            if example == "mixed" {
                all.push(("PKCS#8", pkcs8(key.expose()).into_bytes(), true));
            }
            for (name, bytes, by_itself) in all {
                let expected = vec![("FL1081", message.clone())];
                assert_eq!(searching.findings(&bytes), expected, "{example}: {name}");
                if by_itself {
                    assert_eq!(
                        recognising.findings(&bytes),
                        expected,
                        "{example}: {name}, without the bundle"
                    );
                }
            }
        }
        assert_eq!(searching.findings(b""), []);
    }
}

/// Each secret of the bundle that no worker may have, if it is a text or a number.
#[test]
fn everything_of_the_bundle_is_searched_for() {
    let tree = Rendered::of("mixed");
    let searching = Beside::new(&tree, true);
    let bundle = tree.bundle();
    let keys = LeafKeys::of(&bundle);
    let base64 = |text: &str| STANDARD.decode(text).unwrap();
    let own = |key: &firelay::secret::Secret<Vec<u8>>| key.expose().clone();
    for (name, code, bytes) in [
        ("CA etcd-ca", "FL1081", der(bundle.etcd.key.expose())),
        ("CA front-proxy-ca", "FL1081", der(bundle.front_proxy.key.expose())),
        ("seed of the bundle", "FL1084", bundle.seed.expose().clone()),
        (
            "kubeadm's certificate key",
            "FL1084",
            bundle.certificate_key.expose().clone().into_bytes(),
        ),
        (
            "key of encryption at rest",
            "FL1081",
            base64(bundle.encryption_key.expose()),
        ),
        ("key of admin.kubeconfig", "FL1084", own(&keys.of_administrator())),
        ("CA firelay-serve", "FL1084", own(&keys.of_boot_server())),
        ("CA cilium-ca", "FL1084", own(&keys.of_addon("cilium", "ca"))),
        (
            "a key of w2: kubelet",
            "FL1082",
            own(&keys.of_node("w2", "kubelet/client")),
        ),
        (
            "a key of w2: what opens its payload",
            "FL1082",
            PayloadKeys::of(&bundle).identity("w2").to_vec(),
        ),
        ("etcd member", "FL1081", own(&keys.of_node("w1", "etcd/peer"))),
    ] {
        for packed in [
            bytes.clone(),
            STANDARD.encode(&bytes).into_bytes(),
            gzip(hex(&bytes).as_bytes()),
        ] {
            let findings = searching.findings(&packed);
            let [(found, message)] = &findings[..] else {
                panic!("{name}: {findings:?}")
            };
            assert_eq!(*found, code, "{name}");
            assert!(message.contains(name), "{name}: {message}");
        }
    }
}

/// A worker without its own certificate joins with the token; a worker with one does not need it.
#[test]
fn a_token_is_for_who_joins_by_it() {
    let tree = Rendered::of("mixed");
    let bundle = tree.bundle();
    let token = bundle.bootstrap_token.expose().clone();
    let client = LeafKeys::of(&bundle).of_node("w1", "kubelet/client");
    let certified = format!("token: {token}\nkey: {}\n", STANDARD.encode(client.expose()));
    let searching = Beside::new(&tree, true);
    assert_eq!(searching.findings(format!("token: {token}").as_bytes()), []);
    let findings = searching.findings(certified.as_bytes());
    assert_eq!(
        findings,
        [(
            "FL1083",
            "w1 holds the bootstrap token, and joins without it".to_owned()
        )]
    );
}

/// A key of no CA of the cluster is shown without a finding.
#[test]
fn what_is_your_own_is_told_and_not_refused() {
    let tree = Rendered::of("mixed");
    let searching = Beside::new(&tree, true);
    let own = firelay::secrets::PrivateKey::p256(&[7; 32]).unwrap().to_pem();
    for (bytes, title) in [
        (own.expose().as_str(), "key of yours"),
        (
            "passwd: $6$saltsalt$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "password hash of a user",
        ),
        (
            "http_proxy=http://me:hunter2@proxy.example.com:3128",
            "password of yours",
        ),
        ("[plugins.auth]\n  password = \"hunter2\"\n", "password of yours"),
        (
            r#"{"node":"w1","query":"sv=2024&sig=hunter2"}"#,
            "what opens its payload",
        ),
        (
            r#"{\"headers\":{\"Authorization\":\"Bearer hunter2\"}}"#,
            "what opens its payload",
        ),
        (
            r#"{"key":"0707070707070707070707070707070707070707070707070707070707070707"}"#,
            "what opens its payload",
        ),
        (
            "b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAEbm9uZQAAAAAAAAABAAAAMwAAAAtzc2gt",
            "SSH key of yours",
        ),
    ] {
        let worker = machine(&searching.catalogue, "w1", Role::Worker, bytes.as_bytes());
        let audited = audited(&searching.catalogue, vec![worker]);
        assert_eq!(audited.findings, [], "{bytes}");
        let titles: Vec<_> = audited.machines[0]
            .opens
            .iter()
            .map(|secret| secret.title.as_str())
            .collect();
        assert_eq!(titles, [title], "{bytes}");
        assert_eq!(audited.machines[0].exposure(), Exposure::Identity);
    }
}

/// One finding of each kind, in readable form.
pub fn everything() -> String {
    let tree = Rendered::of("external-etcd");
    let bundle = tree.bundle();
    let keys = LeafKeys::of(&bundle);
    let token = bundle.bootstrap_token.expose();
    let ca = bundle.kubernetes.key.expose();
    let neighbour = STANDARD.encode(keys.of_node("w2", "kubelet/client").expose());
    tree.append("out/nodes/w1/user-data", format!("\n# {neighbour}\n").as_bytes());
    tree.append("out/nodes/w2/user-data", format!("\ntoken: {token}\n").as_bytes());
    tree.append("out/nodes/etcd1/user-data", &gzip(ca.as_bytes()));
    tree.append(
        "out/nodes/etcd2/forgotten.bak",
        STANDARD.encode(bundle.seed.expose()).as_bytes(),
    );
    tree.append("out/nodes/cp2/user-data", bundle.etcd.key.expose().as_bytes());
    tree.append("out/node-names", ca.as_bytes());
    let audited = tree.audit(true, &[]);
    assert_eq!(audited.status.code(), Some(5), "{}", said(&audited));
    let text = said(&audited);
    for secret in [token.as_str(), neighbour.as_str(), ca.lines().nth(1).unwrap()] {
        assert!(!text.contains(secret), "{text}");
    }
    text
}

/// Nothing can be unpacked from an empty document, so it would seem to hold no secret.
#[test]
fn a_damaged_document_is_told() {
    let tree = Rendered::of("ha-ubuntu");
    let changed = |report: &Value| {
        let findings = report["findings"].as_array().unwrap().iter();
        let changed = findings.filter(|finding| finding["code"] == "FL1089");
        let places: Vec<_> = changed.map(|finding| finding["document"].clone()).collect();
        places
    };
    assert!(changed(&tree.report(false)).is_empty());
    fs::write(tree.at("out/nodes/cp1/user-data.gz.b64"), "").unwrap();
    assert_eq!(changed(&tree.report(false)), ["nodes/cp1/user-data.gz.b64"]);
}

/// A machine with the documents of another.
#[test]
fn documents_that_were_mixed_up_are_found() {
    let tree = Rendered::of("external-etcd");
    fs::copy(tree.at("out/nodes/w2/user-data"), tree.at("out/nodes/w1/user-data")).unwrap();
    fs::copy(
        tree.at("out/nodes/etcd2/user-data"),
        tree.at("out/nodes/etcd1/user-data"),
    )
    .unwrap();
    for with_bundle in [true, false] {
        let findings = tree.findings(with_bundle);
        assert!(findings.iter().all(|(code, _)| code == "FL1082"), "{findings:?}");
        for (one, other) in [("w1", "w2"), ("etcd1", "etcd2")] {
            let message = format!("{one} holds a key of {other}: ");
            assert!(
                findings.iter().any(|(_, text)| text.starts_with(&message)),
                "{findings:?}"
            );
        }
    }
}

/// An audit of any bytes ends, and reports if it stopped early.
#[test]
fn nothing_that_is_unpacked_goes_on_for_ever() {
    let searching = Beside::new(&Rendered::of("mixed"), true);
    let nested = (0..12).fold(b"deep".repeat(9), |inner, _| STANDARD.encode(inner).into_bytes());
    for bytes in [
        nested,
        b"%%%4%41%".repeat(99),
        vec![0x1f, 0x8b, 8],
        b"=".repeat(99),
        vec![0x30, 0x82],
    ] {
        assert_eq!(searching.findings(&bytes), []);
    }
    let bomb = gzip(&gzip(&vec![0; 64 << 20]));
    let findings = searching.findings(&bomb);
    assert_eq!(
        findings,
        [("FL1087", "this file unpacks to more than was searched".to_owned())]
    );
}

/// The tests here produce every code of these findings.
#[test]
fn every_code_is_said() {
    let said = [
        everything(),
        super::policy::refused(),
        "error[FL1087] error[FL1088]".to_owned(),
    ]
    .concat();
    let codes = firelay_yaml::diagnostic::STORIES.iter().map(|story| story.code);
    for code in codes.filter(|code| ("FL1081".."FL1091").contains(code)) {
        assert!(said.contains(&format!("error[{code}]")), "{code}");
    }
}
