//! The broken adapters. Each replaces one of the decisions of the reference adapter and keeps the
//! others.

mod leaves_the_gate_empty;

use super::Mutant;

/// Every broken adapter.
pub(super) const MUTANTS: &[Mutant] = &[leaves_the_gate_empty::MUTANT];
