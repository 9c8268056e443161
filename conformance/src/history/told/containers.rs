//! What containers say.

use dispatch_container::said::{Said, Saying};

use super::Told;
use crate::history::{ContainerSaid, Containers, What};

/// The containers.
impl Told {
    /// From here on they are real.
    pub(crate) fn with_containers(&mut self) -> &mut Self {
        if let Some(What::Begin(begin)) = self.events.first_mut().map(|event| &mut event.what) {
            begin.containers = Containers::Real;
        }
        self
    }

    /// The container of a pod says something, with this A, at this time of its machine.
    pub(crate) fn says(
        &mut self,
        pod: &str,
        a: Option<&str>,
        what: Saying,
        up_ms: u64,
    ) -> &mut Self {
        self.says_on("machine", pod, (a, what, up_ms))
    }

    /// As [`Told::says`], on this machine.
    pub(crate) fn says_on(
        &mut self,
        machine: &str,
        pod: &str,
        (a, what, up_ms): (Option<&str>, Saying, u64),
    ) -> &mut Self {
        let uid = format!("uid-{pod}");
        let said = Said {
            what,
            admission: a.map(str::to_owned),
            restart: Some("0".to_owned()),
            pod: Some(uid.clone()),
            machine: machine.to_owned(),
            up_ms,
        };
        let line =
            ContainerSaid { job: Some(super::NAME.to_owned()), pod: pod.to_owned(), uid, said };
        self.tell(None, What::Container(Box::new(line)))
    }

    /// The container of a pod was there from one time of its machine to another.
    pub(crate) fn lives(&mut self, pod: &str, a: &str, (from, to): (u64, u64)) -> &mut Self {
        self.says(pod, Some(a), Saying::Started, from).says(pod, Some(a), Saying::Ends, to)
    }
}
