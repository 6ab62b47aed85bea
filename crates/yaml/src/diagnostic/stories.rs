//! The explanation of each code: the mistake, its effect on a cluster, the correction.
//!
//! `docs/errors/*.md` contains them, one section each, with the heading `## FLnnnn: title`.

use include_dir::{Dir, include_dir};

static PAGES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../docs/errors");

/// The story of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Story {
    /// `FL0103`.
    pub code: &'static str,
    /// The title in the register of codes.
    pub title: &'static str,
    /// Markdown: paragraphs and blocks of code.
    pub body: &'static str,
}

/// All stories, in the order of the pages.
pub fn stories() -> Vec<Story> {
    let mut pages: Vec<_> = PAGES
        .files()
        .filter_map(|file| Some((file.path(), file.contents_utf8()?)))
        .collect();
    pages.sort();
    pages.into_iter().flat_map(|(_, page)| sections(page)).collect()
}

/// The story of a code.
pub fn story(code: &str) -> Option<Story> {
    stories().into_iter().find(|story| story.code == code)
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
