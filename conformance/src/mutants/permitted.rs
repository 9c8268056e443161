//! The permitted subjects: each does something otherwise than the reference that the contract leaves
//! open. A suite that catches one asks for more than the contract.

mod skips_numbers;

use super::Mutant;

/// Every permitted subject.
pub(super) const MUTANTS: &[Mutant] = &[skips_numbers::MUTANT];
