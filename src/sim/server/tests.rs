//! What is put is told and listed.

use super::*;

/// What a list of a kind has, by what names it.
fn listed(server: &Server, kind: ObjectKind) -> Vec<ObjectKey> {
    let all = server.list(stream_of(kind)).into_iter();
    let keys = all.filter_map(|told| match told.event {
        Event::Is(object) => Some(object.key()),
        _ => None,
    });
    keys.filter(|key| key.kind() == kind).collect()
}

fn news(server: &mut Server) -> Vec<(Stream, Event)> {
    let news = server.take_news().into_iter();
    news.map(|(stream, told)| (stream, told.event)).collect()
}

#[test]
fn an_object_of_any_kind_is_told_listed_and_forgotten() {
    for kind in ObjectKind::ALL.iter().copied() {
        if [ObjectKind::Pod, ObjectKind::DisruptionBudget].contains(&kind) {
            continue;
        }
        let mut server = Server::default();
        let object = kind.empty();
        let key = object.key();
        server.put(object, Time::ZERO);
        let told = news(&mut server);
        assert!(
            matches!(&told[..], [(stream, Event::Is(object))]
                if *stream == stream_of(kind) && object.key() == key),
            "{told:?}"
        );
        assert_eq!(listed(&server, kind), std::slice::from_ref(&key));
        server.delete(&key);
        let gone = Event::Gone(key);
        assert_eq!(news(&mut server), [(stream_of(kind), gone)]);
        assert_eq!(listed(&server, kind), []);
    }
}

#[test]
fn pods_and_budgets_are_told_and_listed_by_what_is_known_of_them() {
    let mut server = Server::default();
    let pod = server.create_pod(&PodPlan::default(), 0, Time::ZERO);
    server.put_budget(BudgetPlan::default());
    let told: Vec<_> = news(&mut server).into_iter().map(|one| one.0).collect();
    assert!(told.contains(&Stream::Pods) && told.contains(&Stream::Others));
    let budget = ObjectKind::DisruptionBudget.empty().key();
    assert_eq!(listed(&server, ObjectKind::DisruptionBudget), [budget]);
    let pod = pod.map(ObjectKey::Pod);
    assert_eq!(listed(&server, ObjectKind::Pod), Vec::from_iter(pod));
}
