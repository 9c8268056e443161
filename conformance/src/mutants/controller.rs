//! The broken controllers. Each replaces one of the three parts of the reference controller (what
//! reads, what decides, what writes) and keeps the others.

mod blind_to_pods;
mod count_alone;
mod counts_running_pods;
mod deaf_to_eviction;
mod deaf_to_foreign;
mod drops_others_checks;
mod early_ready;
mod follows_the_count_down;
mod forgets_the_end;
mod gated_by_a_label;
mod ignores_takeover;
mod ignores_the_hold;
mod ignores_the_runtime;
mod inactive_on_exit;
mod leaves_ready_banked;
mod leaves_the_admission;
mod leaves_wrong_pods;
mod lone_merge_patch;
mod looks_at_nodes;
mod matches_by_name;
mod never_ready;
mod raises_once;
mod reader;
mod reads_from_a_cache;
mod ready_before_raise;
mod ready_without_a_version;
mod remembers_the_count;
mod resumes_the_raise;
mod serves_any_check;
mod silent_about_pods;
mod takes_the_raise_back;
mod trusts_labels;
mod waits_for_an_event;
mod waves_through;

use super::Mutant;

/// Every broken controller.
pub(super) const MUTANTS: &[Mutant] = &[
    blind_to_pods::MUTANT,
    count_alone::MUTANT,
    counts_running_pods::MUTANT,
    deaf_to_eviction::MUTANT,
    deaf_to_foreign::MUTANT,
    drops_others_checks::MUTANT,
    early_ready::MUTANT,
    follows_the_count_down::MUTANT,
    forgets_the_end::MUTANT,
    gated_by_a_label::MUTANT,
    ignores_takeover::MUTANT,
    ignores_the_hold::MUTANT,
    ignores_the_runtime::MUTANT,
    inactive_on_exit::MUTANT,
    leaves_ready_banked::MUTANT,
    leaves_the_admission::MUTANT,
    leaves_wrong_pods::MUTANT,
    lone_merge_patch::MUTANT,
    looks_at_nodes::MUTANT,
    matches_by_name::MUTANT,
    never_ready::MUTANT,
    raises_once::MUTANT,
    reads_from_a_cache::MUTANT,
    ready_before_raise::MUTANT,
    ready_without_a_version::MUTANT,
    remembers_the_count::MUTANT,
    resumes_the_raise::MUTANT,
    serves_any_check::MUTANT,
    silent_about_pods::MUTANT,
    takes_the_raise_back::MUTANT,
    trusts_labels::MUTANT,
    waits_for_an_event::MUTANT,
    waves_through::MUTANT,
];
