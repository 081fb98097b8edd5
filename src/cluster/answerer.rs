//! Who answers questions of the core to the outside, and what they write with. Which may be asked when
//! is [`asking`](crate::asking)'s business, and the ask lane brings the two together.

use crate::attempt::Answer as Came;
use crate::fence::Fence;
use futures::future::BoxFuture;
use kube::Client;
use muster_model::{Answer, Question};
use std::future::Future;

/// Somebody who answers questions. It goes by the name of a plugin, and may be asked the same several
/// times: to do what is done already, and to undo what was never done, is a yes.
pub trait Answerer: Send + Sync {
    /// Answers one question, or undoes one ([`Question::undoes`]). Takes as long as the question may at
    /// most; then it is dropped where it is.
    fn answer<'a>(&'a self, question: &'a Question, outside: &'a Outside) -> BoxFuture<'a, Answer>;
}

/// What those who answer work with.
#[derive(Clone)]
pub struct Outside {
    client: Client,
    fence: Fence,
}

impl Outside {
    pub(crate) const fn new(client: Client, fence: Fence) -> Self {
        Self { client, fence }
    }

    /// A client for the API server that sends nothing while this process may not write. It repeats
    /// nothing by itself.
    #[must_use]
    pub const fn client(&self) -> &Client {
        &self.client
    }

    /// Sends a write, if one may be sent: so that nobody takes over while it may still happen.
    ///
    /// # Errors
    /// What came of it, or that nothing may be sent, in words.
    pub async fn write<T>(
        &self,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, WriteError> {
        let Some(sending) = self.fence.begin() else {
            return Err(WriteError::NotNow);
        };
        let sent = self.fence.sends();
        let answer = request.await;
        let came = match &answer {
            Ok(_) => Came::Accepted,
            Err(kube::Error::Api(status)) => Came::Status {
                code: status.code,
                message: String::new(),
                retry_after: None,
            },
            Err(_) => Came::Lost,
        };
        self.fence.written(&came, sent);
        // Behind a server's error, the write may still be on its way.
        match came {
            Came::Lost | Came::Status { code: 500.., .. } => {}
            _ => sending.ended(),
        }
        answer.map_err(WriteError::Answered)
    }
}

/// Why a write did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// Another instance may be writing.
    #[error("this instance may not write now")]
    NotNow,
    /// What came of it.
    #[error(transparent)]
    Answered(kube::Error),
}
