//! `muster bench`: how fast a scheduler binds, and releases, on a cluster.

use super::bench_placement;
use super::log::{self, Format};
use anyhow::bail;
use clap::{Args, Subcommand, ValueEnum};
use kube::Client;
use muster_bench::{Case, Convention, GPUS, Measure, Options, Report};
use muster_cluster::Clock;
use muster_cluster::client::{self, Transport};
use muster_cluster::encoding::Encoding;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// How long an answer may take to begin: the deletion of a collection takes up to a minute.
const ANSWER_WITHIN: Duration = Duration::from_secs(90);

/// Measure how fast a scheduler binds, or releases, beside how fast the API server could.
///
/// Makes nodes and pods of its own, in a namespace of its own, and deletes them at the end. The
/// nodes have no kubelet; on a cluster with a node lifecycle controller they are tainted as lost
/// after about 40 s. `muster bench placement` needs no cluster.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Arguments {
    #[command(subcommand)]
    other: Option<Other>,
    /// Kubeconfig file; else $KUBECONFIG, the pod's service account, ~/.kube/config
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Nodes to make
    #[arg(long, value_name = "N", default_value_t = 1_000, value_parser = positive)]
    nodes: usize,
    /// Pods to have scheduled
    #[arg(long, value_name = "N", default_value_t = 3_000, value_parser = positive)]
    pods: usize,
    /// Pods in a gang; 1 is pods on their own, without a PodGroup [default: 1; with --measure
    /// release, all pods]
    #[arg(long, value_name = "N", value_parser = positive)]
    gang_size: Option<usize>,
    /// What pods ask for beside amounts, as the cases of kube-scheduler's own benchmark have it
    #[arg(long, value_enum, default_value_t = Case::Basic)]
    case: Case,
    /// How gangs are named
    #[arg(long, value_enum, default_value_t = Convention::Muster)]
    convention: Convention,
    /// Queues to make, between which the gangs, or single pods, are dealt out in turn
    #[arg(long, value_name = "N", default_value_t = 0)]
    queues: usize,
    /// The pods' schedulerName
    #[arg(long, value_name = "NAME", default_value = "muster")]
    scheduler_name: String,
    /// Command line of a scheduler to start when all pods exist, and to stop at the end; its peak
    /// memory is read. Without it, the scheduler runs already and pods are bound as they come
    #[arg(long, value_name = "COMMAND")]
    exec: Option<String>,
    /// Command line of the controllers to start for --measure slots. Without it, they run already
    #[arg(long, value_name = "COMMAND")]
    controllers: Option<String>,
    /// What is measured: of the scheduler, and raw
    #[arg(long, value_enum, default_value_t = Measure::Bind)]
    measure: Measure,
    /// Whether the raw rate is measured before: POST pods/binding, and with --measure release or
    /// preempt what an eviction sends, PATCH pods/status and then DELETE; with --measure slots all
    /// writes that slots take
    #[arg(long, value_enum, default_value_t = Raw::On)]
    raw: Raw,
    /// How many raw binds, or evictions, are in flight at once, in turn
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_values_t = [8, 16, 32], value_parser = positive)]
    raw_in_flight: Vec<usize>,
    /// How raw binds are written; Muster writes in protobuf where the API server takes it
    #[arg(long, value_enum, default_value_t = RawEncoding::Protobuf)]
    raw_encoding: RawEncoding,
    /// Pods for each raw rate
    #[arg(long, value_name = "N", default_value_t = 3_000, value_parser = positive)]
    raw_pods: usize,
    /// How requests travel; the scheduler under test decides for itself
    #[arg(long, value_enum, default_value_t = Protocol::Http1)]
    transport: Protocol,
    /// Over how many HTTP/2 connections the raw requests travel
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = positive)]
    connections: usize,
    /// How many seconds the scheduler may take to bind all pods, and then to release or preempt them
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,
    /// Leave everything there at the end
    #[arg(long)]
    keep: bool,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t = Output::Table)]
    output: Output,
}

/// What is measured otherwise.
#[derive(Debug, Subcommand)]
enum Other {
    Placement(bench_placement::Arguments),
}

/// Whether the raw rate is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Raw {
    /// Before the scheduler's.
    On,
    /// Not at all.
    Off,
    /// And nothing else: no scheduler is needed.
    Only,
    /// On, and --measure release.
    Evict,
}

/// How raw binds are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RawEncoding {
    /// As Muster writes where the API server takes nothing else.
    Json,
    /// As Muster, and every component in Go, writes.
    Protobuf,
}

/// How requests travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Protocol {
    /// A connection for each request in flight.
    Http1,
    /// One connection for all.
    Http2,
}

/// How the result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    /// For people.
    Table,
    /// One JSON object.
    Json,
}

/// Runs the command.
pub(super) fn run(arguments: Arguments) -> ExitCode {
    if let Some(Other::Placement(placement)) = &arguments.other {
        return bench_placement::run(placement);
    }
    match arguments.bench() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

impl Arguments {
    /// Measures and prints.
    ///
    /// # Errors
    /// When the flags contradict each other, the cluster refuses something, the scheduler ends,
    /// or not all pods are bound, or released, in time.
    fn bench(self) -> anyhow::Result<()> {
        log::start(Format::Text, "warn");
        let output = self.output;
        // As `muster run` has it: what is compared differs in nothing else.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let report = runtime.block_on(self.measure())?;
        print(&report, output)?;
        report.shortfall().map_or(Ok(()), |short| bail!(short))
    }

    async fn measure(self) -> anyhow::Result<Report> {
        let (measure, gang_size) = self.shape()?;
        let cluster = client::kube_config(self.kubeconfig.as_deref()).await?;
        let transport = match self.transport {
            Protocol::Http1 => Transport::Http1,
            Protocol::Http2 => Transport::Http2,
        };
        let make = || client::client(&cluster, transport, ANSWER_WITHIN);
        let raw_clients: Result<Vec<Client>, _> = (0..self.connections).map(|_| make()).collect();
        let options = Options {
            measure,
            nodes: self.nodes,
            pods: if self.raw == Raw::Only { 0 } else { self.pods },
            gang_size,
            case: self.case,
            convention: self.convention,
            queues: self.queues,
            scheduler_name: self.scheduler_name,
            exec: self.exec,
            controllers: self.controllers,
            raw_pods: if self.raw == Raw::Off {
                0
            } else {
                self.raw_pods
            },
            raw_in_flight: self.raw_in_flight,
            raw_encoding: match self.raw_encoding {
                RawEncoding::Json => Encoding::Json,
                RawEncoding::Protobuf => Encoding::Protobuf,
            },
            raw_clients: raw_clients?,
            transport,
            timeout: Duration::from_secs(self.timeout),
            keep: self.keep,
            run: format!("muster-bench-{:x}", Clock::start().now().0),
        };
        let stop = super::told_to_stop()?;
        match muster_bench::run(make()?, &options, stop).await? {
            Some(report) => Ok(report),
            None => bail!("stopped; what was made is deleted unless --keep was given"),
        }
    }

    /// What is measured, on gangs of which size.
    fn shape(&self) -> anyhow::Result<(Measure, usize)> {
        let Self { pods, .. } = *self;
        let measure = match self.raw {
            Raw::Evict => Measure::Release,
            _ => self.measure,
        };
        let gang_size = self.gang_size.unwrap_or(match measure {
            Measure::Bind | Measure::Preempt | Measure::Slots => 1,
            Measure::Release => pods,
        });
        if !pods.is_multiple_of(gang_size) {
            bail!("--pods {pods} is not a multiple of --gang-size {gang_size}");
        }
        if measure == Measure::Release && self.raw != Raw::Only {
            if gang_size == 1 {
                bail!("a release needs gangs: --gang-size 1 is too small, at least 2");
            }
            if self.convention == Convention::None {
                bail!("a release needs gangs, and --convention none makes none");
            }
        }
        if self.queues > 0 && self.convention != Convention::Muster {
            bail!("--queues needs --convention muster: the others' gangs name other queues");
        }
        let gangs_of_ours = gang_size > 1 && self.convention == Convention::Muster;
        if self.case == Case::RequiredRack && self.raw != Raw::Only && !gangs_of_ours {
            bail!(
                "--case required-rack needs gangs of --convention muster: --gang-size at least 2"
            );
        }
        if self.case == Case::PodAntiAffinity && pods > self.nodes {
            let nodes = self.nodes;
            bail!(
                "--case pod-anti-affinity gives each pod a node: --pods {pods} is more than --nodes {nodes}"
            );
        }
        if matches!(self.case, Case::MixedChurn | Case::Unschedulable) && gang_size > 1 {
            let case = self.case.name();
            bail!("--case {case} is for single pods: --gang-size {gang_size} is more than 1");
        }
        if self.case != Case::Basic && measure == Measure::Preempt {
            let case = self.case.name();
            bail!(
                "--case {case} and --measure preempt: who makes room is measured with basic pods"
            );
        }
        if measure == Measure::Preempt && self.raw != Raw::Only {
            let (nodes, full) = (self.nodes, GPUS * self.nodes);
            if pods != full {
                bail!(
                    "--measure preempt fills the nodes, with {GPUS} pods each: --pods {pods} is not {full} for --nodes {nodes}"
                );
            }
            if self.queues > 0 {
                bail!("--queues and --measure preempt: those of one queue do not go for another");
            }
            if self.convention == Convention::None {
                bail!("a preemption is for a gang, and --convention none makes none");
            }
        }
        if measure == Measure::Slots {
            let nodes = self.nodes;
            if !pods.is_multiple_of(nodes) || pods / nodes > 100 {
                bail!(
                    "--measure slots has as many slots as pods, the same number on each node and at most 100: --pods {pods} does not go with --nodes {nodes}"
                );
            }
            if gang_size > 1 || self.case != Case::Basic || self.queues > 0 {
                bail!("--measure slots is for single pods that ask for nothing but a slot");
            }
        } else if self.controllers.is_some() {
            bail!("--controllers goes with --measure slots only");
        }
        Ok((measure, gang_size))
    }
}

fn print(report: &Report, output: Output) -> anyhow::Result<()> {
    match output {
        Output::Table => print!("{report}"),
        Output::Json => println!("{}", serde_json::to_string_pretty(report)?),
    }
    Ok(())
}

fn positive(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("must be at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(format!("{error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, Parser};

    #[derive(Debug, Parser)]
    struct Shell {
        #[command(flatten)]
        bench: Arguments,
    }

    #[test]
    fn the_flags_are_consistent() {
        Shell::command().debug_assert();
    }

    #[test]
    fn counts_of_nothing_are_refused() {
        for flag in [
            "--nodes=0",
            "--gang-size=0",
            "--pods=many",
            "--raw-in-flight=8,0",
        ] {
            assert!(Shell::try_parse_from(["bench", flag]).is_err(), "{flag}");
        }
    }

    fn shape(flags: &[&str]) -> Result<(Measure, usize), String> {
        let flags = ["bench"].iter().chain(flags);
        let arguments = Shell::try_parse_from(flags).unwrap().bench;
        arguments.shape().map_err(|error| error.to_string())
    }

    #[test]
    fn pods_that_fill_no_whole_number_of_gangs_are_refused() {
        assert_eq!(
            shape(&["--pods=10", "--gang-size=4"]).unwrap_err(),
            "--pods 10 is not a multiple of --gang-size 4"
        );
    }

    #[test]
    fn raw_evictions_are_measured_with_a_release_of_one_gang_unless_more_is_said() {
        assert_eq!(shape(&[]), Ok((Measure::Bind, 1)));
        let evict = |more: &[&str]| shape(&[&["--raw=evict", "--pods=10"], more].concat());
        assert_eq!(evict(&[]), Ok((Measure::Release, 10)));
        assert_eq!(evict(&["--gang-size=5"]), Ok((Measure::Release, 5)));
        let alone = shape(&["--raw=only", "--measure=release", "--gang-size=1"]);
        assert_eq!(alone, Ok((Measure::Release, 1)));
    }

    #[test]
    fn a_preemption_needs_full_nodes_and_a_gang() {
        let preempt = |more: &[&str]| shape(&[&["--measure=preempt", "--nodes=4"], more].concat());
        assert_eq!(preempt(&["--pods=32"]), Ok((Measure::Preempt, 1)));
        assert_eq!(
            preempt(&["--pods=31"]).unwrap_err(),
            "--measure preempt fills the nodes, with 8 pods each: --pods 31 is not 32 for --nodes 4"
        );
        let without = preempt(&["--pods=32", "--convention=none"]).unwrap_err();
        assert!(without.contains("--convention none"), "{without}");
        assert!(preempt(&["--pods=32", "--queues=2"]).is_err());
    }

    #[test]
    fn a_case_needs_room_for_what_its_pods_ask_for() {
        let apart = |nodes| shape(&["--case=pod-anti-affinity", "--pods=20", nodes]);
        assert!(
            apart("--nodes=19")
                .unwrap_err()
                .contains("more than --nodes 19")
        );
        assert_eq!(apart("--nodes=20"), Ok((Measure::Bind, 1)));
        let full = ["--measure=preempt", "--nodes=4", "--pods=32"];
        assert!(shape(&[&full[..], &["--case=topology-spread"]].concat()).is_err());
        let racks = |more: &str| shape(&["--case=required-rack", more]);
        assert!(racks("--gang-size=1").is_err());
        assert!(racks("--convention=upstream").is_err());
        assert!(racks("--gang-size=10").is_ok());
        assert!(shape(&["--case=mixed-churn", "--gang-size=10"]).is_err());
    }

    #[test]
    fn queues_are_of_muster() {
        assert!(shape(&["--queues=3", "--convention=upstream"]).is_err());
        assert!(shape(&["--queues=3"]).is_ok());
    }

    #[test]
    fn a_release_without_gangs_is_refused() {
        let refused = |flag| shape(&["--measure=release", flag]).unwrap_err();
        assert!(refused("--gang-size=1").contains("--gang-size 1"));
        assert!(refused("--convention=none").contains("--convention none"));
    }
}
