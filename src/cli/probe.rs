//! `muster probe`: asks the Muster beside it whether it is alive, or ready. For kubelet, which has it run in the
//! container: so nobody outside can be in the way.

use clap::{Args, ValueEnum};
use muster_config::Address;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;
use std::time::Duration;

/// How long each step may take.
const WITHIN: Duration = Duration::from_secs(2);
/// So much of an answer is read.
const MOST: u64 = 64 << 10;

/// Arguments of `muster probe`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// What is asked
    #[arg(value_enum)]
    what: What,
    /// The --probes of the one that is asked
    #[arg(long, value_name = "ADDRESS")]
    address: Address,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// Does it live?
    Healthz,
    /// Can it do its work?
    Readyz,
}

/// Prints the answer; exit code 0 if it is yes.
pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let path = match arguments.what {
        What::Healthz => "/healthz",
        What::Readyz => "/readyz",
    };
    let address = arguments.address.get();
    match ask(address, path) {
        Ok((true, text)) => super::print(&text),
        Ok((false, text)) => {
            eprint!("{text}");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("http://{address}{path}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the answer is a success, and its text.
fn ask(address: SocketAddr, path: &str) -> std::io::Result<(bool, String)> {
    let mut stream = TcpStream::connect_timeout(&address, WITHIN)?;
    stream.set_read_timeout(Some(WITHIN))?;
    stream.set_write_timeout(Some(WITHIN))?;
    // Of this version nothing comes but head and text, and then the end.
    let request = format!("GET {path} HTTP/1.0\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut bytes = Vec::new();
    stream.take(MOST).read_to_end(&mut bytes)?;
    let answer = String::from_utf8_lossy(&bytes);
    let (head, text) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let code = head.split(' ').nth(1);
    if code.is_none() {
        return Err(std::io::Error::other("the answer is no HTTP"));
    }
    Ok((code == Some("200"), text.to_owned()))
}
