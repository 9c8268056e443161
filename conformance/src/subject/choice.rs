//! What is judged.

use super::command_line::CommandLine;
use super::containers::Image;
use crate::history::SubjectNames;

/// What is judged: the reference adapter and controller, unless said otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// The broken subject that stands in for the reference, by its name.
    pub mutant: Option<String>,
    /// An adapter of others, which speaks the driver protocol.
    pub adapter: Option<CommandLine>,
    /// A controller of others.
    pub controller: Option<CommandLine>,
    /// A controller of others, as containers of this image.
    pub controller_image: Option<Image>,
}

impl Choice {
    /// The reference, but for this broken or permitted subject.
    pub fn mutant(name: &str) -> Self {
        Self { mutant: Some(name.to_owned()), ..Self::default() }
    }

    /// Whether a program of others is judged.
    pub fn has_others(&self) -> bool {
        self.adapter.is_some() || self.controller.is_some() || self.controller_image.is_some()
    }

    /// How it is named in histories and reports.
    pub fn names(&self) -> SubjectNames {
        SubjectNames {
            mutant: self.mutant.clone(),
            adapter: self.adapter.as_ref().map(ToString::to_string),
            controller: self.controller.as_ref().map(ToString::to_string),
            controller_image: self.controller_image.as_ref().map(|it| it.name().to_string()),
        }
    }
}
