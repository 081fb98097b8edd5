//! What a control plane shall have, and how it is started.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::api::{self, Api};
use crate::files::{self, User};
use crate::home::Home;
use crate::options::Options;
use crate::pki::Pki;
use crate::plane::ControlPlane;
use crate::programs::Role;
use crate::{flags, ports};

/// A cold, busy machine takes its time; a healthy start takes two seconds.
const START_LIMIT: Duration = Duration::from_secs(90);
/// A port may be taken between looking and listening.
const ATTEMPTS: u32 = 3;

const STAGES: &str = include_str!("../stages.yaml");
const DELETE: &str = include_str!("../delete.yaml");
const END_TO_END: &str = include_str!("../end-to-end.yaml");
const HEARTBEAT: &str = include_str!("../heartbeat.yaml");
const AUDIT: &str = include_str!("../audit.yaml");

/// What to start; see [`ControlPlane::builder`]. Everything optional is off.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    options: Options,
}

impl ControlPlane {
    /// What to start; end with [`Builder::start`].
    pub fn builder() -> Builder {
        Builder::default()
    }
}

impl Builder {
    /// Runs kwok: bound pods on fake nodes start, end and go.
    #[must_use]
    pub fn kwok(mut self, on: bool) -> Self {
        self.options.kwok = on;
        self
    }

    /// Runs kube-controller-manager: Jobs, ReplicaSets, garbage collection,
    /// disruption budgets.
    #[must_use]
    pub fn controller_manager(mut self, on: bool) -> Self {
        self.options.controller_manager = on;
        self
    }

    /// Runs kube-scheduler, for pods whose scheduler is `default-scheduler`.
    #[must_use]
    pub fn kube_scheduler(mut self, on: bool) -> Self {
        self.options.kube_scheduler = on;
        self
    }

    /// Serves upstream's `scheduling.k8s.io/v1beta1` PodGroups and turns on the
    /// feature gates GenericWorkload and TopologyAwareWorkloadScheduling everywhere.
    #[must_use]
    pub fn upstream_pod_groups(mut self, on: bool) -> Self {
        self.options.upstream_pod_groups = on;
        self
    }

    /// And the controller of Jobs makes a Workload and a PodGroup for each (feature gate WorkloadWithJob).
    #[must_use]
    pub fn pod_groups_of_jobs(mut self, on: bool) -> Self {
        self.options.pod_groups_of_jobs = on;
        self.upstream_pod_groups(on)
    }

    /// Nodes send heartbeats, and the controllers taint and clear a node that
    /// is not Ready. Needs kwok and the controller manager.
    #[must_use]
    pub fn node_lifecycle(mut self, on: bool) -> Self {
        self.options.node_lifecycle = on;
        self
    }

    /// What Kubernetes' end-to-end tests need besides: kwok plays more of what kubelets do (`end-to-end.yaml`), and
    /// more controllers run.
    #[must_use]
    pub fn end_to_end(mut self, on: bool) -> Self {
        self.options.end_to_end = on;
        self
    }

    /// Writes down who wrote what and when; see [`ControlPlane::audit`].
    #[must_use]
    pub fn audit(mut self, on: bool) -> Self {
        self.options.audit = on;
        self
    }

    /// Adds a user with no rights but what RBAC gives it or its groups; see
    /// [`ControlPlane::kubeconfig_of`].
    #[must_use]
    pub fn user(mut self, name: &str, groups: &[&str]) -> Self {
        self.options.users.push((
            name.to_owned(),
            groups.iter().map(ToString::to_string).collect(),
        ));
        self
    }

    /// Adds a flag to kube-apiserver's.
    #[must_use]
    pub fn api_server_flag(mut self, flag: &str) -> Self {
        self.options.api_server_flags.push(flag.to_owned());
        self
    }

    /// Keeps logs, keys and kubeconfigs in this directory and leaves them there
    /// at the end. Otherwise they are in a temporary one, which stays only when
    /// the test fails.
    #[must_use]
    pub fn dir(mut self, dir: &Path) -> Self {
        self.options.dir = Some(dir.to_owned());
        self
    }

    /// Starts it and waits until it serves.
    ///
    /// # Errors
    /// When a program is missing or does not start; the error says what to do,
    /// or ends with the log.
    pub fn start(&self) -> Result<ControlPlane> {
        if self.options.node_lifecycle && !(self.options.kwok && self.options.controller_manager) {
            bail!("node_lifecycle needs kwok and the controller manager");
        }
        let mut attempt = 1;
        loop {
            match self.try_start() {
                Err(error) if attempt < ATTEMPTS && is_port_clash(&error) => attempt += 1,
                result => return result,
            }
        }
    }

    fn try_start(&self) -> Result<ControlPlane> {
        let home = Home::create(self.options.dir.as_deref())?;
        let dir = home.path().to_owned();
        let pki = Pki::create(&dir)?;
        let users = self.users()?;
        let lines: String = users.iter().map(User::line).collect();
        files::write_secret(&dir.join("tokens.csv"), &lines)?;

        let (etcd, api_server) = (ports::free()?, ports::free()?);
        let url = format!("https://127.0.0.1:{api_server}");
        let ca = dir.join("ca.crt");
        for (i, user) in users.iter().enumerate() {
            let name = if i == 0 {
                "kubeconfig".to_owned()
            } else {
                user.kubeconfig_name()
            };
            files::write_secret(&dir.join(name), &files::kubeconfig(&url, &ca, user))?;
        }
        let api = Api::new(&url, &pki.ca_pem, &users[0].token)?;
        let mut plane = ControlPlane::new(home, url, users, api);

        let data = plane.home().data();
        let task = flags::etcd(&data, etcd, ports::free()?);
        plane.run(Role::Etcd, task, Some(data))?;
        plane.wait_for("etcd", START_LIMIT, || ports::listens(etcd))?;

        if self.options.audit {
            files::write(&dir.join(files::AUDIT_POLICY), AUDIT)?;
        }
        let task = flags::api_server(&self.options, &dir, &pki, etcd, api_server);
        plane.run(Role::ApiServer, task, None)?;
        plane.wait_until_ready(START_LIMIT)?;

        // The rest starts side by side.
        let mut listening = Vec::new();
        if self.options.controller_manager {
            let port = ports::free()?;
            let task = flags::controller_manager(&self.options, &dir, &pki, port);
            plane.run(Role::ControllerManager, task, None)?;
            listening.push(port);
        }
        if self.options.kube_scheduler {
            let port = ports::free()?;
            plane.run(
                Role::Scheduler,
                flags::scheduler(&self.options, &dir, port),
                None,
            )?;
            listening.push(port);
        }
        if self.options.kwok {
            let port = ports::free()?;
            let stages = dir.join("stages.yaml");
            files::write(&stages, &self.stages())?;
            plane.run(Role::Kwok, flags::kwok(&dir, &stages, port), None)?;
            plane.wait_for("kwok", START_LIMIT, || api::healthy(port))?;
        }
        plane.wait_for("the controllers", START_LIMIT, || {
            listening.iter().all(|port| ports::listens(*port))
        })?;
        Ok(plane)
    }

    fn stages(&self) -> String {
        let Options {
            end_to_end,
            node_lifecycle,
            ..
        } = self.options;
        let delete = if end_to_end { END_TO_END } else { DELETE };
        let more = if node_lifecycle { HEARTBEAT } else { "" };
        [STAGES, delete, more].join("---\n")
    }

    /// The admin, then the users asked for.
    fn users(&self) -> Result<Vec<User>> {
        let admin = ("admin".to_owned(), vec!["system:masters".to_owned()]);
        let mut users = Vec::new();
        for (name, groups) in std::iter::once(&admin).chain(&self.options.users) {
            // They go into a CSV file as they are.
            if groups
                .iter()
                .chain([name])
                .any(|word| word.contains(['"', ',', '\n']))
            {
                bail!("the user {name:?} or a group of it has a quote, comma or line break");
            }
            let token = files::random_token()?;
            users.push(User {
                name: name.clone(),
                groups: groups.clone(),
                token,
            });
        }
        Ok(users)
    }
}

fn is_port_clash(error: &anyhow::Error) -> bool {
    format!("{error:#}").contains("address already in use")
}
