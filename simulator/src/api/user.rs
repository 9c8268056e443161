//! Who asks.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde_json::{Value, json};

use super::failure::Failure;
use super::store::Store;
use crate::component::Component;
use crate::object::uid;
use crate::resource::SERVICE_ACCOUNT;

/// As whom a service lets requests in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// Who may do anything.
    Administrator,
    /// A component of the cluster, which may do anything.
    Component(Component),
    /// Who the bearer token of each request says. A request without one is answered by 401.
    OfToken,
}

/// Who asks, as the access rules see them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Caller {
    pub(super) name: String,
    /// The groups; `system:masters` may do anything.
    pub(super) groups: Vec<String>,
}

impl User {
    /// Who asks.
    pub(super) fn caller(
        self,
        headers: &HeaderMap,
        store: &Store,
        now: jiff::Timestamp,
    ) -> Result<Caller, Failure> {
        match self {
            Self::Administrator => Ok(Caller::master("kubernetes-admin")),
            Self::Component(component) => Ok(Caller::of_component(component)),
            Self::OfToken => {
                let unauthorized = || Failure::new(401, "Unauthorized", "Unauthorized");
                of_token(headers, store, now).map(|it| Caller::of(&it)).ok_or_else(unauthorized)
            }
        }
    }
}

impl Caller {
    fn master(name: &str) -> Self {
        Self { name: name.to_owned(), groups: vec!["system:masters".to_owned()] }
    }

    /// A component of the cluster, which may do anything.
    pub(super) fn of_component(component: Component) -> Self {
        Self::master(component.as_str())
    }

    /// The user of this name, with the groups that come with it.
    pub(super) fn of(name: &str) -> Self {
        let mut groups = vec!["system:authenticated".to_owned()];
        if let Some((namespace, _)) = service_account(name) {
            groups.push("system:serviceaccounts".to_owned());
            groups.push(format!("system:serviceaccounts:{namespace}"));
        }
        Self { name: name.to_owned(), groups }
    }

    pub(super) fn is_master(&self) -> bool {
        self.groups.iter().any(|it| it == "system:masters")
    }
}

/// The namespace and the name of a service account, by its name as a user.
pub(super) fn service_account(user: &str) -> Option<(&str, &str)> {
    user.strip_prefix("system:serviceaccount:")?.split_once(':')
}

/// A token of a service account, which says who it is and is not signed.
pub(super) fn token(namespace: &str, name: &str, uid: &str, expires: i64) -> String {
    let header = json!({"alg": "none", "typ": "JWT"});
    let claims = json!({
        "iss": "https://kubernetes.default.svc",
        "sub": format!("system:serviceaccount:{namespace}:{name}"),
        "aud": ["https://kubernetes.default.svc"],
        "exp": expires,
        "kubernetes.io": {"namespace": namespace, "serviceaccount": {"name": name, "uid": uid}},
    });
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.{}", part(&header), part(&claims), URL_SAFE_NO_PAD.encode("unsigned"))
}

/// Who the token of a request says: a service account that is there still, for as long as the token
/// is good.
fn of_token(headers: &HeaderMap, store: &Store, now: jiff::Timestamp) -> Option<String> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let payload = token.trim().split('.').nth(1)?;
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()?;
    let subject = claims["sub"].as_str()?;
    let (namespace, name) = service_account(subject)?;
    let account = store.find(SERVICE_ACCOUNT, namespace, name)?;
    let is_it = claims["kubernetes.io"]["serviceaccount"]["uid"] == uid(account.object());
    let is_good = claims["exp"].as_i64()? > now.as_second();
    (is_it && is_good).then(|| subject.to_owned())
}
