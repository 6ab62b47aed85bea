//! The schema as a tree of keys, with references resolved, for documentation.

use serde_json::{Map, Value};

/// One key of the spec, or the spec itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The key; `*` for a key that the user chooses.
    pub name: String,
    /// Keys from the top with dots between, lists marked: `nodes[].taints[].key`. Empty for the spec itself.
    pub path: String,
    /// The type in readable form: `list of text`.
    pub kind: String,
    pub description: String,
    pub required: bool,
    pub default: Option<Value>,
    /// Possible values.
    pub examples: Vec<Value>,
    /// The possible words, if they are few.
    pub choices: Vec<Choice>,
    /// The keys below, of a mapping or of each mapping of a list.
    pub children: Vec<Field>,
}

/// A possible word of a field.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    pub value: String,
    /// Its meaning; may be empty.
    pub description: String,
}

impl Field {
    /// The spec with everything below.
    pub fn root(schema: &Value) -> Self {
        Reader { schema }.field("", "", schema, true)
    }

    /// Every key below, parents first.
    pub fn all(&self) -> Vec<&Field> {
        let below = self.children.iter().flat_map(Field::all);
        std::iter::once(self).chain(below).collect()
    }

    /// The path as users type it, without marks of lists.
    pub fn plain_path(&self) -> String {
        self.path.replace("[]", "")
    }

    /// A possible value; without an example it is built from the examples below: of required keys, or of all.
    pub fn example(&self) -> Option<Value> {
        self.examples.first().cloned().or_else(|| self.composed())
    }

    fn composed(&self) -> Option<Value> {
        if let Some(choice) = self.choices.first() {
            return Some(choice.value.clone().into());
        }
        let needed = self.children.iter().any(|child| child.required);
        let wanted = self.children.iter().filter(|child| child.required || !needed);
        let entries: Map<_, _> = wanted
            .filter_map(|child| Some((child.name.clone(), child.example()?)))
            .collect();
        if entries.is_empty() {
            return None;
        }
        let entries = Value::Object(entries);
        Some(if self.is_list() { vec![entries].into() } else { entries })
    }

    /// Any key is valid below.
    pub fn is_free(&self) -> bool {
        let kind = self.kind.as_str();
        self.children.is_empty() && (kind.starts_with("mapping") || kind == "anything")
    }

    /// The keys below belong to each element of a list.
    pub fn is_list(&self) -> bool {
        self.kind.starts_with("list")
    }
}

struct Reader<'a> {
    schema: &'a Value,
}

impl Reader<'_> {
    fn field(&self, name: &str, path: &str, node: &Value, required: bool) -> Field {
        let shape = self.resolved(node);
        let below = match self.kind(shape).starts_with("list") {
            true => format!("{path}[]"),
            false => path.to_owned(),
        };
        Field {
            name: name.to_owned(),
            path: path.to_owned(),
            kind: self.kind(shape),
            description: description(node).or_else(|| description(shape)).unwrap_or_default(),
            required,
            default: node.get("default").cloned(),
            examples: node["examples"].as_array().cloned().unwrap_or_default(),
            choices: self.choices(shape),
            children: self.children(&below, shape),
        }
    }

    fn resolved<'b>(&'b self, node: &'b Value) -> &'b Value {
        let target = node["$ref"].as_str().and_then(|target| target.strip_prefix('#'));
        match target.and_then(|pointer| self.schema.pointer(pointer)) {
            Some(target) => self.resolved(target),
            None => node,
        }
    }

    fn kind(&self, shape: &Value) -> String {
        if let Some(items) = shape.get("items") {
            return format!("list of {}", plural(&self.kind(self.resolved(items))));
        }
        if shape.get("properties").is_some() {
            return "mapping".to_owned();
        }
        if let Some(Value::Object(value)) = shape.get("additionalProperties") {
            let value = Value::Object(value.clone());
            return format!("mapping of {}", plural(&self.kind(self.resolved(&value))));
        }
        if alternatives(shape)
            .iter()
            .any(|choice| choice.get("properties").is_some())
        {
            return "mapping or word".to_owned();
        }
        let number = |key| shape.get(key).and_then(Value::as_u64);
        match shape["type"].as_str() {
            Some("boolean") => "true or false".to_owned(),
            Some("integer") => match (number("minimum"), number("maximum")) {
                (Some(least), Some(most)) => format!("whole number, {least} to {most}"),
                _ => "whole number".to_owned(),
            },
            Some("object") => "mapping".to_owned(),
            Some(_) => "word".to_owned(),
            None if shape["type"].is_array() => "text".to_owned(),
            None if !alternatives(shape).is_empty() || shape.get("const").is_some() => "word".to_owned(),
            None => "anything".to_owned(),
        }
    }

    fn choices(&self, shape: &Value) -> Vec<Choice> {
        if let Some(items) = shape.get("items") {
            return self.choices(self.resolved(items));
        }
        let all = std::iter::once(shape).chain(alternatives(shape));
        all.flat_map(|one| {
            let words = one["enum"].as_array().into_iter().flatten().chain(one.get("const"));
            words.filter_map(Value::as_str).map(|word| Choice {
                value: word.to_owned(),
                description: description(one)
                    .filter(|_| one.get("const").is_some())
                    .unwrap_or_default(),
            })
        })
        .collect()
    }

    fn children(&self, path: &str, shape: &Value) -> Vec<Field> {
        if let Some(items) = shape.get("items") {
            return self.children(path, self.resolved(items));
        }
        if let Some(value @ Value::Object(_)) = shape.get("additionalProperties") {
            let any = self.field("*", &join(path, "*"), value, false);
            return if any.children.is_empty() { Vec::new() } else { vec![any] };
        }
        let lists = [&shape["required"], &shape["then"]["required"]].map(Value::as_array);
        let required: Vec<_> = lists.into_iter().flatten().flatten().collect();
        let own = shape["properties"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, node)| {
                let is_required = required.iter().any(|key| *key == name);
                self.field(name, &join(path, name), node, is_required)
            });
        let choices = alternatives(shape)
            .iter()
            .flat_map(|choice| self.children(path, choice));
        let choices = choices.map(|child| Field {
            required: false,
            ..child
        });
        own.chain(choices).collect()
    }
}

fn alternatives(shape: &Value) -> &[Value] {
    let choices = ["oneOf", "anyOf"].iter().find_map(|key| shape[key].as_array());
    choices.map_or(&[], Vec::as_slice)
}

fn description(node: &Value) -> Option<String> {
    // Lines that the source wraps are one; paragraphs stay.
    let text = node["description"].as_str()?;
    let paragraphs = text.split("\n\n").map(|part| part.replace('\n', " "));
    Some(paragraphs.collect::<Vec<_>>().join("\n\n"))
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

fn plural(kind: &str) -> String {
    match kind {
        "mapping" => "mappings".to_owned(),
        "word" => "words".to_owned(),
        kind => kind.to_owned(),
    }
}
