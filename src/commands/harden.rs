//! Protection of secrets in memory: from core dumps, other processes of the user, and the text of a panic.

use std::panic;

use super::streams;

/// Hardens the process as far as the system can; to be called first.
pub fn harden_process() {
    leave_no_core();
    panic::set_hook(Box::new(|info| {
        let place = info
            .location()
            .map(|place| format!("{}:{}", place.file(), place.line()));
        // The payload may repeat what the program was working on.
        streams::tell(format_args!(
            "error: firelay {} stopped at {}: this is a mistake in firelay\n  = help: report it with the command that you ran",
            env!("CARGO_PKG_VERSION"),
            place.unwrap_or_default()
        ));
    }));
}

/// Neither a core file nor, on Linux, a debugger or /proc/PID/mem of another process of the same user (prctl(2),
/// PR_SET_DUMPABLE).
#[cfg(unix)]
fn leave_no_core() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    // A system may refuse this; the user's command does not depend on it.
    let _ = setrlimit(Resource::Core, none);
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

#[cfg(not(unix))]
fn leave_no_core() {}
