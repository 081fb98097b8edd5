//! The Lease as an API server holds it, for those who play elections.

use super::election::{Answer, DURATION, Record, Request, UNKNOWN};

/// The Lease, if there is one.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Served {
    pub(super) lease: Option<Record>,
    /// The last version of any that there was.
    pub(super) versions: u64,
}

impl Served {
    /// Answers a request of a process of this name. The Lease has another version if it was changed.
    pub(super) fn serve(&mut self, name: &str, request: &Request) -> Answer {
        match (request, self.lease.clone()) {
            (Request::Read, Some(lease)) => Answer::Found(lease),
            (Request::Create, None) => {
                let uid = self.versions.to_string();
                Answer::Written(self.store(uid, Some(UNKNOWN.to_owned())))
            }
            (Request::Create, Some(_)) => Answer::Conflict,
            (_, None) => Answer::Absent,
            (Request::Replace { version, .. }, Some(lease)) if *version != lease.version => {
                Answer::Conflict
            }
            (Request::Replace { hold, .. }, Some(lease)) => {
                let holder = hold.then(|| name.to_owned());
                Answer::Written(self.store(lease.uid, holder))
            }
        }
    }

    /// Writes it.
    pub(super) fn store(&mut self, uid: String, holder: Option<String>) -> Record {
        self.versions += 1;
        let record = Record {
            uid,
            version: self.versions.to_string(),
            holder,
            duration: DURATION,
        };
        self.lease = Some(record.clone());
        record
    }
}
