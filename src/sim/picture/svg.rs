//! The picture as an SVG file that needs nothing from outside: no script, no font, no image. Dark on
//! light; the same scene gives the same bytes.

use super::layout::{Cell, Frame, Sheet, lay_out};
use super::palette::{COLOURS, PATTERNS};
use super::scene::{GangNow, NodeNow, Scene, Who};
use super::slots::{few, numbered};
use super::text::{escaped, fit, lines, width};
use muster_model::units::{Millis, Time};
use std::collections::BTreeMap;

/// Around everything.
const MARGIN: u32 = 24;
/// Above the cluster.
const HEAD: u32 = 104;
/// The cluster.
const WIDE: u32 = 860;
/// The list of gangs, beside it.
const LIST: u32 = 380;
const LIST_X: u32 = MARGIN + WIDE + 28;
/// So many gangs that have nodes are listed.
const MAX_LISTED: usize = 40;
/// So many that wait.
const MAX_WAITING: usize = 12;
/// Parts of a cell that are drawn.
const MAX_PARTS: usize = 6;
/// So many letters of a name are in a file.
const MAX_NAME: usize = 120;

const STYLE: &str = "text{font:11px system-ui,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:#1c2430}\
text.t{font-size:20px;font-weight:600}text.h{font-size:13px;font-weight:600}text.b{font-weight:600}\
text.q{fill:#586476}text.e{text-anchor:end}text.n{text-anchor:middle;font-size:10px;font-weight:600;\
paint-order:stroke;stroke:#fff;stroke-width:2.5px;stroke-linejoin:round}\
.d0{fill:#f3f5f8;stroke:#aeb7c2}.d1{fill:#fff;stroke:#c3cad3}.c{fill:#fff}\
.r{fill:none;stroke:#8a95a3}.u{fill:none;stroke:#3d4754}.x{fill:none;stroke:#1c2430;stroke-width:2.5px}\
.k{fill:#e4e7ec}.kr{fill:none;stroke:#586476;stroke-dasharray:3 2}.s{fill:#aab3bf}.o{fill:#6f7a89}\
.l{stroke:#d5dae1}";

/// What is added to that where there are slots.
const SLOT_STYLE: &str = ".f{fill:#fff}.fr{fill:none;stroke:#8a95a3;stroke-dasharray:2 2}\
text.m{text-anchor:end;font-size:9px;paint-order:stroke;stroke:#fff;stroke-width:2.5px;stroke-linejoin:round}";

/// Writes a scene.
pub(super) fn write(scene: &Scene) -> String {
    let sheet = lay_out(&scene.tree, WIDE);
    let mut pen = Pen {
        scene,
        out: String::new(),
        slots: scene
            .gangs
            .iter()
            .map(|gang| (gang.id, gang.slot))
            .collect(),
    };
    for frame in &sheet.frames {
        pen.frame(frame, &sheet);
    }
    for cell in &sheet.cells {
        pen.cell(cell, &sheet);
    }
    let list = pen.list();
    let cluster = HEAD + sheet.height;
    let height = list.max(cluster) + MARGIN;
    let body = std::mem::take(&mut pen.out);
    pen.head(&sheet);
    let head = std::mem::take(&mut pen.out);
    let (slot_style, slot_pattern) = match scene.has_slots() {
        true => (SLOT_STYLE, slot_pattern()),
        false => ("", String::new()),
    };
    let (wide, title) = (LIST_X + LIST + MARGIN, escaped(&scene.summary()));
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide}\" height=\"{height}\" \
         viewBox=\"0 0 {wide} {height}\" role=\"img\">\n<title>{title}</title>\n\
         <style>{STYLE}{}{slot_style}</style>\n<defs>{}{slot_pattern}</defs>\n\
         <rect width=\"{wide}\" height=\"{height}\" fill=\"#fff\"/>\n{head}{body}</svg>\n",
        colours(),
        patterns(),
    )
}

fn colours() -> String {
    let class = |(index, colour): (usize, &&str)| format!(".g{index}{{fill:{colour}}}");
    COLOURS.iter().enumerate().map(class).collect()
}

fn pattern(id: &str, side: u32, turn: &str, inside: &str) -> String {
    format!(
        "<pattern id=\"{id}\" width=\"{side}\" height=\"{side}\" \
         patternUnits=\"userSpaceOnUse\"{turn}>{inside}</pattern>"
    )
}

/// What is laid over free slots: lighter than all others, and the other way round.
fn slot_pattern() -> String {
    let line = "<rect width=\"1\" height=\"6\" fill=\"#9fb0c6\"/>";
    pattern("ps", 6, " patternTransform=\"rotate(-45)\"", line)
}

/// What is laid over colours, and over what is free on nodes that are their gang's alone.
fn patterns() -> String {
    let turn = " patternTransform=\"rotate(45)\"";
    let bar = "<rect width=\"2\" height=\"6\" fill=\"#fff\" opacity=\".8\"/>";
    let dots = "<circle cx=\"2.5\" cy=\"2.5\" r=\"1.3\" fill=\"#1c2430\"/>";
    let line = "<rect width=\"5\" height=\"1.6\" fill=\"#1c2430\" opacity=\".75\"/>";
    let free = "<rect width=\"1.2\" height=\"5\" fill=\"#8a95a3\"/>";
    [
        pattern("p1", 6, turn, bar),
        pattern("p2", 5, "", dots),
        pattern("p3", 5, "", line),
        pattern("px", 5, turn, free),
    ]
    .concat()
}

impl Scene {
    /// Whether any node has slots.
    fn has_slots(&self) -> bool {
        let mut nodes = self.nodes.iter();
        nodes.any(|node| !node.free_slots.is_empty() || !node.seats.is_empty())
    }

    /// The picture in a sentence.
    fn summary(&self) -> String {
        let at = clock(self.at);
        let free = self.nodes.iter().filter(|node| node.is_free()).count();
        let run = self.gangs.iter().filter(|gang| gang.nodes > 0).count();
        let [_, single] = self.singles;
        let wait = self.gangs.iter().filter(|gang| gang.waits()).count();
        let mut text = format!(
            "At {at}: {free} of {} free; {} on nodes, {wait} waiting",
            counted(self.nodes.len(), "node", "nodes"),
            counted(run, "gang", "gangs"),
        );
        if single > 0 {
            text += &format!(" and {} on their own", counted(single, "pod", "pods"));
        }
        if self.has_slots() {
            let (free, taken) = self.nodes.iter().fold((0, 0), |(free, taken), node| {
                (free + node.free_slots.len(), taken + node.seats.len())
            });
            text += &format!(
                "; {free} of {} free",
                counted(free + taken, "slot", "slots")
            );
        }
        text
    }
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

impl NodeNow {
    /// Whether a gang could have all of it.
    const fn is_free(&self) -> bool {
        !self.in_use && !self.cordoned
    }
}

impl GangNow {
    const fn waits(&self) -> bool {
        !self.runs
    }
}

fn clock(at: Time) -> String {
    let Millis(ms) = at.since(Time::ZERO);
    let (hours, minutes, seconds) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    let part = match ms % 1_000 {
        0 => String::new(),
        part => format!(".{part:03}").trim_end_matches('0').to_owned(),
    };
    match (hours, minutes) {
        (0, 0) => format!("{seconds}{part}s"),
        (0, _) if seconds == 0 && part.is_empty() => format!("{minutes}m"),
        (0, _) => format!("{minutes}m{seconds:02}{part}s"),
        _ if seconds == 0 && part.is_empty() => format!("{hours}h{minutes:02}m"),
        _ => format!("{hours}h{minutes:02}m{seconds:02}{part}s"),
    }
}

/// Thousandths with one digit behind the point, or none.
fn cores(thousandths: u64) -> String {
    let tenths = thousandths.saturating_add(50) / 100;
    match tenths % 10 {
        0 => (tenths / 10).to_string(),
        tenth => format!("{}.{tenth}", tenths / 10),
    }
}

struct Pen<'a> {
    scene: &'a Scene,
    out: String,
    /// By the number of a gang.
    slots: BTreeMap<usize, Option<usize>>,
}

impl Pen<'_> {
    fn text(&mut self, class: &str, [x, y]: [u32; 2], words: &str) {
        let words = escaped(words);
        self.out += &format!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{words}</text>\n");
    }

    fn rect(&mut self, class: &str, [x, y, w, h]: [u32; 4]) {
        self.out += &format!(
            "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"/>\n"
        );
    }

    /// A stretch that is given in tenths of a pixel, in the colour of somebody.
    fn part(&mut self, who: Who, [x, w]: [u32; 2], [y, h]: [u32; 2]) {
        let slot = match who {
            Who::Gang(id) => self.slots.get(&id).copied().flatten(),
            Who::Single | Who::Slots | Who::Other => None,
        };
        let class = match (who, slot) {
            (_, Some(slot)) => format!("g{}", slot % COLOURS.len()),
            (Who::Other, _) => "o".to_owned(),
            (Who::Slots, _) => "f".to_owned(),
            _ => "s".to_owned(),
        };
        let place = format!(
            "x=\"{}\" y=\"{y}\" width=\"{}\" height=\"{h}\"",
            tenths(x),
            tenths(w)
        );
        self.out += &format!("<rect class=\"{class}\" {place}/>");
        let pattern = slot.map_or(0, |slot| slot / COLOURS.len() % PATTERNS);
        if pattern > 0 {
            self.out += &format!("<rect fill=\"url(#p{pattern})\" {place}/>");
        }
        if who == Who::Slots {
            self.out += &format!("<rect fill=\"url(#ps)\" {place}/>");
        }
        self.out.push('\n');
    }

    fn head(&mut self, sheet: &Sheet) {
        let all = LIST_X + LIST - MARGIN;
        let scene = self.scene;
        let title = if scene.subject.files.is_empty() {
            "muster simulate"
        } else {
            &scene.subject.files
        };
        self.text("t", [MARGIN, 40], &fit(title, 20, all - 40));
        self.text("h", [MARGIN, 62], &fit(&scene.summary(), 13, all));
        let mut words = scene.chosen.words.clone();
        if sheet.per_cell > 1 {
            words += &format!(
                ". There are many nodes: a cell is for up to {} of one domain",
                sheet.per_cell
            );
        }
        words += &format!(". Seed {}.", scene.subject.seed);
        self.text("q", [MARGIN, 82], &fit(&words, 11, all));
    }

    fn frame(&mut self, frame: &Frame, sheet: &Sheet) {
        let [x, y] = [frame.x + MARGIN, frame.y + HEAD];
        self.rect(
            if frame.depth.is_multiple_of(2) {
                "d0"
            } else {
                "d1"
            },
            [x, y, frame.width, frame.height],
        );
        let nodes = &sheet.nodes[frame.first..frame.first + frame.count];
        let nodes = nodes.iter().filter_map(|node| self.scene.nodes.get(*node));
        let free = nodes.filter(|node| node.is_free()).count();
        let free = format!("{free} of {} free", frame.count);
        let room = frame.width.saturating_sub(12);
        let beside = width(&frame.label, 12) + width(&free, 11) + 80;
        if beside <= room * 10 {
            self.text("b", [x + 6, y + 13], &frame.label);
            self.text("q e", [x + frame.width - 6, y + 13], &free);
        } else {
            self.text(
                "b",
                [x + 6, y + 13],
                &fit(called(&frame.label, room), 12, room),
            );
        }
    }

    fn cell(&mut self, cell: &Cell, sheet: &Sheet) {
        let nodes = &sheet.nodes[cell.first..cell.first + cell.count];
        let nodes = nodes.iter().filter_map(|node| self.scene.nodes.get(*node));
        let nodes: Vec<&NodeNow> = nodes.collect();
        let all = |is: fn(&NodeNow) -> bool| !nodes.is_empty() && nodes.iter().all(|one| is(one));
        let (exclusive, cordoned) = (all(|one| one.exclusive), all(|one| one.cordoned));
        let used = nodes.iter().any(|one| one.in_use);
        let [x, y] = [cell.x + MARGIN, cell.y + HEAD];
        let size = sheet.size;
        let (top, high) = (y + size.head, size.height - size.head);
        self.out += "<g>";
        self.out += &format!("<title>{}</title>", escaped(&in_words(cell, &nodes)));
        self.rect(
            if cordoned { "k" } else { "c" },
            [x, y, size.width, size.height],
        );
        let parts = shares(&nodes);
        let (mut at, mut numbers) = (x * 10, Vec::new());
        for (who, part) in &parts {
            let wide = size.width * part / 100;
            self.part(*who, [at, wide], [top, high]);
            if let [node] = nodes.as_slice() {
                self.slots(node, *who, [at, wide], [top, high]);
            }
            if let Who::Gang(id) = who {
                numbers.push((*id, at, wide));
            }
            at += wide;
        }
        let end = (x + size.width) * 10;
        if exclusive && at < end {
            let place = format!(
                "x=\"{}\" y=\"{top}\" width=\"{}\" height=\"{high}\"",
                tenths(at),
                tenths(end - at)
            );
            self.out += &format!("<rect fill=\"url(#px)\" {place}/>\n");
        }
        for (id, at, wide) in numbers {
            let number = id.to_string();
            if high >= 16 && width(&number, 11) + 20 <= wide {
                let at = [(at + wide / 2) / 10, top + high / 2 + 4];
                self.text("n", at, &number);
            }
        }
        if size.head > 0 {
            self.rect("r", [x, top, size.width, high]);
            self.name(&nodes, [x, y], size.width - 10);
        }
        let class = match (exclusive, cordoned, used) {
            (true, ..) => "x",
            (_, true, _) => "kr",
            (.., true) => "u",
            _ => "r",
        };
        self.rect(class, [x, y, size.width, size.height]);
        self.out += "</g>\n";
    }

    /// The numbers of the slots that somebody has, small and at the bottom, and those of free ones, each in a part of
    /// its own.
    fn slots(&mut self, node: &NodeNow, who: Who, [x, wide]: [u32; 2], [top, high]: [u32; 2]) {
        if who != Who::Slots {
            let label = few(node.seats_of(who));
            if !label.is_empty() && high >= 24 && width(&label, 9) + 40 <= wide {
                self.text("m", [(x + wide) / 10 - 3, top + high - 3], &label);
            }
            return;
        }
        let count = u32::try_from(node.free_slots.len()).unwrap_or(u32::MAX);
        for (label, index) in node.free_slots.iter().zip(0..) {
            let (from, to) = (x + wide * index / count, x + wide * (index + 1) / count);
            if to < from + 40 {
                return;
            }
            let place = format!(
                "x=\"{}\" y=\"{top}\" width=\"{}\" height=\"{high}\"",
                tenths(from),
                tenths(to - from)
            );
            self.out += &format!("<rect class=\"fr\" {place}/>\n");
            if high >= 16 && width(label, 11) + 20 <= to - from {
                self.text("n", [(from + to) / 20, top + high / 2 + 4], label);
            }
        }
    }

    /// The name of a node, and how full it is of what.
    fn name(&mut self, nodes: &[&NodeNow], [x, y]: [u32; 2], room: u32) {
        let [node] = nodes else { return };
        let y = y + 14;
        let full = format!("{} % {}", node.taken() / 10, short_resource(&node.scarcest));
        let name = width(&node.name, 11);
        if name + width(&full, 11) + 60 <= room * 10 {
            self.text("q e", [x + room + 5, y], &full);
            self.text("b", [x + 5, y], &node.name);
        } else {
            self.text("b", [x + 5, y], &fit(&node.name, 11, room));
        }
    }

    /// The gangs beside the cluster; says where they end.
    fn list(&mut self) -> u32 {
        let scene = self.scene;
        let right = LIST_X + LIST;
        let (hops, placed, lost) = (right - 70, right - 112, right);
        let mut y = HEAD + 10;
        let placed_gangs: Vec<&GangNow> =
            scene.gangs.iter().filter(|gang| gang.nodes > 0).collect();
        self.text(
            "h",
            [LIST_X, y],
            &format!("On nodes: {}", counted(placed_gangs.len(), "gang", "gangs")),
        );
        for (x, words) in [(placed, "bound"), (hops, "hops"), (lost, "lost*")] {
            self.text("q e", [x, y], words);
        }
        for gang in most_important(&placed_gangs) {
            y += 19;
            self.swatch(gang, y);
            let room = placed - 40 - LIST_X - 34;
            self.text("b", [LIST_X + 30, y], &fit(&gang.name, 12, room));
            self.text("e", [placed, y], &format!("{}/{}", gang.bound, gang.min));
            let dash = || "–".to_owned();
            self.text(
                "e",
                [hops, y],
                &gang.hops.map_or_else(dash, |hops| hops.to_string()),
            );
            self.text("e", [lost, y], &gang.lost.map_or_else(dash, cores));
        }
        y = self.more(y, placed_gangs.len(), MAX_LISTED);
        let others: [(&str, Who, usize); 2] = [
            ("pods on their own", Who::Single, scene.singles[0]),
            (
                "pods of others, and of DaemonSets",
                Who::Other,
                self.others(),
            ),
        ];
        for (words, who, count) in others {
            if count > 0 {
                y += 19;
                self.part(who, [LIST_X * 10, 220], [y - 11, 14]);
                self.text("", [LIST_X + 30, y], words);
            }
        }
        y = self.waiting(y + 34);
        self.key(y + 30)
    }

    fn swatch(&mut self, gang: &GangNow, y: u32) {
        self.part(Who::Gang(gang.id), [LIST_X * 10, 220], [y - 11, 14]);
        self.text("n", [LIST_X + 11, y], &gang.id.to_string());
    }

    /// How many nodes have pods of others.
    fn others(&self) -> usize {
        let nodes = self.scene.nodes.iter();
        let has = |node: &&NodeNow| node.parts.iter().any(|(who, _)| *who == Who::Other);
        nodes.filter(has).count()
    }

    fn more(&mut self, y: u32, count: usize, most: usize) -> u32 {
        if count <= most {
            return y;
        }
        self.text(
            "q",
            [LIST_X + 30, y + 19],
            &format!("and {} more", count - most),
        );
        y + 19
    }

    fn waiting(&mut self, mut y: u32) -> u32 {
        let scene = self.scene;
        let waiting: Vec<&GangNow> = scene.gangs.iter().filter(|gang| gang.waits()).collect();
        let [_, singles] = scene.singles;
        if waiting.is_empty() && singles == 0 {
            self.text("h", [LIST_X, y], "Nobody waits");
            return y;
        }
        let pods = match singles {
            0 => String::new(),
            _ => format!(", {} on their own", counted(singles, "pod", "pods")),
        };
        let title = format!("Waiting: {}{pods}", counted(waiting.len(), "gang", "gangs"));
        self.text("h", [LIST_X, y], &title);
        for gang in waiting.iter().take(MAX_WAITING) {
            y += 19;
            let number = gang.id.to_string();
            self.text("q", [LIST_X, y], &number);
            self.text("b", [LIST_X + 30, y], &fit(&gang.name, 12, LIST - 90));
            self.text(
                "e",
                [LIST_X + LIST, y],
                &format!("{}/{}", gang.bound, gang.min),
            );
            for line in lines(gang.why.as_deref().unwrap_or_default(), 11, LIST - 34, 2) {
                y += 14;
                self.text("q", [LIST_X + 30, y], &line);
            }
        }
        self.more(y, waiting.len(), MAX_WAITING)
    }

    /// What the marks mean; says where it ends.
    fn key(&mut self, mut y: u32) -> u32 {
        let right = LIST_X + LIST;
        self.out += &format!("<path class=\"l\" d=\"M{LIST_X} {}H{right}\"/>\n", y - 18);
        let rows: [(&str, &str); 4] = [
            (
                "u",
                "a node: how much of its scarcest resource is taken, by whom",
            ),
            ("r", "free: nothing on it but what is on every node"),
            ("x", "exclusive: what is left on it is its gang's alone"),
            ("kr", "cordoned: takes no new pods"),
        ];
        for (class, words) in rows {
            let place = [LIST_X, y - 11, 22, 14];
            self.rect(if class == "kr" { "k" } else { "c" }, place);
            match class {
                "u" => self.rect("g0", [LIST_X, y - 11, 14, 14]),
                "x" => {
                    self.rect("g0", [LIST_X, y - 11, 10, 14]);
                    self.out += &format!(
                        "<rect fill=\"url(#px)\" x=\"{}\" y=\"{}\" width=\"12\" height=\"14\"/>\n",
                        LIST_X + 10,
                        y - 11
                    );
                }
                _ => {}
            }
            self.rect(class, place);
            self.text("q", [LIST_X + 30, y], words);
            y += 19;
        }
        if self.scene.has_slots() {
            self.part(Who::Slots, [LIST_X * 10, 220], [y - 11, 14]);
            self.rect("fr", [LIST_X, y - 11, 22, 14]);
            let words = "a free slot, with its number; whose slot it is: small, below";
            self.text("q", [LIST_X + 30, y], words);
            y += 19;
        }
        let words = "* left free on nodes that it opened, in cores' worth";
        self.text("q", [LIST_X, y], words);
        y
    }
}

/// Those with the most nodes, in the order of their submission.
fn most_important<'a>(gangs: &[&'a GangNow]) -> Vec<&'a GangNow> {
    let mut listed = gangs.to_vec();
    listed.sort_by_key(|gang| (std::cmp::Reverse(gang.nodes), gang.id));
    listed.truncate(MAX_LISTED);
    listed.sort_by_key(|gang| gang.id);
    listed
}

/// Who takes how much of some nodes, in thousandths of all of them; small parts are put together.
fn shares(nodes: &[&NodeNow]) -> Vec<(Who, u32)> {
    let count = u32::try_from(nodes.len()).unwrap_or(u32::MAX).max(1);
    let mut sums: BTreeMap<Who, u32> = BTreeMap::new();
    for (who, part) in nodes.iter().flat_map(|node| &node.parts) {
        *sums.entry(*who).or_default() += part;
    }
    let mut parts: Vec<(Who, u32)> = sums.into_iter().collect();
    if parts.len() > MAX_PARTS {
        parts.sort_by_key(|(who, part)| (std::cmp::Reverse(*part), *who));
        let rest: u32 = parts
            .split_off(MAX_PARTS - 1)
            .iter()
            .map(|(_, part)| part)
            .sum();
        parts.sort_unstable();
        match parts.last_mut() {
            Some((Who::Other, part)) => *part += rest,
            _ => parts.push((Who::Other, rest)),
        }
    }
    // Rounded as sums, so that what is full looks full.
    let (mut sum, mut before) = (0, 0);
    for (_, part) in &mut parts {
        sum += *part;
        let end = sum / count;
        *part = end - before;
        before = end;
    }
    parts
}

/// What is shown of a cell under the pointer.
fn in_words(cell: &Cell, nodes: &[&NodeNow]) -> String {
    let free = nodes.iter().filter(|node| node.is_free()).count();
    let of: Vec<String> = shares(nodes)
        .into_iter()
        .map(|(who, part)| {
            let name = match who {
                Who::Gang(id) => format!("gang {id}"),
                Who::Single => "pods on their own".to_owned(),
                Who::Slots => "free slots".to_owned(),
                Who::Other => "others".to_owned(),
            };
            let slots = match nodes {
                [node] if who == Who::Slots => format!(" {}", node.free_slots.join(", ")),
                [node] => numbered(node.seats_of(who)),
                _ => String::new(),
            };
            format!("; {name}{slots} {} %", part / 10)
        })
        .collect();
    let of = of.concat();
    match nodes {
        [node] => {
            let name: String = node.name.chars().take(MAX_NAME).collect();
            let full = node.taken() / 10;
            format!("{name}: {full} % of {} taken{of}", node.scarcest)
        }
        _ => {
            let first = nodes.first().map_or("", |node| &node.name);
            let name = cell.label.as_deref().unwrap_or(first);
            let name: String = name.chars().take(MAX_NAME).collect();
            let more = if cell.label.is_none() {
                " and those after it"
            } else {
                ""
            };
            format!("{name}{more}: {free} of {} nodes free{of}", nodes.len())
        }
    }
}

/// A domain as it is called where there is so much room: `rack=r107`, or `r107`.
fn called(label: &str, room: u32) -> &str {
    let value = label.split_once('=').map(|(_, value)| value);
    value
        .filter(|_| width(label, 12) > room * 10)
        .unwrap_or(label)
}

/// `nvidia.com/gpu` is called `gpu`.
fn short_resource(name: &str) -> &str {
    super::tree::short(name)
}

/// Tenths of a pixel as pixels.
fn tenths(value: u32) -> String {
    match value % 10 {
        0 => (value / 10).to_string(),
        tenth => format!("{}.{tenth}", value / 10),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(parts: &[(Who, u32)]) -> NodeNow {
        NodeNow {
            parts: parts.to_vec(),
            ..NodeNow::default()
        }
    }

    #[test]
    fn times_are_exact() {
        let cases = [
            (0, "0s"),
            (1_500, "1.5s"),
            (60_000, "1m"),
            (90_050, "1m30.05s"),
            (3_600_000, "1h00m"),
            (3_912_000, "1h05m12s"),
        ];
        for (ms, text) in cases {
            assert_eq!(clock(Time(ms)), text);
        }
    }

    #[test]
    fn a_cell_for_several_nodes_has_the_mean_of_what_they_have() {
        let (full, half) = (node(&[(Who::Gang(1), 1_000)]), node(&[(Who::Single, 500)]));
        let empty = node(&[]);
        let parts = shares(&[&full, &half, &empty]);
        assert_eq!(parts, [(Who::Gang(1), 333), (Who::Single, 167)]);
        assert_eq!(shares(&[&full, &full]), [(Who::Gang(1), 1_000)]);
        assert!(shares(&[]).is_empty());
    }

    #[test]
    fn of_many_on_a_node_the_small_ones_are_put_together() {
        let many: Vec<(Who, u32)> = (1..=20)
            .map(|id| (Who::Gang(id), 10 + 2 * id as u32))
            .collect();
        let parts = shares(&[&node(&many)]);
        assert_eq!(parts.len(), MAX_PARTS);
        let sum = |parts: &[(Who, u32)]| parts.iter().map(|(_, part)| part).sum::<u32>();
        assert_eq!(sum(&parts), sum(&many));
        assert_eq!(parts[0], (Who::Gang(16), 42));
        assert_eq!(parts[MAX_PARTS - 1].0, Who::Other);
    }

    #[test]
    fn a_domain_without_room_for_its_label_is_called_by_its_value() {
        assert_eq!(called("rack=r107", 200), "rack=r107");
        assert_eq!(called("rack=r107", 40), "r107");
        assert_eq!(called("in no domain", 10), "in no domain");
    }
}
