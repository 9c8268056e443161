//! Requests that are refused.

use serde_json::{Value, json};

use crate::resource::Resource;

/// Why a request was refused, as the API server says it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code} {reason}: {message}")]
pub struct Failure {
    /// The HTTP status.
    pub code: u16,
    /// The machine's reason, such as `Conflict`.
    pub reason: &'static str,
    /// For people.
    pub message: String,
    /// `details` of the Status object; null where there are none.
    pub details: Value,
}

impl Failure {
    /// A refusal without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: Value::Null }
    }

    /// A refusal that is about an object.
    pub fn about(
        code: u16,
        reason: &'static str,
        resource: &Resource,
        name: &str,
        message: impl Into<String>,
    ) -> Self {
        let details = json!({"name": name, "group": resource.group, "kind": resource.plural});
        Self { code, reason, message: message.into(), details }
    }

    /// There is no such object.
    pub fn not_found(resource: &Resource, name: &str) -> Self {
        let message = format!("{resource} \"{name}\" not found");
        Self::about(404, "NotFound", resource, name, message)
    }

    /// There is one already.
    pub fn already_exists(resource: &Resource, name: &str) -> Self {
        let message = format!("{resource} \"{name}\" already exists");
        Self::about(409, "AlreadyExists", resource, name, message)
    }

    /// It is another version by now.
    pub fn conflict(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} \"{name}\": {why}");
        Self::about(409, "Conflict", resource, name, message)
    }

    /// What was sent is not valid.
    pub fn invalid(resource: &Resource, name: &str, why: &str) -> Self {
        let dot = if resource.group.is_empty() { "" } else { "." };
        let kind = format!("{}{dot}{}", resource.kind, resource.group);
        let message = format!("{kind} \"{name}\" is invalid: {why}");
        Self::about(422, "Invalid", resource, name, message)
    }

    /// The caller may not.
    pub fn forbidden(resource: &Resource, name: &str, why: &str) -> Self {
        let message = format!("{resource} \"{name}\" is forbidden: {why}");
        Self::about(403, "Forbidden", resource, name, message)
    }

    /// What the embedded cluster does not have. It is never guessed.
    pub fn unsupported(what: &str) -> Self {
        let message = format!("the embedded cluster does not support {what}");
        Self::new(501, "NotImplemented", message)
    }

    /// The Status object of the answer.
    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if !self.details.is_null() {
            status["details"] = self.details.clone();
        }
        status
    }
}
