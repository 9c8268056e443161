//! Whose credentials a request carries, as far as the credentials say so themselves.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde::Deserialize;

/// The greatest length of a name that is logged, in bytes.
const NAME_BYTES: usize = 253;

#[derive(Deserialize)]
struct Claims {
    sub: String,
}

/// The subject that a bearer token names, such as `system:serviceaccount:<namespace>:<name>`. The
/// token is not verified; that is the API server's part.
pub(super) fn user(headers: &HeaderMap) -> Option<String> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let mut parts = token.trim().split('.');
    let (_, payload, _) = (parts.next()?, parts.next()?, parts.next()?);
    let claims = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
    let claims: Claims = serde_json::from_slice(&claims).ok()?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || ":-._@/".contains(c);
    let name = Some(claims.sub).filter(|name| name.len() <= NAME_BYTES);
    name.filter(|name| !name.is_empty() && name.chars().all(is_name))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    fn token(claims: &str) -> String {
        format!("Bearer eyJhbGciOiJub25lIn0.{}.c2lnbmF0dXJl", URL_SAFE_NO_PAD.encode(claims))
    }

    #[rstest]
    #[case::service_account(
        token(r#"{"iss":"x","sub":"system:serviceaccount:ns:adapter"}"#),
        Some("system:serviceaccount:ns:adapter")
    )]
    #[case::scheme_in_lower_case(
        token(r#"{"sub":"me"}"#).replace("Bearer", "bearer"), Some("me"))]
    #[case::no_subject(token(r#"{"iss":"x"}"#), None)]
    #[case::a_subject_that_is_no_name(token(r#"{"sub":"two words"}"#), None)]
    #[case::no_json(token("secret"), None)]
    #[case::opaque("Bearer c2VjcmV0LXRva2Vu0".to_owned(), None)]
    #[case::two_parts("Bearer a.b".to_owned(), None)]
    #[case::a_password("Basic bWU6c2VjcmV0".to_owned(), None)]
    fn the_user_is_who_a_token_says(#[case] header: String, #[case] user: Option<&str>) {
        let headers = HeaderMap::from_iter([(AUTHORIZATION, header.parse().unwrap())]);
        assert_eq!(super::user(&headers).as_deref(), user);
    }
}
