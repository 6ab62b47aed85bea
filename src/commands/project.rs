//! A spec read, checked and resolved, and the bundle that goes with it.

use std::{
    io::{self, IsTerminal},
    path::Path,
};

use time::OffsetDateTime;

use super::{
    bundle::{bundle_path, load_bundle},
    draft::patch_findings,
    failure::{Failure, shell_word},
    measure::Subject,
    streams, texts,
};
use crate::{
    cli::{Inputs, SpecArgs},
    diagnostic::{self, Diagnostic, Source},
    plan::{self, NodePlan, Plan},
    profile::Profiles,
    redact::redact_spec,
    secrets::{Bundle, BundleRequest},
    spec::{self, Layers},
    yaml,
};

/// A resolved spec.
pub struct Project {
    /// The texts it was read from.
    pub layers: Layers,
    /// What it means.
    pub plan: Plan,
    /// The profiles it was resolved with.
    pub profiles: Profiles,
    /// What may be meant otherwise.
    pub warnings: Vec<Diagnostic>,
}

/// What became of a spec.
pub type Outcome = Result<Project, (Layers, Vec<Diagnostic>)>;

impl Project {
    /// Reads and resolves; the findings come back with the texts.
    pub fn open(args: &SpecArgs) -> Result<Outcome, Failure> {
        let mut layers = texts::layers(args)?;
        let mut profiles = Profiles::embedded().map_err(|error| Failure::io(&error))?;
        let mut of_profiles = Vec::new();
        if let Some(directory) = &args.profiles.directory {
            let library = texts::profiles(Some(directory), &mut layers.source)?;
            (profiles, of_profiles) = match profiles.with(&layers.source, &library) {
                Ok(own) => own,
                Err(findings) => return Ok(Err((layers, findings))),
            };
        }
        let mut resolved = resolve(&layers, &profiles)?;
        let (Ok((_, findings)) | Err(findings)) = &mut resolved;
        findings.extend(of_profiles);
        Ok(match resolved {
            Ok((plan, warnings)) => Ok(Self {
                layers,
                plan,
                profiles,
                warnings,
            }),
            Err(findings) => Err((layers, findings)),
        })
    }

    /// As [`Project::open`], with every finding printed and errors turned into exit code 3.
    pub fn load(args: &SpecArgs) -> Result<Self, Failure> {
        match Self::open(args)? {
            Ok(project) => {
                print_redacted(&project.layers, &project.warnings);
                Ok(project)
            }
            Err((layers, findings)) => {
                print_redacted(&layers, &findings);
                Err(Failure::Refused(refusal(&layers.name(), &findings)))
            }
        }
    }

    /// What its documents are measured by.
    pub fn subject(&self) -> Subject<'_> {
        Subject {
            layers: &self.layers,
            plan: &self.plan,
            profiles: &self.profiles,
        }
    }

    /// The node or pool of a name.
    pub fn node(&self, name: &str) -> Result<&NodePlan, Failure> {
        let nodes = &self.plan.nodes;
        nodes.iter().find(|node| node.name == name).ok_or_else(|| {
            let help = match diagnostic::nearest(name, nodes.iter().map(|node| node.name.as_str())) {
                Some(near) => format!("\n  = help: did you mean {near}?"),
                None => String::new(),
            };
            Failure::Usage(format!("{} has no node or pool {name}{help}", self.layers.name()))
        })
    }

    /// Loads the bundle, for a verb.
    pub fn bundle(&self, inputs: &Inputs, verb: &str) -> Result<Bundle, Failure> {
        let path = bundle_path(inputs);
        let stdin = Path::new("-");
        if path == stdin && inputs.spec.specs.iter().any(|spec| spec == stdin) {
            return Err(Failure::Usage(
                "stdin is the spec or the secrets, and `-` is given for both".to_owned(),
            ));
        }
        let piped = format!("{verb} --secrets -");
        let bundle = load_bundle(&path, &inputs.identity, &piped, || {
            format!(
                "{}\n  = help: or make it with the documents: {} --new-secrets",
                command("secrets new", inputs),
                command("render", inputs)
            )
        })?;
        self.belongs(&bundle, &path)?;
        Ok(bundle)
    }

    /// Makes a bundle, which is not saved yet.
    pub fn new_bundle(&self) -> Result<Bundle, Failure> {
        let request = BundleRequest {
            cluster: self.plan.name.clone(),
            algorithm: self.plan.pki.algorithm,
            ca_validity: self.plan.pki.ca_validity,
            backdate: self.plan.pki.backdate,
        };
        Bundle::create(&request, OffsetDateTime::now_utc(), &mut getrandom::fill).map_err(|error| Failure::io(&error))
    }

    /// A spec that asks for another algorithm would be ignored without a word.
    fn same_algorithm(&self, bundle: &Bundle, path: &Path) -> Result<(), Failure> {
        let asked = self.plan.pki.algorithm;
        match bundle.algorithm() {
            Some(made) if made != asked => Err(Failure::Secrets(format!(
                "the CAs in {} are {made}, the spec asks for {asked}: the algorithm is fixed when a bundle is made\n  \
                 = help: write pki: {{ algorithm: {made} }}",
                path.display(),
            ))),
            _ => Ok(()),
        }
    }

    fn belongs(&self, bundle: &Bundle, path: &Path) -> Result<(), Failure> {
        if bundle.cluster == self.plan.name {
            return self.same_algorithm(bundle, path);
        }
        Err(Failure::Secrets(format!(
            "{} holds the secrets of cluster {}, the spec describes cluster {}: name the right bundle with --secrets",
            path.display(),
            bundle.cluster,
            self.plan.name
        )))
    }
}

/// What a spec means, with its warnings, or everything that is wrong with it and its patches.
pub type Resolved = Result<(Plan, Vec<Diagnostic>), Vec<Diagnostic>>;

/// Resolves a spec and lays its patches on every machine that they are for.
pub fn resolve(layers: &Layers, profiles: &Profiles) -> Result<Resolved, Failure> {
    let (plan, mut findings) = match plan::load(layers, profiles) {
        Ok(resolved) => resolved,
        Err(findings) => return Ok(Err(findings)),
    };
    let mut of_patches = patch_findings(&plan, profiles)?;
    if !of_patches.is_empty() {
        let (_, inserted) = spec::draft(layers);
        yaml::redact_env(&mut of_patches, &inserted);
        findings.extend(of_patches);
    }
    diagnostic::sort(&mut findings);
    Ok(if diagnostic::refuse(&findings) {
        Err(findings)
    } else {
        Ok((plan, findings))
    })
}

fn print_redacted(layers: &Layers, findings: &[Diagnostic]) {
    if !findings.is_empty() {
        print_findings(&redact_spec(layers), findings);
    }
}

/// Prints findings for people on stderr; the source has the places of its secrets.
pub fn print_findings(source: &Source, findings: &[Diagnostic]) {
    if !findings.is_empty() {
        let color = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        streams::tell(diagnostic::render(source, findings, color).trim_end());
    }
}

/// `cluster.yaml is refused: 2 errors`.
pub fn refusal(name: &str, findings: &[Diagnostic]) -> String {
    let errors = findings
        .iter()
        .filter(|finding| finding.severity == diagnostic::Severity::Error)
        .count();
    let plural = if errors == 1 { "" } else { "s" };
    format!("{name} is refused: {errors} error{plural}")
}

/// A verb for the same spec and bundle, as it is typed.
fn command(verb: &str, inputs: &Inputs) -> String {
    let spec = &inputs.spec;
    let mut command = format!("firelay {verb}");
    let mut add = |flag: &str, word: &Path| command.extend([flag, &shell_word(word)]);
    spec.specs.iter().for_each(|path| add(" ", path));
    spec.set.iter().for_each(|set| add(" --set ", Path::new(set)));
    let profiles = spec.profiles.directory.iter();
    profiles.for_each(|path| add(" --profiles ", path));
    inputs.secrets.iter().for_each(|path| add(" --secrets ", path));
    inputs.identity.files.iter().for_each(|path| add(" --identity ", path));
    command + if spec.env { " --env" } else { "" }
}
