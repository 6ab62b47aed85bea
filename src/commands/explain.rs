//! `explain`: descriptions of spec keys and finding codes.

use firelay_yaml::{
    Minor,
    diagnostic::{STORIES, Story, story},
};

use super::{failure::Failure, streams};
use crate::{
    cli::Explain,
    profile::Profiles,
    schema::{self, Field, Known, Unknown},
};

/// Characters of a code.
const LENGTH: usize = "FL0000".len();

/// Runs the verb.
pub fn run(args: &Explain) -> Result<(), Failure> {
    let what = args.what.as_deref().unwrap_or_default();
    if is_code(what) {
        return streams::data(&code(&what.to_uppercase())?);
    }
    let profiles = Profiles::embedded()?;
    let root = Field::root(&schema::json(&profiles));
    match schema::explain(&root, what, args.recursive, &known(&profiles)) {
        Ok(text) => streams::data(&text),
        Err(unknown) => Err(Failure::Usage(refusal(&unknown))),
    }
}

/// Mappings of upstream's keys, which the profiles list.
fn known(profiles: &Profiles) -> [Known<'_>; 2] {
    let of = |kind: &str| {
        let minors = profiles.kubernetes.keys().map(String::as_str);
        let keys = |minor: &str| keys(profiles, kind, minor.parse().ok()?);
        minors.filter_map(|minor| Some((minor, keys(minor)?))).collect()
    };
    [
        Known {
            path: "kubelet.config",
            what: "a field of KubeletConfiguration",
            keys: of("KubeletConfiguration"),
        },
        Known {
            path: "kubeProxy.config",
            what: "a field of KubeProxyConfiguration",
            keys: of("KubeProxyConfiguration"),
        },
    ]
}

/// The fields of a kind in a minor.
fn keys<'a>(profiles: &'a Profiles, kind: &str, minor: Minor) -> Option<Vec<&'a str>> {
    let fields = profiles.kinds.fields(kind)?.iter();
    Some(
        fields
            .filter(|(_, field)| field.is_of(minor))
            .map(|(name, _)| name.as_str())
            .collect(),
    )
}

/// `FL` and digits.
fn is_code(what: &str) -> bool {
    let digits = what
        .get(..2)
        .filter(|start| start.eq_ignore_ascii_case("fl"))
        .map(|_| &what[2..]);
    digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The story of a code, or the codes that begin so.
fn code(what: &str) -> Result<String, Failure> {
    if let Some(story) = story(what) {
        return Ok(story_text(story));
    }
    let begun: Vec<_> = STORIES.iter().filter(|story| story.code.starts_with(what)).collect();
    if begun.is_empty() {
        return Err(Failure::Usage(format!(
            "there is no code {what}{}\n  = help: firelay explain {} lists those of its kind",
            if what.len() > LENGTH {
                ": codes have four digits"
            } else {
                ""
            },
            &what[..what.len().min(4)]
        )));
    }
    let lines = begun.iter().map(|story| format!("{}  {}\n", story.code, story.title));
    Ok(lines.collect())
}

fn refusal(unknown: &Unknown) -> String {
    let place = match unknown.parent.as_str() {
        "" => "the spec".to_owned(),
        parent => parent.to_owned(),
    };
    let meant = match unknown.meant.as_slice() {
        [] if unknown.known.is_empty() => "\n  = help: it has no keys".to_owned(),
        [] => format!("\n  = help: keys: {}", unknown.known.join(", ")),
        meant => format!("\n  = help: did you mean {}?", meant.join(", ")),
    };
    format!("{place} has no key `{}`{meant}", unknown.key)
}

/// A Markdown text with `[text](../adopt.md#the-pki)` as `text (docs/adopt.md)`, relative to the pages of the stories.
fn with_plain_links(text: &str) -> String {
    let Some((before, rest)) = text.split_once('[') else {
        return text.to_owned();
    };
    let link = rest.split_once("](").and_then(|(title, rest)| {
        let (target, after) = rest.split_once(')')?;
        (!title.contains(['[', ']'])).then_some((title, target, after))
    });
    let Some((title, target, after)) = link else {
        return format!("{before}[{}", with_plain_links(rest));
    };
    let page = target.split('#').next().unwrap_or_default();
    let place = match (page, page.strip_prefix("../")) {
        ("", _) => String::new(),
        (_, Some(page)) => format!(" (docs/{page})"),
        (url, None) if url.contains("://") => format!(" ({url})"),
        (page, None) => format!(" (docs/errors/{page})"),
    };
    format!("{before}{title}{place}{}", with_plain_links(after))
}

/// A story in lines of the terminal.
fn story_text(story: &Story) -> String {
    let mut text = format!("{}: {}\n", story.code, story.title);
    // Every second part is a code block that starts with the name of its language.
    for (index, part) in story.body.split("```").enumerate() {
        let paragraphs = part.trim().split("\n\n").filter(|paragraph| !paragraph.is_empty());
        if index % 2 == 0 {
            text.extend(paragraphs.map(|paragraph| {
                let words = paragraph.replace("**", "").replace('\n', " ");
                format!("\n{}", schema::wrapped(&with_plain_links(&words), 0))
            }));
        } else {
            text.push('\n');
            text.extend(part.lines().skip(1).map(|line| format!("    {line}\n")));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_plain_text_with_their_page() {
        for (text, plain) in [
            ("see [Adopt](../adopt.md#pki), then", "see Adopt (docs/adopt.md), then"),
            (
                "[RFC 1](https://x.example/1) and nodes[cp1]",
                "RFC 1 (https://x.example/1) and nodes[cp1]",
            ),
            (
                "[FL0101](fl01-network.md#fl0101) [above](#fl01)",
                "FL0101 (docs/errors/fl01-network.md) above",
            ),
            ("nodes[a] and [b](../c.md)", "nodes[a] and b (docs/c.md)"),
            ("`pods: [10.0.0.0/16]`", "`pods: [10.0.0.0/16]`"),
        ] {
            assert_eq!(with_plain_links(text), plain);
        }
    }
}
