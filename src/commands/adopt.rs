//! `adopt`: the bundle, the spec and the record of a cluster that something else created.

mod fetch;

use std::{
    fs,
    io::{self, Read},
    path::{Path, PathBuf},
};

use firelay_yaml::diagnostic::{self, Diagnostic, Source, Span};
use time::OffsetDateTime;

use super::{
    assembly::Assembly,
    bundle::{bundle_path, is_missing, load_bundle, refuse_foreign, save_bundle},
    failure::{Failure, shell_word},
    git,
    input::entries,
    measure::{self, Fit},
    project::{ProfileSet, Project, load_profiles, print_findings, refusal},
    secrets::recipients,
    state::{State, whole_second},
    streams::{self, counted},
};
use crate::{
    adopt::{
        self, Answers, Draft, Fitted, Objects,
        pki::{self, PkiFile},
    },
    age::Recipient,
    cli::{Adopt, IdentityArg, Inputs, SpecArgs},
    disk::{self, Access},
    plan::is_cluster_name,
    record::Record,
    redact::redact_spec,
    secret::Secret,
    secrets::{Bundle, PrivateKey, Roots},
};

/// Larger than any file of a PKI.
const LARGEST: u64 = 1 << 20;
/// The first lines of a spec.
const HEAD: &str = "# The cluster as `firelay adopt` found it. `firelay explain` describes each key.\n";

/// Runs the verb.
pub fn run(args: &Adopt) -> Result<(), Failure> {
    let recipients = recipients(&args.recipients)?;
    let state = State::open(args.state.as_deref(), &inputs(args))?;
    check_paths(args, &state)?;
    let begun = begun(args, &state)?;
    let mut evidence = Evidence::read(args)?;
    let objects = evidence.objects.take();
    let draft = objects.as_ref().and_then(|objects| evidence.draft(args, objects));
    let Some(roots) = evidence.roots.take() else {
        return Err(evidence.refuse());
    };
    if objects.is_none() {
        evidence.print();
        let name = args.name.as_deref().unwrap_or_default();
        return write_bundle(args, &new_bundle(name, roots, recipients)?);
    }
    let Some(draft) = draft else {
        return Err(evidence.refuse());
    };
    let project = match is_missing(&args.spec) {
        true => make_spec(args, &draft, evidence)?,
        false => check_spec(args, &draft, evidence)?,
    };
    let bundle = match &begun {
        Some(bundle) => of_roots(args, bundle.clone(), &roots)?,
        None => new_bundle(&project.plan.name, roots, recipients)?,
    };
    refuse_foreign(&bundle, &project.plan, &bundle_path(&inputs(args)))?;
    let record = record(&project, &bundle, &draft)?;
    if begun.is_none() {
        write_bundle(args, &bundle)?;
    }
    state.place(state.prepare(&record.to_yaml()?)?)?;
    tell(&state, &record);
    Ok(())
}

/// Three files, in directories that exist: nothing is written before all can be.
fn check_paths(args: &Adopt, state: &State) -> Result<(), Failure> {
    if !has_objects(args) && args.name.is_none() {
        return Err(Failure::Usage(
            "the cluster has no name: give --name, or its objects with --from or --kubeconfig".to_owned(),
        ));
    }
    if let Some(name) = args.name.as_deref().filter(|name| !is_cluster_name(name)) {
        return Err(Failure::Usage(format!(
            "--name {name:?} is not a cluster name: use lower case letters, digits and inner dashes, at most 63 characters"
        )));
    }
    let paths = [&args.spec, &bundle_path(&inputs(args)), &state.path];
    for (at, path) in paths.iter().enumerate() {
        if path.as_os_str() == "-" {
            return Err(Failure::Usage("adopt writes files: name one instead of `-`".to_owned()));
        }
        if paths[..at].iter().any(|other| is_same(other, path)) {
            let message = "spec, bundle and record are three files, and {} is named for two of them";
            return Err(Failure::Usage(message.replace("{}", &path.display().to_string())));
        }
        let directory = path.parent().filter(|parent| *parent != Path::new(""));
        if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
            let missing = io::Error::from(io::ErrorKind::NotFound);
            return Err(Failure::file("write into", directory, &missing));
        }
    }
    Ok(())
}

fn is_same(one: &Path, other: &Path) -> bool {
    std::path::absolute(one).ok() == std::path::absolute(other).ok()
}

/// The bundle of an adoption that ended before its record. A record is not overwritten, and neither is a bundle.
fn begun(args: &Adopt, state: &State) -> Result<Option<Bundle>, Failure> {
    let bundle = bundle_path(&inputs(args));
    if state.record().is_some() {
        let adopted =
            "the cluster is adopted already; `firelay plan --kubeconfig FILE` compares the record with its machines";
        let lost = format!(
            "its bundle {} is missing: bring it from the backup; if it is lost for good, adopt the PKI of a control plane in an empty \
             directory (firelay explain FL1102)",
            bundle.display()
        );
        return Err(exists(&state.path, if is_missing(&bundle) { &lost } else { adopted }));
    }
    match is_missing(&bundle) {
        true => Ok(None),
        false if !has_objects(args) => Err(exists(&bundle, "firelay render --founded makes its record")),
        false => {
            let identity = IdentityArg::default();
            load_bundle(&bundle, &identity, "adopt", || "firelay adopt".to_owned()).map(Some)
        }
    }
}

fn exists(path: &Path, help: &str) -> Failure {
    Failure::Refused(format!(
        "{} exists and is not overwritten\n  = help: {help}",
        path.display()
    ))
}

/// A bundle that has the PKI of the cluster.
fn of_roots(args: &Adopt, bundle: Bundle, roots: &Roots) -> Result<Bundle, Failure> {
    let own = [&bundle.kubernetes, &bundle.etcd, &bundle.front_proxy].map(|authority| &authority.certificate);
    let new = [&roots.kubernetes, &roots.etcd, &roots.front_proxy].map(|authority| &authority.certificate);
    match own == new && bundle.service_account_public == roots.service_account_public {
        true => Ok(bundle),
        false => Err(exists(
            &bundle_path(&inputs(args)),
            "it has the PKI of another cluster: name another file with --secrets",
        )),
    }
}

/// Whether the objects of the cluster are given, not its PKI alone.
fn has_objects(args: &Adopt) -> bool {
    !args.from.is_empty() || args.kubeconfig.is_some()
}

fn inputs(args: &Adopt) -> Inputs {
    Inputs {
        spec: spec_args(args),
        secrets: args.secrets.clone(),
        identity: IdentityArg::default(),
    }
}

fn spec_args(args: &Adopt) -> SpecArgs {
    SpecArgs {
        profiles: args.profiles.clone(),
        ..SpecArgs::from(args.spec.as_path())
    }
}

/// The files of a cluster, and the findings about them.
struct Evidence {
    source: Source,
    findings: Vec<Diagnostic>,
    roots: Option<Roots>,
    /// Absent without `--from`.
    objects: Option<Objects>,
    /// The CA of the kubeconfig.
    authority: Option<String>,
    /// Where the first object is.
    place: Span,
}

impl Evidence {
    fn read(args: &Adopt) -> Result<Self, Failure> {
        let mut source = Source::default();
        let files = pki_files(&args.pki, &mut source);
        let (roots, mut findings) = pki::roots(&files, OffsetDateTime::now_utc());
        let first = source.texts().len();
        let kubeconfig = args.kubeconfig.as_deref().map(|path| (path, args.context.as_deref()));
        let authority = read_cluster(&args.from, kubeconfig, &mut source)?;
        let (objects, broken) = Objects::read(&source, first);
        findings.extend(broken);
        let start = source.texts().get(first).map_or(0, |text| text.start);
        Ok(Self {
            source,
            findings,
            roots,
            objects: has_objects(args).then_some(objects),
            authority,
            place: Span { start, end: start },
        })
    }

    /// The spec of the cluster, if nothing is wrong so far.
    fn draft(&mut self, args: &Adopt, objects: &Objects) -> Option<Draft> {
        let roots = self.roots.as_ref();
        let key = roots.and_then(|roots| PrivateKey::from_pem(roots.kubernetes.key.expose()));
        let answers = Answers {
            name: args.name.clone(),
            os: args.os.clone(),
            platform: args.platform.clone(),
            algorithm: key.and_then(|key| key.kind()),
        };
        let authority = self.authority.as_deref();
        let foreign = roots.map(|roots| adopt::check_authorities(objects, roots, authority, self.place));
        self.findings.extend(foreign.unwrap_or_default());
        if is_missing(&args.spec) {
            self.findings
                .extend(adopt::check_answers(objects, &answers, self.place));
        }
        let (draft, findings) = adopt::draft(objects, &answers, self.place, OffsetDateTime::now_utc());
        self.findings.extend(findings);
        draft.filter(|_| !diagnostic::refuse(&self.findings))
    }

    fn print(&mut self) {
        diagnostic::sort(&mut self.findings);
        print_findings(&self.source, &self.findings);
    }

    fn refuse(mut self) -> Failure {
        self.print();
        Failure::Refused(refusal("the cluster", &self.findings) + "; nothing was written")
    }
}

/// Reads the objects of a cluster from files, and with a kubeconfig from its API server, whose CA in the kubeconfig is returned.
pub(super) fn read_cluster(
    files: &[PathBuf],
    kubeconfig: Option<(&Path, Option<&str>)>,
    source: &mut Source,
) -> Result<Option<String>, Failure> {
    for path in files {
        add_objects(path, source)?;
    }
    kubeconfig.map_or(Ok(None), |(path, context)| fetch::add(path, context, source))
}

/// Reads the files of a PKI. Each gets a place of its own, and no finding shows its text.
fn pki_files(directory: &Path, source: &mut Source) -> Vec<PkiFile> {
    let file = |name: String| {
        let path = directory.join(name);
        let text = read(&path).map(Secret::new).map_err(|error| error.to_string());
        let path = path.display().to_string();
        let number = source.add(&path, "");
        let start = source.texts()[number].start;
        let place = Span { start, end: start };
        PkiFile { path, place, text }
    };
    pki::files().into_iter().map(file).collect()
}

fn read(path: &Path) -> io::Result<String> {
    match fs::metadata(path)?.len() {
        size if size > LARGEST => Err(io::Error::other("it is larger than a megabyte")),
        _ => fs::read_to_string(path),
    }
}

/// Adds a file of objects, those of a directory, or stdin. Their lines are not shown: arguments may hold secrets.
fn add_objects(path: &Path, source: &mut Source) -> Result<(), Failure> {
    let unread = |error: &io::Error| Failure::file("read", path, error);
    if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map_err(|error| unread(&error))?;
        source.add("<stdin>", text);
        return Ok(());
    }
    for path in files(path)? {
        let text = fs::read_to_string(&path).map_err(|error| Failure::file("read", &path, &error))?;
        source.add(path.display().to_string(), text);
    }
    Ok(())
}

fn files(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = entries(path)?;
    files.retain(|path| {
        path.extension()
            .is_some_and(|end| ["yaml", "yml", "json"].iter().any(|own| end == *own))
    });
    files.sort();
    Ok(files)
}

/// Writes the spec of the cluster. If it is refused the file stays, for the user to correct it.
fn make_spec(args: &Adopt, draft: &Draft, mut evidence: Evidence) -> Result<Project, Failure> {
    let ProfileSet { profiles, .. } = load_profiles(&args.profiles, "the profiles")?;
    let name = args.spec.display().to_string();
    let Fitted {
        text,
        composed,
        outcome,
        findings,
    } = adopt::fit(draft.spec.clone(), (&name, HEAD), draft.place, &profiles)?;
    evidence.findings.extend(findings);
    match outcome {
        Ok((plan, warnings)) => {
            let project = Project {
                spec: composed,
                plan,
                profiles,
                warnings,
            };
            let pointer = pointer(&project)?;
            evidence
                .findings
                .extend(pointer.as_ref().map(|_| unknown_base(draft.place)));
            evidence.print();
            print_findings(&redact_spec(&project.spec), &project.warnings);
            write_spec(&args.spec, &(text + &pointer.unwrap_or_default()))?;
            Ok(project)
        }
        Err(findings) => {
            evidence.print();
            print_findings(&redact_spec(&composed), &findings);
            write_spec(&args.spec, &text)?;
            Err(Failure::Refused(format!(
                "{}; bundle and record were not written\n  = help: it has the values of the cluster: correct it, and run the same \
                 command again",
                refusal(&name, &findings)
            )))
        }
    }
}

/// Lines of the spec with which the documents fit, where they do not without: an RSA PKI alone is larger than some limits.
fn pointer(project: &Project) -> Result<Option<String>, Failure> {
    Ok(match measure::fit(project)? {
        Fit::Pointer(pointer) => Some(format!("delivery:\n  pointer: {pointer}\n")),
        Fit::Whole | Fit::Not(_) => None,
    })
}

fn unknown_base(place: Span) -> Diagnostic {
    let message = "documents are larger than the platform's limit, and the place for their larger part is not known";
    let finding = Diagnostic::warning("FL1314", message).at(place);
    finding.help("write the name of your bucket into delivery.pointer of the spec")
}

fn write_spec(path: &Path, text: &str) -> Result<(), Failure> {
    disk::create(path, text.as_bytes(), Access::Umask).map_err(|error| Failure::file("write", path, &error))?;
    streams::tell(format_args!("wrote {}", path.display()));
    Ok(())
}

/// Compares the user's spec with the cluster.
fn check_spec(args: &Adopt, draft: &Draft, mut evidence: Evidence) -> Result<Project, Failure> {
    evidence.print();
    let project = Project::load(&spec_args(args))?;
    let findings = adopt::compare(draft, &project.plan, project.spec.root());
    print_findings(&redact_spec(&project.spec), &findings);
    match findings.is_empty() {
        true => Ok(project),
        false => Err(Failure::Refused(refusal(&project.spec.name(), &findings))),
    }
}

fn new_bundle(name: &str, roots: Roots, recipients: Vec<Recipient>) -> Result<Bundle, Failure> {
    let bundle = Bundle::of_roots(name, roots, OffsetDateTime::now_utc(), &mut getrandom::fill)?;
    Ok(Bundle { recipients, ..bundle })
}

fn write_bundle(args: &Adopt, bundle: &Bundle) -> Result<(), Failure> {
    let path = bundle_path(&inputs(args));
    save_bundle(&path, bundle)?;
    git::warn_of_bundle(&path);
    Ok(())
}

fn record(project: &Project, bundle: &Bundle, draft: &Draft) -> Result<Record, Failure> {
    let names: Vec<_> = draft.machines.iter().map(|machine| machine.name.as_str()).collect();
    let founded_at = draft.founded_at.unwrap_or_else(OffsetDateTime::now_utc);
    let assembly = Assembly::new(project, bundle, false)?;
    let founder = project.plan.founder();
    let files = assembly.files(founder, &assembly.pki(founder)?)?.files;
    let mut record = Record::adopted(&project.plan, bundle, &names, &files, whole_second(founded_at));
    record.set_digests(bundle);
    Ok(record)
}

fn tell(state: &State, record: &Record) {
    let founded = record.founded_at.map(|at| format!(", founded {}", at.date()));
    streams::tell(format_args!(
        "wrote {}: {}{}; commit it with the spec. Next: firelay plan",
        shell_word(&state.path),
        counted(record.machines.len(), "machine"),
        founded.unwrap_or_default()
    ));
}
