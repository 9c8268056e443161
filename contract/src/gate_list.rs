//! The list of gates in Kueue's annotation `kueue.x-k8s.io/admission-gated-by`.

use crate::names;

/// The gates of an object, as its annotation has them: a comma list whose entries Kueue trims.
///
/// A value that is blank but not empty has no entries and still gates the object: Kueue tests the
/// value for being non-empty, not the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GateList<'a> {
    value: Option<&'a str>,
}

/// What is left of the annotation once dispatch's entry is gone (OP-01, OP-02).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    /// There is no entry of dispatch's: nothing is to be written.
    NotThere,
    /// It was the last one: the key is deleted, never left empty or blank.
    DeleteKey,
    /// Others' entries are left, in their order.
    Keep(String),
}

impl<'a> GateList<'a> {
    /// The list in the value of the annotation; `None` where the key is absent.
    pub fn new(value: Option<&'a str>) -> Self {
        Self { value }
    }

    /// The entries, trimmed, in their order, without empty ones.
    pub fn entries(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.value.unwrap_or_default().split(',').map(str::trim).filter(|entry| !entry.is_empty())
    }

    /// Whether dispatch's entry is in the list.
    pub fn has_dispatch(&self) -> bool {
        self.entries().any(|entry| entry == names::GATE)
    }

    /// How often dispatch's entry is in the list.
    pub fn dispatch_entries(&self) -> usize {
        self.entries().filter(|entry| *entry == names::GATE).count()
    }

    /// The entries of others, in their order.
    pub fn others(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.entries().filter(|entry| *entry != names::GATE)
    }

    /// Whether Kueue holds the object back for this value.
    pub fn gates(&self) -> bool {
        self.value.is_some_and(|value| !value.is_empty())
    }

    /// Whether somebody other than dispatch holds the object back: by an entry, or by a value
    /// without any entry that Kueue counts as a gate all the same (OP-04).
    pub fn held_by_others(&self) -> bool {
        self.others().next().is_some() || (self.gates() && self.entries().next().is_none())
    }

    /// The annotation without dispatch's entry. What is deleted is only that: an entry of another
    /// is written back as it was, in its place.
    pub fn without_dispatch(&self) -> Removal {
        if !self.has_dispatch() {
            return Removal::NotThere;
        }
        let left: Vec<&str> = self.others().collect();
        if left.is_empty() { Removal::DeleteKey } else { Removal::Keep(left.join(",")) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    const OURS: &str = names::GATE;

    #[rstest]
    #[case::absent(None, Removal::NotThere)]
    #[case::empty(Some(String::new()), Removal::NotThere)]
    #[case::blank(Some(" ".into()), Removal::NotThere)]
    #[case::only_others(Some("a.io/x,b.io/y".into()), Removal::NotThere)]
    #[case::only_ours(Some(OURS.into()), Removal::DeleteKey)]
    #[case::only_ours_with_blanks(Some(format!("  {OURS} ")), Removal::DeleteKey)]
    #[case::only_ours_and_commas(Some(format!(",{OURS}, ,")), Removal::DeleteKey)]
    #[case::ours_first(Some(format!("{OURS},b.io/y,a.io/x")), Removal::Keep("b.io/y,a.io/x".into()))]
    #[case::ours_between(Some(format!("b.io/y, {OURS} ,a.io/x")), Removal::Keep("b.io/y,a.io/x".into()))]
    #[case::ours_last(Some(format!("b.io/y,{OURS}")), Removal::Keep("b.io/y".into()))]
    #[case::ours_twice(Some(format!("{OURS},b.io/y,{OURS}")), Removal::Keep("b.io/y".into()))]
    #[case::a_longer_name(Some(format!("{OURS}2,a{OURS}")), Removal::NotThere)]
    fn only_the_entry_of_dispatch_goes(#[case] value: Option<String>, #[case] left: Removal) {
        assert_eq!(GateList::new(value.as_deref()).without_dispatch(), left);
    }

    #[rstest]
    #[case::absent(None, false, false)]
    #[case::empty(Some(""), false, false)]
    #[case::blank(Some(" "), true, true)]
    #[case::commas(Some(" , "), true, true)]
    #[case::ours(Some(OURS), true, false)]
    #[case::other(Some("a.io/x"), true, true)]
    fn a_value_gates_as_kueue_reads_it(
        #[case] value: Option<&str>,
        #[case] gates: bool,
        #[case] by_others: bool,
    ) {
        let list = GateList::new(value);
        assert_eq!((list.gates(), list.held_by_others()), (gates, by_others));
    }

    proptest! {
        #[test]
        fn what_is_left_has_the_others_in_their_order_and_is_never_blank(
            entries in proptest::collection::vec(
                prop_oneof![Just(OURS.to_owned()), "[a-c]\\.io/[x-z]", " {0,2}"], 0..6),
        ) {
            let value = entries.join(",");
            let before = GateList::new(Some(&value));
            let others: Vec<_> = before.others().collect();
            match before.without_dispatch() {
                Removal::NotThere => prop_assert!(!entries.iter().any(|entry| entry == OURS)),
                Removal::DeleteKey => prop_assert!(others.is_empty()),
                Removal::Keep(left) => {
                    prop_assert!(!left.trim().is_empty());
                    let after = GateList::new(Some(&left));
                    prop_assert!(!after.has_dispatch());
                    prop_assert_eq!(after.entries().collect::<Vec<_>>(), others);
                }
            }
        }
    }
}
