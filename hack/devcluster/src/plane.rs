//! A running control plane.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::api::Api;
use crate::files::{self, User};
use crate::home::Home;
use crate::process::{Process, Task};
use crate::programs::{self, Role};
use crate::{nodes, wait};

/// How many nodes are created at a time.
const CREATORS: usize = 8;
const RESTART_LIMIT: Duration = Duration::from_secs(90);

/// A control plane that lives as long as this value.
#[derive(Debug)]
pub struct ControlPlane {
    // Dropped in this order: the processes first, then their files.
    processes: BTreeMap<Role, Process>,
    users: Vec<User>,
    url: String,
    api: Api,
    home: Home,
}

impl ControlPlane {
    pub(crate) fn new(home: Home, url: String, users: Vec<User>, api: Api) -> Self {
        Self {
            processes: BTreeMap::new(),
            users,
            url,
            api,
            home,
        }
    }

    /// Where the API server is: `https://127.0.0.1:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The admin's bearer token.
    pub fn token(&self) -> &str {
        self.users.first().map_or("", |admin| &admin.token)
    }

    /// The admin's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.dir().join("kubeconfig")
    }

    /// The kubeconfig of a user added by [`Builder::user`](crate::Builder::user).
    ///
    /// # Errors
    /// When no such user was added.
    pub fn kubeconfig_of(&self, user: &str) -> Result<PathBuf> {
        match self.users.iter().skip(1).find(|known| known.name == user) {
            Some(user) => Ok(self.dir().join(user.kubeconfig_name())),
            None => bail!("no user {user:?}: add it with Builder::user"),
        }
    }

    /// The certificate of the authority that signed the API server's, as PEM.
    pub fn ca(&self) -> PathBuf {
        self.dir().join("ca.crt")
    }

    /// Where the logs are (`kube-apiserver.log`, ... after [`Role::name`]),
    /// beside keys and kubeconfigs.
    pub fn dir(&self) -> &Path {
        self.home.path()
    }

    /// The process id of a component, if it runs: to read its memory, say.
    pub fn pid(&self, role: Role) -> Option<u32> {
        self.processes.get(&role)?.pid()
    }

    /// Kills a component (SIGKILL) and waits until it is gone. What etcd holds
    /// stays.
    ///
    /// # Errors
    /// When this control plane has no such component.
    pub fn kill(&mut self, role: Role) -> Result<()> {
        self.process(role)?.kill()
    }

    /// Starts a component again, as it was, killing it first if it runs. With
    /// etcd or the API server, waits until the API answers.
    ///
    /// # Errors
    /// When there is no such component or it does not come back.
    pub fn restart(&mut self, role: Role) -> Result<()> {
        let process = self.process(role)?;
        process.kill()?;
        *process = Process::start(process.task.clone())?;
        let down = |role| self.processes.get_mut(&role).is_none_or(Process::has_ended);
        if [Role::Etcd, Role::ApiServer].map(down).contains(&true) {
            return Ok(()); // the other one is still down, on purpose
        }
        match role {
            Role::Etcd | Role::ApiServer => self.wait_until_ready(RESTART_LIMIT),
            _ => Ok(()),
        }
    }

    /// Stops a component's clock (SIGSTOP): its connections stay open and
    /// nobody answers.
    ///
    /// # Errors
    /// When it does not run.
    pub fn pause(&mut self, role: Role) -> Result<()> {
        self.process(role)?.pause()
    }

    /// Lets a paused component go on.
    ///
    /// # Errors
    /// When it does not run.
    pub fn resume(&mut self, role: Role) -> Result<()> {
        self.process(role)?.resume()
    }

    /// Runs kubectl as the admin and returns what it printed.
    ///
    /// # Errors
    /// When kubectl fails; the error is what it wrote to standard error.
    pub fn kubectl<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String> {
        self.run_kubectl(args, "")
    }

    /// Applies manifests (`kubectl apply --server-side`, which takes large CRDs).
    ///
    /// # Errors
    /// As [`Self::kubectl`].
    pub fn kubectl_apply_stdin(&self, yaml: &str) -> Result<String> {
        self.run_kubectl(
            &["apply", "--server-side", "--force-conflicts", "-f", "-"],
            yaml,
        )
    }

    /// GETs a path of the API as the admin, for example
    /// `/api/v1/namespaces/default/pods/p`.
    ///
    /// # Errors
    /// When the answer is not 2xx; the error has the server's message.
    pub fn get(&self, path: &str) -> Result<Value> {
        self.api.get(path)
    }

    /// Who wrote what so far, if [`Builder::audit`](crate::Builder::audit) asked for it: one Event of `audit.k8s.io/v1`
    /// for each write that was answered, in this order.
    ///
    /// # Errors
    /// When there is no such log, or it cannot be read.
    pub fn audit(&self) -> Result<Vec<Value>> {
        let path = self.dir().join(files::AUDIT_LOG);
        let log = fs::read_to_string(&path)
            .with_context(|| format!("{}: ask the builder for it", path.display()))?;
        // The last line may be half written.
        let whole = log.rsplit_once('\n').map_or("", |(whole, _)| whole);
        let lines = whole.lines().map(serde_json::from_str);
        lines
            .collect::<Result<_, _>>()
            .with_context(|| path.display().to_string())
    }

    /// POSTs an object as the admin and returns the answer.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub fn post(&self, path: &str, body: &Value) -> Result<Value> {
        self.api.post(path, body)
    }

    /// Creates `count` nodes that kwok plays, several at a time. `node` makes
    /// the i-th, usually from [`crate::fake_node`]. kwok's annotation is added,
    /// and the node is Ready at once unless `node` gives conditions.
    ///
    /// # Errors
    /// The first error of the server; others may have been created.
    pub fn create_nodes(&self, count: usize, node: impl Fn(usize) -> Value + Sync) -> Result<()> {
        let next = AtomicUsize::new(0);
        let create = || -> Result<()> {
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                if i >= count {
                    return Ok(());
                }
                let mut node = node(i);
                nodes::complete(&mut node);
                self.api.post("/api/v1/nodes", &node)?;
            }
        };
        thread::scope(|scope| {
            let creators: Vec<_> = (0..CREATORS.min(count))
                .map(|_| scope.spawn(create))
                .collect();
            creators
                .into_iter()
                .try_for_each(|creator| match creator.join() {
                    Ok(result) => result,
                    Err(_) => bail!("making a node panicked"),
                })
        })
    }

    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    /// Starts a component's process.
    pub(crate) fn run(
        &mut self,
        role: Role,
        args: Vec<String>,
        cleanup: Option<PathBuf>,
    ) -> Result<()> {
        let name = role.name();
        let task = Task {
            name,
            program: programs::find(name)?,
            args,
            dir: self.dir().to_owned(),
            cleanup,
        };
        self.processes.insert(role, Process::start(task)?);
        Ok(())
    }

    /// Waits for `check`, and fails as soon as any component has ended.
    pub(crate) fn wait_for(
        &mut self,
        what: &str,
        limit: Duration,
        mut check: impl FnMut() -> bool,
    ) -> Result<()> {
        let result = wait::until(what, limit, || {
            for process in self.processes.values_mut() {
                process.check()?;
            }
            Ok(check())
        });
        if result.is_err() {
            self.home.keep();
        }
        result.with_context(|| {
            format!(
                "{what} did not start; the logs are in {}",
                self.dir().display()
            )
        })
    }

    /// Waits until the API serves what tests use first.
    pub(crate) fn wait_until_ready(&mut self, limit: Duration) -> Result<()> {
        let api = self.api.clone();
        self.wait_for("kube-apiserver", limit, || {
            // The namespace is made a moment after /readyz says ok.
            api.answers("/readyz") && api.answers("/api/v1/namespaces/default")
        })
    }

    fn process(&mut self, role: Role) -> Result<&mut Process> {
        self.processes
            .get_mut(&role)
            .with_context(|| format!("this control plane has no {role}: ask the builder for it"))
    }

    fn run_kubectl<S: AsRef<OsStr>>(&self, args: &[S], input: &str) -> Result<String> {
        let mut kubectl = Command::new(programs::find("kubectl")?)
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            .arg("--cache-dir")
            .arg(self.dir().join("kubectl-cache"))
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start kubectl")?;
        let stdin = kubectl.stdin.take();
        let output = thread::scope(|scope| {
            // In a thread of its own: kubectl may print before it has read all.
            scope.spawn(move || stdin.map(|mut pipe| pipe.write_all(input.as_bytes())));
            kubectl.wait_with_output()
        })?;
        if !output.status.success() {
            let args: Vec<_> = args
                .iter()
                .map(|arg| arg.as_ref().to_string_lossy())
                .collect();
            let message = String::from_utf8_lossy(&output.stderr);
            bail!("kubectl {}: {}", args.join(" "), message.trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        // All at once; dropping each then waits until it is gone.
        for process in self.processes.values_mut() {
            process.begin_stop();
        }
    }
}
