//! The broken controllers. Each replaces one of the three parts of the reference controller (what
//! reads, what decides, what writes) and keeps the others.

mod blind_to_pods;
mod count_alone;
mod deaf_to_eviction;
mod deaf_to_foreign;
mod forgets_the_end;
mod leaves_the_admission;
mod lone_merge_patch;
mod never_ready;
mod raises_once;
mod reader;
mod ready_before_raise;
mod silent_about_pods;
mod trusts_labels;

use super::Mutant;

/// Every broken controller.
pub(super) const MUTANTS: &[Mutant] = &[
    blind_to_pods::MUTANT,
    count_alone::MUTANT,
    deaf_to_eviction::MUTANT,
    deaf_to_foreign::MUTANT,
    forgets_the_end::MUTANT,
    leaves_the_admission::MUTANT,
    lone_merge_patch::MUTANT,
    never_ready::MUTANT,
    raises_once::MUTANT,
    ready_before_raise::MUTANT,
    silent_about_pods::MUTANT,
    trusts_labels::MUTANT,
];
