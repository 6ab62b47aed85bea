//! The register of codes, with the explanation of each: the mistake, its effect on a cluster, the correction.
//!
//! `docs/errors/*.md` contains them, one section each, with the heading `## FLnnnn: title`. A code is never given a second
//! meaning.

use std::sync::LazyLock;

use include_dir::{Dir, include_dir};

static PAGES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../docs/errors");

/// The story of a code.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Story {
    /// `FL0103`.
    pub code: &'static str,
    /// The mistake in a few words.
    pub title: &'static str,
    /// Markdown: paragraphs and blocks of code.
    pub body: &'static str,
}

/// All stories, in the order of their codes.
pub static STORIES: LazyLock<Vec<Story>> = LazyLock::new(|| {
    let pages = PAGES.files().filter_map(include_dir::File::contents_utf8);
    let mut stories: Vec<_> = pages.flat_map(sections).collect();
    stories.sort();
    stories
});

pub fn story(code: &str) -> Option<&'static Story> {
    STORIES.iter().find(|story| story.code == code)
}

fn sections(page: &'static str) -> impl Iterator<Item = Story> {
    page.split("\n## ").skip(1).filter_map(|section| {
        let (heading, body) = section.split_once('\n')?;
        let (code, title) = heading.split_once(": ")?;
        Some(Story {
            code,
            title,
            body: body.trim(),
        })
    })
}
