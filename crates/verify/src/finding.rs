use serde::Serialize;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The machine would not start, or not correctly.
    Error,
    /// The machine starts; the user should know about it.
    Warning,
    /// Something was not checked.
    Note,
}

impl Level {
    /// An error, or only a warning.
    pub fn error_if(certain: bool) -> Self {
        if certain { Self::Error } else { Self::Warning }
    }

    /// The printed word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// A result of a check. No text of a finding contains file content that may be secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Finding {
    /// The file of the tree, with `/`.
    pub document: String,
    /// The path on the machine, or the place in the document (`write_files[3]`), if it is about one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// `FL1016`.
    pub code: &'static str,
    /// How bad it is.
    pub level: Level,
    /// The mistake, in lower case and without a full stop.
    pub message: String,
    /// Advice for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

impl Finding {
    /// An error in a file of the tree.
    pub fn error(code: &'static str, document: &str, message: impl Into<String>) -> Self {
        Self {
            document: document.to_owned(),
            path: None,
            code,
            level: Level::Error,
            message: message.into(),
            help: None,
        }
    }

    /// A warning.
    pub fn warning(code: &'static str, document: &str, message: impl Into<String>) -> Self {
        Self::error(code, document, message).level(Level::Warning)
    }

    /// A note.
    pub fn note(code: &'static str, document: &str, message: impl Into<String>) -> Self {
        Self::error(code, document, message).level(Level::Note)
    }

    /// Where: a path on the machine, or a place in the document.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// The same with another level.
    #[must_use]
    pub fn level(self, level: Level) -> Self {
        Self { level, ..self }
    }

    /// Advice for the user.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
