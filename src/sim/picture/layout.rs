//! Where on a sheet the domains and the nodes are: boxes inside boxes, and cells. Whole pixels only.
//!
//! Where there are too many nodes, one cell is for several of one domain, and where there are too many
//! domains, the wider ones are drawn as if they were the narrowest: so a sheet has a bound.

use super::tree::Domain;

/// So many cells a sheet has at most, about.
pub const MAX_CELLS: usize = 3_000;
/// So many domains have boxes of their own.
const MAX_BOXES: usize = 1_500;
/// A domain of so few times the nodes of a cell has one cell.
const ONE_CELL: usize = 3;

/// How large a cell is, and what has room in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
    /// How much of the top is for the node's name.
    pub head: u32,
    /// Between two cells.
    pub gap: u32,
}

/// From the largest to the smallest: the first with which the sheet is not too high is taken.
const SIZES: [Size; 5] = [
    size(128, 54, 22, 6),
    size(96, 44, 18, 5),
    size(50, 30, 0, 3),
    size(22, 18, 0, 2),
    size(12, 11, 0, 1),
];

/// So high a sheet may be for cells that could be smaller.
const HIGH: u32 = 1_000;

const fn size(width: u32, height: u32, head: u32, gap: u32) -> Size {
    Size {
        width,
        height,
        head,
        gap,
    }
}

/// Inside a box.
const PAD: u32 = 6;
/// For the label of a box.
const LABEL: u32 = 19;
/// Between boxes.
const GAP: u32 = 8;
/// A label has this room.
const MIN_WIDTH: u32 = 70;

/// A domain on the sheet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// From the left.
    pub x: u32,
    /// From the top.
    pub y: u32,
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
    /// How many are around it.
    pub depth: usize,
    /// How it is called.
    pub label: String,
    /// Its nodes are these of [`Sheet::nodes`].
    pub first: usize,
    /// So many.
    pub count: usize,
}

/// A node on the sheet, or some nodes of one domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// From the left.
    pub x: u32,
    /// From the top.
    pub y: u32,
    /// The domain, where it is for all nodes of one.
    pub label: Option<String>,
    /// Its nodes are these of [`Sheet::nodes`].
    pub first: usize,
    /// So many.
    pub count: usize,
}

/// Everything in its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sheet {
    /// Width.
    pub width: u32,
    /// Height.
    pub height: u32,
    /// The size of all cells.
    pub size: Size,
    /// The boxes, each after the one around it.
    pub frames: Vec<Frame>,
    /// The cells.
    pub cells: Vec<Cell>,
    /// The numbers of the nodes, in the order of the cells.
    pub nodes: Vec<usize>,
    /// The most nodes that one cell is for.
    pub per_cell: usize,
}

/// Puts all nodes of a tree on a sheet of this width.
#[must_use]
pub fn lay_out(tree: &Domain, width: u32) -> Sheet {
    let (tree, per_cell) = within_bounds(tree);
    let mut sheets = SIZES
        .iter()
        .map(|size| laid_out(&tree, per_cell, width, *size));
    let fits = |sheet: &Sheet| sheet.height <= HIGH;
    let found = sheets.find(fits);
    found.unwrap_or_else(|| laid_out(&tree, per_cell, width, SIZES[SIZES.len() - 1]))
}

fn laid_out(tree: &Domain, per_cell: usize, width: u32, size: Size) -> Sheet {
    let mut sheet = Sheet {
        width,
        height: 0,
        size,
        frames: Vec::new(),
        cells: Vec::new(),
        nodes: Vec::new(),
        per_cell: 1,
    };
    let [_, height] = sheet.fill(tree, per_cell, [0, 0], width, 0);
    sheet.height = height;
    let cells = sheet.cells.iter();
    sheet.per_cell = cells.map(|cell| cell.count).max().unwrap_or(1);
    sheet
}

/// The tree as deep as it can be drawn, and how many nodes a cell is for.
fn within_bounds(tree: &Domain) -> (Domain, usize) {
    let mut tree = tree.clone();
    let mut depth = depth(&tree);
    while tree.count() > MAX_BOXES && depth > 0 {
        depth -= 1;
        tree.prune(depth);
    }
    let per_cell = tree.size().div_ceil(MAX_CELLS).max(1);
    (tree, per_cell)
}

fn depth(tree: &Domain) -> usize {
    let below = tree.domains.iter().map(|one| 1 + depth(one));
    below.max().unwrap_or(0)
}

/// How many cells so many nodes of one domain have.
const fn chunks(nodes: usize, per_cell: usize, is_domain: bool) -> usize {
    if per_cell > 1 && is_domain && nodes > 0 && nodes <= ONE_CELL * per_cell {
        1
    } else {
        nodes.div_ceil(per_cell)
    }
}

impl Sheet {
    /// Draws what is in a domain, at a place and no wider than this; says how wide and high it is.
    fn fill(
        &mut self,
        domain: &Domain,
        per_cell: usize,
        [x, y]: [u32; 2],
        width: u32,
        depth: usize,
    ) -> [u32; 2] {
        if !domain.nodes.is_empty() {
            return self.grid(domain, per_cell, [x, y], width);
        }
        let (mut right, mut at, mut row) = (0, [x, y], 0);
        for one in &domain.domains {
            if depth > 0 && per_cell > 1 && chunks(one.nodes.len(), per_cell, true) == 1 {
                // The whole domain is one cell, without a box of its own.
                let [cell, _] = [self.size.width, self.size.height];
                if at[0] > x && at[0] + cell > x + width {
                    at = [x, at[1] + row + self.size.gap];
                    row = 0;
                }
                self.cell(one.nodes.clone(), Some(one.label.clone()), at);
                at[0] += cell + self.size.gap;
                row = row.max(self.size.height);
                right = right.max(at[0] - self.size.gap);
                continue;
            }
            let (cells, frames) = (self.cells.len(), self.frames.len());
            let size = self.frame(one, per_cell, at, width, depth);
            if at[0] > x && at[0] + size[0] > x + width {
                let next = [x, at[1] + row + GAP];
                self.shift(cells, frames, at, next);
                at = next;
                row = 0;
            }
            at[0] += size[0] + GAP;
            row = row.max(size[1]);
            right = right.max(at[0] - GAP);
        }
        [right.saturating_sub(x), at[1] + row - y]
    }

    /// Moves the cells and frames from these on to another place.
    fn shift(&mut self, cells: usize, frames: usize, from: [u32; 2], to: [u32; 2]) {
        let moved = |x: u32, y: u32| (x + to[0] - from[0], y + to[1] - from[1]);
        for cell in &mut self.cells[cells..] {
            (cell.x, cell.y) = moved(cell.x, cell.y);
        }
        for frame in &mut self.frames[frames..] {
            (frame.x, frame.y) = moved(frame.x, frame.y);
        }
    }

    /// Draws a domain with its box.
    fn frame(
        &mut self,
        domain: &Domain,
        per_cell: usize,
        [x, y]: [u32; 2],
        width: u32,
        depth: usize,
    ) -> [u32; 2] {
        let (number, first) = (self.frames.len(), self.nodes.len());
        self.frames.push(Frame {
            x,
            y,
            width: 0,
            height: 0,
            depth,
            label: domain.label.clone(),
            first,
            count: 0,
        });
        let inner = width.saturating_sub(2 * PAD);
        let inside = self.fill(domain, per_cell, [x + PAD, y + LABEL], inner, depth + 1);
        let size = [
            (inside[0] + 2 * PAD).max(MIN_WIDTH),
            inside[1] + LABEL + PAD,
        ];
        let count = self.nodes.len() - first;
        let frame = &mut self.frames[number];
        (frame.width, frame.height, frame.count) = (size[0], size[1], count);
        size
    }

    /// Draws the nodes of a domain as a block of cells that is rather wide than high; where there are
    /// no domains, as wide as the sheet.
    fn grid(&mut self, domain: &Domain, per_cell: usize, [x, y]: [u32; 2], width: u32) -> [u32; 2] {
        let Size {
            width: cell,
            height,
            gap,
            ..
        } = self.size;
        let is_domain = !domain.label.is_empty();
        let count = chunks(domain.nodes.len(), per_cell, is_domain).max(1);
        let most = usize::try_from(((width + gap) / (cell + gap)).max(1)).unwrap_or(1);
        let wide = (1..=count).find(|columns| {
            let rows = count.div_ceil(*columns);
            let (columns, rows) = (*columns as u64, rows as u64);
            columns * u64::from(cell + gap) * 2 >= rows * u64::from(height + gap) * 3
        });
        let columns = if is_domain {
            wide.unwrap_or(count).min(most)
        } else {
            most.min(count)
        };
        let each = domain.nodes.len().div_ceil(count).max(1);
        for (number, nodes) in domain.nodes.chunks(each).enumerate() {
            let place = |index: usize, step: u32| u32::try_from(index).unwrap_or(0) * step;
            let at = [
                x + place(number % columns, cell + gap),
                y + place(number / columns, height + gap),
            ];
            let label = (count == 1 && per_cell > 1 && is_domain).then(|| domain.label.clone());
            self.cell(nodes.to_vec(), label, at);
        }
        let count = domain.nodes.len().div_ceil(each);
        let extent = |count: usize, step: u32| u32::try_from(count).unwrap_or(0) * step - gap;
        [
            extent(columns, cell + gap),
            extent(count.div_ceil(columns), height + gap),
        ]
    }

    fn cell(&mut self, nodes: Vec<usize>, label: Option<String>, [x, y]: [u32; 2]) {
        self.cells.push(Cell {
            x,
            y,
            label,
            first: self.nodes.len(),
            count: nodes.len(),
        });
        self.nodes.extend(nodes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::tree::grow;
    use muster_model::Labels;

    const WIDTH: u32 = 880;

    /// So many nodes in racks of this size, ten racks a block.
    fn sheet(nodes: usize, rack: Option<usize>) -> Sheet {
        let all: Vec<(String, Labels)> = (0..nodes)
            .map(|node| {
                let rack = rack.map(|size| node / size);
                let pairs = rack.into_iter().flat_map(|rack| {
                    let pair = |key: &str, value: usize| (key.to_owned(), value.to_string());
                    [pair("block", rack / 10), pair("rack", rack)]
                });
                (format!("n{node}"), pairs.collect())
            })
            .collect();
        let all: Vec<(&str, &Labels)> = all
            .iter()
            .map(|(name, labels)| (name.as_str(), labels))
            .collect();
        let levels = rack.map_or(Vec::new(), |_| vec!["block".to_owned(), "rack".to_owned()]);
        lay_out(&grow(&all, &levels), WIDTH)
    }

    /// Everything is on the sheet, nothing lies over anything else, every node is there once.
    fn check(sheet: &Sheet, nodes: usize) {
        let mut seen = sheet.nodes.clone();
        seen.sort_unstable();
        assert_eq!(seen, (0..nodes).collect::<Vec<usize>>());
        let counted: usize = sheet.cells.iter().map(|cell| cell.count).sum();
        assert_eq!(counted, nodes);
        let (w, h) = (sheet.size.width, sheet.size.height);
        let mut cells: Vec<[u32; 4]> = Vec::new();
        for cell in &sheet.cells {
            assert!(
                cell.x + w <= sheet.width && cell.y + h <= sheet.height,
                "{cell:?}"
            );
            cells.push([cell.x, cell.y, w, h]);
        }
        for frame in &sheet.frames {
            assert!(frame.x + frame.width <= sheet.width, "{frame:?}");
            assert!(frame.y + frame.height <= sheet.height, "{frame:?}");
        }
        apart(&cells);
        for depth in 0..3 {
            let of = sheet.frames.iter().filter(|one| one.depth == depth);
            let of: Vec<[u32; 4]> = of
                .map(|one| [one.x, one.y, one.width, one.height])
                .collect();
            apart(&of);
        }
        // Who is inside whom.
        for frame in &sheet.frames {
            let inside = |x: u32, y: u32, w: u32, h: u32| {
                x >= frame.x
                    && y >= frame.y
                    && x + w <= frame.x + frame.width
                    && y + h <= frame.y + frame.height
            };
            for cell in &sheet.cells {
                let in_it = (frame.first..frame.first + frame.count).contains(&cell.first);
                assert_eq!(in_it, inside(cell.x, cell.y, w, h), "{frame:?} {cell:?}");
            }
        }
    }

    fn apart(all: &[[u32; 4]]) {
        for (index, a) in all.iter().enumerate() {
            for b in &all[..index] {
                let beside = a[0] + a[2] <= b[0] || b[0] + b[2] <= a[0];
                let below = a[1] + a[3] <= b[1] || b[1] + b[3] <= a[1];
                assert!(beside || below, "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn every_node_has_a_place_of_its_own_in_its_domain() {
        for (nodes, rack) in [
            (0, None),
            (1, None),
            (3, Some(3)),
            (28, None),
            (200, Some(20)),
            (201, Some(7)),
        ] {
            check(&sheet(nodes, rack), nodes);
        }
    }

    #[test]
    fn few_nodes_are_large_and_many_small() {
        assert!(sheet(3, None).size.width > 100);
        assert!(sheet(200, Some(20)).size.width > 40);
        assert!(sheet(2_000, Some(20)).size.width >= 10);
    }

    #[test]
    fn a_sheet_is_bounded_however_many_nodes_and_domains_there_are() {
        for (nodes, rack) in [
            (20_000, Some(16)),
            (20_000, Some(500)),
            (20_000, Some(1)),
            (20_000, None),
            (100_000, Some(10)),
        ] {
            let sheet = sheet(nodes, rack);
            assert!(
                sheet.cells.len() <= MAX_CELLS + MAX_BOXES,
                "{nodes} {rack:?}: {}",
                sheet.cells.len()
            );
            assert!(
                sheet.frames.len() <= MAX_BOXES,
                "{nodes} {rack:?}: {}",
                sheet.frames.len()
            );
            assert!(sheet.height <= 6_000, "{nodes} {rack:?}: {}", sheet.height);
            assert!(sheet.per_cell > 1);
            assert_eq!(sheet.nodes.len(), nodes);
        }
    }

    #[test]
    fn a_small_rack_of_a_large_cluster_is_one_cell_with_its_name() {
        let sheet = sheet(20_000, Some(16));
        assert_eq!(sheet.cells[0].label.as_deref(), Some("rack=0"));
        assert_eq!(sheet.cells[0].count, 16);
        assert_eq!(sheet.frames[0].label, "block=0");
    }
}
