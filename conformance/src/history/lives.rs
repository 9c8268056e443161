//! Which of many pods are there at an order, without looking at all of them.

use super::Trail;

/// Pods in the order of their creation, with how far they reach.
#[derive(Clone, Debug, Default)]
pub struct Lives<'a> {
    pods: Vec<&'a Trail>,
    ends: Vec<u64>,
    /// The greatest end of this pod and all before it.
    reach: Vec<u64>,
}

impl<'a> Lives<'a> {
    /// Pods that are there while they live: until Succeeded, Failed or gone.
    pub fn until_dead(pods: &[&'a Trail]) -> Self {
        Self::new(pods, |pod| pod.dead().map(|version| version.order))
    }

    /// Pods that are there until they are gone.
    pub fn until_gone(pods: &[&'a Trail]) -> Self {
        Self::new(pods, |pod| pod.deleted().map(|version| version.order))
    }

    fn new(pods: &[&'a Trail], end: fn(&Trail) -> Option<u64>) -> Self {
        let mut pods = pods.to_vec();
        pods.sort_by_key(|pod| pod.created());
        let ends: Vec<u64> = pods.iter().map(|pod| end(pod).unwrap_or(u64::MAX)).collect();
        let mut furthest = 0;
        let reach = ends.iter().map(|end| {
            furthest = furthest.max(*end);
            furthest
        });
        Self { reach: reach.collect(), pods, ends }
    }

    /// All of them, in the order of their creation.
    pub fn all(&self) -> &[&'a Trail] {
        &self.pods
    }

    /// Those that are there at this order, the latest first.
    pub fn at(&self, order: u64) -> impl Iterator<Item = &'a Trail> {
        self.during(order, order)
    }

    /// Those that are there at some order from `from` to `to`, the latest first.
    pub fn during(&self, from: u64, to: u64) -> impl Iterator<Item = &'a Trail> {
        let created = self.pods.partition_point(|pod| pod.created() <= to);
        let reaching = (0..created).rev().take_while(move |at| self.reach[*at] > from);
        reaching.filter(move |at| self.ends[*at] > from).map(|at| self.pods[at])
    }

    /// The first order from `order` on at which none is there; `None` if one is to the end.
    pub fn quiet_from(&self, order: u64) -> Option<u64> {
        let mut quiet = order;
        loop {
            let created = self.pods.partition_point(|pod| pod.created() <= quiet);
            match created.checked_sub(1).map(|last| self.reach[last]) {
                Some(u64::MAX) => return None,
                Some(reach) if reach > quiet => quiet = reach,
                _ => return Some(quiet),
            }
        }
    }
}
