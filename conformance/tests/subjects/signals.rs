//! Killed, frozen, thawed and started again.

use dispatch_conformance::subject::{
    Adapter, AdapterProcess, Asked, Call, Controller, HandleError, ProcessHandle,
};
use tokio::time::timeout;

use super::{PATIENCE, Place, ready};

/// The state of every thread of a process, as the kernel has it.
fn states(pid: u32) -> Vec<char> {
    let threads = fs_err::read_dir(format!("/proc/{pid}/task")).unwrap();
    let stats = threads.map(|thread| thread.unwrap().path().join("stat"));
    let texts = stats.map(|stat| fs_err::read_to_string(stat).unwrap());
    texts.map(|stat| stat.rsplit_once(") ").unwrap().1.chars().next().unwrap()).collect()
}

#[tokio::test]
async fn a_frozen_subject_stands_still_with_all_its_threads_until_it_is_thawed() {
    let place = Place::new();
    let handle = ProcessHandle::default();
    let adapter = AdapterProcess::start(&place.adapter(), &handle).unwrap();
    for _ in 0..3 {
        handle.freeze().unwrap();
        timeout(PATIENCE, handle.stands_still()).await.unwrap().unwrap();
        assert!(handle.is_frozen());
        let states = states(handle.pid().unwrap());
        assert!(states.iter().all(|state| *state == 'T'), "{states:?}");
        handle.thaw().unwrap();
        assert!(!handle.is_frozen());
    }
    timeout(PATIENCE, adapter.ready()).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_frozen_subject_can_be_killed_and_a_dead_one_cannot_be_reached() {
    let place = Place::new();
    let handle = ProcessHandle::default();
    let controller = Controller::start(&place.controller(), 0, &handle).unwrap();
    handle.freeze().unwrap();
    timeout(PATIENCE, handle.stands_still()).await.unwrap().unwrap();
    let pid = handle.pid().unwrap();
    handle.clone().kill().unwrap();
    timeout(PATIENCE, handle.ended()).await.unwrap();
    assert_eq!((handle.asked(), handle.pid()), (Some(Asked::Kill), None));
    assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "it was not waited for");
    for sent in [handle.kill(), handle.freeze(), handle.thaw(), handle.terminate()] {
        assert!(matches!(sent, Err(HandleError::NotRunning)), "{sent:?}");
    }
    let death = timeout(PATIENCE, controller.ended()).await.unwrap();
    assert!(death.to_string().contains("SIGKILL"), "{death}");
}

#[tokio::test]
async fn a_subject_that_is_started_again_is_reached_by_the_same_handle() {
    let place = Place::new();
    let (first, handle) = ready(&place.adapter()).await.unwrap();
    let earlier = handle.clone();
    handle.kill().unwrap();
    handle.ended().await;
    let second = AdapterProcess::start(&place.adapter(), &handle).unwrap();
    timeout(PATIENCE, second.ready()).await.unwrap().unwrap();
    // What is left of the first does not touch the second.
    drop(first);
    assert!(earlier.is_running());
    assert_eq!((earlier.pid(), earlier.asked()), (handle.pid(), None));
    earlier.kill().unwrap();
    assert!(second.call(&Call::List).await.is_err());
}

#[tokio::test]
async fn a_subject_that_ends_by_itself_was_asked_for_nothing() {
    let place = Place::new();
    let handle = ProcessHandle::default();
    let adapter = AdapterProcess::start(&place.script("exit 5"), &handle).unwrap();
    let death = timeout(PATIENCE, adapter.ended()).await.unwrap();
    assert!(death.to_string().contains("exit status: 5"), "{death}");
    assert_eq!(handle.asked(), None);
}
