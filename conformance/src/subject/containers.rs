//! Controllers that are containers of an image, by whatever engine `DOCKER_HOST` or the usual socket leads
//! to. A container is killed, paused and started again as one; it is on the machine's own network, so that
//! it reaches the suite's proxy, and the suite its endpoints.

#[cfg(feature = "containers")]
mod container;
#[cfg(feature = "containers")]
mod engine;
#[cfg(feature = "containers")]
mod image;
#[cfg(feature = "containers")]
mod owner;
#[cfg(not(feature = "containers"))]
mod without;

use std::path::PathBuf;
use std::process::ExitStatus;

use miette::Diagnostic;
use thiserror::Error;
use tokio::sync::watch;

use super::handle::Life;
use super::image_name::ImageName;
use crate::exit_code::ExitCode;
use crate::history::Subject;

#[cfg(feature = "containers")]
pub use image::{Image, remove_containers};
#[cfg(not(feature = "containers"))]
pub use without::{Image, remove_containers};

/// Where a container finds its kubeconfig: in a folder that every image may have.
pub(super) const KUBECONFIG: &str = "/etc/dispatch-conformance/kubeconfig";

/// What a container is started from.
#[cfg_attr(not(feature = "containers"), expect(dead_code, reason = "nobody starts one"))]
pub(super) struct Launch {
    pub(super) subject: Subject,
    pub(super) environment: Vec<(&'static str, String)>,
    /// The content of its kubeconfig.
    pub(super) kubeconfig: Vec<u8>,
    /// Where its log goes, after what is there.
    pub(super) log: PathBuf,
}

/// A container that was launched: how it is reached, and how it ended, once it has.
pub(super) struct Launched {
    pub(super) life: Life,
    pub(super) ended: watch::Receiver<Option<ExitStatus>>,
}

/// Why controllers cannot be containers here.
#[derive(Debug, Error, Diagnostic)]
pub enum ContainerError {
    /// There is no engine.
    #[error("no container engine answers: {detail}")]
    #[diagnostic(
        code(container::engine_missing),
        help(
            "start one, such as Docker, on this machine; DOCKER_HOST says where it listens, as for `docker`"
        )
    )]
    EngineMissing {
        /// What was tried, and what it said.
        detail: String,
    },
    /// The engine does not have the image, and cannot pull it.
    #[error("the engine does not have the image {image}, and cannot pull it: {detail}")]
    #[diagnostic(
        code(container::no_image),
        help(
            "build it, or pull it by hand (`docker pull {image}`), and look whether `docker image inspect {image}` \
             finds it in the engine that DOCKER_HOST names"
        )
    )]
    NoImage {
        /// The image.
        image: ImageName,
        /// What the engine said.
        detail: String,
    },
    /// The engine does not do what it is asked for.
    #[error("the container engine cannot {what}: {detail}")]
    #[diagnostic(code(container::engine_failed))]
    EngineFailed {
        /// What was asked for.
        what: String,
        /// What it said.
        detail: String,
    },
    /// This program was built without.
    #[error("this dispatch-conformance was built without containers")]
    #[diagnostic(
        code(container::not_built),
        help(
            "build it with its feature `containers`, which is on unless --no-default-features is given"
        )
    )]
    NotBuilt,
}

impl ContainerError {
    /// The exit code of a command that ends with this.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::NotBuilt => ExitCode::Usage,
            Self::EngineMissing { .. } | Self::NoImage { .. } | Self::EngineFailed { .. } => {
                ExitCode::Environment
            }
        }
    }
}
