//! A project: a spec composed, resolved and checked, with the profiles that it was resolved with.

use std::path::Path;

pub use super::streams::print_findings;
use super::{
    bundle::{self, bundle_path, is_missing, load_bundle, refuse_foreign},
    command_line::command,
    failure::Failure,
    input, preview, streams,
};
use crate::{
    cli::{Inputs, ProfilesArg, SpecArgs},
    plan::{self, NodePlan, Plan},
    profile::{Library, Profiles},
    redact::{redact_profiles, redact_spec, secret_values},
    secrets::Bundle,
    spec::Composed,
};
use firelay_yaml::diagnostic::{self, Diagnostic, Source};

/// Bytes of the shortest value that is looked for.
const SHORTEST: usize = 4;

/// A resolved spec.
#[derive(Debug)]
pub struct Project {
    /// The composed spec.
    pub spec: Composed,
    /// The plan that follows from it.
    pub plan: Plan,
    /// The profiles that it was resolved with.
    pub profiles: Profiles,
    /// Warnings, in the order of the texts.
    pub warnings: Vec<Diagnostic>,
}

/// A spec with errors, and all findings about it.
#[derive(Debug)]
pub struct Refused {
    /// The composed spec.
    pub spec: Composed,
    /// Errors and warnings.
    pub findings: Vec<Diagnostic>,
    /// The plan with its profiles, if only documents or patches are refused.
    pub resolved: Option<(Plan, Profiles)>,
}

/// A project, or the refused spec.
pub type Resolution = Result<Project, Box<Refused>>;

/// Profiles without a spec.
pub struct ProfileSet {
    /// Their texts.
    pub source: Source,
    /// The texts by path.
    pub library: Library,
    /// Their values.
    pub profiles: Profiles,
    /// Warnings about files of the user.
    pub warnings: Vec<Diagnostic>,
}

impl Refused {
    fn unresolved(spec: Composed, findings: Vec<Diagnostic>) -> Self {
        Self {
            spec,
            findings,
            resolved: None,
        }
    }
}

/// The rendered tree, if it is given in the place of a spec.
pub fn tree(inputs: &Inputs) -> Result<Option<&Path>, Failure> {
    let [only] = &inputs.spec.specs[..] else {
        return Ok(None);
    };
    match only.is_dir() {
        true if inputs.spec.set.is_empty() && !inputs.spec.env => Ok(Some(only)),
        true => Err(Failure::Usage(
            "--set and --env change a spec, and a rendered tree is given".to_owned(),
        )),
        false => Ok(None),
    }
}

impl Project {
    /// Secrets of the spec, and values from the environment. Shorter texts occur by chance.
    pub fn secret_values(&self) -> Vec<String> {
        let inserted = self.spec.inserted.iter().map(|inserted| inserted.value.clone());
        let all = secret_values(&self.spec).into_iter().chain(inserted);
        all.filter(|value| value.len() >= SHORTEST).collect()
    }

    /// Loads a spec and prints all findings; errors end with exit code 3.
    pub fn load(args: &SpecArgs) -> Result<Self, Failure> {
        let project = Self::open(args)?.map_err(|refused| {
            let verdict = refusal(&refused.spec.name(), &refused.findings);
            Failure::found(redact_spec(&refused.spec), refused.findings, verdict)
        })?;
        if !project.warnings.is_empty() {
            print_findings(&redact_spec(&project.spec), &project.warnings);
        }
        Ok(project)
    }

    /// The stages of loading: text, composed spec, plan, patches.
    pub fn open(args: &SpecArgs) -> Result<Resolution, Failure> {
        let mut input = input::read(args)?;
        let directory = args.profiles.directory.as_deref();
        let library = directory.map(|_| input::library(directory, &mut input.source));
        let library = library.transpose()?;
        let (spec, embedded) = rayon::join(
            || input::compose(input, library.as_ref(), &mut input::read_file),
            Profiles::embedded,
        );
        let (spec, embedded) = (spec?, embedded?);
        let profiles = match &library {
            Some(library) => embedded.with(spec.source(), library),
            None => Ok((embedded, Vec::new())),
        };
        let (profiles, of_profiles) = match profiles {
            Ok(profiles) => profiles,
            Err(findings) => return Ok(Err(Refused::unresolved(spec, findings).into())),
        };
        let mut outcome = match Self::resolve(spec, profiles) {
            Ok(project) => project.check_patches()?,
            refused => refused,
        };
        match &mut outcome {
            Ok(project) => project.warnings.extend(of_profiles),
            Err(refused) => refused.findings.extend(of_profiles),
        }
        Ok(outcome)
    }

    /// Resolves a composed spec.
    pub fn resolve(spec: Composed, profiles: Profiles) -> Resolution {
        match plan::load(&spec, &profiles) {
            Ok((plan, warnings)) => Ok(Self {
                spec,
                plan,
                profiles,
                warnings,
            }),
            Err(findings) => Err(Refused::unresolved(spec, findings).into()),
        }
    }

    /// Checks the patches, in a preview of the files that they change.
    pub fn check_patches(self) -> Result<Resolution, Failure> {
        let mut findings = preview::check_patches(&self.plan, &self.profiles)?;
        firelay_yaml::redact_env(&mut findings, &self.spec.inserted);
        Ok(self.with_findings(findings))
    }

    /// The project with further warnings.
    pub fn with_warnings(mut self, warnings: impl IntoIterator<Item = Diagnostic>) -> Self {
        let mut warnings: Vec<_> = warnings.into_iter().collect();
        firelay_yaml::redact_env(&mut warnings, &self.spec.inserted);
        self.warnings.extend(warnings);
        diagnostic::sort(&mut self.warnings);
        self
    }

    /// The project with further findings, unless one is an error.
    pub fn with_findings(mut self, findings: Vec<Diagnostic>) -> Resolution {
        self.warnings.extend(findings);
        diagnostic::sort(&mut self.warnings);
        if diagnostic::refuse(&self.warnings) {
            let refused = Refused {
                spec: self.spec,
                findings: self.warnings,
                resolved: Some((self.plan, self.profiles)),
            };
            return Err(refused.into());
        }
        Ok(self)
    }

    /// The node or pool of a name.
    pub fn node(&self, name: &str) -> Result<&NodePlan, Failure> {
        let nodes = &self.plan.nodes;
        nodes.iter().find(|node| node.name == name).ok_or_else(|| {
            let help = did_you_mean(name, nodes.iter().map(|node| node.name.as_str()));
            Failure::Usage(format!("{} has no node or pool {name}{help}", self.spec.name()))
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
        refuse_foreign(&bundle, &self.plan, &path)?;
        Ok(bundle)
    }
}

impl Project {
    /// The cluster's own bundle, or a placeholder if none was given and none exists. `done` is what is done with it.
    pub fn bundle_or_placeholder(&self, inputs: &Inputs, verb: &str, done: &str) -> Result<Bundle, Failure> {
        let path = bundle_path(inputs);
        if inputs.secrets.is_some() || !is_missing(&path) {
            return self.bundle(inputs, verb);
        }
        streams::tell(format_args!(
            "there is no bundle at {}: {done} with placeholder secrets, which differ from real ones by some bytes",
            path.display()
        ));
        bundle::placeholder(&self.plan)
    }
}

/// A line of help with the name that was probably meant.
pub fn did_you_mean<'a>(name: &str, names: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let near = diagnostic::nearest(name, names);
    near.map_or_else(String::new, |near| format!("\n  = help: did you mean {near}?"))
}

/// The library of a verb without a spec, and the profiles with their warnings. Errors are printed and refused under this name.
pub fn load_profiles(args: &ProfilesArg, name: &str) -> Result<ProfileSet, Failure> {
    let mut source = Source::default();
    let library = input::library(args.directory.as_deref(), &mut source)?;
    match Profiles::embedded()?.with(&source, &library) {
        Ok((profiles, warnings)) => Ok(ProfileSet {
            source,
            library,
            profiles,
            warnings,
        }),
        Err(findings) => {
            print_findings(&redact_profiles(&source), &findings);
            Err(Failure::Refused(refusal(name, &findings)))
        }
    }
}

/// `cluster.yaml is refused: 2 errors`.
pub fn refusal(name: &str, findings: &[Diagnostic]) -> String {
    let errors = findings
        .iter()
        .filter(|finding| finding.severity == diagnostic::Severity::Error)
        .count();
    format!("{name} is refused: {}", streams::counted(errors, "error"))
}
