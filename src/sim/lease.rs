//! The simulated Lease: one object, replaced only at the version its writer knew.

use muster_cluster::lease::Identity;
use muster_cluster::lease::election::{Answer, DURATION, Record, Request, UNKNOWN};

/// The Lease, if it exists.
#[derive(Debug, Default)]
pub struct Lease {
    record: Option<Record>,
    versions: u64,
}

impl Lease {
    /// What the API server answers.
    pub fn serve(&mut self, who: &Identity, request: &Request) -> Answer {
        match request {
            Request::Read => match &self.record {
                Some(record) => Answer::Found(record.clone()),
                None => Answer::Absent,
            },
            Request::Create if self.record.is_some() => Answer::Conflict,
            Request::Create => self.write(Some(UNKNOWN.to_owned())),
            Request::Replace { version, hold } => match &self.record {
                None => Answer::Absent,
                Some(record) if record.version != *version => Answer::Conflict,
                Some(_) => self.write(hold.then(|| who.name().to_owned())),
            },
        }
    }

    /// What a watch would tell now.
    #[must_use]
    pub const fn record(&self) -> Option<&Record> {
        self.record.as_ref()
    }

    fn write(&mut self, holder: Option<String>) -> Answer {
        self.versions += 1;
        let record = Record {
            uid: "lease".to_owned(),
            version: self.versions.to_string(),
            holder,
            duration: DURATION,
        };
        self.record = Some(record.clone());
        Answer::Written(record)
    }
}
