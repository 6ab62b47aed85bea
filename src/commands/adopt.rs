//! `adopt`: the bundle, the spec and the record of a cluster that something else created.

use std::{fs, io, path::Path};

use firelay_yaml::diagnostic::{Diagnostic, Source, Span, refuse};
use time::OffsetDateTime;

use super::{
    bundle::{bundle_path, save_bundle},
    failure::Failure,
    git,
    project::{print_findings, refusal},
    secrets::recipients,
};
use crate::{
    adopt::pki::{self, PkiFile},
    cli::{Adopt, IdentityArg, Inputs, SpecArgs},
    secret::Secret,
    secrets::{Bundle, Roots},
};

/// Larger than any file of a PKI.
const LARGEST: u64 = 1 << 20;

/// Runs the verb.
pub fn run(args: &Adopt) -> Result<(), Failure> {
    let recipients = recipients(&args.recipients)?;
    let mut source = Source::default();
    let files = pki_files(&args.pki, &mut source);
    let (roots, findings) = pki::roots(&files, OffsetDateTime::now_utc());
    print_findings(&source, &findings);
    let roots = roots.ok_or_else(|| refused(args, &findings))?;
    let bundle = bundle(args.name.as_deref().unwrap_or_default(), roots, recipients)?;
    let path = bundle_path(&inputs(args));
    save_bundle(&path, &bundle)?;
    git::warn_of_bundle(&path);
    Ok(())
}

fn refused(args: &Adopt, findings: &[Diagnostic]) -> Failure {
    Failure::Refused(refusal(&args.pki.display().to_string(), findings))
}

fn bundle(name: &str, roots: Roots, recipients: Vec<crate::age::Recipient>) -> Result<Bundle, Failure> {
    let bundle = Bundle::of_roots(name, roots, OffsetDateTime::now_utc(), &mut getrandom::fill)?;
    Ok(Bundle { recipients, ..bundle })
}

fn inputs(args: &Adopt) -> Inputs {
    Inputs {
        spec: SpecArgs::from(args.spec.as_path()),
        secrets: args.secrets.clone(),
        identity: IdentityArg::default(),
    }
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
