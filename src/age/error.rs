//! Why something could not be sealed or opened. No message repeats a key.

/// An error of sealing or opening.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    #[error("the system gave no randomness: {0}")]
    Random(#[source] getrandom::Error),
    #[error("damaged: {0}")]
    Damaged(&'static str),
    #[error("sealed with a passphrase, which firelay does not ask for")]
    Passphrase,
    #[error("sealed, and there is no identity to open it with")]
    NoIdentity,
    #[error("sealed to others than the identities at hand ({recipients})")]
    NoneFits {
        /// `X25519, ssh-ed25519`.
        recipients: String,
    },
    #[error("the recipient {0} cannot be sealed to")]
    Recipient(String),
    #[error("{name}: {problem}")]
    Identity {
        /// File or variable.
        name: String,
        /// The problem, without the text.
        problem: String,
    },
}
