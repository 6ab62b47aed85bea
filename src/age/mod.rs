//! age (C2SP, age.md, `age-encryption.org/v1`): encryption to recipients, and decryption with their identities.
//!
//! One implementation for both users: the bundle, whose keys are random, and payloads of pointers, whose keys are
//! derived so that the same bundle gives the same bytes. The crate `age` generates its keys itself, and its SSH
//! recipients require the crate `rsa` (docs/adr/0016-the-bundle-at-rest.md).

#![allow(missing_docs, reason = "fields whose names say everything have no comment")]

mod armor;
mod bech32;
mod der;
mod error;
mod format;
mod identity;
mod recipient;
mod ssh;
mod x25519;

use firelay_base::Random;
use zeroize::Zeroizing;

pub use error::Error;
pub use format::{FileKey, Stanza, assemble, is_sealed};
pub use identity::{Identity, identities};
pub use recipient::Recipient;
pub use x25519::{public, wrap};

/// Seals a text to recipients, as armored text.
pub fn seal(plain: &[u8], recipients: &[Recipient], random: &mut Random<'_>) -> Result<String, Error> {
    let file_key: FileKey = draw(random)?;
    let nonce: Zeroizing<[u8; 16]> = draw(random)?;
    let stanzas = recipients.iter().map(|recipient| recipient.wrap(&file_key, random));
    let stanzas = stanzas.collect::<Result<Vec<_>, _>>()?;
    Ok(armor::write(&assemble(&file_key, &nonce, &stanzas, plain)))
}

/// Opens what is sealed, armored or not, with the first identity that fits.
pub fn open(sealed: &[u8], identities: &[Identity]) -> Result<Zeroizing<Vec<u8>>, Error> {
    let bytes = armor::read(sealed)?;
    let file = format::parse(&bytes)?;
    if file.stanzas.iter().any(|stanza| stanza.kind() == "scrypt") {
        return Err(Error::Passphrase);
    }
    if identities.is_empty() {
        return Err(Error::NoIdentity);
    }
    let pairs = identities
        .iter()
        .flat_map(|identity| file.stanzas.iter().map(move |stanza| (identity, stanza)));
    match pairs.into_iter().find_map(|(identity, stanza)| identity.unwrap(stanza)) {
        Some(file_key) => file.open(&file_key),
        None => Err(Error::NoneFits {
            recipients: kinds(&file.stanzas),
        }),
    }
}

/// The types of a file's recipients: `X25519, ssh-ed25519`.
fn kinds(stanzas: &[Stanza]) -> String {
    let known = |stanza: &&Stanza| !stanza.kind().ends_with("-grease");
    let kinds: Vec<_> = stanzas.iter().filter(known).map(Stanza::kind).collect();
    kinds.join(", ")
}

fn draw<const SIZE: usize>(random: &mut Random<'_>) -> Result<Zeroizing<[u8; SIZE]>, Error> {
    let mut bytes = Zeroizing::new([0; SIZE]);
    random(bytes.as_mut_slice()).map_err(Error::Random)?;
    Ok(bytes)
}
