//! Requests and faults in words.

use crate::history::{
    Asks, Ending, Exchange, FaultChange, FaultChanged, History, Request, RequestEnded, What,
};

/// What happened with a request or a fault. Of other events, nothing.
pub(super) fn describe(history: &History, what: &What) -> String {
    match what {
        What::Request(request) => format!("{} asks: {}", request.from, asked(request)),
        What::RequestSent(sent) => {
            let words = named(history, sent.request);
            match sent.changed_body {
                Some(_) => format!("{words} goes on to the API server, changed"),
                None => format!("{words} goes on to the API server"),
            }
        }
        What::RequestEnded(end) => ended(history, end),
        What::Delivered(delivered) => {
            let exchange = history.request(delivered.request);
            let who =
                exchange.map_or_else(|| "a subject".to_owned(), |it| it.request.from.to_string());
            let what = exchange.map_or("objects", |it| it.request.resource.as_str());
            let name = delivered.name.as_deref().unwrap_or_default();
            let version = delivered.resource_version.as_deref().unwrap_or("?");
            format!("{who} is told of {what} {name}: {} version {version}", delivered.type_)
        }
        What::Fault(fault) => changed(history, fault),
        _ => String::new(),
    }
}

/// A request in words: verb, resource, object, what it sets, and its precondition.
fn asked(request: &Request) -> String {
    let mut words = format!("{} {}", request.verb, request.resource);
    if let Some(subresource) = &request.subresource {
        words = format!("{words}/{subresource}");
    }
    if let Some(name) = &request.name {
        words = format!("{words} {name}");
    }
    let mut details = Asks::of(request).words();
    details.extend(request.precondition().map(|version| format!("from version {version}")));
    if request.is_dry_run() {
        details.push("dry run".to_owned());
    }
    if details.is_empty() { words } else { format!("{words} ({})", details.join(", ")) }
}

fn named(history: &History, request: u64) -> String {
    match history.request(request) {
        Some(Exchange { request, .. }) => format!("{}'s {}", request.from, asked(request)),
        None => format!("request {request}"),
    }
}

fn ended(history: &History, end: &RequestEnded) -> String {
    let words = named(history, end.request);
    let status = end.status.map_or_else(|| "nothing".to_owned(), |status| status.to_string());
    let answer = match &end.refused {
        Some(refused) => format!("{status} {}: {}", refused.reason, refused.message),
        None => status,
    };
    match end.ending {
        Ending::Answered => format!("{words} is answered {answer}"),
        Ending::AnswerLost => format!("{words} was answered {answer}, and the answer is lost"),
        Ending::RequestLost => format!("{words} is lost before the API server"),
        Ending::AnsweredInstead => {
            format!("{words} is answered {answer} in the API server's place")
        }
        Ending::GivenUp => format!("{words} is given up by who sent it"),
        Ending::Unreachable => format!("{words} could not be answered: no API server"),
        Ending::Cut => format!("{words} is cut"),
    }
}

fn changed(history: &History, fault: &FaultChanged) -> String {
    let FaultChanged { fault, change, request } = fault;
    let about = request.map(|request| format!(": {}", named(history, request)));
    let about = about.unwrap_or_default();
    match change {
        FaultChange::Placed => format!("the fault {fault} is in place"),
        FaultChange::Met => format!("the fault {fault} is met{about}"),
        FaultChange::Released => format!("what {fault} held goes on{about}"),
        FaultChange::Removed => format!("the fault {fault} is taken away"),
    }
}
