//! `kubeconfig`: a client certificate for one user, signed with the bundle's CA.

use std::{fs, path::Path};

use firelay_yaml::duration;
use serde_json::Value;
use time::{Duration, OffsetDateTime, format_description::well_known::Rfc3339};

use super::{
    bundle::bundle_path,
    failure::Failure,
    project::Project,
    state::{State, refuse_foreign},
    streams,
};
use crate::{
    cli::Kubeconfig,
    disk::{self, Access},
    pki::{self, Authorities, Fresh, User},
    plan::PkiPlan,
    secret::Secret,
    secrets::PrivateKey,
    spec::Algorithm,
};

/// The upper bound of a common name and an organization in a certificate (RFC 5280, appendix A.1).
const LONGEST_NAME: usize = 64;
/// The group that the API server authorizes before RBAC.
const MASTERS: &str = "system:masters";

/// Runs the verb.
pub fn run(args: &Kubeconfig) -> Result<(), Failure> {
    check_name("--user", &args.user)?;
    args.group
        .as_deref()
        .map_or(Ok(()), |group| check_name("--group", group))?;
    let ttl = ttl(&args.ttl)?;
    let project = Project::load(&args.inputs.spec)?;
    let state = State::open(None, &args.inputs)?;
    state.refuse_lost(&bundle_path(&args.inputs), &project.plan.name)?;
    let bundle = project.bundle(&args.inputs, "kubeconfig")?;
    refuse_foreign(&state, &bundle)?;
    let authorities = Authorities::open(&bundle)?;
    let validity = validity(&authorities, &project.plan.pki, ttl)?;
    let user = User {
        name: &args.user,
        group: args.group.as_deref(),
    };
    let text = pki::user_kubeconfig(&project.plan, &authorities, &bundle, &user, &fresh()?, validity)?;
    refuse_other(&args.out, &format!("{}@{}", args.user, project.plan.name))?;
    write(&args.out, &text)?;
    report(args, &project.plan.name, validity.1)
}

/// Checks a name for use in a certificate.
fn check_name(flag: &str, name: &str) -> Result<(), Failure> {
    let problem = match name {
        "" => "the name is empty",
        name if name.len() > LONGEST_NAME => "a name in a certificate has at most 64 bytes",
        name if name.chars().any(char::is_control) => "the name has a control character",
        _ => return Ok(()),
    };
    Err(Failure::Usage(format!("{flag}: {problem}")))
}

pub(super) fn ttl(text: &str) -> Result<Duration, Failure> {
    let ttl = duration::parse(text).filter(|ttl| *ttl >= Duration::minutes(1));
    ttl.ok_or_else(|| {
        Failure::Usage(format!(
            "--ttl {text:?} is not a duration of a minute or more, such as 30m or 24h"
        ))
    })
}

/// From now, minus the spec's allowance for slow clocks, and within the CA's validity: verifiers check both.
fn validity(
    authorities: &Authorities,
    pki: &PkiPlan,
    ttl: Duration,
) -> Result<(OffsetDateTime, OffsetDateTime), Failure> {
    let now = OffsetDateTime::now_utc();
    let last = authorities.kubernetes_end();
    let end = now.saturating_add(ttl);
    match end > last {
        true => Err(Failure::Secrets(format!(
            "the CA of the cluster ends on {}, before --ttl does\n  = help: choose a shorter --ttl",
            last.date()
        ))),
        false => Ok((now.saturating_sub(pki.backdate), end)),
    }
}

fn fresh() -> Result<Fresh, Failure> {
    let random = |error: getrandom::Error| Failure::Io(format!("cannot draw a serial: {error}"));
    Ok(Fresh {
        key: PrivateKey::generate(Algorithm::EcdsaP256, &mut getrandom::fill)?,
        // 63 bits, not zero, as kubeadm draws them.
        serial: (getrandom::u64().map_err(random)? >> 1).max(1),
    })
}

/// A file is replaced if it is empty, or an earlier kubeconfig of the same user in the same cluster, and of no other.
fn refuse_other(out: &Path, context: &str) -> Result<(), Failure> {
    if !fs::metadata(out).is_ok_and(|found| found.is_file() && found.len() > 0) {
        return Ok(());
    }
    let text = Secret::new(fs::read_to_string(out).unwrap_or_default());
    let config: Value = firelay_yaml::parse("kubeconfig", text.expose()).unwrap_or_default();
    let contexts = config["contexts"].as_array();
    match contexts.is_some_and(|own| own.len() == 1 && own[0]["name"] == context) {
        true => Ok(()),
        false => Err(Failure::Refused(format!(
            "{} exists, and is not a kubeconfig of {context} alone: it is not overwritten\n  = help: name another file with --out",
            out.display()
        ))),
    }
}

pub(super) fn write(out: &Path, text: &Secret<String>) -> Result<(), Failure> {
    if out == Path::new("-") {
        return streams::data(text.expose());
    }
    let written = disk::replace(out, text.expose().as_bytes(), Access::Owner);
    written.map_err(|error| Failure::file("write", out, &error))
}

fn report(args: &Kubeconfig, cluster: &str, end: OffsetDateTime) -> Result<(), Failure> {
    let group = args.group.iter().map(|group| format!(" in the group {group}"));
    streams::tell(format_args!(
        "signed for {}{} in the cluster {cluster}, until {}; it cannot be revoked before",
        args.user,
        group.collect::<String>(),
        end.replace_nanosecond(0).unwrap_or(end).format(&Rfc3339)?
    ));
    if args.group.as_deref() == Some(MASTERS) {
        streams::tell(format_args!(
            "warning: {MASTERS} has every right, and RBAC cannot restrict it"
        ));
    }
    Ok(())
}
