//! One of the files that a cloud-config writes (cc_write_files).

use std::{borrow::Cow, sync::Arc};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Pool, encoding};
use crate::WrittenFile;

/// An item of `write_files`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WriteFile<'a> {
    #[serde(borrow)]
    path: Cow<'a, str>,
    #[serde(borrow)]
    content: Cow<'a, str>,
    encoding: Option<String>,
    owner: Option<String>,
    permissions: Option<Value>,
    append: bool,
}

/// Mode and owner of a file without these keys (cc_write_files, DEFAULT_PERMS and DEFAULT_OWNER).
const MODE: u32 = 0o644;
pub(super) const OWNER: &str = "root:root";

/// A file by its entry; `None` for a value of another kind.
pub(super) fn of_value(value: &Value, pool: &Pool) -> Option<Arc<WrittenFile>> {
    let read = WriteFile::deserialize(value).ok()?;
    Some(Arc::new(WrittenFile {
        path: read.path.to_string(),
        content: decoded(&read).map(|bytes| pool.share(&bytes)),
        mode: permissions(read.permissions.as_ref()),
        owner: read.owner.unwrap_or_else(|| OWNER.to_owned()),
        append: read.append,
        value: value.clone(),
    }))
}

/// Lines before the content of an item in the form that firelay writes.
const PATH: &str = "- path: /";
const PERMISSIONS: &str = "  permissions: \"";
const CONTENT: &str = "  content: |\n";

/// The indentation of a literal text in an item (YAML 1.2 §8.1.1.1).
const INDENTATION: &str = "    ";

/// A file by an item in the form that firelay writes: path, permissions, and a literal text as the content. `None` for every other item:
/// a YAML parser reads those. Most files that differ between machines have this form, and the parser takes ten times as long.
pub(super) fn literal(item: &str, pool: &Pool) -> Option<Arc<WrittenFile>> {
    let (path, rest) = item.strip_prefix(PATH)?.split_once('\n')?;
    let (permissions, rest) = match rest.strip_prefix(PERMISSIONS) {
        Some(rest) => rest.split_once("\"\n").map(|(digits, rest)| (Some(digits), rest))?,
        None => (None, rest),
    };
    let content = text(rest.strip_prefix(CONTENT)?)?;
    let is_path = path
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit());
    (is_path && permissions.is_none_or(is_number)).then_some(())?;
    let path = Some(("path", format!("/{path}")));
    let permissions = permissions.map(|digits| ("permissions", digits.to_owned()));
    let entries = [path, permissions, Some(("content", content))].into_iter().flatten();
    let entries = entries.map(|(key, value)| (key.to_owned(), Value::String(value)));
    of_value(&Value::Object(entries.collect::<Map<_, _>>()), pool)
}

/// A literal text without its indentation (YAML 1.2 §8.1.2). The first line begins with a visible character, so the indentation is known. The
/// last line is not blank, so the text ends with one newline.
fn text(lines: &str) -> Option<String> {
    let is_known = |byte: u8| matches!(byte, b' '..=b'~' | b'\n');
    let first = lines.strip_prefix(INDENTATION)?;
    if !first.starts_with(|first: char| first.is_ascii_graphic()) || !lines.bytes().all(is_known) {
        return None;
    }
    let mut text = String::with_capacity(lines.len());
    for line in lines.split_inclusive('\n') {
        text.push_str(line.strip_prefix(INDENTATION)?);
    }
    let last = text.strip_suffix('\n')?.rsplit('\n').next()?;
    (!last.trim_start_matches(' ').is_empty()).then_some(text)
}

/// `encoding` (cc_write_files.canonicalize_extraction); cloud-init also treats an unknown one as plain text.
fn decoded<'f>(file: &'f WriteFile<'_>) -> Result<Cow<'f, [u8]>, String> {
    let bytes = file.content.as_bytes();
    let encoding = file.encoding.as_deref().unwrap_or_default().trim().to_ascii_lowercase();
    match encoding.as_str() {
        "gz" | "gzip" => encoding::gunzip(bytes).map(Cow::Owned),
        "gz+base64" | "gzip+base64" | "gz+b64" | "gzip+b64" => {
            encoding::gunzip(&encoding::base64(bytes)?).map(Cow::Owned)
        }
        "b64" | "base64" => encoding::base64(bytes).map(Cow::Owned),
        "" | "text/plain" => Ok(Cow::Borrowed(bytes)),
        other => Err(format!("encoding {other:?}, which cloud-init does not know")),
    }
}

/// A text is octal, a number is used unchanged (cc_write_files.decode_perms).
fn permissions(said: Option<&Value>) -> Option<u32> {
    match said {
        None | Some(Value::Null) => Some(MODE),
        Some(Value::Number(number)) => number.as_u64()?.try_into().ok(),
        Some(Value::String(text)) => u32::from_str_radix(text.trim_start_matches("0o"), 8).ok(),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_yaml(item: &str) -> Option<WrittenFile> {
        let value = firelay_yaml::parse::<Value>("item", item).ok()?;
        let [item] = value.as_array()?.as_slice() else {
            return None;
        };
        of_value(item, &Pool::default()).map(|file| (*file).clone())
    }

    /// Every text that is read without YAML is read by YAML to the same file.
    #[test]
    fn an_item_is_read_as_by_yaml_wherever_a_byte_differs() {
        let item =
            "- path: /etc/a.b\n  permissions: \"0600\"\n  content: |\n    A='b: c' # d\n    \n      - e\n    f\n";
        assert!(literal(item, &Pool::default()).is_some());
        let bytes = [
            b' ', b'\n', b'\t', b'\r', b'\'', b'"', b'#', b':', b'-', b'|', b'>', b'&', b'*', b'!', b'\\', b'/', b'0',
            b'x',
        ];
        let mut read = 0;
        let mut compare = |text: &str| {
            if let Some(file) = literal(text, &Pool::default()) {
                let other = of_yaml(text).map(|other| format!("{other:?}"));
                assert_eq!(Some(format!("{file:?}")), other, "{text:?}");
                read += 1;
            }
        };
        for at in 0..item.len() {
            let (before, rest) = (&item[..at], &item[at + 1..]);
            compare(&format!("{before}{rest}"));
            for byte in bytes.map(char::from) {
                compare(&format!("{before}{byte}{rest}"));
                compare(&format!("{before}{byte}{}", &item[at..]));
            }
        }
        assert!(read > 500, "{read}");
    }

    #[test]
    fn items_in_another_form_are_left_to_yaml() {
        let others = [
            "- path: /a\n  content: |-\n    b\n",
            "- path: /a\n  content: |\n     b\n",
            "- path: /a\n  content: |\n    b\n\n    c\n",
            "- path: /a\n  content: |\n    b\n    \n",
            "- path: /a\n  content: |\n    b",
            "- path: /a\n  content: |\n    \u{e9}\n",
            "- path: /a\n  content: |\n",
            "- path: /a\n  owner: b:c\n  content: |\n    d\n",
            "- path: a\n  content: |\n    b\n",
        ];
        assert!(others.iter().all(|item| literal(item, &Pool::default()).is_none()));
    }
}
