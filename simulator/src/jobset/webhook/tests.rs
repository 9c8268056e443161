use rstest::rstest;
use serde_json::json;

use super::*;
use crate::api::Operation;
use crate::testing::{Stored, review};

fn job_set(suspend: bool) -> Value {
    let mut made = json!({
        "metadata": {"name": "a", "namespace": "n"},
        "spec": {"suspend": suspend, "replicatedJobs": [{
            "name": "node", "replicas": 1,
            "template": {"spec": {"completions": 2, "template": {"spec": {
                "containers": [{"name": "node", "resources": {"requests": {"cpu": "1000m"}}}],
            }}}},
        }]},
    });
    let review = review(JOB_SET, Operation::Create, None);
    Defaulter.mutate(&review, &mut made, &Stored::default()).unwrap();
    made
}

#[test]
fn a_job_set_gets_its_defaults() {
    let made = job_set(true);
    assert_eq!(made["spec"]["successPolicy"], json!({"operator": "All"}));
    assert_eq!(
        made["spec"]["network"],
        json!({"enableDNSHostnames": true, "publishNotReadyAddresses": true})
    );
    let job = &made["spec"]["replicatedJobs"][0]["template"]["spec"];
    assert_eq!(job["completionMode"], "Indexed");
    let pod = &job["template"]["spec"];
    assert_eq!(pod["restartPolicy"], "OnFailure");
    assert_eq!(pod["containers"][0]["resources"]["requests"]["cpu"], "1");
}

#[rstest]
#[case::annotation_while_suspended(true, true, "metadata/annotations/a", true)]
#[case::annotation_while_being_suspended(false, true, "metadata/annotations/a", true)]
#[case::annotation_while_being_resumed(true, false, "metadata/annotations/a", true)]
#[case::annotation_while_it_runs(false, false, "metadata/annotations/a", false)]
#[case::image_while_suspended(true, true, "spec/containers/0/image", false)]
fn only_what_kueue_needs_changes_and_only_while_suspended(
    #[case] was: bool,
    #[case] is: bool,
    #[case] path: &str,
    #[case] allowed: bool,
) {
    let (old, mut new) = (job_set(was), job_set(is));
    let mut at = &mut new["spec"]["replicatedJobs"][0]["template"]["spec"]["template"];
    for part in path.split('/') {
        at = match part.parse::<usize>() {
            Ok(index) => &mut at[index],
            Err(_) => &mut at[part],
        };
    }
    *at = "x".into();
    let review = review(JOB_SET, Operation::Update, Some(&old));
    let answer = Validator.validate(&review, &new, &Stored::default());
    assert_eq!(answer.is_ok(), allowed, "{answer:?}");
}

#[rstest]
#[case(43, true)]
#[case(60, false)]
fn names_of_pods_have_to_fit(#[case] length: usize, #[case] allowed: bool) {
    let mut made = job_set(true);
    made["metadata"]["name"] = "a".repeat(length).into();
    let review = review(JOB_SET, Operation::Create, None);
    assert_eq!(Validator.validate(&review, &made, &Stored::default()).is_ok(), allowed);
}
