//! The path of a field in an object: `spec.containers.0.name`, `metadata.labels[example.com/a]`.

use std::fmt;

/// Keys and indexes, from the object down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Path(Vec<String>);

impl Path {
    /// Reads a path as it is written.
    pub(super) fn read(text: &str) -> Self {
        let mut keys = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (key, after) = match rest.strip_prefix('[') {
                Some(inner) => inner.split_once(']').unwrap_or((inner, "")),
                None => rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len())),
            };
            keys.push(key.to_owned());
            rest = after.strip_prefix('.').unwrap_or(after);
        }
        Self(keys)
    }

    /// The path of a field or item below this one.
    pub(super) fn join(&self, key: &str) -> Self {
        let mut keys = self.0.clone();
        keys.push(key.to_owned());
        Self(keys)
    }

    /// The keys, without indexes.
    pub(super) fn keys(&self) -> impl Iterator<Item = &str> {
        let keys = self.0.iter().map(String::as_str);
        keys.filter(|key| key.parse::<usize>().is_err())
    }
}

/// A key that has a point or a slash in it stands in brackets.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, key) in self.0.iter().enumerate() {
            if key.contains(['.', '/', '[']) {
                write!(f, "[{key}]")?;
            } else {
                let point = if index == 0 { "" } else { "." };
                write!(f, "{point}{key}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_written_as_they_are_read() {
        for text in [
            "spec.containers.0.name",
            "metadata.labels[example.com/a]",
            "metadata.annotations[a.b].c",
            "",
        ] {
            assert_eq!(Path::read(text).to_string(), text);
        }
        let path = Path::read("spec.subgroups[1].min");
        assert_eq!(Vec::from_iter(path.keys()), ["spec", "subgroups", "min"]);
        assert_eq!(path.join("a/b").to_string(), "spec.subgroups.1.min[a/b]");
        assert_eq!(Path::read("a[b").to_string(), "a.b");
    }
}
