//! `founded`: records that the cluster exists.

use std::path::Path;

use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use super::{
    failure::Failure,
    input,
    state::{AHEAD, State, whole_second},
    streams,
};
use crate::cli::{Founded, IdentityArg, Inputs, SPEC, SpecArgs};

/// Runs the verb.
pub fn run(args: &Founded) -> Result<(), Failure> {
    let now = OffsetDateTime::now_utc();
    let at = args.at.as_ref().map(|text| parse(text, now)).transpose()?;
    refuse_missing(args)?;
    let state = State::open(args.file.as_deref(), &inputs(args))?;
    if args.spec.is_some() || !is_named(args) {
        state.refuse_other_spec(&[spec(args).to_owned()])?;
    }
    let path = state.path.display();
    let Some(record) = state.record() else {
        return Err(Failure::Refused(format!(
            "there is no record {path}\n  = help: `firelay render` writes it; name another file with --state"
        )));
    };
    let founded_at = at.or(record.founded_at).unwrap_or_else(|| whole_second(now));
    let prepared = state.prepare(&record.founded(founded_at).to_yaml()?)?;
    let unchanged = prepared.is_none();
    state.place(prepared)?;
    streams::tell(match unchanged {
        true => format!("{path} has it already: founded {}", founded_at.format(&Rfc3339)?),
        false => format!(
            "{path}: founded {}; commit it. The next render writes no kubeadm init",
            founded_at.format(&Rfc3339)?
        ),
    });
    Ok(())
}

fn spec(args: &Founded) -> &Path {
    args.spec.as_deref().unwrap_or(Path::new(SPEC))
}

/// Only the place of the spec counts. Beside a mistyped one, the record may be that of another cluster.
fn refuse_missing(args: &Founded) -> Result<(), Failure> {
    match is_named(args) && args.spec.is_none() {
        true => Ok(()),
        false => input::refuse_missing(spec(args)),
    }
}

/// Whether the record is found without the spec.
fn is_named(args: &Founded) -> bool {
    args.file.is_some() || args.secrets.is_some()
}

fn inputs(args: &Founded) -> Inputs {
    Inputs {
        spec: SpecArgs::from(spec(args)),
        secrets: args.secrets.clone(),
        identity: IdentityArg::default(),
    }
}

fn parse(text: &str, now: OffsetDateTime) -> Result<OffsetDateTime, Failure> {
    let parsed = OffsetDateTime::parse(text, &Rfc3339);
    let at = parsed.map_err(|_| Failure::Usage(format!("--at {text} is no time: write it as 2026-11-22T12:00:00Z")))?;
    if at > now + AHEAD {
        return Err(Failure::Usage(format!("--at {text} is in the future")));
    }
    Ok(whole_second(at))
}
