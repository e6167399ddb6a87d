//! Rule: a room of the core imports only from the rooms above it.

use super::Finding;
use super::mask::{test_modules, words};
use super::tree::{File, Tree, numbered};

/// The folder of the rooms.
const CORE: &str = "crates/poolgrad/src/";

/// A room, and what it may import although it does not stand above it.
struct Room {
    name: &'static str,
    also: &'static [&'static str],
}

const fn room(name: &'static str) -> Room {
    Room { name, also: &[] }
}

/// The rooms of the core, from the top down.
const ROOMS: &[Room] = &[
    Room {
        name: "error",
        // Errors carry what they are about.
        also: &["dtype", "tensor", "spec"],
    },
    // Rows of some element types are converted by instructions of their own.
    room("simd"),
    room("dtype"),
    // The write-out routine knows nothing but slices, and the tensors' unsafe room writes its tiles with it.
    room("exec::stream"),
    room("tensor"),
    room("spec"),
    room("geometry"),
    room("exec"),
    // Kernels fill the tiles, and take rows from the scratch memory, that `exec` hands to them.
    room("kernels"),
    room("plan"),
    room("functions"),
];

/// The room that a path below the crate's root leads to: `exec::stream::copy` to `exec::stream`, `exec::tiles` to
/// `exec`.
fn room_of(path: &str) -> Option<usize> {
    let leads_to = |room: &Room| path == room.name || path.starts_with(&format!("{}::", room.name));
    let candidates = (0..ROOMS.len()).filter(|&i| leads_to(&ROOMS[i]));
    candidates.max_by_key(|&i| ROOMS[i].name.len())
}

/// The paths that a line of code names below the crate's root, such as `tensor::Sizes`.
///
/// In a file that is a room by itself, `super` is the root as well.
fn paths(code: &str, root_is_super: bool) -> Vec<String> {
    let roots = words(code).filter(|&(_, word)| word == "crate" || (root_is_super && word == "super"));
    let mut found = Vec::new();
    for (at, root) in roots {
        let Some(rest) = code[at + root.len()..].strip_prefix("::") else {
            continue;
        };
        let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        match rest.strip_prefix('{') {
            // `use crate::{a::B, c}`: rustfmt keeps short groups on one line.
            Some(group) => {
                let group = group.split('}').next().unwrap_or("");
                found.extend(group.split(',').map(|path| path.trim().to_owned()));
            }
            None => found.push(rest.split(|c| !is_path(c)).next().unwrap_or("").to_owned()),
        }
    }
    found.retain(|path| !path.is_empty());
    found
}

/// What is wrong with importing `path` into room `home`, if anything.
fn objection(home: usize, path: &str) -> Option<String> {
    let name = ROOMS[home].name;
    let Some(guest) = room_of(path) else {
        return Some(format!(
            "import `crate::{path}` from the room that it lives in, so that the order can be seen"
        ));
    };
    // A room may use itself, the rooms above it, and `error`, which is the first.
    let allowed = guest <= home || ROOMS[home].also.contains(&ROOMS[guest].name);
    (!allowed).then(|| format!("room `{name}` may not import from `{}`, which stands below it", ROOMS[guest].name))
}

/// The room that a file belongs to.
fn home_of(file: &File) -> Option<usize> {
    let path = file.path.strip_prefix(CORE)?.strip_suffix(".rs")?;
    room_of(&path.replace('/', "::"))
}

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust().filter(|file| file.path.starts_with(CORE)) {
        let Some(home) = home_of(file) else {
            if file.path != format!("{CORE}lib.rs") {
                findings.push(Finding::new(&file.path, 1, "give the room its place in this rule's table"));
            }
            continue;
        };
        let is_whole_room = file.path == format!("{CORE}{}.rs", ROOMS[home].name);
        let tests = test_modules(&file.rust.code);
        for (line, code) in numbered(&file.rust.code) {
            if tests.iter().any(|range| range.contains(&(line - 1))) {
                continue;
            }
            if code.contains("super::super::") {
                findings.push(Finding::new(
                    &file.path,
                    line,
                    "write the path from `crate::`, so that the order can be seen",
                ));
            }
            for path in paths(code, is_whole_room) {
                findings.extend(objection(home, &path).map(|remedy| Finding::new(&file.path, line, remedy)));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::places;

    // Oracle for all: the order of the rooms as the architecture document tells it.
    #[track_caller]
    fn assert_lines(path: &str, text: &str, lines: &[usize]) {
        let path = format!("{CORE}{path}");
        let want: Vec<_> = lines.iter().map(|line| format!("{path}:{line}")).collect();
        assert_eq!(places(check, &[(&path, text)]), want, "{path}");
    }

    #[test]
    fn imports_from_below_are_found() {
        let text = "use crate::dtype::DType;\nuse crate::plan::Plan;\nuse crate::{error::Error, exec::tiles};\n\
                    // crate::plan in a comment\nfn f() { crate::kernels::rows::add() }\n";
        assert_lines("spec/max.rs", text, &[2, 3, 5]);
        assert_lines("exec/tiles.rs", text, &[2, 5]);
        assert_lines("kernels/rows.rs", text, &[2]);
        assert_lines("functions.rs", text, &[]);
    }

    #[test]
    fn the_write_out_is_a_leaf() {
        let text = "use crate::exec::stream;\nuse crate::exec::tiles;\n";
        assert_lines("tensor/raw.rs", text, &[2]);
        assert_lines("exec/stream.rs", "use crate::tensor::Row;\n", &[1]);
    }

    #[test]
    fn errors_may_name_what_they_are_about() {
        assert_lines("error.rs", "use crate::tensor::Layout;\nuse super::plan::Plan;\n", &[2]);
    }

    #[test]
    fn paths_that_hide_the_room_are_found() {
        assert_lines("plan/check.rs", "use crate::Tensor;\nuse super::super::exec::tiles;\n", &[1, 2]);
        assert_lines("attic/mod.rs", "", &[1]);
    }

    #[test]
    fn tests_may_import_anything() {
        assert_lines("spec/max.rs", "#[cfg(test)]\nmod tests {\n    use crate::plan::Plan;\n}\n", &[]);
    }
}
