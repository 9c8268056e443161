//! The guard that every child is started through.

use super::{PROGRAM, said};
use std::process::{Command, Output};

fn guard(parent: u32, program: &str) -> Output {
    let parent = format!("--parent={parent}");
    Command::new(PROGRAM).args(["guard", &parent, "--", program]).output().unwrap()
}

#[test]
fn it_becomes_the_program() {
    assert_eq!(guard(std::process::id(), "true").status.code(), Some(0));
    assert_eq!(guard(std::process::id(), "false").status.code(), Some(1));
}

#[test]
fn a_program_that_is_not_there_is_told_from_one_that_fails() {
    let output = guard(std::process::id(), "/no/such/program");
    assert_eq!(output.status.code(), Some(127), "{}", said(&output));
}

#[test]
fn it_starts_nothing_for_a_parent_that_is_gone() {
    let output = guard(1, "true");
    assert_eq!(output.status.code(), Some(126), "{}", said(&output));
    assert!(said(&output).contains("is gone"), "{}", said(&output));
}
