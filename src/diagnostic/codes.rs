//! The register of codes. A code is never given a second meaning.

/// Every code with its title, in order.
///
/// `FL00` YAML and shape, `FL01` network, `FL02` nodes, `FL03` versions and artifacts, `FL04` certificates and
/// joining, `FL05` everything else.
pub const CODES: &[(&str, &str)] = &[
    ("FL0001", "not valid YAML"),
    ("FL0002", "tab used for indentation"),
    ("FL0003", "key given twice"),
    ("FL0004", "more than one document"),
    ("FL0005", "empty document"),
    ("FL0006", "nested too deep or expanded too far"),
    ("FL0007", "YAML feature that firelay does not read"),
    ("FL0008", "unknown key"),
    ("FL0009", "missing key"),
    ("FL0010", "value of the wrong type"),
    ("FL0011", "unquoted word where text is meant"),
    ("FL0012", "unknown choice"),
    ("FL0013", "number out of range"),
    ("FL0014", "not a firelay cluster spec"),
];
