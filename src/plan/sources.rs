//! `content` and `source` of files and manifests.

use firelay_yaml::{
    Spanned,
    diagnostic::{Diagnostic, Span},
};

use crate::{
    plan::report::Report,
    spec::{Loaded, MOST_BYTES, Unread},
};

/// The source of some content.
pub(super) struct Given<'a> {
    /// The noun in messages: `file`, `manifest`.
    pub(super) what: &'static str,
    /// The position of its name.
    pub(super) name: Span,
    pub(super) content: Option<&'a Spanned<String>>,
    pub(super) source: Option<&'a Spanned<String>>,
    pub(super) loaded: Option<&'a Loaded>,
}

impl Given<'_> {
    /// Checks that there is one content, and that it could be read.
    pub(super) fn check(&self, report: &mut Report) {
        match (self.content, self.source) {
            (Some(_), Some(source)) => {
                let both = Diagnostic::error("FL0631", "`source` does not go with `content`").at(source.span);
                report.push(both.help("remove one of them"));
            }
            (None, None) => {
                let none = Diagnostic::error("FL0631", format!("a {} without content", self.what)).at(self.name);
                report.push(none.help("write it under `content`, or name a file that has it under `source`"));
            }
            (None, Some(source)) => report.extend(self.unread(source)),
            (Some(_), None) => {}
        }
    }

    fn unread(&self, source: &Spanned<String>) -> Option<Diagnostic> {
        let odd = |message: &str| Diagnostic::error("FL0630", message).at(source.span);
        let Some(loaded) = self.loaded else {
            return Some(odd("a file that cannot be read").label("no files are read here"));
        };
        let path = loaded.path.display();
        match loaded.bytes.as_ref().err()? {
            Unread::Because(why) => Some(
                odd("a file that cannot be read")
                    .label(format!("{path}: {why}"))
                    .help("paths are relative to the file that they stand in"),
            ),
            Unread::Large(bytes) => Some(
                odd("a file too large for a document")
                    .label(format!("{path}: {bytes} bytes, and {MOST_BYTES} are the most"))
                    .help("fetch it by a command, or put it into the image"),
            ),
        }
    }
}
