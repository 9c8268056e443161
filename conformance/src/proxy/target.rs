//! What a request is about, read from its method and its URL as the API server reads them.

use std::collections::BTreeMap;

use http::{Method, Uri};
use percent_encoding::percent_decode_str;

/// What a request is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Target {
    /// As RBAC has it; of a path that is no resource's, the method in lower case.
    pub(super) verb: String,
    /// The API group; empty of the core group.
    pub(super) group: String,
    /// The resource, in the plural; of a path that is no resource's, the path.
    pub(super) resource: String,
    /// Its subresource.
    pub(super) subresource: Option<String>,
    /// The namespace that the path names, which for a namespace is its own name.
    pub(super) namespace: Option<String>,
    /// The name that the path names, or the only one that the field selector of a list or a watch
    /// lets through.
    pub(super) name: Option<String>,
    /// The first value of each parameter.
    pub(super) query: BTreeMap<String, String>,
    /// Whether the path is a resource's.
    pub(super) is_resource: bool,
}

/// Subresources of a namespace, which are no resources in it.
const OF_NAMESPACES: [&str; 2] = ["status", "finalize"];

impl Target {
    /// The target of a request.
    pub(super) fn of(method: &Method, uri: &Uri) -> Self {
        let path = percent_decode_str(uri.path()).decode_utf8_lossy();
        let mut target = Self {
            verb: method.as_str().to_ascii_lowercase(),
            resource: path.clone().into_owned(),
            query: query(uri),
            ..Self::default()
        };
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        match parts.as_slice() {
            ["api", _, resource @ ..] if !resource.is_empty() => {
                target.read_resource(method, resource);
            }
            ["apis", group, _, resource @ ..] if !resource.is_empty() => {
                (*group).clone_into(&mut target.group);
                target.read_resource(method, resource);
            }
            _ => {}
        }
        target
    }

    fn read_resource(&mut self, method: &Method, mut parts: &[&str]) {
        self.is_resource = true;
        verb(method, parts[0]).clone_into(&mut self.verb);
        if self.verb == "watch" && parts.len() > 1 {
            parts = &parts[1..];
        }
        if let ["namespaces", namespace, rest @ ..] = parts {
            self.namespace = Some((*namespace).to_owned());
            if rest.first().is_some_and(|next| !OF_NAMESPACES.contains(next)) {
                parts = rest;
            }
        }
        let part = |at: usize| parts.get(at).map(|part| (*part).to_owned());
        self.resource = part(0).unwrap_or_default();
        self.name = part(1).filter(|name| !name.is_empty());
        self.subresource = part(2);
        match (self.verb.as_str(), &self.name) {
            ("get", None) => {
                let verb = if self.watches() { "watch" } else { "list" };
                verb.clone_into(&mut self.verb);
                self.name = self.selected_name();
            }
            ("delete", None) => "deletecollection".clone_into(&mut self.verb),
            _ => {}
        }
    }

    /// Whether the query asks for a watch: anything but `false` and `0` does.
    fn watches(&self) -> bool {
        let value = self.query.get("watch");
        value.is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    fn selected_name(&self) -> Option<String> {
        let selector = self.query.get("fieldSelector")?;
        let terms = selector.split(',').filter_map(|term| term.split_once('='));
        let mut names = terms.filter(|(field, _)| *field == "metadata.name");
        let name = names.next()?.1;
        Some(name.strip_prefix('=').unwrap_or(name).to_owned()).filter(|name| !name.is_empty())
    }
}

fn verb<'a>(method: &'a Method, first: &str) -> &'a str {
    match (method, first) {
        (&Method::GET, "watch") => "watch",
        (&Method::POST, _) => "create",
        (&Method::GET | &Method::HEAD, _) => "get",
        (&Method::PUT, _) => "update",
        (&Method::PATCH, _) => "patch",
        (&Method::DELETE, _) => "delete",
        (other, _) => other.as_str(),
    }
}

fn query(uri: &Uri) -> BTreeMap<String, String> {
    let mut query = BTreeMap::new();
    for (name, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
        query.entry(name.into_owned()).or_insert_with(|| value.into_owned());
    }
    query
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    /// A target in one line: verb, group, resource/subresource, namespace, name.
    fn words(method: &str, uri: &str) -> String {
        let target = Target::of(&method.parse().unwrap(), &uri.parse().unwrap());
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let sub = target.subresource.map(|it| format!("/{it}")).unwrap_or_default();
        let group = if target.group.is_empty() { "-".to_owned() } else { target.group };
        let (namespace, name) = (or_none(target.namespace), or_none(target.name));
        format!("{} {group} {}{sub} {namespace} {name}", target.verb, target.resource)
    }

    #[rstest]
    #[case::get("GET", "/api/v1/namespaces/n/pods/p", "get - pods n p")]
    #[case::head("HEAD", "/api/v1/namespaces/n/pods/p", "get - pods n p")]
    #[case::list("GET", "/api/v1/namespaces/n/pods?limit=1", "list - pods n -")]
    #[case::list_of_all("GET", "/apis/batch/v1/jobs", "list batch jobs - -")]
    #[case::watch("GET", "/api/v1/namespaces/n/pods?watch=true", "watch - pods n -")]
    #[case::watch_by_an_empty_value("GET", "/api/v1/pods?watch=", "watch - pods - -")]
    #[case::no_watch("GET", "/api/v1/pods?watch=False", "list - pods - -")]
    #[case::no_watch_by_a_digit("GET", "/api/v1/pods?watch=0", "list - pods - -")]
    #[case::a_get_is_never_a_watch("GET", "/api/v1/namespaces/n/pods/p?watch=1", "get - pods n p")]
    #[case::watch_by_path("GET", "/api/v1/watch/namespaces/n/pods/p", "watch - pods n p")]
    #[case::watch_of_one(
        "GET",
        "/apis/kueue.x-k8s.io/v1beta2/admissionchecks?fieldSelector=metadata.name%3Dc&watch=1",
        "watch kueue.x-k8s.io admissionchecks - c"
    )]
    #[case::list_of_one(
        "GET",
        "/api/v1/namespaces/n/pods?fieldSelector=spec.nodeName==x,metadata.name==p",
        "list - pods n p"
    )]
    #[case::list_of_all_but_one(
        "GET",
        "/api/v1/namespaces/n/pods?fieldSelector=metadata.name!=p",
        "list - pods n -"
    )]
    #[case::create(
        "POST",
        "/apis/trainer.kubeflow.org/v1alpha1/namespaces/n/trainjobs",
        "create trainer.kubeflow.org trainjobs n -"
    )]
    #[case::update("PUT", "/api/v1/namespaces/n/pods/p", "update - pods n p")]
    #[case::patch_of_status(
        "PATCH",
        "/apis/kueue.x-k8s.io/v1beta2/namespaces/n/workloads/w/status?fieldManager=m",
        "patch kueue.x-k8s.io workloads/status n w"
    )]
    #[case::delete("DELETE", "/api/v1/namespaces/n/pods/p", "delete - pods n p")]
    #[case::deletecollection("DELETE", "/api/v1/namespaces/n/pods", "deletecollection - pods n -")]
    #[case::eviction("POST", "/api/v1/namespaces/n/pods/p/eviction", "create - pods/eviction n p")]
    #[case::a_namespace("GET", "/api/v1/namespaces/n", "get - namespaces n n")]
    #[case::its_status("PUT", "/api/v1/namespaces/n/status", "update - namespaces/status n n")]
    #[case::its_finalizers(
        "PUT",
        "/api/v1/namespaces/n/finalize",
        "update - namespaces/finalize n n"
    )]
    #[case::all_namespaces("GET", "/api/v1/namespaces", "list - namespaces - -")]
    #[case::an_escaped_name("GET", "/api/v1/nodes/a%2Db", "get - nodes - a-b")]
    #[case::a_slash_at_the_end("GET", "/api/v1/namespaces/n/pods/", "list - pods n -")]
    #[case::discovery("GET", "/apis/batch/v1", "get - /apis/batch/v1 - -")]
    #[case::core_discovery("GET", "/api/v1", "get - /api/v1 - -")]
    #[case::health("GET", "/readyz?verbose", "get - /readyz - -")]
    #[case::root("POST", "/", "post - / - -")]
    fn a_target_is_read_as_the_api_server_reads_it(
        #[case] method: &str,
        #[case] uri: &str,
        #[case] expected: &str,
    ) {
        assert_eq!(words(method, uri), expected);
    }

    proptest! {
        #[test]
        fn any_url_has_a_target(path in "(/(api|apis|watch|namespaces|v1|[a-z%0-9./]{0,6})){0,9}",
            query in "[a-z=&%+]{0,20}") {
            if let Ok(uri) = format!("/{path}?{query}").parse() {
                for method in [Method::GET, Method::DELETE, Method::OPTIONS] {
                    let target = Target::of(&method, &uri);
                    prop_assert!(!target.verb.is_empty());
                }
            }
        }

        #[test]
        fn what_is_put_into_a_url_is_read_from_it(
            group in "[a-z]{1,8}", plural in "[a-z]{1,8}s", namespace in "[a-z0-9-]{1,8}",
            name in "[a-z0-9.-]{1,12}", subresource in proptest::option::of("[a-z]{1,8}"),
        ) {
            prop_assume!(plural != "namespaces");
            let tail = subresource.as_ref().map(|it| format!("/{it}")).unwrap_or_default();
            let uri = format!("/apis/{group}/v1/namespaces/{namespace}/{plural}/{name}{tail}");
            let target = Target::of(&Method::PUT, &uri.parse().unwrap());
            prop_assert_eq!(target, Target {
                verb: "update".to_owned(), group, resource: plural, subresource,
                namespace: Some(namespace), name: Some(name), query: BTreeMap::new(),
                is_resource: true,
            });
        }
    }
}
