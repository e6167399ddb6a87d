//! `poolgrad bench` from outside: what it prints and writes, on problems of microseconds.
//!
//! Times are the machine's and are not judged; that results are checked before they are timed, and that every form of
//! the results says the same, is.

mod support;

use serde_json::Value;
use support::{listing, poolgrad, poolgrad_with};

const PROBLEMS: [&str; 3] =
    ["max_grad n1c3 in8x9x10 k3 s2 p1 bf16 i32 ndhwc", "adaptive_avg c3 in12x13 out4", "max c2 in64 k2 f64"];

fn bench(arguments: &[&str]) -> Vec<String> {
    let fixed = ["bench", "--quick"].iter().chain(&PROBLEMS).chain(arguments);
    fixed.map(|&argument| argument.to_owned()).collect()
}

fn run(folder: &std::path::Path, arguments: &[&str]) -> support::Outcome {
    let arguments = bench(arguments);
    poolgrad_with(folder, &arguments.iter().map(String::as_str).collect::<Vec<_>>()).passed()
}

/// Oracle: JSON's own parser, the problems that were asked for, and the definitions of the numbers.
#[test]
fn results_come_as_json() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = run(folder.path(), &["--json", "--threads", "1,2"]);
    let rows: Vec<Value> = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(rows.len(), 2 * PROBLEMS.len());
    for (i, row) in rows.iter().enumerate() {
        assert_eq!(row["problem"], PROBLEMS[i / 2]);
        assert_eq!(row["threads"], 1 + i % 2);
        let number = |name: &str| row[name].as_f64().unwrap_or_else(|| panic!("{name} of {row}"));
        let traffic = number("bytes_read") / number("read_gbps") + number("bytes_written") / number("write_gbps");
        assert!((number("roofline_ms") / (traffic / 1e6) - 1.0).abs() < 1e-9, "{row}");
        let share = number("roofline_ms") / number("median_ms") * 100.0;
        assert!((number("roofline_percent") / share - 1.0).abs() < 1e-9, "{row}");
        assert!(0.0 < number("min_ms") && number("min_ms") <= number("median_ms"), "{row}");
        assert!(9.0 <= number("n_samples") && 0.0 <= number("spread") && 0.0 < number("gbps"), "{row}");
        assert_eq!(row["checked"], "all planes against the reference");
        assert!(row["kernel"].as_str().unwrap().contains(':'), "{row}");
        assert!(poolgrad::Isa::from_name(row["isa"].as_str().unwrap()).is_some(), "{row}");
        // Small problems wake no thread.
        assert_eq!(row["workers"], 1);
    }
    let column = |name: &str| rows.iter().step_by(2).map(|row| row[name].clone()).collect::<Vec<_>>();
    assert_eq!(column("dtype"), ["bf16", "f32", "f64"]);
    assert_eq!(column("layout"), ["ndhwc", "ncdhw", "ncdhw"]);
    assert_eq!(column("index_dtype"), ["i32".into(), Value::Null, "i64".into()]);
    // 3 channels of 4x5x5 gradients and indices to 8x9x10; of 12x13 to 4x4; of 64 to 32 values and indices.
    assert_eq!(column("bytes_read"), [3 * 100 * (2 + 4), 3 * 156 * 4, 2 * 64 * 8]);
    assert_eq!(column("bytes_written"), [3 * 720 * 2, 3 * 16 * 4, 2 * 32 * (8 + 8)]);
}

/// Oracle: the structure of a table, and the problems that were asked for.
#[test]
fn results_come_as_tables() {
    let folder = tempfile::tempdir().unwrap();
    let table = run(folder.path(), &[]).stdout;
    let markdown = run(folder.path(), &["--markdown"]).stdout;
    for problem in PROBLEMS {
        assert!(table.contains(problem), "{table}");
        assert!(markdown.contains(&format!("| `{problem}` | ")), "{markdown}");
    }
    let widths: Vec<_> = markdown.lines().take(2 + PROBLEMS.len()).map(|line| line.matches('|').count()).collect();
    assert_eq!(widths, [8; 2 + PROBLEMS.len()], "{markdown}");
    for text in [&table, &markdown] {
        assert!(text.contains(" threads: memory reads ") || text.contains("1 thread: memory reads "), "{text}");
    }
}

/// Oracle: an XML parser's rules (every element is closed), and that the page names nothing outside itself.
#[test]
fn the_page_is_whole_and_stands_alone() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &["--html", "page.html", "--isa", "all"]);
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    let mut open = Vec::new();
    for tag in page.split('<').skip(1).map(|rest| rest.split_once('>').expect("a tag ends").0) {
        let name = tag.split_whitespace().next().unwrap().trim_end_matches('/');
        match name.strip_prefix('/') {
            Some(name) => assert_eq!(open.pop(), Some(name)),
            None if tag.ends_with('/') || ["!doctype", "meta"].contains(&name) => {}
            None => open.push(name),
        }
    }
    assert_eq!(open, [""; 0]);
    assert_eq!(page.matches("<svg ").count(), PROBLEMS.len());
    assert_eq!(page.matches("<rect ").count(), PROBLEMS.len() * poolgrad::Isa::available().len());
    for problem in PROBLEMS {
        assert!(page.contains(&format!("<td><code>{problem}</code></td>")), "{problem}");
    }
    for foreign in ["http:", "https:", "src=", "href=", "url(", "@import", "<script", "<link", "NaN", "inf"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}

/// Oracle: the compiler and the processor themselves.
#[test]
fn records_say_where_they_come_from() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &["--record", "records"]);
    let names = listing(&folder.path().join("records"));
    let [json, markdown] = &names[..] else { panic!("{names:?}") };
    assert_eq!(json.strip_suffix(".json"), markdown.strip_suffix(".md"));
    let read = |name| std::fs::read_to_string(folder.path().join("records").join(name)).unwrap();
    let record: Value = serde_json::from_str(&read(json)).unwrap();
    assert!(record["compiler"].as_str().unwrap().starts_with("rustc "), "{record}");
    assert!(json.starts_with(record["date"].as_str().unwrap()), "{json}");
    for name in ["processor", "processors", "caches", "commit"] {
        assert!(!record[name].as_str().unwrap().is_empty(), "{name}");
    }
    let problems: Vec<_> = record["results"].as_array().unwrap().iter().map(|row| &row["problem"]).collect();
    assert_eq!(problems, PROBLEMS);
    let markdown = read(markdown);
    assert!(markdown.starts_with("- date: ") && markdown.contains(PROBLEMS[0]), "{markdown}");
}

#[test]
fn mistakes_are_told_on_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        ("bench none.txt", 2, "there is no file none.txt; a problem goes in quotes"),
        ("bench --threads 0", 2, "invalid value '0' for '--threads <N>': a whole number from 1 is wanted"),
        ("bench --repeat 0", 2, "invalid value '0' for '--repeat <N>': a whole number from 1 is wanted"),
        ("bench --quick --repeat 5", 2, "the argument '--quick' cannot be used with '--repeat <N>'"),
        ("bench --json --markdown", 2, "the argument '--json' cannot be used with '--markdown'"),
        ("bench --isa mmx", 2, "--isa mmx: this machine has "),
    ];
    for (arguments, code, message) in cases {
        let got = poolgrad(folder.path(), arguments).failed(code);
        assert!(got.starts_with(message), "{arguments}: {got}");
    }
    let fails = |arguments: &[&str]| poolgrad_with(folder.path(), arguments).failed(1);
    let message = fails(&["bench", "max c1 in2 k5"]);
    assert!(message.starts_with("max c1 in2 k5: no window fits"), "{message}");
    let message = fails(&["bench", "max c1 in5 k3", "--kernel", "none"]);
    assert!(message.starts_with("max c1 in5 k3: the kernel must be one of "), "{message}");
    let message = fails(&["bench", "--quick", "max c1 in5 k3", "--html", "no/such/folder/page.html"]);
    assert!(message.starts_with("no/such/folder/page.html: "), "{message}");
}
