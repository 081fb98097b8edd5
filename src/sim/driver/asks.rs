//! What plugins ask outside: each question in its turn, by the rules of the ask lane; and what comes
//! back, late, more than once or never.

use super::{Driver, Errand, Happening};
use muster_model::units::{Millis, Time};
use muster_model::{Answer, Event, Question, VOLUME_BINDING};

/// A question on its way.
#[derive(Debug)]
pub(super) struct Inquiry {
    pub(super) process: u64,
    pub(super) question: Question,
    /// Whether it is done, as opposed to only answered.
    pub(super) is_done: bool,
    /// What comes back, and when; by then it has been given up, if that is late.
    pub(super) answer: Answer,
    pub(super) answers_at: Time,
    /// When nobody waits for it any more.
    pub(super) given_up_at: Time,
}

/// What is heard of a question to which this is answered after so long, if anything, and after how long.
pub(super) fn heard(
    question: &Question,
    answer: Option<Answer>,
    after: Millis,
) -> (Answer, Millis) {
    match answer {
        Some(answer) if after <= question.at_most => (answer, after),
        _ => {
            let message = format!("no answer within {}", question.at_most);
            (Answer::Failed { message }, question.at_most)
        }
    }
}

impl Driver {
    /// Asks what may be asked now, and brings back what is answered.
    pub(super) fn ask_outside(&mut self, id: u64) {
        let now = self.now;
        loop {
            let Some(process) = self.processes.get_mut(&id) else {
                return;
            };
            let may_send = process.may_send(now);
            if may_send {
                process.questions.expire(now);
            } else {
                process.questions.cease(now);
            }
            for (question, answer) in process.questions.take_answers() {
                let event = Event::Answer(question, answer);
                if let Some(again) = self.network.comes_again(now) {
                    let event = Box::new(event.clone());
                    let again = now + again;
                    self.heap
                        .push(again, Happening::For(id, Errand::Again(event)));
                }
                process.brain.hear(event, now);
            }
            let question = may_send.then(|| process.questions.next(now)).flatten();
            let Some(question) = question else {
                break;
            };
            self.goes_on();
            self.send_question(id, question);
        }
        let Some(process) = self.processes.get_mut(&id) else {
            return;
        };
        let due = process.questions.due().map(|due| due.max(now));
        if let Some(due) = due.filter(|due| *due > now)
            && process.asks_at.is_none_or(|at| at <= now || at > due)
        {
            process.asks_at = Some(due);
            self.heap.push(due, Happening::For(id, Errand::Ask));
        }
    }

    /// Foresees what becomes of a question that is asked now.
    fn send_question(&mut self, id: u64, question: Question) {
        let now = self.now;
        let reply = self.outside.reply(&question);
        let fate = self.network.fate_of_question(&question, now);
        let given_up_at = now + question.at_most;
        let answers_in = Millis(reply.after.0 + fate.answers_in.0);
        let (answer, answers_in) = heard(&question, fate.instead.or(reply.answer), answers_in);
        let answers_at = now + answers_in;
        let lands_at = fate
            .lands_in
            .map(|span| now + Millis(reply.after.0 + span.0));
        let inquiry = Inquiry {
            process: id,
            // What says no does nothing.
            is_done: lands_at.is_some() && !matches!(answer, Answer::No { .. }),
            question,
            answer,
            answers_at,
            given_up_at,
        };
        let lands_at = lands_at.unwrap_or(answers_at).min(answers_at);
        let landed = Happening::Asked(Box::new(inquiry));
        self.heap.push(lands_at, landed);
    }

    /// A question arrives.
    pub(super) fn land_question(&mut self, inquiry: Inquiry) {
        let inquiry = if inquiry.is_done && inquiry.question.body.addressee() == VOLUME_BINDING {
            match self.bind_claims(inquiry) {
                Some(inquiry) => inquiry,
                None => return,
            }
        } else {
            inquiry
        };
        if inquiry.is_done {
            self.outside.carry_out(&inquiry.question);
        }
        self.reply(inquiry);
    }

    pub(super) fn reply(&mut self, inquiry: Inquiry) {
        let answered = Errand::Replied(Box::new((inquiry.question, inquiry.answer)));
        let answered = Happening::For(inquiry.process, answered);
        self.heap.push(inquiry.answers_at.max(self.now), answered);
    }
}
