//! The selected form of a document.

use super::*;

/// A node whose platform supports every form, with this limit.
fn in_every_form(limit: u64) -> NodePlan {
    let mut node = node("ubuntu-24.04", "aws");
    let user_data = Arc::make_mut(&mut node.platform).cloud_init.as_mut().unwrap();
    user_data.encodings = vec![Encoding::Plain, Encoding::GzipBase64];
    user_data.inner_compression = true;
    user_data.limit = Some(limit);
    Arc::make_mut(&mut node.delivery).pointer = Some(pointer());
    node
}

#[test]
fn the_first_form_that_fits_is_taken_to_the_byte() {
    let files = files(14_000, 600);
    let counted = |form| {
        let mut node = in_every_form(u64::MAX);
        Arc::make_mut(&mut node.delivery).form = Some(form);
        package("prod", &node, &files).unwrap().handover.counted
    };
    let [plain, inner, compressed, pointer] = [
        DeliveryForm::Plain,
        DeliveryForm::Inner,
        DeliveryForm::Compressed,
        DeliveryForm::Pointer,
    ]
    .map(counted);
    assert!(plain > inner && inner > compressed && compressed > pointer);
    let taken = |limit| package("prod", &in_every_form(limit), &files).unwrap().handover;
    for (least, form, next) in [
        (plain, DeliveryForm::Plain, DeliveryForm::Inner),
        (inner, DeliveryForm::Inner, DeliveryForm::Compressed),
    ] {
        assert_eq!(taken(least + 1).form, form);
        assert_eq!((taken(least).form, taken(least).counted), (form, least));
        assert_eq!(taken(least - 1).form, next);
    }
    // Slower compression saves some bytes of the same form before the next one is used.
    let mut tight = taken(compressed - 1);
    assert!(tight.form == DeliveryForm::Compressed && tight.counted < compressed);
    let last = loop {
        let next = taken(tight.counted - 1);
        if next.form != DeliveryForm::Compressed {
            break next;
        }
        assert!(next.counted < tight.counted);
        tight = next;
    };
    assert_eq!(last.form, DeliveryForm::Pointer);
    let attributes = [
        taken(plain).attribute,
        taken(inner).attribute,
        tight.attribute,
        last.attribute,
    ];
    assert_eq!(
        attributes, ["user_data_base64"; 4],
        "growth never asks for another attribute"
    );
}

#[test]
fn a_form_that_is_fixed_is_not_left() {
    let files = files(12_000, 1000);
    let fixed = |form, limit| {
        let mut node = in_every_form(limit);
        Arc::make_mut(&mut node.delivery).form = Some(form);
        package("prod", &node, &files)
    };
    assert_eq!(
        fixed(DeliveryForm::Pointer, 1 << 20).unwrap().handover.form,
        DeliveryForm::Pointer
    );
    let message = fixed(DeliveryForm::Plain, 16384).unwrap_err().to_string();
    assert!(message.contains("(sent as plain text)"), "{message}");
    let message = fixed(DeliveryForm::Pointer, 1000).unwrap_err().to_string();
    assert!(message.contains("(sent as gzip and base64, by pointer)"), "{message}");
    let mut node = node("ubuntu-24.04", "aws");
    Arc::make_mut(&mut node.delivery).form = Some(DeliveryForm::Plain);
    let message = package("prod", &node, &files).unwrap_err().to_string();
    assert_eq!(
        message,
        "cp1: platform aws does not take documents in the form that delivery.form asks for"
    );
}

#[test]
fn a_pointer_is_handed_over_beside_its_payload() {
    let mut node = in_every_form(1 << 20);
    Arc::make_mut(&mut node.delivery).form = Some(DeliveryForm::Pointer);
    let artifact = package("prod", &node, &files(12_000, 1000)).unwrap();
    assert_eq!(names(&artifact), ["user-data", "user-data.pointer", "payload.json.gz"]);
    let payload = artifact.payload.clone().unwrap();
    let bytes = content(&artifact, "payload.json.gz");
    let url = format!("https://files.example.com/prod-cp1-{}.json.gz", sha256_hex(bytes));
    assert_eq!(
        (payload.url.as_str(), payload.bytes),
        (url.as_str(), bytes.len() as u64)
    );
    let described: Vec<_> = artifact
        .tree_files(&node, None)
        .map(|(described, _)| described)
        .collect();
    assert_eq!(
        (described[1].form, &described[1].url),
        (Some(DeliveryForm::Pointer), &None)
    );
    assert_eq!((described[2].form, described[2].url.as_ref()), (None, Some(&url)));
    let size = NodeSize::new(
        &node,
        &files(12_000, 1000),
        (&artifact.handover, Some(payload.bytes)),
        &CompressedSizes::default(),
    );
    let shares: u64 = size.groups.iter().map(|size| size.share).sum();
    assert!(
        shares <= payload.bytes && payload.bytes - shares < 3,
        "shares are of what is fetched"
    );
}
