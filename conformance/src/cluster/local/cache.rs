//! The cache of built programs and rendered manifests, shared by all clusters of a user.

use super::files;
use super::logs;
use super::manifests::{self, SOURCES, Source};
use super::pins::{BINARIES, Binary, JOBSET, STACK};
use super::toolchain::{self, Toolchain};
use crate::cluster::{ClusterError, Event, Progress};
use fs_err as fs;
use serde_json::Value;
use std::fs::TryLockError;
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// One generation of the cache: fixed pins, flags and toolchain.
#[derive(Debug, Clone)]
pub(in crate::cluster) struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The generation that belongs to a toolchain; makes sure that all of it is there.
    pub(in crate::cluster) async fn ready(
        base: &Path,
        toolchain: &Toolchain,
        patience: Duration,
        progress: &dyn Progress,
    ) -> Result<Self, ClusterError> {
        let cache = Self { folder: base.join(toolchain.digest()) };
        if !cache.complete() {
            files::folder(&cache.folder)?;
            let _lock = lock(&cache.folder.join("lock"), patience, progress).await?;
            cache.build_binaries(progress).await?;
            cache.render_manifests(toolchain, progress).await?;
        }
        Ok(cache)
    }

    /// The one program, and the sources of the pinned modules, for a cluster that is not built here.
    pub(in crate::cluster) async fn of_program(
        base: &Path,
        binary: &Binary,
        patience: Duration,
        progress: &dyn Progress,
    ) -> Result<Self, ClusterError> {
        let toolchain = Toolchain::find().await?;
        let digest = binary.digest(&toolchain.version);
        let cache = Self { folder: base.join(format!("{}-program-{digest}", binary.name)) };
        files::folder(&cache.folder)?;
        let _lock = lock(&cache.folder.join("lock"), patience, progress).await?;
        for module in [binary.module, &STACK, &JOBSET] {
            toolchain::write_module(module, &cache.module_folder(module.name))?;
        }
        cache.build_those_lacking(std::slice::from_ref(binary), progress).await?;
        Ok(cache)
    }

    /// Where the sources of a component's pinned module are; downloads them if need be.
    pub(in crate::cluster) async fn sources(
        &self,
        source: &Source,
    ) -> Result<PathBuf, ClusterError> {
        let toolchain = Toolchain::find().await?;
        toolchain.sources(&self.module_folder(source.module.name), source.path).await
    }

    /// The folder of programs.
    pub(in crate::cluster) fn binaries(&self) -> PathBuf {
        self.folder.join("bin")
    }

    /// A program.
    pub(in crate::cluster) fn binary(&self, name: &str) -> PathBuf {
        self.binaries().join(name)
    }

    /// The custom resource definitions and webhook configurations of a component.
    pub(in crate::cluster) fn manifests(
        &self,
        component: &str,
    ) -> Result<Vec<Value>, ClusterError> {
        let path = self.manifest_file(component);
        let bytes = fs::read(&path).map_err(|error| ClusterError::io(&path, &error))?;
        serde_json::from_slice(&bytes)
            .map_err(|error| ClusterError::File { path, detail: error.to_string() })
    }

    fn manifest_file(&self, component: &str) -> PathBuf {
        self.folder.join("manifests").join(component).with_added_extension("json")
    }

    /// Files come into the cache by rename only, so one that is there is whole.
    fn complete(&self) -> bool {
        BINARIES.iter().all(|binary| self.binary(binary.name).exists())
            && SOURCES.iter().all(|source| self.manifest_file(source.component).exists())
    }

    fn module_folder(&self, name: &str) -> PathBuf {
        self.folder.join("modules").join(name)
    }

    async fn build_binaries(&self, progress: &dyn Progress) -> Result<(), ClusterError> {
        for binary in &BINARIES {
            toolchain::write_module(binary.module, &self.module_folder(binary.module.name))?;
        }
        self.build_those_lacking(&BINARIES, progress).await
    }

    async fn build_those_lacking(
        &self,
        binaries: &[Binary],
        progress: &dyn Progress,
    ) -> Result<(), ClusterError> {
        files::folder(&self.binaries())?;
        files::folder(&self.folder.join("logs"))?;
        let lacking: Vec<&Binary> =
            binaries.iter().filter(|binary| !self.binary(binary.name).exists()).collect();
        for (index, binary) in lacking.iter().enumerate() {
            progress.event(&Event::Building {
                binary: binary.name.to_owned(),
                nth: index + 1,
                of: lacking.len(),
            });
            let begun = Instant::now();
            self.build(binary).await?;
            progress.event(&Event::Built {
                binary: binary.name.to_owned(),
                elapsed_ms: millis(begun.elapsed()),
            });
        }
        Ok(())
    }

    /// Builds to a temporary name and renames: a half-built program is never taken for a whole
    /// one.
    async fn build(&self, binary: &Binary) -> Result<(), ClusterError> {
        let whole = self.binary(binary.name);
        let part = whole.with_added_extension("part");
        let log = self.folder.join("logs").join(binary.name).with_added_extension("log");
        let output = toolchain::command(&binary.build_arguments(&part.to_string_lossy()))
            .current_dir(self.module_folder(binary.module.name))
            .stdout(Stdio::null())
            .output()
            .await
            .map_err(|error| ClusterError::io(&whole, &error))?;
        if !output.status.success() {
            drop(fs::remove_file(&part));
            // On a full disk there is no log, and the error says why.
            drop(fs::write(&log, &output.stderr));
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(build_error(binary.name, &whole, &log, &logs::last_lines(&text, 20)));
        }
        fs::rename(&part, &whole).map_err(|error| ClusterError::io(&whole, &error))
    }

    async fn render_manifests(
        &self,
        toolchain: &Toolchain,
        progress: &dyn Progress,
    ) -> Result<(), ClusterError> {
        let phase = "manifests".to_owned();
        let until = "the pinned modules' CRDs and webhooks are rendered".to_owned();
        progress.event(&Event::Waiting { phase: phase.clone(), until });
        let begun = Instant::now();
        files::folder(&self.folder.join("manifests"))?;
        for source in &SOURCES {
            let module = self.module_folder(source.module.name);
            let sources = toolchain.sources(&module, source.path).await?;
            let objects = Value::Array(manifests::render(source, &sources)?);
            files::write(&self.manifest_file(source.component), objects.to_string().as_bytes())?;
        }
        let elapsed_ms = millis(begun.elapsed());
        let because = "they are in the cache".to_owned();
        progress.event(&Event::Done { phase, because, elapsed_ms });
        Ok(())
    }
}

/// What a failed build says to people.
fn build_error(binary: &str, whole: &Path, log: &Path, tail: &str) -> ClusterError {
    if logs::tell_of_a_full_disk(tail) {
        return ClusterError::DiskFull {
            path: whole.to_path_buf(),
            detail: format!("while building {binary}: no space left on device"),
        };
    }
    if tail.contains("guard: ") && tail.contains("os error 2") {
        return toolchain::missing();
    }
    ClusterError::BuildFailed {
        binary: binary.to_owned(),
        output: tail.to_owned(),
        log: log.to_path_buf(),
    }
}

/// Waits for the lock of a cache, saying so, at most for `patience`. It is held for as long as
/// the returned file is open, so it goes with its process, whatever becomes of that.
async fn lock(
    path: &Path,
    patience: Duration,
    progress: &dyn Progress,
) -> Result<fs::File, ClusterError> {
    let opened =
        fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
    let mut file = opened.map_err(|error| ClusterError::io(path, &error))?;
    let begun = Instant::now();
    let mut turn = tokio::time::interval(Duration::from_millis(200));
    let mut told = None;
    loop {
        turn.tick().await;
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(ClusterError::io(path, &error)),
        }
        let (waited, holder) = (begun.elapsed(), holder(&mut file));
        if waited >= patience {
            let waited_s = waited.as_secs();
            return Err(ClusterError::CacheLocked { path: path.to_path_buf(), holder, waited_s });
        }
        if told.is_none_or(|told| waited >= told + Duration::from_secs(10)) {
            told = Some(waited);
            let (path, waited_ms) = (path.to_path_buf(), millis(waited));
            progress.event(&Event::CacheLocked { path, holder, waited_ms });
        }
    }
    let signed = file
        .set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| file.write_all(std::process::id().to_string().as_bytes()));
    signed.map_err(|error| ClusterError::io(path, &error))?;
    Ok(file)
}

/// The process that holds the lock, as it wrote into the file.
fn holder(file: &mut fs::File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().and_then(|()| file.take(20).read_to_string(&mut text)).ok()?;
    text.trim().parse().ok()
}

/// Milliseconds, for events.
pub(in crate::cluster) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::progress::Silent;
    use std::sync::Mutex;

    #[derive(Default)]
    struct Heard(Mutex<Vec<Event>>);

    impl Progress for Heard {
        fn event(&self, event: &Event) {
            self.0.lock().unwrap().push(event.clone());
        }
    }

    #[tokio::test]
    async fn a_locked_cache_is_waited_for_with_progress_until_the_deadline() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = lock(&path, Duration::ZERO, &Silent).await.unwrap();

        let heard = Heard::default();
        let error = lock(&path, Duration::from_millis(300), &heard).await.unwrap_err();
        let me = Some(std::process::id());
        assert!(
            matches!(&error, ClusterError::CacheLocked { holder, .. } if *holder == me),
            "{error:?}"
        );
        let told = heard.0.lock().unwrap().clone();
        assert!(matches!(told[..], [Event::CacheLocked { .. }]), "{told:?}");

        drop(held);
        lock(&path, Duration::ZERO, &Silent).await.unwrap();
    }

    #[tokio::test]
    async fn a_cache_that_cannot_be_written_is_an_environment_error_naming_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cache");
        fs::write(&file, "a file where a folder should be").unwrap();
        let toolchain = Toolchain { version: "go1.26.8".into() };
        let error = Cache::ready(&file, &toolchain, Duration::ZERO, &Silent).await.unwrap_err();
        assert!(matches!(&error, ClusterError::Unwritable { path, .. } if path.starts_with(&file)));
    }

    #[test]
    fn a_half_built_program_is_not_taken_for_a_whole_one() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache { folder: folder.path().to_path_buf() };
        fs::create_dir_all(cache.binaries()).unwrap();
        fs::create_dir_all(folder.path().join("manifests")).unwrap();
        for binary in &BINARIES {
            fs::write(cache.binary(binary.name), "").unwrap();
        }
        for source in &SOURCES {
            fs::write(cache.manifest_file(source.component), "[]").unwrap();
        }
        assert!(cache.complete());
        let whole = cache.binary("kueue");
        fs::rename(&whole, whole.with_added_extension("part")).unwrap();
        assert!(!cache.complete());
    }

    #[test]
    fn a_disk_that_fills_up_during_a_build_is_told_from_a_broken_build() {
        let (bin, log) = (Path::new("/c/bin/etcd"), Path::new("/c/logs/etcd.log"));
        let full = "link: writing: write /tmp/go-build1/a.out: no space left on device";
        assert!(matches!(build_error("etcd", bin, log, full), ClusterError::DiskFull { .. }));
        let broken = "x.go:1:2: undefined: y";
        assert!(matches!(build_error("etcd", bin, log, broken), ClusterError::BuildFailed { .. }));
    }
}
