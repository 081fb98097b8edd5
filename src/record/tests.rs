//! A term is written, read and played; and what is wrong with files is said.

use crate::folder::file_of;
use crate::{
    About, Counts, Entry, EntryRef, Folder, Gap, MIN_LIMIT, Played, Player, Read, Reader,
    RecordError, Recorder, Storage, Tape, Taped, Term, Writer,
};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use muster_core::engine::Policy;
use muster_model::testing::{group, node, pod};
use muster_model::units::Time;
use muster_model::{BindOutcome, Effect, Event, Plan};
use serde_json::json;
use std::fs::{self, File};
use std::io::{Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::{Mutex, PoisonError};

/// Takes entries down where a test finds them.
#[derive(Clone, Debug, Default)]
struct Kept(Arc<Mutex<Vec<Entry>>>);

impl Kept {
    fn all(&self) -> Vec<Entry> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.clone()
    }
}

impl Tape for Kept {
    fn take(&mut self, entry: EntryRef<'_>) {
        self.0.lock().unwrap().push(entry.to_entry());
    }
}

/// What a small day brings: two nodes, gangs that come, are bound and wait.
fn small_day() -> Vec<Entry> {
    let kept = Kept::default();
    let mut core = Taped::new(Policy::default(), Some(Box::new(kept.clone())));
    for name in ["m", "n"] {
        core.hear(Event::is(node(name, 4)), Time(1_000), |_| ());
    }
    for (at, name) in (0..).zip(["a", "b", "c"]) {
        let now = Time(2_000 + at * 700);
        core.hear(Event::is(group(name)), now, |_| ());
        let pods = [1, 2].map(|index| pod(&format!("{name}-{index}"), Some(name), 3));
        for pod in &pods {
            core.hear(Event::is(pod.clone()), now, |_| ());
        }
        let plan = core.decide(now, |_| ());
        for effect in plan.effects {
            if let Effect::Bind(bind) = effect {
                let bound = BindOutcome::Bound { node: bind.node };
                core.hear(Event::BindResult(bind.pod, bound), now, |_| ());
            }
        }
    }
    let entries = kept.all();
    let binds = |entry: &&Entry| matches!(entry, Entry::Heard(_, Event::BindResult(..)));
    assert_eq!(entries.iter().filter(binds).count(), 2, "one gang has room");
    entries
}

fn about() -> About {
    About {
        instance: "m-0".into(),
        started: Time(1_000),
        configuration: Some(json!({"kind": "SchedulerConfiguration"})),
        ..About::default()
    }
}

fn storage(folder: &Path, limit: u64) -> Storage {
    Storage {
        folder: folder.to_owned(),
        limit,
    }
}

/// A folder with a term of these entries.
fn written(entries: &[Entry]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::start(storage(folder.path(), MIN_LIMIT), about()).unwrap();
    for entry in entries {
        writer.write(entry.view()).unwrap();
    }
    writer.end().unwrap();
    folder
}

fn only_term(folder: &Path) -> Term {
    let mut terms = Folder::open(folder).unwrap().terms;
    assert_eq!(terms.len(), 1);
    terms.remove(0)
}

/// All that is read of the only term.
fn read(folder: &Path) -> Result<Vec<Read>, RecordError> {
    let mut reader = Reader::open(&only_term(folder))?;
    let mut all = Vec::new();
    while let Some(read) = reader.read()? {
        all.push(read);
    }
    assert_eq!(reader.read()?, None, "an end stays one");
    Ok(all)
}

fn entries(all: &[Read]) -> Vec<Entry> {
    let lines = all.iter().filter_map(|read| match read {
        Read::Line(line) => Some(line.entry().unwrap()),
        _ => None,
    });
    lines.collect()
}

fn first_part(folder: &Path) -> PathBuf {
    only_term(folder).parts[0].file.clone()
}

/// The text of a part is changed.
fn rewrite(file: &Path, change: impl FnOnce(String) -> String) {
    let mut text = String::new();
    let mut from = GzDecoder::new(File::open(file).unwrap());
    from.read_to_string(&mut text).unwrap();
    let to = File::create(file).unwrap();
    let mut to = GzEncoder::new(to, Compression::fast());
    to.write_all(change(text).as_bytes()).unwrap();
    to.finish().unwrap();
}

fn said(folder: &Path) -> String {
    read(folder).unwrap_err().to_string()
}

#[test]
fn what_was_written_is_read() {
    let day = small_day();
    let folder = written(&day);
    let all = read(folder.path()).unwrap();
    assert_eq!(entries(&all), day);
    assert_eq!(all.len(), day.len(), "nothing else is read");
    let reader = Reader::open(&only_term(folder.path())).unwrap();
    assert_eq!(*reader.about(), about());
    assert!(reader.has_beginning());
    assert_eq!(reader.muster(), env!("CARGO_PKG_VERSION"));
}

/// Plays all lines; how many plans were the same, and the first that was another.
fn play(all: &[Read], policy: Policy) -> (usize, Option<u64>) {
    let mut player = Player::new(policy);
    let mut same = 0;
    for read in all {
        let Read::Line(line) = read else { continue };
        match player.play(line).unwrap() {
            Played::Heard => {}
            Played::Same(_) => same += 1,
            Played::Differs(_) => return (same, Some(line.entry)),
        }
    }
    (same, None)
}

#[test]
fn a_record_is_played_to_the_same_plans() {
    let folder = written(&small_day());
    let all = read(folder.path()).unwrap();
    assert_eq!(play(&all, Policy::default()), (3, None));
}

#[test]
fn by_another_policy_the_first_plan_that_is_another_is_found() {
    let folder = written(&small_day());
    let all = read(folder.path()).unwrap();
    let policy = Policy {
        default_queue: false,
        ..Policy::default()
    };
    let (same, differs) = play(&all, policy);
    assert_eq!((same, differs), (0, Some(6)));
}

#[test]
fn a_plan_that_was_changed_is_found() {
    let folder = written(&small_day());
    rewrite(&first_part(folder.path()), |text| {
        let changed = text.replacen(r#""node":"m""#, r#""node":"n""#, 1);
        assert_ne!(changed, text);
        changed
    });
    let all = read(folder.path()).unwrap();
    assert_eq!(play(&all, Policy::default()), (0, Some(6)));
}

#[test]
fn a_field_that_a_newer_version_adds_is_passed_over() {
    let folder = written(&small_day());
    rewrite(&first_part(folder.path()), |text| {
        let changed = text.replace(r#""wake_at":"#, r#""new":1,"wake_at":"#);
        assert_ne!(changed, text);
        changed
    });
    let all = read(folder.path()).unwrap();
    assert_eq!(play(&all, Policy::default()), (3, None));
}

/// Names that cannot be compressed.
struct Names(u64);

impl Names {
    /// News of a node whose name takes 1,600 bytes.
    fn node(&mut self, at: Time) -> Entry {
        let mut random = || {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0
        };
        let name: String = (0..200).map(|_| format!("{:016x}", random())).collect();
        Entry::Heard(at, Event::is(node(&name, 4)))
    }
}

#[test]
fn a_long_term_is_split_into_parts_and_the_oldest_are_deleted_for_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::start(storage(folder.path(), MIN_LIMIT), about()).unwrap();
    let mut names = Names(1);
    let mut total = 0;
    let mut dropped = false;
    while total < 3 * MIN_LIMIT {
        total += 1_600;
        writer.write(names.node(Time(2_000)).view()).unwrap();
        dropped |= writer.take_lost_beginning();
    }
    writer.end().unwrap();
    assert!(dropped, "it was said that the beginning went");
    let parts = only_term(folder.path()).parts;
    assert!(parts.len() > 3 && parts[0].number > 3, "{parts:?}");
    let sizes = parts
        .iter()
        .map(|part| fs::metadata(&part.file).unwrap().len());
    assert!(sizes.sum::<u64>() <= MIN_LIMIT);
    let reader = Reader::open(&only_term(folder.path())).unwrap();
    assert!(!reader.has_beginning());
    let all = read(folder.path()).unwrap();
    let Read::Gap(gap) = &all[0] else {
        panic!("{:?}", all[0])
    };
    let lines = all.len() as u64 - 1;
    assert!(gap.entries > lines, "{gap:?} and {lines} lines");
    assert!(gap.why.starts_with("parts before part "), "{gap:?}");
}

#[test]
fn all_parts_of_a_term_are_played_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let day = small_day();
    let mut writer = Writer::start(storage(folder.path(), u64::MAX), about()).unwrap();
    for (index, entry) in day.iter().enumerate() {
        if index % 4 == 3 {
            writer.next_part().unwrap();
        }
        writer.write(entry.view()).unwrap();
    }
    writer.end().unwrap();
    assert_eq!(only_term(folder.path()).parts.len(), day.len() / 4 + 1);
    let all = read(folder.path()).unwrap();
    assert_eq!(entries(&all), day);
    assert_eq!(play(&all, Policy::default()), (3, None));
}

#[test]
fn a_part_that_is_missing_is_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let day = small_day();
    let mut writer = Writer::start(storage(folder.path(), u64::MAX), about()).unwrap();
    for (index, entry) in day.iter().enumerate() {
        if index == 3 || index == 5 {
            writer.next_part().unwrap();
        }
        writer.write(entry.view()).unwrap();
    }
    writer.end().unwrap();
    let parts = only_term(folder.path()).parts;
    fs::remove_file(&parts[1].file).unwrap();
    let all = read(folder.path()).unwrap();
    assert_eq!(
        all[3],
        Read::Gap(Gap {
            entries: 2,
            why: "parts before part 3 are missing".into()
        })
    );
    assert_eq!(entries(&all).len(), day.len() - 2);
    fs::remove_file(&parts[2].file).unwrap();
    let all = read(folder.path()).unwrap();
    assert_eq!(
        all.last(),
        Some(&Read::Gap(Gap {
            entries: 0,
            why: "what follows is not there".into()
        }))
    );
}

#[test]
fn a_part_without_an_end_is_read_as_far_as_it_goes() {
    let day = small_day();
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::start(storage(folder.path(), MIN_LIMIT), about()).unwrap();
    for entry in &day[..5] {
        writer.write(entry.view()).unwrap();
    }
    writer.flush().unwrap();
    // As it is while a scheduler runs.
    let file = first_part(folder.path());
    let all = read(folder.path()).unwrap();
    assert_eq!(entries(&all), day[..5]);
    assert_eq!(
        all.last(),
        Some(&Read::CutOff {
            file: file.clone(),
            lines: 6
        })
    );
    writer.end().unwrap();
    // As a copy that was broken off.
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let all = read(folder.path()).unwrap();
    assert!(matches!(all.last(), Some(Read::CutOff { .. })), "{all:?}");
    let whole = entries(&all);
    assert!(whole.len() < 5 && whole == day[..whole.len()], "{whole:?}");
}

#[test]
fn a_part_that_could_not_be_begun_is_passed_over() {
    let day = small_day();
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Writer::start(storage(folder.path(), u64::MAX), about()).unwrap();
    // What is begun says at once what it is.
    assert_eq!(read(folder.path()).unwrap().len(), 1);
    writer.next_part().unwrap();
    for entry in &day {
        writer.write(entry.view()).unwrap();
    }
    writer.next_part().unwrap();
    writer.end().unwrap();
    let parts = only_term(folder.path()).parts;
    fs::write(&parts[0].file, "").unwrap();
    let all = read(folder.path()).unwrap();
    assert_eq!(entries(&all), day);
    assert_eq!(all.len(), day.len());
    let reader = Reader::open(&only_term(folder.path())).unwrap();
    assert!(reader.has_beginning());
    fs::write(&parts[2].file, "").unwrap();
    let all = read(folder.path()).unwrap();
    assert_eq!(entries(&all), day);
    assert!(matches!(all.last(), Some(Read::Gap(_))), "{:?}", all.last());
}

#[test]
fn what_is_no_record_is_said_to_be_none() {
    let folder = tempfile::tempdir().unwrap();
    let file = file_of(folder.path(), "20251128T094057.123Z_m", 1);
    fs::write(&file, "apiVersion: v1").unwrap();
    let words = said(folder.path());
    assert!(words.contains("it is no record: it is no gzip"), "{words}");
    assert!(words.starts_with(&file.display().to_string()), "{words}");
    for (text, wanted) in [
        ("", "it ends within its first line"),
        ("half a line", "it ends within its first line"),
        ("kind: Pod\n", "it begins with \"kind: Pod\""),
        (
            "{\"apiVersion\":\"snapshot.muster.dev/v1\",\"kind\":\"Snapshot\"}\n",
            "it begins with \"{\\\"apiVersion",
        ),
    ] {
        let mut to = GzEncoder::new(File::create(&file).unwrap(), Compression::fast());
        to.write_all(text.as_bytes()).unwrap();
        to.finish().unwrap();
        let words = said(folder.path());
        assert!(words.contains(wanted), "{words}");
    }
}

#[test]
fn a_record_of_a_newer_version_says_which() {
    let folder = written(&small_day());
    rewrite(&first_part(folder.path()), |text| {
        let text = text.replacen("record.muster.dev/v1", "record.muster.dev/v9", 1);
        text.replacen("\"muster\":\"", "\"muster\":\"9.", 1)
    });
    let words = said(folder.path());
    let wanted = "it is a record of version \"record.muster.dev/v9\", written by muster 9.";
    assert!(words.contains(wanted), "{words}");
    assert!(
        words.ends_with("this one reads record.muster.dev/v1"),
        "{words}"
    );
}

#[test]
fn a_file_under_another_name_is_refused() {
    let folder = written(&small_day());
    let file = first_part(folder.path());
    let other = file_of(folder.path(), "20251128T094057.123Z_m", 1);
    fs::rename(file, other).unwrap();
    let words = said(folder.path());
    assert!(
        words.contains("it says that it is part 1 of 1970"),
        "{words}"
    );
}

#[test]
fn a_line_that_is_none_is_named() {
    for (change, line, wanted) in [
        ("{\"heard\":", 3, "\"{\\\"seen\\\":"),
        ("\"Node\":{", 3, "unknown variant"),
    ] {
        let folder = written(&small_day());
        rewrite(&first_part(folder.path()), |text| {
            let lines = text.lines().enumerate().map(|(index, text)| {
                let new = if change.contains("Node") {
                    "\"Planet\":{"
                } else {
                    "{\"seen\":"
                };
                if index == line - 1 {
                    assert!(text.contains(change), "{text}");
                    text.replace(change, new) + "\n"
                } else {
                    text.to_owned() + "\n"
                }
            });
            lines.collect()
        });
        let result = read(folder.path()).map(|all| {
            let lines = all.iter().filter_map(|read| match read {
                Read::Line(line) => line.entry().err(),
                _ => None,
            });
            lines.map(|error| error.to_string()).collect::<Vec<_>>()
        });
        let words = match result {
            Ok(wrong) => wrong.join("\n"),
            Err(error) => error.to_string(),
        };
        assert!(words.contains(", line 3: "), "{words}");
        assert!(words.contains(wanted), "{words}");
    }
}

#[test]
fn damaged_bytes_are_never_read_as_something_else() {
    let day = small_day();
    let folder = written(&day);
    let file = first_part(folder.path());
    let bytes = fs::read(&file).unwrap();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        fs::write(&file, &damaged).unwrap();
        // Some bytes of gzip's own head mean nothing.
        if let Ok(all) = read(folder.path())
            && !matches!(all.last(), Some(Read::CutOff { .. }))
        {
            assert_eq!(entries(&all), day, "byte {at}");
        }
    }
}

#[test]
fn entries_that_are_missing_within_a_part_are_found() {
    let folder = written(&small_day());
    rewrite(&first_part(folder.path()), |text| {
        let lines = text.lines().enumerate();
        let lines = lines.filter(|(index, _)| *index != 2);
        lines.map(|(_, line)| format!("{line}\n")).collect()
    });
    let words = said(folder.path());
    assert!(
        words.contains("entries up to here, and says that it has"),
        "{words}"
    );
}

fn counted(counts: &Counts) -> (u64, u64) {
    (counts.written(), counts.lost())
}

#[test]
fn a_thread_writes_what_it_is_given() {
    let day = small_day();
    let folder = tempfile::tempdir().unwrap();
    let counts = Arc::new(Counts::default());
    let place = storage(&folder.path().join("made"), MIN_LIMIT);
    let mut recorder = Recorder::start(place, about(), Arc::clone(&counts)).unwrap();
    for entry in &day {
        recorder.take(entry.view());
    }
    drop(recorder);
    let all = read(&folder.path().join("made")).unwrap();
    assert_eq!(entries(&all), day);
    assert_eq!(all.len(), day.len());
    assert_eq!(counted(&counts), (day.len() as u64, 0));
}

#[test]
fn where_nothing_can_be_written_there_is_a_gap_and_it_is_tried_again() {
    let day = small_day();
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("r");
    // A file is where the folder is to be.
    fs::write(&at, "").unwrap();
    let counts = Arc::new(Counts::default());
    let mut recorder =
        Recorder::start(storage(&at, MIN_LIMIT), about(), Arc::clone(&counts)).unwrap();
    for entry in &day {
        recorder.take(entry.view());
    }
    let lost = day.len() as u64;
    // The thread has tried and failed.
    while counted(&counts).1 < lost {
        std::thread::yield_now();
    }
    fs::remove_file(&at).unwrap();
    let later = Entry::Heard(Time(60_000), Event::is(node("late", 1)));
    recorder.take(later.view());
    drop(recorder);
    let all = read(&at).unwrap();
    let Read::Gap(gap) = &all[0] else {
        panic!("{all:?}")
    };
    assert_eq!(gap.entries, lost);
    assert_ne!(gap.why, "", "it says why");
    assert_eq!(entries(&all), [later]);
    assert!(!Reader::open(&only_term(&at)).unwrap().has_beginning());
    assert_eq!(counted(&counts), (1, lost));
}

#[test]
fn where_nothing_more_can_be_written_there_is_a_gap_and_it_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("r");
    let counts = Arc::new(Counts::default());
    let place = storage(&at, MIN_LIMIT);
    let mut recorder = Recorder::start(place, about(), Arc::clone(&counts)).unwrap();
    let mut names = Names(2);
    let mut given = 0;
    let mut give = |at, wanted: &dyn Fn() -> bool| {
        while !wanted() {
            recorder.take(names.node(at).view());
            given += 1;
            while counts.written() + counts.lost() < given {
                std::thread::yield_now();
            }
        }
    };
    give(Time(2_000), &|| counts.written() > 0);
    // The next part cannot be begun.
    fs::remove_dir_all(&at).unwrap();
    fs::write(&at, "").unwrap();
    give(Time(3_000), &|| counts.lost() > 3);
    fs::remove_file(&at).unwrap();
    let before = counts.written();
    give(Time(60_000), &|| counts.written() > before);
    drop(recorder);
    let all = read(&at).unwrap();
    let Read::Gap(gap) = &all[0] else {
        panic!("{all:?}")
    };
    assert_eq!(gap.entries, given - 1);
    assert_eq!(entries(&all).len(), 1);
}

#[test]
fn who_is_given_more_than_it_can_hold_says_how_much_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let counts = Arc::new(Counts::default());
    let place = storage(folder.path(), MIN_LIMIT);
    let mut recorder = Recorder::with_bound(place, about(), Arc::clone(&counts), 1_000).unwrap();
    let entry = |at: u64| Entry::Decided(Time(1_000 + at), Plan::default());
    let mut given = 0;
    while counted(&counts).1 < 10 {
        recorder.take(entry(given).view());
        given += 1;
    }
    // Once there is room again it goes on, and what is missing is accounted for.
    while counted(&counts).0 + counted(&counts).1 < given {
        std::thread::yield_now();
    }
    recorder.take(entry(given).view());
    given += 1;
    drop(recorder);
    let all = read(folder.path()).unwrap();
    let gaps = all.iter().filter_map(|read| match read {
        Read::Gap(gap) => Some(gap.entries),
        _ => None,
    });
    let missing: u64 = gaps.sum();
    assert_eq!(missing, counted(&counts).1);
    assert_eq!(entries(&all).len() as u64 + missing, given);
}
