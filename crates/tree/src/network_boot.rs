//! Names of the files by which machines boot from the network.

/// The script that all machines begin with, in the tree.
pub const FIRST_SCRIPT: &str = "pxe/boot.ipxe";

/// Name of a machine's own script.
pub const SCRIPT: &str = "boot.ipxe";

/// Name of the Ignition document that installs a machine. It contains no secret.
pub const INSTALLER: &str = "install.ign";

/// The keys that identify a machine to a server: its MAC address with hyphens, its UUID.
pub fn keys(mac: Option<&str>, uuid: Option<&str>) -> Vec<String> {
    let mac = mac.map(|mac| mac.replace(':', "-"));
    mac.into_iter().chain(uuid.map(str::to_owned)).collect()
}

/// Path of a machine's script in the tree.
pub fn script(key: &str) -> String {
    format!("pxe/m/{key}/{SCRIPT}")
}

/// Path of the document in the tree that installs a machine.
pub fn installer(key: &str) -> String {
    format!("pxe/m/{key}/{INSTALLER}")
}

/// Whether a file of the tree is a machine's script.
pub fn is_script(path: &str) -> bool {
    path.starts_with("pxe/m/") && path.ends_with(SCRIPT)
}
