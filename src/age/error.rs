//! Why something could not be sealed or opened. No message repeats a key.

/// An error of sealing or opening.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system gave no randomness.
    #[error("the system gave no randomness: {0}")]
    Random(#[source] getrandom::Error),
    /// The bytes are not those that were sealed.
    #[error("damaged: {0}")]
    Damaged(&'static str),
    /// It is sealed with a passphrase, not to recipients.
    #[error("sealed with a passphrase, which firelay does not ask for")]
    Passphrase,
    /// No identity was given.
    #[error("sealed, and there is no identity to open it with")]
    NoIdentity,
    /// It is sealed to other recipients.
    #[error("sealed to others than the identities at hand ({recipients})")]
    NoneFits {
        /// `X25519, ssh-ed25519`.
        recipients: String,
    },
    /// The library does not support such a key.
    #[error("the recipient {0} cannot be sealed to")]
    Recipient(String),
    /// A text is not an identity.
    #[error("{name}: {problem}")]
    Identity {
        /// File or variable.
        name: String,
        /// The problem, without the text.
        problem: String,
    },
}
