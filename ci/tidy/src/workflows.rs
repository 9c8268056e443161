//! What holds for the workflows and actions of GitHub: what they may do, how long, and with whose code.

use serde_json::Value;

/// What is wrong with a workflow, one sentence each. `exists` tells whether the repository has a file.
pub fn workflow_file(path: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let workflow: Value = match serde_saphyr::from_str(text) {
        Ok(workflow) => workflow,
        Err(error) => return vec![format!("{path} is not YAML: {error}")],
    };
    let mut faults = Vec::new();
    let mut expect = |holds: bool, fault: &str| {
        if !holds {
            faults.push(format!("{path}: {fault}"));
        }
    };
    expect(!workflow["on"].is_null(), "it lacks `on`");
    let read = serde_json::json!({ "contents": "read" });
    expect(workflow["permissions"] == read, "`permissions` has to be `contents: read` alone");
    expect(workflow["concurrency"]["group"].is_string(), "it lacks a `concurrency` group");
    let jobs = workflow["jobs"].as_object();
    expect(jobs.is_some_and(|jobs| !jobs.is_empty()), "it has no jobs");
    for (name, job) in jobs.into_iter().flatten() {
        expect(job["timeout-minutes"].is_u64(), &format!("job {name} lacks `timeout-minutes`"));
        expect(job["runs-on"].is_string(), &format!("job {name} lacks `runs-on`"));
        expect(job["permissions"].is_null(), &format!("job {name} has `permissions` of its own"));
        let steps = job["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
        expect(!steps.is_empty(), &format!("job {name} has no steps"));
        for step in steps {
            for fault in step_faults(step, text, &exists) {
                expect(false, &fault);
            }
        }
    }
    faults
}

/// What is wrong with a composite action, one sentence each.
pub fn action_file(path: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let action: Value = match serde_saphyr::from_str(text) {
        Ok(action) => action,
        Err(error) => return vec![format!("{path} is not YAML: {error}")],
    };
    let mut faults = Vec::new();
    for key in ["name", "description"] {
        if !action[key].is_string() {
            faults.push(format!("{path}: it lacks `{key}`"));
        }
    }
    let steps = action["runs"]["steps"].as_array().map(Vec::as_slice).unwrap_or_default();
    if action["runs"]["using"] != "composite" || steps.is_empty() {
        faults.push(format!("{path}: it is no composite action with steps"));
    }
    for step in steps {
        if step["run"].is_string() && !step["shell"].is_string() {
            faults.push(format!("{path}: a step with `run` lacks `shell`"));
        }
        faults.extend(step_faults(step, text, &exists).iter().map(|it| format!("{path}: {it}")));
    }
    faults
}

fn step_faults(step: &Value, text: &str, exists: &impl Fn(&str) -> bool) -> Vec<String> {
    let mut faults = Vec::new();
    match (step["uses"].as_str(), step["run"].as_str()) {
        (Some(uses), None) => faults.extend(uses_fault(uses, text, exists)),
        (None, Some(script)) => {
            // An expression would be put into the script before the shell reads it.
            for expression in expressions(script).filter(|it| !it.starts_with("matrix.")) {
                faults.push(format!("`{expression}` has to reach a script through `env`"));
            }
            let missing = programs(script).filter(|program| !exists(program));
            faults.extend(missing.map(|program| format!("there is no {program} to run")));
        }
        _ => faults.push("a step has to have either `uses` or `run`".to_owned()),
    }
    faults
}

/// What is wrong with the code that a step takes from elsewhere: a tag can be moved, a commit cannot.
fn uses_fault(uses: &str, text: &str, exists: &impl Fn(&str) -> bool) -> Option<String> {
    if let Some(own) = uses.strip_prefix("./") {
        let action = format!("{own}/action.yml");
        return (!exists(&action)).then(|| format!("there is no {action} to use"));
    }
    let is_commit =
        |it: &str| it.len() == 40 && it.chars().all(|it| matches!(it, '0'..='9' | 'a'..='f'));
    if !uses.split_once('@').is_some_and(|(_, commit)| is_commit(commit)) {
        return Some(format!("`{uses}` is not fixed by a commit's whole hash"));
    }
    let with_version = format!("uses: {uses} # v");
    let lacks = text.lines().any(|line| line.contains(uses) && !line.contains(&with_version));
    lacks.then(|| format!("`{uses}` lacks its version in a comment"))
}

fn expressions(script: &str) -> impl Iterator<Item = &str> {
    let parts = script.split("${{").skip(1);
    parts.map(|part| part.split("}}").next().unwrap_or_default().trim())
}

/// What a script runs of this repository: the words that begin with a folder of its own programs.
fn programs(script: &str) -> impl Iterator<Item = &str> {
    let words = script.split(|it: char| it.is_whitespace() || "\"'()$;`".contains(it));
    words.filter(|word| word.starts_with("ci/") || word.starts_with("./"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

    fn workflow() -> String {
        format!(
            "on: push
permissions:
  contents: read
concurrency:
  group: it
jobs:
  test:
    runs-on: ubuntu-24.04
    timeout-minutes: 5
    steps:
      - uses: a/checkout@{COMMIT} # v5.0.0
      - run: ci/test --fast
"
        )
    }

    fn faults(text: &str) -> Vec<String> {
        workflow_file("w.yml", text, |path| path == "ci/test")
    }

    #[test]
    fn a_workflow_that_is_as_it_should_be_has_no_fault() {
        assert_eq!(faults(&workflow()), [""; 0]);
    }

    #[rstest]
    #[case::no_event("on: push\n", "", "it lacks `on`")]
    #[case::may_write("contents: read", "contents: write", "`permissions` has to be")]
    #[case::may_do_anything("permissions:\n  contents: read\n", "", "`permissions` has to be")]
    #[case::more(
        "    runs-on",
        "    permissions: write-all\n    runs-on",
        "permissions` of its own"
    )]
    #[case::runs_beside_itself("  group: it", "  x: it", "lacks a `concurrency` group")]
    #[case::endless("    timeout-minutes: 5\n", "", "job test lacks `timeout-minutes`")]
    #[case::nowhere("    runs-on: ubuntu-24.04\n", "", "job test lacks `runs-on`")]
    #[case::of_a_tag(COMMIT, "v5", "is not fixed by a commit's whole hash")]
    #[case::of_a_short_hash(COMMIT, "0123456", "is not fixed by a commit's whole hash")]
    #[case::no_version(" # v5.0.0", "", "lacks its version in a comment")]
    #[case::of_nothing("uses: a/checkout@", "uses: ./a/b #", "no a/b/action.yml to use")]
    #[case::missing("ci/test", "ci/tests", "there is no ci/tests to run")]
    #[case::injected("--fast", "${{ github.head_ref }}", "has to reach a script through `env`")]
    #[case::neither("run: ci/test --fast", "name: x", "either `uses` or `run`")]
    #[case::not_yaml("on: push", "on: [", "is not YAML")]
    fn a_fault_of_a_workflow_is_found(#[case] part: &str, #[case] by: &str, #[case] fault: &str) {
        let text = workflow();
        assert!(text.contains(part));
        let faults = faults(&text.replace(part, by));
        assert!(faults.len() == 1 && faults[0].contains(fault), "{faults:?}");
    }

    #[test]
    fn what_differs_between_the_jobs_of_a_matrix_may_be_in_a_script() {
        assert_eq!(faults(&workflow().replace("--fast", "${{ matrix.x }}")), [""; 0]);
    }

    #[rstest]
    #[case::as_it_should_be("", "", None)]
    #[case::nameless("name: a\n", "", Some("it lacks `name`"))]
    #[case::of_another_kind("composite", "node24", Some("no composite action"))]
    #[case::no_shell("      shell: bash\n", "", Some("lacks `shell`"))]
    #[case::injected("ci/test", "echo ${{ inputs.a }}", Some("`inputs.a` has to reach"))]
    fn a_fault_of_an_action_is_found(
        #[case] part: &str,
        #[case] by: &str,
        #[case] fault: Option<&str>,
    ) {
        let text = "name: a
description: b
runs:
  using: composite
  steps:
    - run: ci/test
      shell: bash
";
        let faults = action_file("action.yml", &text.replacen(part, by, 1), |_| true);
        assert_eq!(faults.len(), usize::from(fault.is_some()), "{faults:?}");
        assert!(fault.is_none_or(|fault| faults[0].contains(fault)), "{faults:?}");
    }
}
