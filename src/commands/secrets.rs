//! `secrets new`, `secrets show`, `secrets seal` and `secrets token`.

use firelay_yaml::duration;
use serde::Serialize;
use time::{Duration, OffsetDateTime, format_description::well_known::Rfc3339};

use super::{
    bundle::{self, bundle_path, is_clear, load_bundle, replace_bundle, save_bundle},
    failure::{Failure, shell_word},
    git, kubeconfig,
    project::Project,
    state::{self, State},
    streams,
};
use crate::{
    age::Recipient,
    cli::{BundleArg, SecretsNew, SecretsSeal, SecretsShow, SecretsToken},
    secret::Secret,
    secrets::{Bundle, Keys},
};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Public {
    cluster: String,
    issued_at: String,
    epoch: u32,
    fingerprint: String,
    /// The last step of the rotation that is under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    rotation: Option<String>,
    /// Empty where the bundle is in clear.
    recipients: Vec<String>,
}

/// Runs `secrets new`.
pub fn new(args: &SecretsNew) -> Result<(), Failure> {
    let recipients = recipients(&args.recipients)?;
    let project = Project::load(&args.inputs.spec)?;
    let path = bundle_path(&args.inputs);
    State::open(args.state.as_deref(), &args.inputs)?.refuse_lost(&path, &project.plan.name)?;
    let mut bundle = bundle::create(&project.plan)?;
    bundle.recipients = recipients;
    save_bundle(&path, &bundle)?;
    git::warn_of_bundle(&path);
    Ok(())
}

/// Runs `secrets seal`.
pub fn seal(args: &SecretsSeal) -> Result<(), Failure> {
    let (path, recipients) = (&args.secrets, recipients(&args.recipients)?);
    let piped = "secrets seal --secrets - --recipient RECIPIENT > sealed.yaml";
    let mut bundle = load_bundle(path, &args.identity, piped, || {
        "firelay secrets new --recipient RECIPIENT".to_owned()
    })?;
    bundle.recipients = recipients;
    let clear = is_clear(path);
    replace_bundle(path, &bundle)?;
    streams::tell(format_args!(
        "sealed to {}; without one of their identities the cluster is lost: firelay secrets show --identity FILE proves that yours opens it",
        streams::counted(bundle.recipients.len(), "recipient")
    ));
    if clear {
        streams::tell("backups, snapshots and version control may still have the text that was there in clear");
    }
    Ok(())
}

/// The recipients, without duplicates. An invalid text is not repeated: it may be an identity.
pub(super) fn recipients(texts: &[String]) -> Result<Vec<Recipient>, Failure> {
    let mut all: Vec<Recipient> = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        let refused = |problem| Failure::Usage(format!("--recipient {}: {problem}", at + 1));
        let lines = listed(text);
        if lines.is_empty() {
            return Err(refused("holds none".to_owned()));
        }
        for line in lines {
            let recipient = line.parse::<Recipient>().map_err(refused)?;
            if all.iter().all(|known| known.to_string() != recipient.to_string()) {
                all.push(recipient);
            }
        }
    }
    Ok(all)
}

/// One per line, as in authorized_keys and in the output of `cat *.pub`.
fn listed(text: &str) -> Vec<&str> {
    let lines = text.split(['\n', '\r']).map(str::trim);
    lines
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect()
}

fn load(bundle: &BundleArg, piped: &str) -> Result<Bundle, Failure> {
    load_bundle(&bundle.secrets, &bundle.identity, piped, || {
        format!(
            "firelay secrets new --secrets {}\n  = help: a cluster that runs needs its own bundle: restore it from a backup, or name its file; \
             if it is lost: firelay explain FL1102",
            shell_word(&bundle.secrets)
        )
    })
}

/// Runs `secrets show`.
pub fn show(args: &SecretsShow) -> Result<(), Failure> {
    let bundle = load(&args.bundle, "secrets show --secrets -")?;
    let public = Public {
        cluster: bundle.cluster.clone(),
        issued_at: bundle.issued_at.format(&Rfc3339)?,
        epoch: bundle.epoch,
        fingerprint: bundle.fingerprint(),
        rotation: bundle.rotating().map(Keys::last_step),
        recipients: bundle.recipients.iter().map(ToString::to_string).collect(),
    };
    streams::report(args.output, &public, || match args.fingerprint {
        true => format!("{}\n", public.fingerprint),
        false => text(&public),
    })
}

/// Runs `secrets token`.
pub fn token(args: &SecretsToken) -> Result<(), Failure> {
    let ttl = match duration::parse(&args.ttl).is_some_and(Duration::is_zero) {
        true => None,
        false => Some(kubeconfig::ttl(&args.ttl)?),
    };
    let bundle = load(&args.bundle, "secrets token --secrets -")?;
    let now = OffsetDateTime::now_utc();
    let end = ttl.map(|ttl| state::whole_second(now.saturating_add(ttl)).format(&Rfc3339));
    let (id, secret) = bundle.bootstrap_token.expose().split_once('.').unwrap_or_default();
    // As kubeadm writes it (`cmd/kubeadm/app/apis/bootstraptoken/v1/utils.go`, `BootstrapTokenToSecret`).
    let mut manifest = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": format!("bootstrap-token-{id}"), "namespace": "kube-system" },
        "type": "bootstrap.kubernetes.io/token",
        "stringData": {
            "token-id": id,
            "token-secret": secret,
            "usage-bootstrap-authentication": "true",
            "usage-bootstrap-signing": "true",
            "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
        },
    });
    if let Some(end) = end.transpose()? {
        manifest["stringData"]["expiration"] = end.into();
    }
    kubeconfig::write(&args.out, &Secret::new(firelay_yaml::emit(&manifest)?))
}

fn text(public: &Public) -> String {
    let sealed = public
        .recipients
        .iter()
        .map(|recipient| format!("sealed to:   {recipient}\n"));
    let rotation = public.rotation.iter().map(|step| format!("rotation:    {step}\n"));
    format!(
        "cluster:     {}\nissued at:   {}\nepoch:       {}\nfingerprint: {}\n{}{}",
        public.cluster,
        public.issued_at,
        public.epoch,
        public.fingerprint,
        rotation.collect::<String>(),
        sealed.collect::<String>()
    )
}
