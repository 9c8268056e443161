//! The driver protocol: how a supervisor drives an adapter that is a process of its own.
//!
//! JSON-RPC 2.0 with one message a line, on the adapter's standard input and output. Here are the
//! messages and the reading of lines, without any I/O; `docs/driver-protocol.md` is the text.

mod call;
mod config;
mod initialize;
mod lines;
mod message;

pub use call::{Call, Done, Verb};
pub use config::{Config, InvalidConfig, LeaseRef, Mode, Preflight, Timeouts};
pub use initialize::{INITIALIZE, InitializeAnswer, InitializeRequest};
pub use lines::{LINE_LIMIT, LineTooLong, Lines};
pub use message::{ErrorObject, Id, Request, Response, Unreadable, code};

/// The version of the protocol, which both sides have to speak alike.
pub const PROTOCOL_VERSION: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of the conversation in the documentation that one side says.
    fn said_by(arrow: &str) -> Vec<String> {
        let text = include_str!("../../docs/driver-protocol.md");
        let lines = text.lines().filter_map(|line| line.strip_prefix(arrow));
        lines.map(|line| line.trim().to_owned()).collect()
    }

    #[test]
    fn the_conversation_in_the_documentation_is_one() {
        let requests = said_by("→ {").into_iter().map(|rest| format!("{{{rest}"));
        let requests: Vec<_> =
            requests.map(|line| Request::read(line.as_bytes()).unwrap()).collect();
        let answers = said_by("← {").into_iter().map(|rest| format!("{{{rest}"));
        let mut answers: Vec<_> =
            answers.map(|line| Response::read(line.as_bytes()).unwrap()).collect();
        assert!(!requests.is_empty());
        for Request { id, method, params } in requests {
            let place = answers.iter().position(|answer| answer.id.as_ref() == Some(&id)).unwrap();
            let outcome = answers.remove(place).outcome;
            let Some(verb) = Verb::of_method(&method) else {
                let request: InitializeRequest = serde_json::from_value(params).unwrap();
                assert_eq!(request.protocol_version, PROTOCOL_VERSION);
                serde_json::from_value::<InitializeAnswer>(outcome.unwrap()).unwrap();
                continue;
            };
            Call::read(verb, params).unwrap();
            match outcome {
                Ok(result) => verb.check_answer(&result).unwrap(),
                Err(error) => drop(error.data.unwrap()),
            }
        }
        assert_eq!(answers, []);
    }

    #[test]
    fn the_documentation_names_every_method_key_and_kind() {
        let text = include_str!("../../docs/driver-protocol.md");
        let mut config = Config::kueue("n", "q", "c");
        config.kubeconfig = Some("/kubeconfig".into());
        let config = serde_json::to_value(config).unwrap();
        let keys = config.as_object().unwrap().keys().map(String::as_str);
        let methods = Verb::ALL.map(Verb::as_str);
        let kinds = crate::ErrorKind::ALL.map(crate::ErrorKind::as_str);
        for word in keys.chain(methods).chain(kinds) {
            assert!(text.contains(&format!("`{word}`")), "`{word}` is missing");
        }
    }
}
