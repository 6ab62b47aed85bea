//! Documents of one byte less than the limit, of exactly the limit, and of one byte more.

use firelay::{
    delivery::Error,
    node::NodeFiles,
    plan::NodePlan,
    profile::{Counted, Encoding},
    spec::DeliveryForm,
};

use super::small::{altered, files, machines, noise, package, told, user_data};

/// The search range for a document of a given size, around the estimate.
const AROUND: usize = 400;

/// Estimates until the size is near.
const STEPS: usize = 4;

fn size(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap()
}

/// The size of the first delivery form as the platform counts it, whatever the limit.
fn counted(node: &NodePlan, files: &NodeFiles) -> u64 {
    let free = altered(node, |data| data.limit = None);
    package(&free, files).unwrap().handover.counted
}

/// A document whose first form has the wanted size, or the nearest size that base64 allows: above it for `up`, else
/// below.
fn of(node: &NodePlan, wanted: u64, up: bool) -> NodeFiles {
    let fits = |found: u64| {
        let quantum = if quantised(node) { 4 } else { 1 };
        if up {
            found >= wanted && found < wanted + quantum
        } else {
            found <= wanted && found + quantum > wanted
        }
    };
    // Sizes are nearly proportional to the noise.
    let nearer = |bytes: u64, _| bytes * wanted / counted(node, &files(noise(size(bytes))));
    let start = size((0..STEPS).fold(wanted, nearer));
    // gzip output does not grow one byte at a time.
    let near = (0..AROUND).flat_map(|step| [start.saturating_sub(step), start + step]);
    near.map(|bytes| files(noise(bytes)))
        .find(|files| fits(counted(node, files)))
        .unwrap_or_else(|| panic!("{}: no document of {wanted} bytes", told(node)))
}

/// Whether sizes are multiples of four, as those of base64 are.
fn quantised(node: &NodePlan) -> bool {
    let data = user_data(node);
    let base64 = matches!(data.encodings[0], Encoding::Base64 | Encoding::GzipBase64);
    match data.counted {
        Counted::Decoded => false,
        Counted::Encoded => true,
        Counted::Sent => base64,
    }
}

fn limited() -> impl Iterator<Item = (NodePlan, u64)> {
    let machines = machines().into_iter();
    machines.filter_map(|node| {
        let limit = user_data(&node).limit?;
        Some((node, limit))
    })
}

#[test]
fn up_to_the_limit_a_document_is_taken_in_the_first_form() {
    for (node, limit) in limited() {
        for wanted in [limit - 1, limit] {
            let files = of(&node, wanted, false);
            let handover = package(&node, &files).unwrap().handover;
            assert_eq!(handover.encoding, user_data(&node).encodings[0], "{}", told(&node));
            assert_ne!(handover.form, DeliveryForm::Inner, "{}", told(&node));
            assert_eq!(handover.limit, Some(limit), "{}", told(&node));
            // gzip that leaves no room for another bundle is searched for more slowly, and becomes smaller.
            let is_exact = handover.encoding.is_gzip() || handover.counted + 4 > wanted;
            assert!(handover.counted <= limit && is_exact, "{}: {handover:?}", told(&node));
        }
    }
}

#[test]
fn a_byte_more_takes_the_next_form_or_is_refused() {
    for (node, limit) in limited() {
        let files = of(&node, limit + 1, true);
        let first = counted(&node, &files);
        assert!(first > limit && first <= limit + 4, "{}: {first}", told(&node));
        match package(&node, &files) {
            Ok(artifact) => assert!(
                artifact.handover.counted <= limit,
                "{}: {:?}",
                told(&node),
                artifact.handover
            ),
            Err(Error::TooLarge(report)) => assert_eq!(report.limit, limit, "{}", told(&node)),
            Err(error) => panic!("{}: {error}", told(&node)),
        }
    }
}

#[test]
fn what_fits_in_no_form_is_refused_with_the_numbers() {
    for (node, limit) in limited() {
        let message = package(&node, &files(noise(size(limit * 2)))).unwrap_err().to_string();
        let attribute = &user_data(&node).attribute;
        let (platform, format) = (&node.platform.name, node.os.document);
        let start = format!("cp1: the {format} document is too large for {attribute} of platform {platform}: ");
        assert!(message.starts_with(&start), "{message}");
        assert!(message.contains(&format!(" over the limit of {limit}\n")), "{message}");
        assert!(message.contains("/etc/pad\n"), "{message}");
    }
}

#[test]
fn without_a_limit_any_document_goes_as_it_is() {
    let free: Vec<_> = machines()
        .into_iter()
        .filter(|node| user_data(node).limit.is_none())
        .collect();
    assert!(
        free.len() >= 8,
        "metal, nocloud, libvirt, proxmox and qemu take both kinds"
    );
    for node in free {
        let handover = package(&node, &files(noise(300_000))).unwrap().handover;
        assert_eq!(
            (handover.encoding, handover.form),
            (Encoding::Plain, DeliveryForm::Plain),
            "{}",
            told(&node)
        );
    }
}
