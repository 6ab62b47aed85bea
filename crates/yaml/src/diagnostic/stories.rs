//! The story of each code: what is wrong, what it would do to a cluster, what to write instead.
//!
//! `docs/errors/*.md` tells them, a section each, under the heading `## FLnnnn: title`.

use include_dir::{Dir, include_dir};

static PAGES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/../../docs/errors");

/// The story of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Story {
    /// `FL0103`.
    pub code: &'static str,
    /// As in the register of codes.
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
