//! `packages`.

use firelay_yaml::{Spanned, diagnostic::Diagnostic};

use super::Site;
use crate::plan::{names, report::Report};

/// The packages of a machine, those of its OS profile first. Refused where no package manager is.
pub(super) fn resolve(packages: &[&Spanned<String>], site: &Site<'_>, report: &mut Report) -> Vec<String> {
    if let (None, Some(first)) = (&site.os.package_command, packages.first()) {
        let finding = Diagnostic::error("FL0609", format!("{} takes no packages", site.os.name)).at(first.span);
        let help = "use an image that has them, a container, or a static binary that commands.first fetches";
        report.push(finding.label("this system has no package manager").help(help));
    }
    let given = packages.iter().map(|name| name.value.clone());
    names::distinct(site.os.packages.iter().cloned().chain(given))
}

/// Refuses what would be an option, several names, or a path.
pub(super) fn check(name: &Spanned<String>, report: &mut Report) {
    let starts_well = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    // apt-get removes packages whose names end so.
    if !starts_well || name.ends_with('-') || !names::is_plain(name, "+-._:~=@") {
        let finding = Diagnostic::error("FL0614", "not the name of a package").at(name.span);
        report.push(finding.label("letters, digits and + - . _ : ~ = @, no - at the end, one name in each entry"));
    }
}
