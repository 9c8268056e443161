//! The requests of the subjects, by what several judges ask of them.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};

use crate::history::{
    Begin, Call, Ending, Exchange, History, Kind, Mode, Role, Subject, Trail, Version,
};

/// The requests of the subjects.
pub(super) struct Requests<'a> {
    history: &'a History,
    namespace: &'a str,
    /// The objects, by what requests name them by.
    named: HashMap<(Kind, &'a str), Vec<&'a Trail>>,
    is_kueue: bool,
    /// The writes of which nobody knows whether they made a version, by kind and name.
    unsettled: HashMap<(Kind, &'a str), Vec<&'a Exchange>>,
    /// The roles of which there is any request.
    roles: BTreeSet<Role>,
    /// The write that made a version, by kind and order.
    made: HashMap<(Kind, u64), &'a Exchange>,
    /// When a version was first delivered to a subject, by an event or as the object of an answer.
    delivered: HashMap<(Subject, Kind, u64), u64>,
    /// The lists that were answered, by their order.
    lists: HashMap<(Subject, Kind), Vec<Listed<'a>>>,
    /// How far the watches of a kind had come, by the event of each delivery.
    progress: HashMap<(Subject, Kind), Vec<(u64, u64)>>,
    /// Everything that told a subject of objects of a kind, by when it did.
    reads: HashMap<(Subject, Kind), Vec<Read<'a>>>,
    /// The calls to an adapter, by when they were sent; and whether another one overlaps.
    calls: HashMap<u32, Vec<(&'a Call, bool)>>,
    /// The store's greatest order that any event up to a number shows.
    known: Vec<(u64, u64)>,
}

/// A list that a subject got.
#[derive(Clone, Copy)]
struct Listed<'a> {
    order: u64,
    exchange: &'a Exchange,
    ended: u64,
}

/// Something that told a subject of an object, or of all of a kind.
#[derive(Clone, Copy)]
struct Read<'a> {
    /// The event in which it was asked for; of an event of a watch, that of the delivery.
    asked: u64,
    /// The event in which it was told.
    told: u64,
    /// The object; `None` of a list.
    name: Option<&'a str>,
    /// The version that was told, or that of the list.
    order: Option<u64>,
    /// Whether it is the answer to a write.
    of_write: bool,
}

impl<'a> Requests<'a> {
    /// Takes the requests of a history.
    pub(super) fn new(history: &'a History, begin: &'a Begin) -> Self {
        let mut this = Self {
            history,
            namespace: &begin.namespace,
            is_kueue: begin.mode == Mode::Kueue,
            unsettled: HashMap::new(),
            named: named(history),
            roles: history.requests().iter().map(|it| it.request.from.role).collect(),
            made: HashMap::new(),
            delivered: HashMap::new(),
            lists: HashMap::new(),
            progress: HashMap::new(),
            reads: HashMap::new(),
            calls: calls(history),
            known: known(history),
        };
        for exchange in history.requests() {
            if let Some(kind) = exchange.request.kind() {
                this.take(exchange, kind);
            }
        }
        for lists in this.lists.values_mut() {
            lists.sort_by_key(|list| (list.order, list.ended));
        }
        for reads in this.reads.values_mut() {
            reads.sort_by_key(|read| read.told);
        }
        for progress in this.progress.values_mut() {
            progress.sort_unstable();
            let mut latest = 0;
            for (_, order) in progress {
                latest = latest.max(*order);
                *order = latest;
            }
        }
        this
    }

    fn take(&mut self, exchange: &'a Exchange, kind: Kind) {
        let from = exchange.request.from;
        if let Some(order) = self.version_made(exchange) {
            self.made.entry((kind, order)).or_insert(exchange);
        }
        if is_unsettled(exchange) {
            let name = exchange.request.name.as_deref().unwrap_or_default();
            self.unsettled.entry((kind, name)).or_default().push(exchange);
        }
        for (seq, event) in &exchange.delivered {
            let order = event.resource_version.as_ref().and_then(|it| it.parse::<u64>().ok());
            if let Some(order) = order {
                self.progress.entry((from, kind)).or_default().push((*seq, order));
            }
            // The version of a bookmark is that of the watch, and of no object.
            if matches!(event.type_.as_str(), "BOOKMARK" | "ERROR") {
                continue;
            }
            self.deliver(from, kind, event.resource_version.as_deref(), *seq);
            let name = event.name.as_deref();
            let read = Read { asked: *seq, told: *seq, name, order, of_write: false };
            self.reads.entry((from, kind)).or_default().push(read);
        }
        let Some(ended) = exchange.ended.as_ref() else { return };
        if ended.end.ending != Ending::Answered || exchange.request.verb == "watch" {
            return;
        }
        let success = exchange.status().is_some_and(|status| (200..300).contains(&status));
        let is_list = exchange.request.verb == "list";
        if success || (!is_list && exchange.status() == Some(404)) {
            let name = exchange.request.name.as_deref().filter(|_| !is_list);
            let (asked, told, order) = (exchange.seq, ended.seq, ended.order);
            let read = Read { asked, told, name, order, of_write: exchange.request.is_write() };
            self.reads.entry((from, kind)).or_default().push(read);
        }
        match ended.order {
            order if success && is_list => {
                // One whose version the record lacks is not held against anybody.
                let order = order.unwrap_or(u64::MAX);
                let list = Listed { order, exchange, ended: ended.seq };
                self.lists.entry((from, kind)).or_default().push(list);
            }
            // What a dry run answers is no version of anything.
            Some(_) if success && !exchange.request.is_dry_run() => {
                self.deliver(from, kind, ended.end.resource_version.as_deref(), ended.seq);
            }
            _ => {}
        }
    }

    fn deliver(&mut self, to: Subject, kind: Kind, version: Option<&str>, seq: u64) {
        if let Some(order) = version.and_then(|version| version.parse().ok()) {
            let first = self.delivered.entry((to, kind, order)).or_insert(seq);
            *first = seq.min(*first);
        }
    }

    /// The version that a write made. A write that changes nothing is answered with the version
    /// there is: it carries that itself, the version was known before the write was sent on, or it
    /// differs from the one before it in another part than the write can reach.
    fn version_made(&self, exchange: &Exchange) -> Option<u64> {
        let order = exchange.answered_order()?;
        let changes = matches!(exchange.request.verb.as_str(), "create" | "update" | "patch");
        if !changes || !exchange.was_applied() {
            return None;
        }
        let sent = exchange.sent.as_ref().map_or(exchange.seq, |sent| sent.seq);
        let carried = exchange.request.precondition() == Some(order.to_string().as_str());
        let late = self.latest(sent) < order;
        (!carried && late && self.reaches_what_changed(exchange, order)).then_some(order)
    }

    /// Whether a write is to the part of its object, the status or the rest, in which a version
    /// differs from the one before it; also where that is not known.
    fn reaches_what_changed(&self, exchange: &Exchange, order: u64) -> bool {
        let uid = exchange.ended.as_ref().and_then(|ended| ended.end.uid.as_deref());
        let Some(trail) = uid.and_then(|uid| self.history.object(uid)) else { return true };
        let Some((before, after)) = trail.changes().find(|(_, after)| after.order == order) else {
            return true;
        };
        let of_status = exchange.request.subresource.as_deref() == Some("status");
        let part = |version| self.history.raw(version).map(|object| part(object, of_status));
        part(before) != part(after)
    }

    /// Whether any request of this role is in the history.
    pub(super) fn are_logged(&self, role: Role) -> bool {
        self.roles.contains(&role)
    }

    /// The requests of a role, in the order in which they reached the proxy.
    pub(super) fn of(&self, role: Role) -> impl Iterator<Item = &'a Exchange> + use<'a> {
        self.history.requests().iter().filter(move |it| it.request.from.role == role)
    }

    /// The writes of a role to objects that exist, with their kinds: updates and patches of kinds
    /// that are recorded.
    pub(super) fn changes(
        &self,
        role: Role,
    ) -> impl Iterator<Item = (&'a Exchange, Kind)> + use<'a> {
        let changes = |it: &Exchange| matches!(it.request.verb.as_str(), "update" | "patch");
        let namespace = self.namespace;
        let here =
            move |it: &Exchange| it.request.namespace.as_deref().is_none_or(|it| it == namespace);
        self.of(role)
            .filter(move |it| changes(it) && here(it) && !it.request.is_dry_run())
            .filter_map(|it| Some((it, it.request.kind()?)))
    }

    /// The write that made a version.
    pub(super) fn that_made(&self, kind: Kind, order: u64) -> Option<&'a Exchange> {
        self.made.get(&(kind, order)).copied()
    }

    /// Whether a write of this role, of which nobody knows what became of it, may have made a version.
    pub(super) fn may_have_made(&self, role: Role, trail: &Trail, order: u64) -> bool {
        let writes = self.unsettled.get(&(trail.kind, trail.name.as_str()));
        let earlier =
            |it: &Exchange| it.sent.as_ref().is_some_and(|it| self.latest(it.seq) < order);
        let mut writes = writes.into_iter().flatten().filter(|it| it.request.from.role == role);
        writes.any(|it| earlier(it))
    }

    /// Whether Kueue opens and closes the objects.
    pub(super) fn is_kueue(&self) -> bool {
        self.is_kueue
    }

    /// The store's greatest order that any event before this one shows.
    pub(super) fn latest(&self, seq: u64) -> u64 {
        let before = self.known.partition_point(|(known, _)| *known < seq);
        before.checked_sub(1).map_or(0, |last| self.known[last].1)
    }

    /// Whether a version of an object was delivered to a subject before an event: by a watch, by an
    /// answer, or in a list.
    pub(super) fn was_delivered(&self, to: Subject, trail: &Trail, order: u64, by: u64) -> bool {
        self.was_told(to, trail.kind, order, by) || self.was_listed(to, trail, order, by)
    }

    /// Whether this version of any object of a kind was delivered to a subject before an event, by a
    /// watch or as the object of an answer.
    pub(super) fn was_told(&self, to: Subject, kind: Kind, order: u64, by: u64) -> bool {
        self.delivered.get(&(to, kind, order)).is_some_and(|seq| *seq < by)
    }

    /// The first event by which a version of an object had been delivered to a subject.
    pub(super) fn first_delivered(&self, to: Subject, trail: &Trail, order: u64) -> Option<u64> {
        let told = self.delivered.get(&(to, trail.kind, order)).copied();
        let listed = self.lists.get(&(to, trail.kind)).and_then(|lists| {
            let from = lists.partition_point(|list| list.order < order);
            let shows =
                |list: &&Listed<'_>| trail.at(list.order).is_some_and(|it| it.order == order);
            lists[from..].iter().take_while(shows).map(|list| list.ended).min()
        });
        told.into_iter().chain(listed).min()
    }

    /// Whether a subject had been told, before an event, how all objects of a kind were at this order
    /// or later: by a list, or by a watch that had come so far.
    pub(super) fn knew_all_at(&self, subject: Subject, kind: Kind, order: u64, by: u64) -> bool {
        let lists = self.lists.get(&(subject, kind)).map(Vec::as_slice).unwrap_or_default();
        let fresh = &lists[lists.partition_point(|list| list.order < order)..];
        if fresh.iter().any(|list| list.ended < by) {
            return true;
        }
        let progress = self.progress.get(&(subject, kind)).map(Vec::as_slice).unwrap_or_default();
        let before = progress.partition_point(|(seq, _)| *seq < by);
        before.checked_sub(1).is_some_and(|last| progress[last].1 >= order)
    }

    /// The version of its object that a write carries as its precondition.
    pub(super) fn carried(&self, exchange: &Exchange, kind: Kind) -> Carried<'a> {
        let request = &exchange.request;
        let Some(text) = request.precondition() else {
            return if request.body.is_some() { Carried::Nothing } else { Carried::NoBody };
        };
        let order = text.parse::<u64>().ok();
        let name = request.name.as_deref().unwrap_or_default();
        let trails = self.named.get(&(kind, name)).map(Vec::as_slice).unwrap_or_default();
        let at = order.and_then(|order| {
            trails.iter().find_map(|trail| Some((*trail, trail.exactly(order)?)))
        });
        let (from, by) = (request.from, exchange.seq);
        match (at, order) {
            (Some((trail, version)), _) if self.was_delivered(from, trail, version.order, by) => {
                Carried::Version(trail, version)
            }
            (None, Some(order)) if self.was_told(from, kind, order, by) => {
                Carried::Unrecorded(text.to_owned())
            }
            _ => Carried::NeverDelivered(text.to_owned(), at.map(|(_, version)| version)),
        }
    }

    fn was_listed(&self, to: Subject, trail: &Trail, order: u64, by: u64) -> bool {
        let Some(lists) = self.lists.get(&(to, trail.kind)) else { return false };
        let is_in = |list: &Listed<'_>| {
            let request = &list.exchange.request;
            let namespace = request.namespace.is_none() || request.namespace == trail.namespace;
            let name = request.name.is_none() || request.name.as_deref() == Some(&trail.name);
            list.ended < by && namespace && name
        };
        let from = lists.partition_point(|list| list.order < order);
        let shows = |list: &&Listed<'_>| trail.at(list.order).is_some_and(|it| it.order == order);
        lists[from..].iter().take_while(shows).any(is_in)
    }

    /// Whether anything told a subject how an object is, and was asked for after one event and told
    /// before another.
    pub(super) fn read_between(
        &self,
        subject: Subject,
        (kind, name): (Kind, &str),
        after: u64,
        before: u64,
    ) -> bool {
        let Some(reads) = self.reads.get(&(subject, kind)) else { return false };
        let from = reads.partition_point(|read| read.told <= after);
        reads[from..]
            .iter()
            .take_while(|read| read.told < before)
            .any(|read| read.asked > after && read.name.is_none_or(|it| it == name))
    }

    /// The versions of an object that a subject read in a time: asked for after one event, and told
    /// before another. Answers to writes are no reads.
    pub(super) fn versions_read(
        &self,
        subject: Subject,
        trail: &'a Trail,
        after: u64,
        before: u64,
    ) -> Vec<&'a Version> {
        let reads = self.reads.get(&(subject, trail.kind)).map(Vec::as_slice).unwrap_or_default();
        let reads = &reads[reads.partition_point(|read| read.told <= after)..];
        let in_time = reads.iter().take_while(|read| read.told < before);
        let told = in_time.filter(|read| read.asked > after && !read.of_write);
        told.filter_map(|read| match (read.name, read.order) {
            (Some(name), Some(order)) if name == trail.name => trail.exactly(order),
            (None, Some(order)) => trail.at(order),
            _ => None,
        })
        .collect()
    }

    /// The only call to an adapter that was under way when a request of it reached the proxy; `None`
    /// if there was none, or another one beside it, so that the request can be of either.
    pub(super) fn call_of(&self, exchange: &Exchange) -> Option<&'a Call> {
        let from = exchange.request.from;
        if from.role != Role::Adapter {
            return None;
        }
        let calls = self.calls.get(&from.replica)?;
        let last = calls.partition_point(|(call, _)| call.invoked_seq < exchange.seq);
        let (call, overlaps) = calls[last.checked_sub(1)?];
        let under_way = call.answered.as_ref().is_none_or(|it| exchange.seq < it.seq);
        (under_way && !overlaps).then_some(call)
    }

    /// Whether requests of this adapter can be told apart by its calls, of which this is one.
    pub(super) fn is_alone(&self, call: &Call) -> bool {
        let calls = self.calls.get(&called(call));
        calls
            .into_iter()
            .flatten()
            .any(|(it, overlaps)| it.invoked.call == call.invoked.call && !overlaps)
    }

    /// The requests of the adapter that is called which reached the proxy while the call was under
    /// way; those of others, which come at the same time, are left out.
    pub(super) fn during(&self, call: &Call) -> impl DoubleEndedIterator<Item = &'a Exchange> {
        let all = self.history.requests();
        let from = all.partition_point(|it| it.seq <= call.invoked_seq);
        let to = call.answered.as_ref().map_or(u64::MAX, |answered| answered.seq);
        let to = all.partition_point(|it| it.seq < to);
        let adapter = Self::adapter_of(call);
        all[from..to.max(from)].iter().filter(move |it| it.request.from == adapter)
    }

    /// The adapter that a call was made to.
    fn adapter_of(call: &Call) -> Subject {
        Subject { role: Role::Adapter, replica: called(call) }
    }
}

/// The part of an object that writes to its status can change, or the part that others can.
fn part(object: &Value, of_status: bool) -> Value {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    let owners: Vec<_> =
        entries.filter(|entry| (entry["subresource"] == "status") == of_status).collect();
    if of_status {
        return json!({ "status": object["status"], "owners": owners });
    }
    let mut rest = object.clone();
    rest["status"] = Value::Null;
    for of_server in ["managedFields", "resourceVersion", "generation"] {
        rest["metadata"][of_server] = Value::Null;
    }
    json!({ "rest": rest, "owners": owners })
}

/// Whether a write was sent on, and no answer says which version it made, or that it made none.
fn is_unsettled(exchange: &Exchange) -> bool {
    let changes = matches!(exchange.request.verb.as_str(), "create" | "update" | "patch");
    let refused = exchange.status().is_some_and(|status| (400..500).contains(&status));
    let answered = exchange.answered_order().is_some() || refused;
    changes && exchange.sent.is_some() && !answered && !exchange.request.is_dry_run()
}

/// The version that a write carries as its precondition.
pub(super) enum Carried<'a> {
    /// It carries none.
    Nothing,
    /// Its body is not in the record: it was too large, or held what may not be kept.
    NoBody,
    /// One that was never delivered to who sent the write; with the version, if there is one.
    NeverDelivered(String, Option<&'a Version>),
    /// One that was delivered, and is not in the record.
    Unrecorded(String),
    /// One that was delivered.
    Version(&'a Trail, &'a Version),
}

fn named(history: &History) -> HashMap<(Kind, &str), Vec<&Trail>> {
    let mut named: HashMap<_, Vec<&Trail>> = HashMap::new();
    for kind in Kind::ALL {
        for trail in history.of_kind(kind) {
            named.entry((kind, trail.name.as_str())).or_default().push(trail);
        }
    }
    named
}

/// The replica of the adapter that a call is made to; an adapter that is alone has any name.
fn called(call: &Call) -> u32 {
    let number = call.invoked.subject.strip_prefix("adapter-");
    number.and_then(|number| number.parse().ok()).unwrap_or_default()
}

fn calls(history: &History) -> HashMap<u32, Vec<(&Call, bool)>> {
    let mut all: HashMap<u32, Vec<(&Call, bool)>> = HashMap::new();
    for call in history.calls() {
        all.entry(called(call)).or_default().push((call, false));
    }
    for calls in all.values_mut() {
        calls.sort_by_key(|(call, _)| call.invoked_seq);
        // The one of those before that is answered last.
        let mut open: Option<(usize, u64)> = None;
        for place in 0..calls.len() {
            let call = calls[place].0;
            let until = call.answered.as_ref().map_or(u64::MAX, |answered| answered.seq);
            if let Some((other, _)) = open.filter(|(_, until)| call.invoked_seq < *until) {
                calls[place].1 = true;
                calls[other].1 = true;
            }
            open = open.filter(|(_, other)| until <= *other).or(Some((place, until)));
        }
    }
    all
}

fn known(history: &History) -> Vec<(u64, u64)> {
    let mut latest = 0;
    let orders = history.events().iter().map(|event| {
        latest = latest.max(event.order.unwrap_or_default());
        (event.seq, latest)
    });
    orders.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Verb;
    use crate::history::told::{ADAPTER, CONTROLLER, NAME, SECOND, Told, UID, ask};

    fn requests(history: &History) -> Requests<'_> {
        Requests::new(history, history.begin().unwrap())
    }

    fn workload(history: &History) -> &Trail {
        history.of_kind(Kind::Workload).next().unwrap()
    }

    #[test]
    fn a_write_makes_the_version_that_answers_it() {
        let history = Told::kueue().waits().looks(CONTROLLER).raises_by(CONTROLLER, 1).history();
        let requests = requests(&history);
        let trainjob = history.object(UID).unwrap();
        let last = trainjob.versions().last().unwrap();
        let made = requests.that_made(Kind::TrainJob, last.order).unwrap();
        assert_eq!((made.request.from, made.request.verb.as_str()), (CONTROLLER, "patch"));
        let first = trainjob.first().unwrap();
        assert!(requests.that_made(Kind::TrainJob, first.order).is_none());
    }

    #[test]
    fn a_write_that_changes_nothing_makes_no_version() {
        let mut told = Told::kueue();
        told.waits().request(ask(CONTROLLER, "patch", Kind::Workload, "workload").with(json!({})));
        let history = told.sent().answered().history();
        let last = workload(&history).versions().last().unwrap().order;
        assert!(requests(&history).that_made(Kind::Workload, last).is_none());
    }

    #[test]
    fn a_write_to_another_part_does_not_make_the_version_that_answers_it() {
        let mut told = Told::kueue();
        told.waits();
        let of_status = ask(SECOND, "patch", Kind::TrainJob, NAME).on_status();
        let first = told.request(of_status.with(json!({}))).sent().latest_request();
        let history = told.raises_by(CONTROLLER, 1).back_to(first).answered().history();
        let last = history.object(UID).unwrap().versions().last().unwrap().order;
        let made = requests(&history).that_made(Kind::TrainJob, last).unwrap();
        assert_eq!(made.request.from, CONTROLLER);
    }

    #[test]
    fn a_version_is_delivered_by_a_watch_an_answer_or_a_list_and_to_one_subject() {
        let mut told = Told::kueue();
        told.watches(CONTROLLER, Kind::Workload).starts();
        let first = workload(&told.clone().history()).versions()[0].order;
        told.delivered(CONTROLLER, Kind::Workload, "workload").lists(SECOND, Kind::Workload);
        let history = told.opens().reads(ADAPTER, Kind::Workload, "workload").history();
        let requests = requests(&history);
        let workload = workload(&history);
        let orders: Vec<_> = workload.versions().iter().map(|version| version.order).collect();
        let to = |subject, order| requests.was_delivered(subject, workload, order, u64::MAX);
        assert_eq!(orders[0], first);
        assert!(to(CONTROLLER, orders[1]) && to(SECOND, orders[1]) && to(ADAPTER, orders[2]));
        assert!(!to(CONTROLLER, orders[0]) && !to(SECOND, orders[2]) && !to(ADAPTER, orders[1]));
    }

    #[test]
    fn a_request_is_of_the_only_call_that_is_under_way() {
        let mut told = Told::kueue();
        told.starts().calls(Verb::Open).reads(ADAPTER, Kind::TrainJob, NAME).answers(json!({}));
        told.reads(ADAPTER, Kind::TrainJob, NAME);
        told.calls(Verb::Status).calls(Verb::Hold).reads(ADAPTER, Kind::TrainJob, NAME);
        let history = told.history();
        let requests = requests(&history);
        let verbs: Vec<_> = history
            .requests()
            .iter()
            .map(|it| requests.call_of(it).map(|call| call.invoked.verb))
            .collect();
        assert_eq!(verbs, [Some(Verb::Open), None, None]);
    }

    #[test]
    fn a_read_counts_that_was_asked_for_afterwards() {
        let mut told = Told::kueue();
        told.starts().request(ask(ADAPTER, "get", Kind::TrainJob, NAME)).sent();
        let after = told.events.len() as u64;
        let early = told.answered().clone().history();
        let late = told.reads(ADAPTER, Kind::TrainJob, NAME).history();
        let read = |history: &History| {
            let requests = requests(history);
            requests.read_between(ADAPTER, (Kind::TrainJob, NAME), after, u64::MAX)
        };
        assert!(!read(&early) && read(&late));
    }
}
