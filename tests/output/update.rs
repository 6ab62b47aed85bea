//! `templates/update.yaml` and the files that machines have.

use std::{collections::BTreeSet, path::Path};

use firelay::changes::{Handler, handler, pattern, patterns};
use firelay_verify::Tree;

use super::support::{self, example, examples};

/// Steps that apply no machine settings: a change of another step concerns more than the first boot.
const RUN_ONCE: [&str; 6] = [
    "11-public-keys",
    "20-artifacts",
    "40-etcd",
    "50-join",
    "70-addons",
    "90-ready",
];

/// A key service whose plugin has a file beside its manifest.
const KMS: &str = "kubernetes.apiServer.encryption.kms=[{azure: {vault: prod, key: etcd, keyVersion: 5cdf48ea6bb9456ebf637e1130b7751a, \
                   tenantId: 11111111-2222-3333-4444-555555555555}}]";

/// Snapshots in a bucket, with an access key.
const BUCKET: &str =
    "etcd.backup={to: 's3://snapshots/prod', s3: {region: eu-central-1, accessKey: {id: prod, secret: secret}}}";

#[test]
fn every_pattern_fits_a_file_and_steps_with_settings_are_not_left_alone() {
    let mut paths = BTreeSet::new();
    let mut add = |out: &Path| {
        let machines = Tree::open(out).unwrap().machines;
        paths.extend(machines.iter().flat_map(|machine| machine.root.entries.keys().cloned()));
    };
    for example in examples() {
        add(support::rendered(&example.name));
    }
    // Files that no example has.
    let further = [
        BUCKET,
        KMS,
        "platform=openstack",
        "addons.gvisor={}",
        "addons.certificateRenewal={ etcd: true }",
        "security.metadataFirewall=true",
    ];
    for (name, set) in [
        ("external-etcd", further.as_slice()),
        ("ha-flatcar", &further),
        ("pointer-s3", &["ntp={ servers: [time.example.com] }"]),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let (out, bundle) = (
            directory.path().join("out"),
            directory.path().join("bundle.secrets.yaml"),
        );
        let mut render = support::firelay(&["render", "--new-secrets"]);
        render.args(set.iter().flat_map(|set| ["--set", set]));
        render
            .arg(example(name).spec)
            .arg("--out")
            .arg(&out)
            .arg("--secrets")
            .arg(bundle);
        support::succeed(&mut render, "firelay");
        add(&out);
    }
    let used: BTreeSet<_> = paths.iter().filter_map(|path| pattern(path)).collect();
    let unused: Vec<_> = patterns().filter(|pattern| !used.contains(pattern)).collect();
    assert!(unused.is_empty(), "{unused:?}");
    let steps = paths
        .iter()
        .filter_map(|path| Some((path, path.split_once("/firelay/steps/")?.1)));
    for (path, step) in steps {
        assert_eq!(handler(path) == Handler::Boot, RUN_ONCE.contains(&step), "{path}");
    }
}
