use serde::Serialize;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The machine would not come up, or not as it should.
    Error,
    /// It comes up; somebody should know.
    Warning,
    /// Something was not looked at.
    Note,
}

impl Level {
    /// The word for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// What a check found. No text of a finding holds content of a file that may be secret.
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
    /// What is wrong, in lower case and without a full stop.
    pub message: String,
    /// What to do about it.
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
        Self {
            level: Level::Warning,
            ..Self::error(code, document, message)
        }
    }

    /// A note.
    pub fn note(code: &'static str, document: &str, message: impl Into<String>) -> Self {
        Self {
            level: Level::Note,
            ..Self::error(code, document, message)
        }
    }

    /// Where: a path on the machine, or a place in the document.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// What to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
