//! Makes an image of the program as an OCI layout, without a daemon: `hack/image` builds the program and calls this.
//!
//! The same program, version, revision and time make the same bytes, on whatever machine: nothing is read from the clock, files
//! have no owner and no time of their own, and names are sorted.

mod layer;
mod layout;
mod parts;

use anyhow::{Context, bail};
use clap::Parser;
use jiff::Timestamp;
use layout::{About, Image};
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

/// Makes an image of the program, without a daemon.
#[derive(Debug, Parser)]
struct Arguments {
    /// A static program and for which processor it is: amd64=PATH or arm64=PATH; may be given for each
    #[arg(long, value_name = "ARCH=PATH", required = true, value_parser = binary)]
    binary: Vec<(Arch, PathBuf)>,
    /// The version, which is also the tag
    #[arg(long, value_name = "VERSION")]
    version: String,
    /// The commit
    #[arg(long, value_name = "COMMIT")]
    revision: String,
    /// When it was made, in seconds since 1970; what everybody says who makes it again
    #[arg(long, value_name = "SECONDS")]
    created: i64,
    /// The folder of the Cargo workspace: what the program is made of is read there
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    workspace: PathBuf,
    /// The folder for the layout; it may not exist yet
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
}

/// A processor's architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Arch {
    Amd64,
    Arm64,
}

impl Arch {
    /// As an image says it.
    const fn name(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }

    /// As Rust does.
    const fn target(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64-unknown-linux-musl",
            Self::Arm64 => "aarch64-unknown-linux-musl",
        }
    }

    /// As the head of a program has it.
    const fn machine(self) -> u16 {
        match self {
            Self::Amd64 => 62,
            Self::Arm64 => 183,
        }
    }
}

fn binary(text: &str) -> Result<(Arch, PathBuf), String> {
    match text.split_once('=') {
        Some(("amd64", path)) => Ok((Arch::Amd64, path.into())),
        Some(("arm64", path)) => Ok((Arch::Arm64, path.into())),
        _ => Err("expected amd64=PATH or arm64=PATH".to_owned()),
    }
}

fn main() -> ExitCode {
    match make(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn make(arguments: Arguments) -> anyhow::Result<()> {
    let Arguments {
        mut binary,
        version,
        revision,
        created,
        workspace,
        out,
    } = arguments;
    binary.sort();
    if let Some(pair) = binary.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        bail!("--binary: {} stands there twice", pair[0].0.name());
    }
    if out.exists() {
        bail!("--out {}: it exists already", out.display());
    }
    let created = Timestamp::from_second(created).context("--created")?;
    let about = About {
        version,
        revision,
        created,
    };
    let mut images = Vec::new();
    for (arch, path) in binary {
        let place = || format!("--binary {}={}", arch.name(), path.display());
        let program = fs::read(&path).with_context(place)?;
        if let Err(wrong) = is_static(&program, arch) {
            bail!("{}: {wrong}", place());
        }
        let parts = parts::of(&workspace, arch.target())?;
        images.push(Image {
            arch: arch.name(),
            sbom: parts::sbom(&parts, &about),
            licences: parts::licences(&workspace, &parts)?,
            program,
        });
    }
    layout::write(&out, &about, &images)
}

/// Whether a program needs nothing but the kernel: an image without a system has no loader and no libraries.
fn is_static(program: &[u8], arch: Arch) -> Result<(), String> {
    let number = |at: usize, size: usize| {
        let bytes = program.get(at..at.checked_add(size)?)?;
        Some(
            bytes
                .iter()
                .rev()
                .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte)),
        )
    };
    // ELF, of 64 bits, with the lowest byte first.
    if program.get(..6) != Some(b"\x7fELF\x02\x01") {
        return Err("it is no program for Linux on a processor of 64 bits".to_owned());
    }
    let machine = number(18, 2);
    if machine != Some(arch.machine().into()) {
        return Err(format!("it is not for {}", arch.name()));
    }
    let headers = || {
        let (start, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
        (0..count)
            .map(|index| {
                let at = start.checked_add(index.checked_mul(size)?)?;
                number(usize::try_from(at).ok()?, 4)
            })
            .collect::<Option<Vec<u64>>>()
    };
    let Some(kinds) = headers() else {
        return Err("its head is broken off".to_owned());
    };
    // The name of a loader.
    if kinds.contains(&3) {
        return Err("it needs a loader and libraries; build it for musl".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The head of a program with parts of these kinds.
    pub(crate) fn program(machine: u16, kinds: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; 64];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[18..20].copy_from_slice(&machine.to_le_bytes());
        bytes[32] = 64;
        bytes[54] = 56;
        bytes[56] = u8::try_from(kinds.len()).unwrap_or_default();
        for kind in kinds {
            bytes.extend(kind.to_le_bytes());
            bytes.extend([0; 52]);
        }
        bytes
    }

    #[test]
    fn a_program_that_needs_a_loader_or_another_processor_is_refused() {
        assert_eq!(is_static(&program(62, &[1, 2, 1]), Arch::Amd64), Ok(()));
        let wrong = |bytes: &[u8]| is_static(bytes, Arch::Amd64).err().unwrap_or_default();
        assert_eq!(
            wrong(&program(62, &[1, 3])),
            "it needs a loader and libraries; build it for musl"
        );
        assert_eq!(wrong(&program(183, &[1])), "it is not for amd64");
        assert_eq!(wrong(&program(62, &[1])[..100]), "");
        assert_eq!(
            wrong(&program(62, &[1, 1])[..100]),
            "its head is broken off"
        );
        assert!(wrong(b"#!/bin/sh\n").starts_with("it is no program"));
    }

    #[test]
    fn an_architecture_is_one_of_two() {
        assert_eq!(binary("arm64=a/b"), Ok((Arch::Arm64, PathBuf::from("a/b"))));
        assert!(binary("riscv=a").is_err() && binary("a").is_err());
    }
}
