//! Who sits on which slot of one node: a function of what can be observed, and of nothing that a tenant
//! gains by writing.

/// A slot of the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seat<'a> {
    /// Its number.
    pub number: u32,
    /// The uid of who sits there, as the Testbed's status has it.
    pub named: Option<&'a str>,
    /// Its ghost is bound, and not about to go.
    pub held: bool,
}

/// A pod that is bound to the node, has not ended, claims slots of the Testbed, may do so, and fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sitter<'a> {
    /// Its uid.
    pub uid: &'a str,
    /// The numbers of the slots that it claims.
    pub claimed: &'a [u32],
    /// The slot that its annotation names.
    pub told: Option<u32>,
}

/// For each pod, in the order in which they come, the index of its seat; seats in the order of their numbers.
///
/// First those whom the status names keep their seat. Of the others each gets, among those that it claims
/// and that nobody has, a ghost or another pod: the one that its binding told, and if that told none of those
/// here, the first. Who finds none sits nowhere.
#[must_use]
pub fn seats(seats: &[Seat<'_>], sitters: &[Sitter<'_>]) -> Vec<Option<usize>> {
    let mut taken = vec![false; seats.len()];
    let mut found = vec![None; sitters.len()];
    for (index, sitter) in sitters.iter().enumerate() {
        let named = seats.iter().position(|seat| seat.named == Some(sitter.uid));
        if let Some(seat) = named.filter(|seat| !taken[*seat]) {
            taken[seat] = true;
            found[index] = Some(seat);
        }
    }
    for by_word in [true, false] {
        for (index, sitter) in sitters.iter().enumerate() {
            // Whose binding named a seat that has its ghost still, for all that is known, waits for that.
            let word = sitter.told.filter(|told| sitter.claimed.contains(told));
            let named = word.is_some_and(|word| seats.iter().any(|seat| seat.number == word));
            if found[index].is_some() || named && !by_word {
                continue;
            }
            let suits = |(at, seat): (usize, &Seat<'_>)| {
                let free = !taken[at] && !seat.held && sitter.claimed.contains(&seat.number);
                (free && (!by_word || sitter.told == Some(seat.number))).then_some(at)
            };
            let seat = seats.iter().enumerate().find_map(suits);
            if let Some(seat) = seat {
                taken[seat] = true;
                found[index] = Some(seat);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const FREE: Seat<'_> = Seat {
        number: 0,
        named: None,
        held: false,
    };

    fn row() -> [Seat<'static>; 3] {
        [0, 4, 8].map(|number| Seat { number, ..FREE })
    }

    fn sitter(uid: &'static str, claimed: &'static [u32], told: Option<u32>) -> Sitter<'static> {
        Sitter { uid, claimed, told }
    }

    #[test]
    fn who_is_named_by_the_status_keeps_the_seat_whatever_else_is_written() {
        let mut row = row();
        row[1].named = Some("a");
        row[1].held = true;
        assert_eq!(seats(&row, &[sitter("a", &[0], Some(0))]), [Some(1)]);
    }

    #[test]
    fn else_the_binding_tells_and_else_it_is_the_lowest() {
        let row = row();
        assert_eq!(seats(&row, &[sitter("a", &[0, 4, 8], Some(8))]), [Some(2)]);
        assert_eq!(seats(&row, &[sitter("a", &[4, 8], None)]), [Some(1)]);
        assert_eq!(
            seats(&row, &[sitter("a", &[4], Some(8))]),
            [Some(1)],
            "not claimed"
        );
        assert_eq!(
            seats(&row, &[sitter("a", &[4], Some(5))]),
            [Some(1)],
            "not here"
        );
    }

    #[test]
    fn a_seat_with_a_ghost_is_nobodys_and_no_seat_has_two() {
        let mut row = row();
        row[0].held = true;
        let both = [sitter("a", &[0, 4], Some(0)), sitter("b", &[4], Some(4))];
        assert_eq!(
            seats(&row, &both),
            [None, Some(1)],
            "who was told goes first"
        );
        let both = [sitter("a", &[4], None), sitter("b", &[4], None)];
        assert_eq!(seats(&row, &both), [Some(1), None]);
        let other_node = [sitter("a", &[1, 2], None)];
        assert_eq!(seats(&row, &other_node), [None]);
    }
}
