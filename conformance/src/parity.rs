//! Whether the simulated cluster behaves like the real one: whether the objects of a scenario go
//! through the same states there, in the same order.
//!
//! Real runs of one scenario differ between themselves, wherever independent writers race or a
//! controller looks late. So a simulated object's life is held against the real life that is nearest
//! to it, and what differs is a disagreement only where real lives do not differ in that way from one
//! another. Nothing has to be said about which parties race: the real runs say it.

mod alignment;
mod aspect;
mod comparison;
mod known;
mod life;
mod recording;
mod role;
mod variation;

pub use alignment::{Alignment, Move, Pair, Relation};
pub use comparison::{Comparison, Disagreement, NotCompared, Simulated, Unlike, compare};
pub use known::{Known, KnownDifference};
pub use life::{Life, Lived, Transition, Write, lives};
pub use recording::{Play, Recording, RecordingError};
pub use role::Role;
pub use variation::Variation;

#[cfg(test)]
mod tests;
