//! Names of images, as containerd reads them (distribution/reference).

/// Docker's own registry, the default of a name without one.
const DOCKER: &str = "docker.io";

/// The parts of an image's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference<'a> {
    /// `registry.example.com:5000`.
    pub registry: &'a str,
    /// `k8s/pause`; of Docker's own images without `library/`.
    pub repository: &'a str,
    /// `3.10.2`.
    pub tag: Option<&'a str>,
    /// `sha256:` and hex.
    pub digest: Option<&'a str>,
}

impl<'a> Reference<'a> {
    /// Parses a name.
    pub fn of(image: &'a str) -> Self {
        let (rest, digest) = match image.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (image, None),
        };
        let (registry, rest) = match rest.split_once('/') {
            Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => (first, rest),
            _ => (DOCKER, rest),
        };
        let (repository, tag) = match rest.split_once(':') {
            Some((repository, tag)) => (repository, Some(tag)),
            None => (rest, None),
        };
        Self {
            registry,
            repository,
            tag,
            digest,
        }
    }

    /// The repository in the registry's API.
    pub fn path(&self) -> String {
        let official = self.registry == DOCKER && !self.repository.contains('/');
        format!("{}{}", if official { "library/" } else { "" }, self.repository)
    }

    /// The version to request: the digest, or else the tag.
    pub fn version(&self) -> &'a str {
        self.digest.or(self.tag).unwrap_or("latest")
    }

    /// URL of the registry itself.
    pub fn server(&self) -> String {
        let host = if self.registry == DOCKER {
            "registry-1.docker.io"
        } else {
            self.registry
        };
        format!("https://{host}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let parts = |image| {
            let name = Reference::of(image);
            (name.registry, name.path(), name.version())
        };
        assert_eq!(parts("busybox"), ("docker.io", "library/busybox".to_owned(), "latest"));
        assert_eq!(
            parts("flannel/flannel:v1"),
            ("docker.io", "flannel/flannel".to_owned(), "v1")
        );
        assert_eq!(
            parts("r.lan:5000/a/b:1@sha256:ff"),
            ("r.lan:5000", "a/b".to_owned(), "sha256:ff")
        );
        assert_eq!(parts("localhost/a"), ("localhost", "a".to_owned(), "latest"));
        assert_eq!(Reference::of("registry.k8s.io/pause:3.10").tag, Some("3.10"));
    }
}
