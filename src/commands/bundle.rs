//! The bundle: found, opened, created, saved.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};
use time::{OffsetDateTime, macros::datetime};
use zeroize::Zeroizing;

use super::{
    failure::{Failure, chain, shell_word},
    streams,
};
use crate::{
    age::{self, Identity, Recipient},
    cli::{IdentityArg, Inputs},
    delivery::tree::TreeReader,
    plan::Plan,
    secrets::{self, Bundle, BundleRequest, BundleText, Error},
};

/// Contains an identity itself, for use without a file.
const VARIABLE: &str = "FIRELAY_IDENTITY";
/// Larger than any file of identities.
const LARGEST: usize = 1 << 16;
/// The day of placeholders. Certificates have the same length as those of today: after 2049 they write years in another form
/// (RFC 5280 section 4.1.2.5).
const PLACEHOLDER_ISSUED_AT: OffsetDateTime = datetime!(2026-01-01 0:00 UTC);

/// The bundle's path: from the flag, or beside the first spec.
pub fn bundle_path(inputs: &Inputs) -> PathBuf {
    let first = inputs.spec.specs.first().and_then(|spec| spec.parent());
    let beside = || first.unwrap_or(Path::new("")).join(secrets::FILE);
    inputs.secrets.clone().unwrap_or_else(beside)
}

/// Reads a bundle, `-` from stdin; if it is missing, the help shows the command that creates it. `piped` is the verb's
/// command line with the bundle on stdin.
pub fn load_bundle(
    path: &Path,
    identity: &IdentityArg,
    piped: &str,
    command: impl FnOnce() -> String,
) -> Result<Bundle, Failure> {
    let text = if path == Path::new("-") {
        BundleText::pipe("<stdin>", &mut io::stdin().lock())
    } else if !is_missing(path) {
        BundleText::read(path)
    } else {
        return Err(Failure::Secrets(format!(
            "there is no secrets bundle at {}\n  = help: make one with: {}",
            path.display(),
            command()
        )));
    };
    let refused = |error| refused(path, piped, &error);
    let text = text.map_err(refused)?;
    let identities = if text.sealed() {
        identities(identity)?
    } else {
        Vec::new()
    };
    text.open(&identities).map_err(refused)
}

/// Whether nothing exists at the path. An inaccessible path may still be a bundle.
pub fn is_missing(path: &Path) -> bool {
    matches!(path.try_exists(), Ok(false))
}

/// Refuses to continue without the bundle of an existing tree: any other bundle makes another cluster.
pub fn refuse_lost(path: &Path, out: &Path, cluster: &str) -> Result<(), Failure> {
    if path == Path::new("-") || !is_missing(path) {
        return Ok(());
    }
    let last = TreeReader::open(out).map(|tree| tree.manifest);
    match last.ok().filter(|last| last.cluster == cluster) {
        None => Ok(()),
        Some(last) => Err(Failure::Secrets(format!(
            "there is no secrets bundle at {}, and {out} was rendered with the bundle {} (FL1102)\n  \
             = help: restore that bundle from a backup, or name its file with --secrets; a new bundle is a new cluster, \
             to which no machine of {out} belongs: render that into another directory with --out; if the bundle of a running cluster is \
             lost: firelay explain FL1102",
            path.display(),
            last.bundle_fingerprint,
            out = out.display()
        ))),
    }
}

/// Exit code 4, with what to do about it.
fn refused(path: &Path, piped: &str, error: &Error) -> Failure {
    let file = match path == Path::new("-") {
        true => "FILE".to_owned(),
        false => shell_word(path),
    };
    let help = match error {
        Error::Empty { .. } => {
            Some("bring it back from a copy; if a command was to write it, look at what that says".to_owned())
        }
        Error::Exposed { .. } => Some(format!("chmod 600 {file}")),
        Error::Field { problem, .. } if *problem == secrets::ZERO => {
            Some("bring back the bundle that was drawn; a new cluster's is made by: firelay secrets new".to_owned())
        }
        Error::Sops { .. } => Some(format!("sops -d {file} | firelay {piped}")),
        Error::Open { source, .. } => Some(match source {
            age::Error::Passphrase => format!("age -d {file} | firelay {piped}"),
            age::Error::Damaged(_) => "bring back a copy that is whole: no part of it can be trusted".to_owned(),
            _ => format!("--identity FILE, or its path in FIRELAY_IDENTITY_FILE, or its text in {VARIABLE}"),
        }),
        _ => None,
    };
    let help = help.map_or_else(String::new, |help| format!("\n  = help: {help}"));
    Failure::Secrets(chain(error) + &help)
}

/// The identities of all files, and of the variable.
fn identities(arg: &IdentityArg) -> Result<Vec<Identity>, Failure> {
    let mut found = Vec::new();
    for path in &arg.files {
        let text = identity_file(path)?;
        found.extend(parsed(&path.display().to_string(), &text)?);
    }
    if let Some(text) = std::env::var_os(VARIABLE).filter(|text| !text.is_empty()) {
        let text = Zeroizing::new(text.into_encoded_bytes());
        found.extend(parsed(VARIABLE, &text)?);
    }
    Ok(found)
}

fn parsed(name: &str, bytes: &[u8]) -> Result<Vec<Identity>, Failure> {
    let text = Zeroizing::new(String::from_utf8_lossy(bytes).into_owned());
    age::identities(name, &text).map_err(|error| Failure::Secrets(chain(&error)))
}

/// Reads an identity file. Like an unsealed bundle, it must not be readable by others.
fn identity_file(path: &Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let unread = |error| Failure::Secrets(format!("cannot read the identity {}: {error}", path.display()));
    let file = File::open(path).map_err(unread)?;
    let metadata = file.metadata().map_err(unread)?;
    let mut text = Zeroizing::new(Vec::with_capacity(LARGEST + 1));
    file.take(LARGEST as u64).read_to_end(&mut text).map_err(unread)?;
    if is_public(&text) {
        return Err(Failure::Secrets(public_half(path)));
    }
    if metadata.is_file() && secrets::exposed(&metadata) {
        return Err(Failure::Secrets(format!(
            "others than its owner can read the identity {}\n  = help: chmod 600 {}",
            path.display(),
            shell_word(path)
        )));
    }
    Ok(text)
}

/// Whether the first word of a file is a recipient.
fn is_public(text: &[u8]) -> bool {
    let mut lines = std::str::from_utf8(text).unwrap_or_default().lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    first.is_some_and(|line| line.parse::<Recipient>().is_ok())
}

fn public_half(path: &Path) -> String {
    let private = match path.extension().is_some_and(|ending| ending == "pub") {
        true => format!("the identity is {}", shell_word(&path.with_extension(""))),
        false => "the identity is its private half".to_owned(),
    };
    format!(
        "{} is a recipient, which opens nothing\n  = help: {private}",
        path.display()
    )
}

/// Creates a bundle for a plan, which is not saved yet.
pub fn create(plan: &Plan) -> Result<Bundle, Failure> {
    Ok(Bundle::create(
        &request(plan),
        OffsetDateTime::now_utc(),
        &mut getrandom::fill,
    )?)
}

/// A bundle with secrets of the right kinds and sizes, and of no use. It is the same every time, except for RSA keys, which are
/// always drawn.
pub fn placeholder(plan: &Plan) -> Result<Bundle, Failure> {
    let mut drawn: u64 = 0;
    // Compresses as little as random bytes.
    let mut fill = |bytes: &mut [u8]| {
        for chunk in bytes.chunks_mut(32) {
            drawn += 1;
            let block = Sha256::digest(drawn.to_be_bytes());
            chunk.copy_from_slice(&block[..chunk.len()]);
        }
        Ok(())
    };
    Ok(Bundle::create(&request(plan), PLACEHOLDER_ISSUED_AT, &mut fill)?)
}

pub(super) fn request(plan: &Plan) -> BundleRequest {
    BundleRequest {
        cluster: plan.name.clone(),
        algorithm: plan.pki.algorithm,
        ca_validity: plan.pki.ca_validity,
        backdate: plan.pki.backdate,
    }
}

/// Refuses a bundle of another cluster, or of an algorithm other than the spec's, which would otherwise be ignored.
pub fn refuse_foreign(bundle: &Bundle, plan: &Plan, path: &Path) -> Result<(), Failure> {
    let (path, asked) = (path.display(), plan.pki.algorithm);
    if bundle.cluster != plan.name {
        return Err(Failure::Secrets(format!(
            "{path} holds the secrets of cluster {}, the spec describes cluster {}\n  = help: name the right bundle with --secrets; a cluster that runs keeps its \
             name",
            bundle.cluster, plan.name
        )));
    }
    match bundle.algorithm().filter(|made| *made != asked) {
        None => Ok(()),
        Some(made) => Err(Failure::Secrets(format!(
            "the CAs in {path} are {made}, the spec asks for {asked}: the algorithm is fixed when a bundle is made\n  \
             = help: write pki: {{ algorithm: {made} }}"
        ))),
    }
}

/// Saves a new bundle where none is.
pub fn save_bundle(path: &Path, bundle: &Bundle) -> Result<(), Failure> {
    if path == Path::new("-") {
        return Err(Failure::Usage(
            "a new bundle needs a file: name it with --secrets".to_owned(),
        ));
    }
    secrets::save_new(path, bundle, &mut getrandom::fill).map_err(|error| match error {
        Error::Exists { .. } => Failure::Secrets(chain(&error)),
        error => error.into(),
    })?;
    let keep = match bundle.recipients.len() {
        0 => "keep it safe and out of version control: it is the cluster".to_owned(),
        1 => "it is the cluster, and only the identity of its one recipient opens it: keep that safe".to_owned(),
        count => {
            format!("it is the cluster, and the identity of any of its {count} recipients opens it: keep one safe")
        }
    };
    streams::tell(format_args!(
        "wrote {} ({}); {keep}",
        path.display(),
        bundle.fingerprint()
    ));
    Ok(())
}

/// Replaces the bundle that was read, or writes to stdout if it came from stdin.
pub fn replace_bundle(path: &Path, bundle: &Bundle) -> Result<(), Failure> {
    if path == Path::new("-") {
        let text = bundle.to_file(&mut getrandom::fill)?;
        return streams::data(text.expose());
    }
    Ok(secrets::replace(path, bundle, &mut getrandom::fill)?)
}

/// Whether the file exists and is sealed.
pub fn is_sealed(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| age::is_sealed(&Zeroizing::new(bytes)))
}

/// Whether the file is in clear; what is piped in is no file.
pub fn is_clear(path: &Path) -> bool {
    fs::read(path).is_ok_and(|bytes| !age::is_sealed(&Zeroizing::new(bytes)))
}
