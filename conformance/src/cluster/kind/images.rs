//! Which images a cluster is made of.

use super::component::Component;
use super::engine::has_image;
use crate::cluster::local::pins::STACK;
use serde::{Deserialize, Serialize};

/// The node image of the pinned kind's release for the pinned minor version of Kubernetes, as its
/// release notes name it. It has a patch version of its own.
const OFFICIAL_NODE: &str =
    "kindest/node:v1.35.8@sha256:07b2536e30b803ed61d1677a79df6115f798ce64c80f9e22f6ed45afd09323c0";

/// What `ci/kind` puts before the names of what it builds.
const BUILT: &str = "localhost/dispatch-conformance";

/// Where the images come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Images {
    /// `ci/kind` has built them, and the node's image has the others in it.
    Built,
    /// They are pulled: kind's own, and those of the releases.
    Official,
}

impl Images {
    /// Those that the engine has, else the official ones.
    pub(super) async fn find() -> Self {
        if has_image(&Self::Built.node()).await { Self::Built } else { Self::Official }
    }

    /// The node's image.
    pub(super) fn node(self) -> String {
        match self {
            Self::Built => {
                let version = STACK.version_of("k8s.io/kubernetes").unwrap_or_default();
                format!("{BUILT}/kind-node:{version}")
            }
            Self::Official => OFFICIAL_NODE.to_owned(),
        }
    }

    /// The image of a component.
    pub(super) fn of(self, component: Component) -> String {
        let version = component.version();
        match self {
            Self::Built => format!("{BUILT}/{}:{version}", component.name()),
            Self::Official => format!("{}:{version}", component.release()),
        }
    }

    /// For people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Built => "built by ci/kind",
            Self::Official => "official",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_have_the_pinned_versions() {
        assert_eq!(Images::Built.node(), "localhost/dispatch-conformance/kind-node:v1.35.4");
        assert_eq!(Images::Official.of(Component::Kueue), "registry.k8s.io/kueue/kueue:v0.17.0");
        assert_eq!(
            Images::Built.of(Component::Trainer),
            "localhost/dispatch-conformance/trainer:v2.2.0"
        );
    }

    #[test]
    fn the_official_node_has_the_pinned_minor_version() {
        let version = STACK.version_of("k8s.io/kubernetes").unwrap();
        let (minor, _) = version.rsplit_once('.').unwrap();
        assert!(OFFICIAL_NODE.starts_with(&format!("kindest/node:{minor}.")), "{OFFICIAL_NODE}");
    }
}
