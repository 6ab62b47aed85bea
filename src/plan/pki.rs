//! `pki` and `join`: validities, and credentials for joining.

use firelay_yaml::{OptionalKey, Spanned, diagnostic::Diagnostic};
use time::Duration;

use super::{JoinPlan, PkiPlan, duration, names, release::Release, report::Report};
use crate::spec::{Algorithm, CaKeys, JoinIdentity, Pki, Spec};

/// Shorter certificates expire before the machines are up.
const SHORTEST_VALIDITY: Duration = Duration::hours(24);
/// An attempt of kubeadm takes longer than this.
const SHORTEST_WAIT: Duration = Duration::minutes(1);

/// `pki`, checked and resolved.
pub(super) fn resolve(spec: &Spec, release: Option<&Release>, report: &mut Report) -> PkiPlan {
    let pki = &spec.pki;
    let ca_keys = pki.ca_keys.value().unwrap_or(CaKeys::ControlPlane);
    let plan = PkiPlan {
        algorithm: algorithm(spec),
        ca_validity: duration::or(pki.ca_validity.as_ref(), Duration::hours(87_600), report),
        leaf_validity: duration::or(pki.leaf_validity.as_ref(), Duration::hours(8_760), report),
        backdate: duration::or(pki.backdate.as_ref(), Duration::hours(24), report),
        extra_sans: names::sans(&pki.extra_sans, report),
        // Without any key on the machines all certificates expire at once, and FL0413 asks for the validity.
        unrenewed_last: pki.leaf_validity.is_none() && ca_keys != CaKeys::None,
        ca_keys,
        renews_etcd: false,
    };
    check_validity(pki, &plan, report);
    check_signer(spec, report);
    check_renewal(pki, report);
    if let (Some(algorithm), Some(release)) = (&pki.algorithm, release) {
        check_algorithm(algorithm, release, report);
    }
    plan
}

fn check_validity(pki: &Pki, plan: &PkiPlan, report: &mut Report) {
    let both = [
        (pki.ca_validity.as_ref(), plan.ca_validity),
        (pki.leaf_validity.as_ref(), plan.leaf_validity),
    ];
    let short = |(text, validity)| match text {
        Some(text) if validity < SHORTEST_VALIDITY => Some(text),
        _ => None,
    };
    for text in both.into_iter().filter_map(short) {
        let finding = Diagnostic::error("FL0402", "certificates that end within a day").at(text.span);
        let finding = finding.label("counted from the day the bundle was made, not from first boot");
        report.push(finding.help("write at least 24h; 8760h is usual"));
    }
    let Some(text) = pki.leaf_validity.as_ref().or(pki.ca_validity.as_ref()) else {
        return;
    };
    if plan.leaf_validity > plan.ca_validity {
        let hours = |validity: Duration| validity.whole_hours();
        let label = format!(
            "leaves: {}h; their CA: {}h",
            hours(plan.leaf_validity),
            hours(plan.ca_validity)
        );
        let finding = Diagnostic::error("FL0402", "certificates that outlive their CA").at(text.span);
        let finding = finding.label(label);
        report.push(finding.help("set pki.leafValidity to at most pki.caValidity"));
    }
}

/// A machine that joins with a token needs its certificate signed by the cluster, with ca.key on a control plane.
fn check_signer(spec: &Spec, report: &mut Report) {
    let Some(keys) = spec.pki.ca_keys.as_ref().filter(|keys| keys.value == CaKeys::None) else {
        return;
    };
    let finding = Diagnostic::error("FL0407", "nobody signs the certificates of joining machines").at(keys.span);
    let help = "write caKeys: signer, which leaves ca.key alone on control planes";
    if identity(spec) == JoinIdentity::Token {
        let label = "join.identity is token, and no control plane has the CA's key";
        let finding = finding.label(label);
        report.push(finding.help(format!("{help}, or join: {{ identity: certificate }}")));
    } else if let Some(pool) = spec.pools.first() {
        let label = format!(
            "the pool {} joins with a token, and no control plane has the CA's key",
            pool.name.value
        );
        report.push(finding.label(label).help(help));
    }
}

/// kubelets and kubeadm renew with ca.key. An explicit validity is accepted.
fn check_renewal(pki: &Pki, report: &mut Report) {
    let none = pki.ca_keys.as_ref().filter(|keys| keys.value == CaKeys::None);
    if let Some(keys) = none.filter(|_| pki.leaf_validity.is_none()) {
        let finding = Diagnostic::warning("FL0413", "nothing on the machines renews these certificates").at(keys.span);
        let finding = finding.label("a year after the bundle was made every kubelet and control plane stops");
        report.push(finding.help("say how long machines live: pki: { leafValidity: 43800h }"));
    }
}

fn check_algorithm(algorithm: &Spanned<Algorithm>, release: &Release, report: &mut Report) {
    // kubeadm writes the same names in capitals.
    let name = algorithm.value.to_string().to_uppercase();
    if !release.profile.accepts_encryption_algorithm(&name) {
        let finding = Diagnostic::error(
            "FL0404",
            format!("kubeadm {} does not have this algorithm", release.profile.minor),
        );
        let known = release.profile.encryption_algorithms.join(", ").to_lowercase();
        report.push(finding.at(algorithm.span).help(format!("algorithms: {known}")));
    }
}

/// The kind of all keys.
pub(super) fn algorithm(spec: &Spec) -> Algorithm {
    let said = spec.pki.algorithm.as_ref();
    said.map_or(Algorithm::EcdsaP256, |algorithm| algorithm.value)
}

/// The credentials of named machines.
pub(super) fn identity(spec: &Spec) -> JoinIdentity {
    spec.join.identity.value().unwrap_or(JoinIdentity::Certificate)
}

/// `join`, checked and resolved.
pub(super) fn join(spec: &Spec, report: &mut Report) -> JoinPlan {
    let join = &spec.join;
    let plan = JoinPlan {
        token_ttl: duration::or(join.token_ttl.as_ref(), Duration::hours(24), report),
        wait_timeout: duration::or(join.wait_timeout.as_ref(), Duration::minutes(30), report),
        found_after: duration::or(join.found_after.as_ref(), Duration::minutes(5), report),
    };
    if let Some(text) = join.wait_timeout.as_ref().filter(|_| plan.wait_timeout < SHORTEST_WAIT) {
        let finding = Diagnostic::error("FL0402", "a node that hardly waits").at(text.span);
        let finding = finding.label("an API server takes longer than this to come up");
        report.push(finding.help("write at least 1m; a node starts over after this time, so 30m is no risk"));
    }
    let used = identity(spec) == JoinIdentity::Token || !spec.pools.is_empty();
    if let Some(text) = join.token_ttl.as_ref().filter(|_| !used) {
        let finding = Diagnostic::warning("FL0414", "`tokenTtl` has no effect").at(text.span);
        let finding = finding.label("every machine joins with a certificate of its own, so the cluster gets no token");
        report.push(finding.help("remove it"));
    }
    if let Some(text) = join.token_ttl.as_ref().filter(|_| used && plan.token_ttl.is_zero()) {
        let finding = Diagnostic::warning("FL0405", "the bootstrap token never ends").at(text.span);
        let help = "named nodes need no token (join.identity: certificate); for pools renew it as part of operations";
        let finding = finding.label("whoever reads a node's user-data can join the cluster for ever");
        report.push(finding.help(help));
    }
    if let Some(pool) = spec.pools.first().filter(|_| join.token_ttl.is_none()) {
        let finding = Diagnostic::warning("FL0406", "machines of a pool can join for one day only").at(pool.name.span);
        let finding = finding.label("joins with the bootstrap token, which ends 24h after the cluster was founded");
        report.push(finding.help("say how long: join: { tokenTtl: 8760h }"));
    }
    plan
}
