# Everything that CI runs: the two commands of the README, and the first again.
ci:
    .ci/run

# Rewrite the golden files after looking at what changed.
bless:
    FIRELAY_BLESS=1 cargo test --no-fail-fast --test spec --test render

# Time and memory for 5,000 machines beside OpenSSL's P-256 pairs; `--write` also writes docs/performance.*.
bench *ARGUMENTS:
    tests/bench {{ARGUMENTS}}

# A flame graph of a render of 1,000 machines, or so many; needs perf (linux-perf).
profile MACHINES='1000':
    tests/profile {{MACHINES}}

# Print lines, files, medians, import circles, packages and test programs; `--build` times a cold release build too.
house *ARGUMENTS:
    tests/house {{ARGUMENTS}}

# Format and lint.
lint:
    cargo fmt --all
    cargo clippy --workspace --all-targets -- --deny warnings

# Boot machines with rendered documents in an emulator; `--all` or names of stories: tests/boot/README.md.
boot *STORIES:
    cargo build --locked
    tests/boot/run {{STORIES}}

# Fuzz a target (spec, bundle, request, tree) for ten minutes, or SECONDS; needs cargo-fuzz.
fuzz TARGET='spec' SECONDS='600':
    fuzz/run {{TARGET}} {{SECONDS}}

# Render every plugin and add-on in every mode that it declares, and look at what the objects refer to.
manifests:
    cargo test --test render manifests::

# Let Terraform itself, which has to be installed, evaluate the modules over a rendered tree. With providers' programs in the directory
# FIRELAY_TERRAFORM_PLUGINS it also validates their modules.
terraform:
    cargo test --test spec terraform:: -- --ignored

# Build docs/ as a book with search: target/book/docs/index.html. Installs mdbook below target/ if it is missing.
book:
    test -x target/tools/bin/mdbook || cargo install mdbook@0.5.4 --locked --no-default-features --features search --root target/tools
    target/tools/bin/mdbook build docs
    cp -r examples profiles templates target/book/

# Build all files of a release into target/release-files: a static program, a Debian package, an image, a bill of materials, SHA256SUMS.
release:
    packaging/release

# Build the OCI image alone, as a file for `podman load` or `skopeo copy oci-archive:…`: target/release-files/*-oci.tar.
image:
    packaging/release --image
