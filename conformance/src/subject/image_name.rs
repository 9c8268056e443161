//! The name of a container image, as it is given on the command line.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A name that a container engine can look up: `registry.example/controller:1.2`, with a tag, a digest
/// (`@sha256:…`), or neither, which means the tag `latest`; or an image's id (`sha256:…`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageName {
    /// As it was given.
    text: String,
    /// Where the tag or the hash begins in it, if it has one.
    colon: Option<usize>,
}

/// A name is none of an image.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "this is no name of an image, which looks like registry.example/controller:1.2: letters, digits and ._-, \
     in parts with / between them"
)]
pub struct NotAnImageName;

impl ImageName {
    /// What stands before the tag or the hash.
    pub(super) fn repository(&self) -> &str {
        &self.text[..self.colon.unwrap_or(self.text.len())]
    }

    /// The tag, or the hash of a digest or an id.
    pub(super) fn tag(&self) -> &str {
        self.colon.map_or("latest", |colon| &self.text[colon + 1..])
    }
}

impl fmt::Display for ImageName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl FromStr for ImageName {
    type Err = NotAnImageName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let last = text.rfind('/').map_or(0, |slash| slash + 1);
        // A colon before that is one of a port.
        let colon = text[last..].rfind(':').map(|colon| last + colon);
        let name = Self { text: text.to_owned(), colon };
        let parts = name.repository().split('/').all(is_part);
        if parts && is_part(name.tag()) { Ok(name) } else { Err(NotAnImageName) }
    }
}

/// Whether this is a part of a name: neither an option, nor a step in a path.
fn is_part(part: &str) -> bool {
    part.starts_with(|first: char| first.is_ascii_alphanumeric())
        && part.chars().all(|it| it.is_ascii_alphanumeric() || "._-:@".contains(it))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::bare("controller", "controller", "latest")]
    #[case::with_a_tag("r.example/a/controller:v1.2", "r.example/a/controller", "v1.2")]
    #[case::of_a_registry_with_a_port(
        "localhost:5000/controller",
        "localhost:5000/controller",
        "latest"
    )]
    #[case::by_digest("a/b@sha256:0f", "a/b@sha256", "0f")]
    #[case::by_id("sha256:0f", "sha256", "0f")]
    fn a_name_has_a_repository_and_a_tag(
        #[case] text: &str,
        #[case] repository: &str,
        #[case] tag: &str,
    ) {
        let name: ImageName = text.parse().unwrap();
        assert_eq!((name.repository(), name.tag()), (repository, tag));
        assert_eq!(name.to_string(), text);
    }

    #[rstest]
    #[case::nothing("")]
    #[case::a_path("./target/controller")]
    #[case::a_way_up("a/../b")]
    #[case::a_command_line("controller --verbose")]
    #[case::without_a_tag("controller:")]
    #[case::an_option("--controller")]
    fn what_is_no_name_of_an_image_is_refused(#[case] text: &str) {
        assert_eq!(text.parse::<ImageName>(), Err(NotAnImageName));
    }
}
