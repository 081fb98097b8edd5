//! Free ports on loopback.

use std::net::{TcpListener, TcpStream};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Result, bail};

/// Below what systems hand out to outgoing connections, so that a port that
/// was free when looked at is not taken by a client a moment later.
const FIRST: u32 = 20_000;
const COUNT: u32 = 12_000;

/// How far this process has come in its walk through the range.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A port nobody listens on. Never the same twice within a process; two
/// processes start at different places. A clash is still possible: whoever
/// starts a server tries again with other ports.
pub(crate) fn free() -> Result<u16> {
    // A prime stride spreads neighbouring process ids over the range.
    let offset = process::id().wrapping_mul(101);
    for _ in 0..COUNT {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = FIRST + offset.wrapping_add(step) % COUNT;
        let Ok(port) = u16::try_from(port) else {
            continue;
        };
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return Ok(port);
        }
    }
    bail!(
        "no free port on 127.0.0.1 between {FIRST} and {}",
        FIRST + COUNT
    )
}

/// Whether somebody accepts connections there.
pub(crate) fn listens(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}
