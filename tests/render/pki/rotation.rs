//! Rotations in every order: machines of a step and of the next one accept each other, as OpenSSL judges.

use std::collections::BTreeSet;

use firelay::{
    pki::{self, Authorities, NodePki},
    plan::{NodePlan, Plan, RoleSet},
    secrets::{Bundle, KeyKind},
    spec::Algorithm,
};
use time::{Duration, OffsetDateTime};

use super::{
    cluster::{ISSUED_AT, bundle, bundle_of, node, plan, request, stream},
    openssl::Tree,
};

/// A step that a bundle takes.
#[derive(Clone, Copy, Debug)]
enum Step {
    Leaves,
    LeavesOf(&'static str),
    Keys(KeyKind),
}

/// The steps of one rotation after the other, in all orders of the kinds.
fn sequences() -> Vec<Vec<Step>> {
    let keys = |kind: KeyKind| vec![Step::Keys(kind); kind.steps()];
    let rotations = [
        vec![Step::Leaves, Step::LeavesOf("cp1")],
        keys(KeyKind::ServiceAccount),
        keys(KeyKind::Encryption),
        keys(KeyKind::Token),
    ];
    orders(&rotations)
}

fn orders(rotations: &[Vec<Step>]) -> Vec<Vec<Step>> {
    if rotations.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for (at, first) in rotations.iter().enumerate() {
        let mut rest = rotations.to_vec();
        rest.remove(at);
        all.extend(orders(&rest).into_iter().map(|rest| [first.clone(), rest].concat()));
    }
    all
}

fn rotate(
    bundle: &mut Bundle,
    kind: KeyKind,
    now: OffsetDateTime,
    random: &mut impl FnMut(&mut [u8]) -> Result<(), getrandom::Error>,
) {
    bundle
        .rotate(kind, &request(Algorithm::EcdsaP256), now, random)
        .unwrap();
}

/// Two control planes with etcd beside them, and a worker.
fn cluster() -> Plan {
    let mut plan = plan();
    let roles = RoleSet {
        control_plane: true,
        ..RoleSet::default()
    };
    plan.nodes.push(node("cp2", roles, &["10.77.0.12"]));
    plan
}

/// A machine as a bundle makes it.
struct Made {
    pki: NodePki,
    tree: Tree,
    bundle: Bundle,
}

fn made(plan: &Plan, bundle: &Bundle, node: &NodePlan) -> Made {
    let issued_at = bundle
        .leaves_of(&node.name)
        .map_or(bundle.issued_at, |own| own.issued_at);
    let pki = pki::issue(plan, &Authorities::open(bundle).unwrap(), bundle, node, issued_at).unwrap();
    Made {
        tree: Tree::of(&pki),
        pki,
        bundle: bundle.clone(),
    }
}

/// Servers and clients by CA: certificate of the one, CA and purpose by which the other judges it.
const CONNECTIONS: [(&str, &str, &str); 9] = [
    ("pki/apiserver.crt", "pki/ca.crt", "sslserver"),
    ("pki/apiserver-kubelet-client.crt", "pki/ca.crt", "sslclient"),
    ("pki/apiserver-etcd-client.crt", "pki/etcd/ca.crt", "sslclient"),
    ("pki/front-proxy-client.crt", "pki/front-proxy-ca.crt", "sslclient"),
    ("pki/etcd/server.crt", "pki/etcd/ca.crt", "sslserver"),
    ("pki/etcd/peer.crt", "pki/etcd/ca.crt", "sslclient"),
    ("kubeconfig/scheduler.crt", "pki/ca.crt", "sslclient"),
    ("kubelet/kubelet.crt", "pki/ca.crt", "sslserver"),
    ("kubelet/client.pem", "pki/ca.crt", "sslclient"),
];

/// What `judge` makes of what `shown` shows.
fn accepts(judge: &Made, shown: &Made, at: OffsetDateTime, judged: &mut BTreeSet<[String; 2]>) {
    for (certificate, authority, purpose) in CONNECTIONS {
        let has = |made: &Made, path: &str| made.pki.files.iter().any(|file| file.path == path);
        if !has(shown, certificate) || !has(judge, authority) {
            continue;
        }
        // The same pair comes again and again, as few keys change at a step.
        if !judged.insert([judge.tree.read(authority), shown.tree.read(certificate)]) {
            continue;
        }
        judge.tree.write("shown.crt", &shown.tree.read(certificate));
        let printed = judge.tree.openssl(&format!(
            "verify -x509_strict -attime {} -purpose {purpose} -CAfile {authority} shown.crt",
            at.unix_timestamp()
        ));
        assert_eq!(printed.trim(), "shown.crt: OK", "{certificate}");
    }
    let reads = judge.bundle.encryption_keys();
    let writes = &shown.bundle.encryption_keys()[0];
    assert!(
        reads
            .iter()
            .any(|(name, key)| (name, key.expose()) == (&writes.0, writes.1.expose())),
        "an object of {} is not read",
        writes.0
    );
    if has_service_account(judge)
        && has_service_account(shown)
        && judged.insert([judge.tree.read("pki/sa.pub"), shown.tree.read("pki/sa.key")])
    {
        accepts_token(judge, shown);
    }
}

fn has_service_account(made: &Made) -> bool {
    made.pki.files.iter().any(|file| file.path == "pki/sa.pub")
}

/// A token of the one's `sa.key` verifies by one of the other's keys in `sa.pub`.
fn accepts_token(judge: &Made, shown: &Made) {
    shown.tree.write("token", "header.claims");
    shown.tree.openssl("dgst -sha256 -sign pki/sa.key -out signature token");
    let signature = shown.tree.path("signature");
    let publics = judge.tree.read("pki/sa.pub");
    let mut keys = publics.split_inclusive("-----END PUBLIC KEY-----\n");
    let verifies = keys.any(|key| {
        judge.tree.write("token", "header.claims");
        judge.tree.write("key.pub", key);
        std::process::Command::new("openssl")
            .args(["dgst", "-sha256", "-verify", "key.pub", "-signature"])
            .arg(&signature)
            .arg("token")
            .current_dir(judge.tree.path(""))
            .output()
            .unwrap()
            .status
            .success()
    });
    assert!(verifies, "a token is refused");
}

#[test]
fn machines_of_neighbouring_steps_accept_each_other_in_every_order_of_rotations() {
    let plan = cluster();
    let (sequences, mut judged) = (sequences(), BTreeSet::new());
    assert_eq!(sequences.len(), 24);
    // Each order has all pairs of neighbouring steps; which machines meet changes from order to order.
    for (number, sequence) in sequences.iter().enumerate() {
        let (mut bundle, mut random) = (bundle(), stream());
        // Randomness of its own, or the first keys would come again.
        for _ in 0..20 {
            random(&mut [0; 32]).unwrap();
        }
        let mut now = ISSUED_AT + Duration::days(300);
        let pairs = [("cp1", "cp2"), ("cp2", "worker-1"), ("worker-1", "cp1")];
        let (one, other) = pairs[number % pairs.len()];
        let find = |name: &str| plan.nodes.iter().find(|node| node.name == name).unwrap();
        let (mut one_before, mut other_before) = (made(&plan, &bundle, find(one)), made(&plan, &bundle, find(other)));
        for step in sequence {
            now += Duration::days(1);
            match step {
                Step::Leaves => bundle.rotate_leaves(&[], now),
                Step::LeavesOf(name) => bundle.rotate_leaves(&[(*name).to_owned()], now),
                Step::Keys(kind) => rotate(&mut bundle, *kind, now, &mut random),
            }
            let (one_after, other_after) = (made(&plan, &bundle, find(one)), made(&plan, &bundle, find(other)));
            let at = now + Duration::hours(1);
            for (judge, shown) in [
                (&one_before, &other_after),
                (&other_after, &one_before),
                (&one_after, &other_before),
                (&other_before, &one_after),
                (&one_after, &other_after),
            ] {
                accepts(judge, shown, at, &mut judged);
            }
            (one_before, other_before) = (one_after, other_after);
        }
        assert!(bundle.rotating().is_none());
    }
}

/// Bundles before and after each step of two rotations of the CAs, with the times of their steps. The first CAs may be of another kind.
fn authorities(algorithm: Algorithm) -> Vec<(Bundle, OffsetDateTime)> {
    let (mut random, mut now) = (stream(), ISSUED_AT + Duration::days(300));
    for _ in 0..40 {
        random(&mut [0; 32]).unwrap();
    }
    let mut bundles = vec![(bundle_of(algorithm), now)];
    for _ in 0..2 * KeyKind::Authorities.steps() {
        now += Duration::days(1);
        let mut next = bundles.last().unwrap().0.clone();
        rotate(&mut next, KeyKind::Authorities, now, &mut random);
        bundles.push((next, now));
    }
    bundles
}

/// Of each step all machines, against all of the steps before and after.
#[test]
fn machines_of_neighbouring_steps_accept_each_other_while_the_cas_rotate() {
    let plan = cluster();
    for algorithm in [Algorithm::EcdsaP256, Algorithm::Rsa2048] {
        let bundles = authorities(algorithm);
        let of = |bundle| {
            plan.nodes
                .iter()
                .map(|node| made(&plan, bundle, node))
                .collect::<Vec<_>>()
        };
        let steps: Vec<_> = bundles.iter().map(|(bundle, _)| of(bundle)).collect();
        let mut judged = BTreeSet::new();
        for (at, (_, now)) in bundles.iter().enumerate() {
            for other in [at.saturating_sub(1), at] {
                let pairs = steps[at]
                    .iter()
                    .flat_map(|one| steps[other].iter().map(move |other| (one, other)));
                for (one, other) in pairs {
                    accepts(one, other, *now + Duration::hours(1), &mut judged);
                    accepts(other, one, *now + Duration::hours(1), &mut judged);
                }
            }
        }
        // Two steps apart they do not, so no step is left out.
        let at = bundles[2].1 + Duration::hours(1);
        for (one, other) in [(0, 2), (2, 0), (1, 3), (3, 1)] {
            let (judge, shown) = (&steps[one][0], &steps[other][0]);
            let refused = std::panic::AssertUnwindSafe(|| accepts(judge, shown, at, &mut BTreeSet::new()));
            let trusts_both = [1, 2].contains(&one);
            assert_eq!(std::panic::catch_unwind(refused).is_ok(), trusts_both, "{one}, {other}");
        }
    }
}

/// kubeadm and the controller manager sign with the first certificate of `ca.crt` and with the one of `ca-signing.crt`.
#[test]
fn the_key_of_a_ca_is_that_of_its_first_certificate_at_each_step() {
    let plan = cluster();
    let mut signers = BTreeSet::new();
    for (step, (bundle, _)) in authorities(Algorithm::EcdsaP256).iter().enumerate() {
        let own = made(&plan, bundle, &plan.nodes[0]).tree;
        for authority in ["pki/ca", "pki/front-proxy-ca", "pki/etcd/ca"] {
            let text = own.read(&format!("{authority}.crt"));
            assert_eq!(
                text.matches("BEGIN CERTIFICATE").count(),
                if step % 3 == 0 { 1 } else { 2 }
            );
            // OpenSSL reads the first one.
            let certificate = own.openssl(&format!("x509 -in {authority}.crt -noout -pubkey"));
            assert_eq!(certificate, own.openssl(&format!("pkey -in {authority}.key -pubout")));
        }
        if step == 0 {
            assert!(!own.path("pki/ca-signing.crt").exists());
            continue;
        }
        let first = own.openssl("x509 -in pki/ca.crt");
        assert_eq!(own.read("pki/ca-signing.crt"), first);
        signers.insert(own.openssl("x509 -in pki/ca.crt -noout -subject"));
    }
    let names: Vec<_> = signers.iter().map(|name| name.trim()).collect();
    assert_eq!(
        names,
        [
            "subject=CN = kubernetes",
            "subject=CN = kubernetes-2",
            "subject=CN = kubernetes-3"
        ]
    );
}

/// The judge above can refuse: two steps apart tokens are not accepted.
#[test]
fn a_token_is_refused_two_steps_later() {
    let (plan, mut random) = (cluster(), stream());
    for _ in 0..20 {
        random(&mut [0; 32]).unwrap();
    }
    let mut bundle = bundle();
    let first = made(&plan, &bundle, &plan.nodes[0]);
    rotate(&mut bundle, KeyKind::ServiceAccount, ISSUED_AT, &mut random);
    rotate(&mut bundle, KeyKind::ServiceAccount, ISSUED_AT, &mut random);
    let second = made(&plan, &bundle, &plan.nodes[0]);
    let refused = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| accepts_token(&first, &second)));
    assert!(refused.is_err());
}

#[test]
fn rotated_leaves_are_of_new_keys_and_those_of_one_machine_are_its_own() {
    let (plan, mut bundle) = (cluster(), bundle());
    let texts = |bundle: &Bundle, name: &str| -> Vec<(String, String)> {
        let node = plan.nodes.iter().find(|node| node.name == name).unwrap();
        let made = made(&plan, bundle, node);
        let files = made.pki.files.iter();
        files
            .map(|file| (file.path.clone(), file.content.expose().clone()))
            .collect()
    };
    let before = [texts(&bundle, "cp1"), texts(&bundle, "cp2")];
    bundle.rotate_leaves(&["cp1".to_owned()], ISSUED_AT + Duration::days(300));
    let after = [texts(&bundle, "cp1"), texts(&bundle, "cp2")];
    assert_eq!(before[1], after[1]);
    let roots = ["ca.crt", "ca.key", "sa.key", "sa.pub"];
    for ((path, old), (_, new)) in before[0].iter().zip(&after[0]) {
        let is_root = roots.iter().any(|root| path.ends_with(root));
        assert_eq!(old == new, is_root, "{path}");
    }
}
