//! The reference page of the spec.

use std::fmt::Write;

use firelay::schema::{Field, block, flow};

const HEAD: &str = "\
# The spec, key by key

Made from the types that read it (`just bless` rewrites it): do not edit. `firelay explain KEY` says the same on a terminal,
`firelay schema` says it to editors. A key in bold is required. Text needs
quotes only where YAML would take it for something else (`true`, `~`); `*` is a name of your own.

";

/// The page, as Markdown: a section for every mapping, a row for every key.
pub fn page(root: &Field) -> String {
    let mut page = Page {
        text: HEAD.to_owned(),
        listed: Vec::new(),
    };
    page.collect(root);
    let sections = page.listed.clone();
    sections.iter().for_each(|(field, _)| page.section(field));
    page.text
}

struct Page<'a> {
    text: String,
    /// The mappings that get a section, and their keys without their places: each type has one section.
    listed: Vec<(&'a Field, Vec<Field>)>,
}

impl<'a> Page<'a> {
    fn collect(&mut self, field: &'a Field) {
        if !field.children.is_empty() && self.place(field).is_none() {
            self.listed.push((field, field.children.iter().map(bare).collect()));
            field.children.iter().for_each(|child| self.collect(child));
        }
    }

    /// The section of a mapping of this type.
    fn place(&self, field: &Field) -> Option<&'a Field> {
        let keys: Vec<_> = field.children.iter().map(bare).collect();
        self.listed
            .iter()
            .find(|(_, listed)| *listed == keys)
            .map(|(place, _)| *place)
    }

    fn section(&mut self, field: &Field) {
        let title = if field.path.is_empty() { "Top" } else { &field.path };
        let mut text = format!(
            "## {title}\n\n{}\n\n| key | value | |\n|---|---|---|\n",
            field.description
        );
        for child in &field.children {
            let _ = writeln!(text, "| {} | {} | {} |", self.name(child), child.kind, cell(child));
        }
        if let Some(example) = field.example().filter(|_| !field.path.is_empty()) {
            let _ = writeln!(text, "\n```yaml\n{}```", block(&field.name, example));
        }
        text.push('\n');
        self.text += &text;
    }

    fn name(&self, field: &Field) -> String {
        let place = if field.children.is_empty() {
            None
        } else {
            self.place(field)
        };
        let name = match place {
            None => format!("`{}`", field.name),
            Some(place) => format!("[`{}`](#{})", field.name, anchor(&place.path)),
        };
        if field.required { format!("**{name}**") } else { name }
    }
}

/// A field without its place.
fn bare(field: &Field) -> Field {
    Field {
        path: String::new(),
        children: field.children.iter().map(bare).collect(),
        ..field.clone()
    }
}

fn cell(field: &Field) -> String {
    let mut text = field.description.replace("\n\n", "<br>");
    if !field.choices.is_empty() {
        let choices: Vec<_> = field
            .choices
            .iter()
            .map(|choice| format!("`{}`", choice.value))
            .collect();
        let _ = write!(text, " One of {}.", choices.join(", "));
    }
    if let Some(default) = &field.default {
        let _ = write!(text, " Default: `{}`.", flow(default));
    }
    let examples: Vec<_> = field
        .examples
        .iter()
        .map(flow)
        .filter(|example| !example.contains("\\n"))
        .collect();
    if field.children.is_empty() && field.choices.is_empty() && !examples.is_empty() {
        let _ = write!(text, " Example: `{}`.", examples[0]);
    }
    text.replace('|', "\\|")
}

/// The anchor of a title in rendered Markdown.
fn anchor(title: &str) -> String {
    let kept = |c: &char| c.is_ascii_alphanumeric() || "-_".contains(*c);
    title.to_lowercase().chars().filter(kept).collect()
}
