//! Whether the scripts of the chain are those that firelay writes.

use std::{collections::BTreeMap, sync::LazyLock};

use super::{
    super::{Finding, Machine},
    reader::{folder, steps},
    table::{EventRule, StepRule, TABLE},
    template::Template,
};

/// By the names of the templates.
static TEMPLATES: LazyLock<BTreeMap<String, Template>> = LazyLock::new(|| {
    let steps = TABLE.steps.iter().map(|step| {
        let known = |expression: &str| wait(step, expression.strip_prefix("waits.")?);
        (step.template(), Template::read(&step.template(), &known))
    });
    let others = TABLE.scripts.iter();
    let others = others.map(|script| (script.template.clone(), Template::read(&script.template, &|_| None)));
    steps.chain(others).collect()
});

fn wait(step: &StepRule, name: &str) -> Option<String> {
    step.events.iter().find_map(|event| match event {
        EventRule::Wait(wait) if wait.wait == name => Some(wait.call()),
        _ => None,
    })
}

/// Every script of a machine's chain.
pub fn check(machine: &Machine) -> Vec<Finding> {
    let folder = folder(machine).unwrap_or_default();
    let steps = steps(machine).filter_map(|step| match step.rule {
        Some(rule) => changed(machine, step.path, &rule.template(), folder),
        None => Some(unknown(machine, step.path)),
    });
    let others = TABLE.scripts.iter().filter_map(|script| {
        let path = format!("{folder}/{}", script.file);
        changed(machine, &path, &script.template, folder)
    });
    steps.chain(others).collect()
}

fn unknown(machine: &Machine, path: &str) -> Finding {
    let message = "the driver would run a step that firelay does not have on a machine of this role";
    let finding = machine.error("FL1029", path, message.to_owned());
    finding.help("commands of yours belong under commands in the spec")
}

fn changed(machine: &Machine, path: &str, template: &str, folder: &str) -> Option<Finding> {
    let line = TEMPLATES.get(template)?.difference(machine.text(path)?, folder)?;
    let message = format!("the script is not as firelay writes it, from line {line} on");
    let finding = machine.error("FL1029", path, message);
    Some(finding.help("render the document again; commands of yours belong under commands in the spec"))
}
