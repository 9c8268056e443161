//! What is judged, and how the suite drives it.
//!
//! Every subject is a black box: the adapter is driven by the driver protocol, the controller finds
//! its API server in its configuration. It can be killed, frozen and started again, and it ends with
//! the suite, however the suite ends. On a real cluster it is a process of its own, on the embedded
//! one a part of this process ([`Program`]); a controller may be a container too.

pub mod adapter;
mod adapter_process;
mod choice;
mod command_line;
mod containers;
mod controller;
mod driver;
mod embedded;
mod endpoints;
mod error;
mod handle;
mod image_name;
mod log;
mod process;
mod reins;
mod starter;

pub use adapter::{Adapter, Failure, Unanswered};
pub use adapter_process::{AdapterProcess, AdapterSetup};
pub use choice::Choice;
pub use command_line::{CommandLine, CommandLineError};
pub use containers::{ContainerError, Image, remove_containers};
pub use controller::{Controller, ControllerSetup};
pub use dispatch_contract::driver::Call;
pub use embedded::{Surroundings, Ways};
pub use error::SubjectError;
pub use handle::{Asked, HandleError, ProcessHandle};
pub use image_name::{ImageName, NotAnImageName};
pub use log::filter;
pub use process::Program;
