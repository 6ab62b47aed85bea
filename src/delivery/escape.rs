//! Documents for users who pass them through a template engine.

/// The template engine that processes the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Terraform's `templatefile` and templates in HCL.
    Terraform,
    /// Jinja, as in cloud-init behind `## template: jinja`, and in Ansible.
    Jinja,
}

/// The text that the engine turns into `text`.
pub fn escape(text: &str, engine: Engine) -> String {
    match engine {
        Engine::Terraform => terraform(text),
        Engine::Jinja => jinja(text),
    }
}

/// Doubling the sign is HCL's own escape (HCL native syntax, "Template Literals"; 2026-11-20). Behind the same sign it would
/// be read as part of another, so a row of them is written as a text within an interpolation.
fn terraform(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(['$', '%']) {
        let (before, row) = rest.split_at(start);
        escaped.push_str(before);
        let signs = row
            .find(|character| !matches!(character, '$' | '%'))
            .unwrap_or(row.len());
        let (signs, after) = row.split_at(signs);
        match (after.starts_with('{'), signs.len()) {
            (false, _) => escaped.push_str(signs),
            (true, 1) => escaped.push_str(&signs.repeat(2)),
            (true, _) => escaped.push_str(&format!("${{\"{signs}\"}}")),
        }
        rest = after;
    }
    escaped + rest
}

/// Replaces every start of a tag by an expression with that value. A block tag would remove the following line break
/// (cloud-init renders with `trim_blocks`).
fn jinja(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = ["{{", "{%", "{#"].iter().filter_map(|opening| rest.find(opening)).min() {
        let (before, opening) = rest.split_at(start);
        let (opening, after) = opening.split_at(2);
        escaped.push_str(before);
        escaped.push_str(&format!("{{{{ '{opening}' }}}}"));
        rest = after;
    }
    escaped + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terraform_sees_no_template() {
        let escaped = |text| escape(text, Engine::Terraform);
        assert_eq!(escaped("a ${B} $C 5% %{d} $"), "a $${B} $C 5% %%{d} $");
        assert_eq!(escaped("$${a}"), "${\"$$\"}{a}");
        assert_eq!(escaped("%${a}"), "${\"%$\"}{a}");
        assert_eq!(escaped("$$ %% $ {"), "$$ %% $ {");
    }

    #[test]
    fn jinja_sees_no_template() {
        let escaped = |text| escape(text, Engine::Jinja);
        assert_eq!(escaped("{{{%}}"), "{{ '{{' }}{{ '{%' }}}}");
        assert_eq!(escaped("${#a[@]} { {"), "${{ '{#' }}a[@]} { {");
    }
}
