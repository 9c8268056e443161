//! The configuration, from its file and the flags; the flags win.

use serde_json::{Map, Value, json};

use super::Arguments;
use crate::{Config, yaml};

/// Loads the configuration; an error says what is wrong where.
pub(super) fn load(arguments: &Arguments) -> Result<Config, String> {
    let text = match &arguments.config {
        Some(path) => fs_err::read_to_string(path).map_err(|error| error.to_string())?,
        None => "{}".to_owned(),
    };
    let place = || arguments.config.as_ref().map_or("flags".into(), |path| path.to_string_lossy());
    let mut merged: Value = yaml::read(&text).map_err(|error| format!("{}: {error}", place()))?;
    if !merged.is_object() {
        return Err(format!("{}: expected keys and values", place()));
    }
    for (path, value) in flags(arguments) {
        set(&mut merged, path, value);
    }
    let config: Config = serde_json::from_value(merged).map_err(|error| {
        // Read from the text, a fault of the file has a line and a column.
        let positioned = yaml::read::<Config>(&text).err();
        let is_of_file = arguments.config.is_some();
        match positioned.filter(|_| is_of_file) {
            Some(positioned) => format!("{}: {positioned}", place()),
            None => format!("configuration: {error}"),
        }
    })?;
    config.check().map_err(|error| error.to_string())?;
    Ok(config)
}

/// That no flag sets what comes by the driver protocol.
pub(super) fn none(arguments: &Arguments) -> Result<(), String> {
    if let Some((path, _)) = flags(arguments).first() {
        let key = path.join(".");
        return Err(format!("`{key}` comes by `initialize`; leave its flag out"));
    }
    if let Some(path) = &arguments.config {
        let path = path.display();
        tracing::warn!("{path} is not read: the configuration comes by `initialize`");
    }
    Ok(())
}

fn flags(arguments: &Arguments) -> Vec<(&'static [&'static str], Value)> {
    let texts: [(&'static [&'static str], &Option<String>); 10] = [
        (&["namespace"], &arguments.namespace),
        (&["mode"], &arguments.mode),
        (&["queue"], &arguments.queue),
        (&["admissionCheck"], &arguments.admission_check),
        (&["controllerName"], &arguments.controller_name),
        (&["lease", "name"], &arguments.lease_name),
        (&["lease", "namespace"], &arguments.lease_namespace),
        (&["preflight"], &arguments.preflight),
        (&["timeouts", "request"], &arguments.request_timeout),
        (&["timeouts", "workload"], &arguments.workload_timeout),
    ];
    let mut flags: Vec<_> = texts
        .into_iter()
        .chain([(&["timeouts", "release"][..], &arguments.release_timeout)])
        .filter_map(|(path, text)| text.as_ref().map(|text| (path, json!(text))))
        .collect();
    if let Some(path) = &arguments.kubeconfig {
        flags.push((&["kubeconfig"], json!(path)));
    }
    flags
}

fn set(root: &mut Value, path: &[&str], value: Value) {
    let Some((last, parents)) = path.split_last() else { return };
    let mut place = root;
    for parent in parents {
        if !place[*parent].is_object() {
            place[*parent] = Value::Object(Map::new());
        }
        place = &mut place[*parent];
    }
    place[*last] = value;
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::Parser;
    use rstest::rstest;

    use super::*;
    use crate::{LeaseRef, Preflight};

    fn loaded(file: Option<&str>, flags: &[&str]) -> Result<Config, String> {
        let written = tempfile::NamedTempFile::new().unwrap();
        let path = written.path().to_string_lossy().into_owned();
        let mut all = vec!["dispatch-adapter", "list"];
        if let Some(text) = file {
            fs_err::write(written.path(), text).unwrap();
            all.extend(["--config", &path]);
        }
        all.extend(flags);
        load(&Arguments::parse_from(all)).map_err(|error| error.replace(&path, "FILE"))
    }

    #[test]
    fn flags_alone_make_a_configuration() {
        let flags = ["-n=jobs", "--queue=q", "--admission-check=dispatch"];
        assert_eq!(loaded(None, &flags), Ok(Config::kueue("jobs", "q", "dispatch")));
    }

    #[test]
    fn a_file_has_the_same_keys_and_flags_win() {
        let file = "namespace: jobs\nadmissionCheck: dispatch\nqueue: q\npreflight: assumed\n\
                    lease: {name: l, namespace: a}\ntimeouts: {request: 1s, release: 2m}\n";
        let flags = ["--lease-namespace=b", "--release-timeout=5s"];
        let config = loaded(Some(file), &flags).unwrap();
        assert_eq!(config.preflight, Preflight::Assumed);
        assert_eq!(config.lease, LeaseRef { name: "l".to_owned(), namespace: "b".to_owned() });
        assert_eq!(config.timeouts.request, Duration::from_secs(1));
        assert_eq!(config.timeouts.workload, Duration::from_secs(30));
        assert_eq!(config.timeouts.release, Duration::from_secs(5));
    }

    #[test]
    fn what_comes_by_the_driver_protocol_has_no_flags() {
        let serve = |flags: &[&str]| {
            let all = ["dispatch-adapter", "serve"].iter().chain(flags);
            none(&Arguments::parse_from(all))
        };
        assert_eq!(serve(&[]), Ok(()));
        let refused = serve(&["--lease-name=l"]).unwrap_err();
        assert!(refused.contains("`lease.name`"), "{refused}");
    }

    #[rstest]
    #[case::unknown_key(Some("namespace: a\nnamspace: b\n"), &[], "namspace")]
    #[case::bad_mode(Some("namespace: a\nmode: slurm\n"), &[], "slurm")]
    #[case::bad_duration(None, &["-n=a", "--admission-check=c", "--request-timeout=soon"], "soon")]
    #[case::no_namespace(None, &["--admission-check=c"], "namespace")]
    #[case::no_check(None, &["-n=a"], "`admissionCheck` is missing")]
    #[case::not_a_map(Some("[]"), &[], "expected keys and values")]
    fn a_wrong_configuration_is_refused_with_what_is_wrong(
        #[case] file: Option<&str>,
        #[case] flags: &[&str],
        #[case] part: &str,
    ) {
        let error = loaded(file, flags).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}
