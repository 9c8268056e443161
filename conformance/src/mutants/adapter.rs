//! The broken adapters. Each replaces one of the decisions of the reference adapter and keeps the
//! others.

mod answers_before_it_is_gone;
mod calls_the_held_gated;
mod creates_without_the_gate;
mod deletes_in_the_foreground;
mod denies_not_knowing;
mod denies_the_readmission_gate;
mod drops_others_gates;
mod forgets_a_field;
mod goes_on_after_a_leak;
mod hides_administrators;
mod hides_the_right;
mod hides_violations;
mod holds_under_one_token;
mod ignores_the_lease;
mod ignores_the_queue;
mod ignores_the_rehearsal;
mod leaves_its_probe;
mod leaves_the_gate_empty;
mod leaves_the_refused;
mod lists_what_is_not_over;
mod looks_for_pods_alone;
mod marks_alone;
mod opens_what_has_ended;
mod opens_without_the_mark;
mod reads_the_copy;
mod refuses_others_gates;
mod refuses_to_open_what_is_held;
mod releases_all_the_same;
mod releases_as_it_opens;
mod releases_what_has_ended;
mod reorders_others_gates;
mod stops_looking;
mod takes_a_name_that_is_not_free;
mod takes_any_hold;
mod takes_any_input;
mod takes_any_object_of_the_name;
mod takes_any_workload;
mod writes_past_the_gate;
mod writes_without_a_version;

use super::Mutant;

/// Every broken adapter.
pub(super) const MUTANTS: &[Mutant] = &[
    answers_before_it_is_gone::MUTANT,
    calls_the_held_gated::MUTANT,
    creates_without_the_gate::MUTANT,
    deletes_in_the_foreground::MUTANT,
    denies_not_knowing::MUTANT,
    denies_the_readmission_gate::MUTANT,
    drops_others_gates::MUTANT,
    forgets_a_field::MUTANT,
    goes_on_after_a_leak::MUTANT,
    hides_administrators::MUTANT,
    hides_the_right::MUTANT,
    hides_violations::MUTANT,
    holds_under_one_token::MUTANT,
    ignores_the_lease::MUTANT,
    ignores_the_queue::MUTANT,
    ignores_the_rehearsal::MUTANT,
    leaves_its_probe::MUTANT,
    leaves_the_gate_empty::MUTANT,
    leaves_the_refused::MUTANT,
    lists_what_is_not_over::MUTANT,
    looks_for_pods_alone::MUTANT,
    marks_alone::MUTANT,
    opens_what_has_ended::MUTANT,
    opens_without_the_mark::MUTANT,
    reads_the_copy::MUTANT,
    refuses_others_gates::MUTANT,
    refuses_to_open_what_is_held::MUTANT,
    releases_all_the_same::MUTANT,
    releases_as_it_opens::MUTANT,
    releases_what_has_ended::MUTANT,
    reorders_others_gates::MUTANT,
    stops_looking::MUTANT,
    takes_a_name_that_is_not_free::MUTANT,
    takes_any_hold::MUTANT,
    takes_any_input::MUTANT,
    takes_any_object_of_the_name::MUTANT,
    takes_any_workload::MUTANT,
    writes_past_the_gate::MUTANT,
    writes_without_a_version::MUTANT,
];
