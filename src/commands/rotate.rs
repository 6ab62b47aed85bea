//! `secrets rotate`: a bundle one step forward, when the machines of the last step are done.

use std::path::Path;

use clap::ValueEnum;
use firelay_yaml::duration;
use time::OffsetDateTime;

use super::{
    bundle::{bundle_path, replace_bundle, request},
    failure::{Failure, shell_word},
    project::Project,
    state::{State, pending, refuse_foreign},
    streams,
};
use crate::{
    cli::{RotationKind, SecretsRotate},
    plan::{EncryptionPlan, Plan},
    record::{MachineRecord, Record, listed},
    secrets::{Bundle, Generation, KeyKind, Keys},
    spec::JoinIdentity,
    tree::{Role, TreeReader},
};

/// How machines take a step.
const UPDATE: &str = "firelay update, run its scripts in their order, then firelay update --done";
/// Of people and programs outside the cluster.
const HAND_OUT: &str =
    "hand out the kubeconfigs of this step: admin.kubeconfig of the tree, and those of firelay kubeconfig anew";
/// The CAs of servers of aggregated APIs. API servers add theirs, and take none away (`combineCertLists`,
/// pkg/controlplane/controller/clusterauthenticationtrust).
const AGGREGATED: &str = "extension-apiserver-authentication";
/// The flag of the steps after which an old key is refused.
const UNUSED: &str = "--old-key-unused";
/// The flag of the step after which an old CA is not enough.
const TRUSTED: &str = "--new-key-trusted";
/// How record and tree learn of a step that asks nothing of running machines.
const RENDER: &str = "firelay render";

/// Runs the verb.
pub fn run(args: &SecretsRotate) -> Result<(), Failure> {
    let project = Project::load(&args.inputs.spec)?;
    let state = State::open(args.state.as_deref(), &args.inputs)?;
    state.refuse_lost(&bundle_path(&args.inputs), &project.plan.name)?;
    let last = TreeReader::open_last(&args.out)
        .ok()
        .flatten()
        .map(|tree| tree.manifest);
    let state = state.with_tree(&args.out, last.as_ref(), false)?;
    let mut bundle = project.bundle(&args.inputs, "secrets rotate KEYS")?;
    refuse_foreign(&state, &bundle)?;
    refuse_flags(args)?;
    refuse_useless(args, &project, &bundle)?;
    refuse_second(args.keys, &bundle)?;
    refuse_tokens(args.keys, &project.plan)?;
    refuse_early(args, &state, &bundle)?;
    let step = go(args, &mut bundle, &project.plan)?;
    replace_bundle(&bundle_path(&args.inputs), &bundle)?;
    streams::tell(step.text(args.keys));
    Ok(())
}

fn keys_of(kind: RotationKind) -> Option<KeyKind> {
    match kind {
        RotationKind::Leaves => None,
        RotationKind::Token => Some(KeyKind::Token),
        RotationKind::ServiceAccount => Some(KeyKind::ServiceAccount),
        RotationKind::Encryption => Some(KeyKind::Encryption),
        RotationKind::Ca => Some(KeyKind::Authorities),
    }
}

/// As the command line has it.
fn name(kind: RotationKind) -> String {
    kind.to_possible_value()
        .map(|value| value.get_name().to_owned())
        .unwrap_or_default()
}

/// Flags of other kinds.
fn refuse_flags(args: &SecretsRotate) -> Result<(), Failure> {
    let kind = name(args.keys);
    if !args.node.is_empty() && args.keys != RotationKind::Leaves {
        return Err(Failure::Usage(format!(
            "--node takes leaves of one machine, and {kind} are of the whole cluster"
        )));
    }
    if args.old_key_unused && matches!(args.keys, RotationKind::Leaves | RotationKind::Token) {
        return Err(Failure::Usage(format!(
            "--old-key-unused is for the last step of service-account, encryption and ca, not for {kind}"
        )));
    }
    if args.new_key_trusted && args.keys != RotationKind::Ca {
        return Err(Failure::Usage(format!(
            "--new-key-trusted is for the second step of ca, not for {kind}"
        )));
    }
    Ok(())
}

/// Keys that are on no machine. A rotation of theirs that is under way goes on: nothing else could end it.
fn refuse_useless(args: &SecretsRotate, project: &Project, bundle: &Bundle) -> Result<(), Failure> {
    let plan = &project.plan;
    if bundle
        .rotating()
        .is_some_and(|keys| Some(keys.kind()) == keys_of(args.keys))
    {
        return Ok(());
    }
    let nobody = |reason: &str, help: &str| {
        let message = format!("{reason}: nothing would change (FL1105)\n  = help: {help}");
        Err(Failure::Refused(message))
    };
    for node in &args.node {
        if project.node(node)?.pool {
            return nobody(
                &format!("documents of the pool {node} hold no certificates"),
                "kubelets of a pool request theirs from the cluster, and renew them by themselves",
            );
        }
    }
    let joins = |kind: &dyn Fn(&crate::plan::NodePlan) -> bool| plan.nodes.iter().any(kind);
    let by_token = joins(&|node| node.roles.kubernetes() && (node.pool || node.identity == JoinIdentity::Token));
    match args.keys {
        RotationKind::Token if !by_token => nobody(
            "no machine joins with the bootstrap token",
            "named machines join with certificates: firelay secrets rotate leaves",
        ),
        RotationKind::Encryption if plan.kubernetes.control_plane.encryption.is_none() => nobody(
            "the spec has no kubernetes.apiServer.encryption",
            "the key of the bundle is in no document yet, so there is no need to rotate it",
        ),
        RotationKind::Encryption if !has_bundle_key(plan) => nobody(
            "a key service encrypts, and no control plane has the key of the bundle",
            "the key service rotates its own key: docs/kms.md",
        ),
        _ => Ok(()),
    }
}

fn has_bundle_key(plan: &Plan) -> bool {
    let encryption = plan.kubernetes.control_plane.encryption.as_ref();
    encryption.is_some_and(EncryptionPlan::has_bundle_key)
}

/// One rotation at a time: its steps have to reach all machines.
fn refuse_second(kind: RotationKind, bundle: &Bundle) -> Result<(), Failure> {
    match bundle.rotating() {
        Some(keys) if Some(keys.kind()) != keys_of(kind) => {
            let other = keys.kind().name();
            Err(Failure::Refused(format!(
                "the rotation of {} is not over, and {} cannot begin beside it (FL1104)\n  \
                 = help: take its next step: firelay secrets rotate {other}",
                keys.last_step(),
                name(kind)
            )))
        }
        _ => Ok(()),
    }
}

/// A kubelet that joined with a token has a certificate of the cluster. Pools and workers are created anew for another one, after the control
/// planes. The kubelet of a control plane would get one of the old CA again, by a controller manager that has not changed yet.
fn refuse_tokens(kind: RotationKind, plan: &Plan) -> Result<(), Failure> {
    let joins = |node: &&crate::plan::NodePlan| node.roles.control_plane && node.identity == JoinIdentity::Token;
    match plan.nodes.iter().find(joins).filter(|_| kind == RotationKind::Ca) {
        None => Ok(()),
        Some(node) => Err(Failure::Refused(format!(
            "control plane {} joins with a token: no step gives its kubelet a certificate of the new CA (FL1105)\n  \
             = help: write join: {{ identity: certificate }}, and replace the machines one at a time before",
            node.name
        ))),
    }
}

/// Machines that something else created and whose keys of a kind change: all of them have CAs, and control planes alone the others.
fn adopted(record: &Record, kind: RotationKind) -> impl Iterator<Item = &str> {
    let concerns = move |own: &MachineRecord| match kind {
        RotationKind::Ca => true,
        RotationKind::ServiceAccount | RotationKind::Encryption => own.roles.contains(&Role::ControlPlane),
        RotationKind::Leaves | RotationKind::Token => false,
    };
    let own = record.machines.iter();
    let own = own.filter(move |(_, own)| own.is_adopted() && concerns(own));
    own.map(|(name, _)| name.as_str())
}

/// Whatever shows that machines have not taken the last step.
fn refuse_early(args: &SecretsRotate, state: &State, bundle: &Bundle) -> Result<(), Failure> {
    let early = |missing: String, help: String| {
        let message = format!("it is too early for this step: {missing} (FL1103)\n  = help: {help}");
        Err(Failure::Refused(message))
    };
    let path = state.path.display();
    let Some(record) = state.record() else {
        return early(
            format!("there is no record {path}, so no machine has a key of this bundle"),
            "firelay render writes it; name another file with --state".to_owned(),
        );
    };
    if record.founded_at.is_none() {
        return early(
            format!("{path} is of a cluster that is not founded"),
            "if it runs: firelay founded; if not, make a new bundle: firelay secrets new".to_owned(),
        );
    }
    let adopted: Vec<_> = adopted(record, args.keys).collect();
    if !adopted.is_empty() {
        return early(
            format!(
                "no script brings it to {}, which firelay did not create",
                listed(&adopted)
            ),
            "replace these machines first, one at a time: docs/adopt.md".to_owned(),
        );
    }
    if record.bundle != bundle.fingerprint() {
        let how = match bundle.rotating() {
            Some(Keys::BootstrapToken(_)) => RENDER,
            _ => UPDATE,
        };
        return early(unrendered(state, record, bundle), how.to_owned());
    }
    let out = args.out.display();
    let Ok(tree) = TreeReader::open(&args.out) else {
        return early(
            format!(
                "there is no tree at {out} that can be read, so it is not known whether scripts of an update are left"
            ),
            "name the directory of the last render with --out".to_owned(),
        );
    };
    if tree.manifest.bundle_fingerprint != bundle.fingerprint() {
        return early(
            format!(
                "the tree at {out} is not of the last step, so it does not show whether scripts of an update are left"
            ),
            "name the directory of the last render with --out".to_owned(),
        );
    }
    if let Some(script) = pending(&args.out, &tree.manifest) {
        return early(
            format!("{script} is there, and its machine may not have run it"),
            "run all scripts in their order, then firelay update --done".to_owned(),
        );
    }
    if record.pending().is_some() {
        return early(
            format!("{path} says that machines may not have the last update"),
            "run all scripts in their order, then firelay update --done".to_owned(),
        );
    }
    let confirms = |flag: &str| match flag {
        TRUSTED => args.new_key_trusted,
        _ => args.old_key_unused,
    };
    match bundle.rotating().and_then(unconfirmed).filter(|own| !confirms(own.2)) {
        Some((missing, help, flag)) => early(
            missing.to_owned(),
            format!("{help} (docs/rotate.md), then call it with {flag}"),
        ),
        None => Ok(()),
    }
}

/// Users of keys that no machine of the record shows, before the step that would break them: the reason, the remedy and the flag.
fn unconfirmed(keys: &Keys) -> Option<(&'static str, &'static str, &'static str)> {
    match keys {
        Keys::ServiceAccount(Generation::Previous(_)) => Some((
            "tokens of the old key that are in use still would be refused",
            "wait a day for those of pods, and make those of Secrets and of `kubectl create token` anew",
            UNUSED,
        )),
        Keys::EncryptionKey(Generation::Previous(_)) => Some((
            "objects that nobody has written since are encrypted with the old key, and would be lost with it",
            "write them all again",
            UNUSED,
        )),
        Keys::Authorities(Generation::Next(_)) => Some((
            "pods and kubeconfigs that know only the old CA would refuse the API servers' new certificates",
            "restart all pods, and hand out kubeconfigs with both CAs",
            TRUSTED,
        )),
        Keys::Authorities(Generation::Previous(_)) => Some((
            "kubelets and people with certificates of the old CA would be refused",
            "create the machines of pools anew, and hand out kubeconfigs of the new CA",
            UNUSED,
        )),
        _ => None,
    }
}

fn unrendered(state: &State, record: &Record, bundle: &Bundle) -> String {
    let step = bundle.rotating().map(Keys::last_step);
    format!(
        "{} is of {}, and the bundle of {}{}: its last step was not rendered",
        state.path.display(),
        record.bundle,
        bundle.fingerprint(),
        step.map(|step| format!(" ({step})")).unwrap_or_default()
    )
}

/// The effect of a step, and the next one.
struct Step {
    number: usize,
    of: usize,
    does: &'static str,
    /// Things to do, in their order.
    now: Vec<String>,
    /// The condition of the next step; nothing after the last one.
    next: &'static str,
}

impl Step {
    fn text(&self, kind: RotationKind) -> String {
        let backup = "copy the bundle to your backup".to_owned();
        let now = [&backup].into_iter().chain(&self.now);
        let now = now.map(|line| format!("\n  now:  {line}"));
        let next = match self.next {
            "" => String::new(),
            when => format!("\n  next: firelay secrets rotate {}, when {when}", name(kind)),
        };
        let (number, of, does) = (self.number, self.of, self.does);
        format!(
            "{}, step {number} of {of}: {does}{}{next}",
            name(kind),
            now.collect::<String>()
        )
    }
}

/// Takes the step.
fn go(args: &SecretsRotate, bundle: &mut Bundle, plan: &Plan) -> Result<Step, Failure> {
    let Some(kind) = keys_of(args.keys) else {
        bundle.rotate_leaves(&args.node, OffsetDateTime::now_utc());
        return Ok(leaves());
    };
    let last = bundle.previous_token().and_then(|token| token.expose().split_once('.'));
    let last = last.map(|(id, _)| id.to_owned());
    let number = bundle.rotate(kind, &request(plan), OffsetDateTime::now_utc(), &mut getrandom::fill)?;
    let (does, now, next) = match (kind, number) {
        (KeyKind::Token, 1) => (
            "documents get a new bootstrap token; running machines need nothing",
            vec![
                token_command(args, bundle, plan),
                RENDER.to_owned(),
                "give the new documents to what creates machines".to_owned(),
            ],
            "nothing creates machines from older documents any more",
        ),
        (KeyKind::Token, _) => (
            "the bundle forgets the old token",
            vec![
                format!(
                    "{} --namespace kube-system delete secret bootstrap-token-{} --ignore-not-found",
                    kubectl(args),
                    last.unwrap_or_default()
                ),
                RENDER.to_owned(),
            ],
            "",
        ),
        (KeyKind::ServiceAccount, 1) => (
            "API servers accept tokens of the new key as well; the old one signs",
            vec![UPDATE.to_owned()],
            "every control plane has the step",
        ),
        (KeyKind::ServiceAccount, 2) => (
            "the new key signs; tokens of the old one are accepted still",
            vec![UPDATE.to_owned()],
            "no token of the old key is in use (those of pods are renewed within a day; make those of Secrets and of `kubectl create token` \
             anew): with --old-key-unused",
        ),
        (KeyKind::ServiceAccount, _) => ("tokens of the old key are refused", vec![UPDATE.to_owned()], ""),
        (KeyKind::Encryption, 1) => (
            "API servers read objects of the new key as well; the old one encrypts",
            vec![UPDATE.to_owned()],
            "every control plane has the step",
        ),
        (KeyKind::Encryption, 2) => (
            "the new key encrypts; objects of the old one are read still",
            vec![UPDATE.to_owned(), rewrite(args, plan)],
            "all of them were written again: with --old-key-unused",
        ),
        (KeyKind::Encryption, _) => ("the old key is gone", vec![UPDATE.to_owned()], ""),
        (KeyKind::Authorities, 1) => (
            "machines trust new CAs as well; the old ones sign",
            vec![
                "try the three steps on a test cluster first".to_owned(),
                UPDATE.to_owned(),
                "wait until the ConfigMap kube-root-ca.crt has two certificates in every namespace".to_owned(),
                restart(args),
                HAND_OUT.to_owned(),
            ],
            "every machine has the step, and all pods and kubeconfigs have both CAs (docs/rotate.md): with --new-key-trusted",
        ),
        (KeyKind::Authorities, 2) => (
            "the new CAs sign, and machines get new keys and certificates; the old CAs are trusted still",
            vec![
                UPDATE.to_owned(),
                "create machines that join with a token anew, after the control planes; firelay secrets token makes the token valid again"
                    .to_owned(),
                HAND_OUT.to_owned(),
            ],
            "every machine has the step, and no kubelet, person or program has a certificate of the old CAs (docs/rotate.md): with \
             --old-key-unused",
        ),
        (KeyKind::Authorities, _) => (
            "the old CAs are refused",
            vec![
                UPDATE.to_owned(),
                format!(
                    "{} --namespace kube-system delete configmap {AGGREGATED}",
                    kubectl(args)
                ),
            ],
            "",
        ),
    };
    let of = kind.steps();
    Ok(Step {
        number,
        of,
        does,
        now,
        next,
    })
}

fn leaves() -> Step {
    Step {
        number: 1,
        of: 1,
        does: "machines get new keys and certificates of the same CAs; the old ones are valid until they end",
        now: vec![UPDATE.to_owned()],
        next: "",
    }
}

/// kubectl, as the administrator of the last tree.
fn kubectl(args: &SecretsRotate) -> String {
    format!(
        "kubectl --kubeconfig {}",
        shell_word(&args.out.join("admin.kubeconfig"))
    )
}

/// The command that makes the new token known, for as long as the spec has it. A bundle from stdin is where its owner puts it.
fn token_command(args: &SecretsRotate, bundle: &Bundle, plan: &Plan) -> String {
    let path = bundle_path(&args.inputs);
    let path = match path == Path::new("-") {
        true => "BUNDLE".to_owned(),
        false => shell_word(&path),
    };
    let files = args
        .inputs
        .identity
        .files
        .iter()
        .filter(|_| !bundle.recipients.is_empty());
    let identities: String = files.map(|file| format!(" --identity {}", shell_word(file))).collect();
    let ttl = duration::text(plan.join.token_ttl);
    format!(
        "firelay secrets token --secrets {path}{identities} --ttl {ttl} | {} apply -f -",
        kubectl(args)
    )
}

/// Pods read the CA once, at their start. The command is that of Kubernetes' page on rotating CAs, for all kinds at once.
fn restart(args: &SecretsRotate) -> String {
    let kubectl = kubectl(args);
    format!(
        "{kubectl} get deployments,daemonsets,statefulsets --all-namespaces --output 'jsonpath={{range .items[*]}}{{.kind}}/{{.metadata.name}} \
         --namespace {{.metadata.namespace}}{{\"\\n\"}}{{end}}' | xargs -L 1 {kubectl} rollout restart"
    )
}

/// The command of Kubernetes' page on encryption at rest.
fn rewrite(args: &SecretsRotate, plan: &Plan) -> String {
    let Some(encryption) = &plan.kubernetes.control_plane.encryption else {
        return "write all objects again that were encrypted".to_owned();
    };
    let (resources, kubectl) = (encryption.resources.join(","), kubectl(args));
    match resources.contains('*') {
        true => format!("write all objects of {resources} again"),
        false => format!("{kubectl} get {resources} --all-namespaces --output json | {kubectl} replace --filename -"),
    }
}
