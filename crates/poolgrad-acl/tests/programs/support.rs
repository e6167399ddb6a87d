//! What every test here needs: the installed tree, a compiler, and a way to run programs that cannot hang.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// How a program is built and run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Plain,
    /// Program and library both with AddressSanitizer, which also looks for leaks at the end.
    AddressSanitizer,
    /// The plain build under valgrind.
    Valgrind,
}

/// A program that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The exit status; `None` if a signal ended it.
    pub(crate) status: Option<i32>,
    pub(crate) output: String,
    pub(crate) errors: String,
}

/// No test here runs for long; a program that does has hung. Valgrind on a busy machine is what takes longest.
const LIMIT: Duration = Duration::from_secs(300);

/// The exit status that both checkers are told to end with.
const COMPLAINT: &str = "99";

/// The folder of the workspace.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace is there")
}

/// A folder for what tests make.
pub(crate) fn scratch() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("poolgrad-acl");
    fs::create_dir_all(&folder).expect("a folder below `target` can be made");
    folder
}

/// For the library as documents have it built, in the profile `release`: to compile that is what takes long, so without the kernels
/// of all ISA levels but the target's own, which the core's tests run all, and not optimised. In a folder of its own, so that nobody
/// finds such a library where the full one was.
pub(crate) const UNOPTIMISED: [(&str, &str); 3] = [
    ("RUSTFLAGS", "--cfg disable_dispatch_sse4_2 --cfg disable_dispatch_avx2 --cfg disable_dispatch_avx512"),
    ("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0"),
    ("CARGO_TARGET_DIR", "target/one-level"),
];

/// The installed tree, laid out once for each run of the tests, with the library that was built for them.
pub(crate) fn tree() -> &'static Path {
    static TREE: OnceLock<PathBuf> = OnceLock::new();
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    TREE.get_or_init(|| lay_out("tree", &["--profile", profile], &[]))
}

/// Builds what documents have built.
pub(crate) fn build_as_documented() {
    lay_out("tree-documented", &[], &UNOPTIMISED);
}

/// The same with a library that AddressSanitizer watches.
fn watched_tree() -> &'static Path {
    static TREE: OnceLock<PathBuf> = OnceLock::new();
    // Watched and optimised kernels take four minutes to compile, on two slow processors, and these programs run few of them.
    let unoptimised = ("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
    TREE.get_or_init(|| lay_out("tree-asan", &["--sanitize", "address", "--profile", "dev"], &[unoptimised]))
}

/// Runs `cargo xtask dist`.
fn lay_out(name: &str, arguments: &[&str], environment: &[(&str, &str)]) -> PathBuf {
    let out = scratch().join(name);
    // Test runners may start several processes of this file: one after the other, please.
    let lock = File::create(scratch().join(format!("{name}.lock"))).expect("a lock file can be made");
    lock.lock().expect("a file below `target` can be locked");
    let ended = Command::new(env!("CARGO"))
        .args(["xtask", "dist", "--out"])
        .arg(&out)
        .args(arguments)
        .envs(environment.iter().copied())
        .current_dir(workspace())
        .output()
        .expect("cargo starts");
    assert!(ended.status.success(), "cargo xtask dist failed: {}", String::from_utf8_lossy(&ended.stderr));
    out
}

/// The options of a build line for CANN programs.
fn build_options(tree: &Path) -> Vec<String> {
    let root = tree.display();
    let mut options: Vec<String> =
        ["", "/aclnn", "/aclnnop"].iter().map(|folder| format!("-I{root}/include{folder}")).collect();
    options.push(format!("-L{root}/lib64"));
    options.extend(["-lopapi_nn", "-lopapi_math", "-lascendcl", "-lnnopbase", "-ldl"].map(str::to_owned));
    options
}

/// Compiles a program of `tests/c`, once for each run of the tests, and returns its path.
fn build(source: &str, mode: Mode) -> PathBuf {
    static BUILT: Mutex<BTreeMap<String, Arc<OnceLock<PathBuf>>>> = Mutex::new(BTreeMap::new());
    let kind = if mode == Mode::AddressSanitizer { "asan" } else { "plain" };
    let name = format!("{source}-{kind}");
    let once =
        Arc::clone(BUILT.lock().expect("no test fails while it holds this").entry(name.clone()).or_default());
    once.get_or_init(|| compile(source, mode, &name)).clone()
}

fn compile(source: &str, mode: Mode, name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(source);
    let (compiler, standard) = if source.ends_with(".c") { ("gcc", "-std=gnu11") } else { ("g++", "-std=c++17") };
    let draft = scratch().join(format!("{name}-{}", unique()));
    let mut command = Command::new(compiler);
    command.arg(path).args([standard, "-Wall", "-Wextra", "-Werror", "-g", "-O1", "-pthread", "-o"]).arg(&draft);
    if mode == Mode::AddressSanitizer {
        command.args(["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined"]);
        command.args(build_options(watched_tree()));
    } else {
        command.args(build_options(tree()));
    }
    let ended = command.output().unwrap_or_else(|error| panic!("{compiler} does not start: {error}"));
    assert!(ended.status.success(), "{source} does not compile:\n{}", String::from_utf8_lossy(&ended.stderr));
    // Another process of this file may run the program that is there: it keeps it.
    let program = scratch().join(name);
    fs::rename(&draft, &program).expect("the compiler wrote it");
    program
}

/// A number that no other test of this machine has at the same time.
fn unique() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Builds and runs a program with these arguments and variables; `None` if the machine lacks the checker.
pub(crate) fn run(source: &str, mode: Mode, arguments: &[&str], environment: &[(&str, &str)]) -> Option<Ended> {
    if mode == Mode::Valgrind && !has_program("valgrind") {
        skipped(&format!("{source} under valgrind: valgrind is not installed"));
        return None;
    }
    let program = build(source, mode);
    let mut command = match mode {
        Mode::Valgrind => {
            let mut command = Command::new("valgrind");
            let checks = ["--quiet", "--leak-check=full", "--errors-for-leak-kinds=definite,indirect"];
            // The threads that share the work live until the process ends; what they hold is no leak.
            command.args(checks).args(["--show-leak-kinds=definite,indirect", "--child-silent-after-fork=yes"]);
            command.arg(format!("--error-exitcode={COMPLAINT}")).arg(&program);
            command
        }
        Mode::Plain | Mode::AddressSanitizer => Command::new(&program),
    };
    let tree = if mode == Mode::AddressSanitizer { watched_tree() } else { tree() };
    command.args(arguments).env("LD_LIBRARY_PATH", tree.join("lib64"));
    command.env("ASAN_OPTIONS", format!("detect_leaks=1:allocator_may_return_null=1:exitcode={COMPLAINT}"));
    for variable in ["POOLGRAD_PROFILE", "POOLGRAD_INDEX_POLICY", "POOLGRAD_LOG", "POOLGRAD_DEVICE_COUNT"] {
        command.env_remove(variable);
    }
    command.envs(environment.iter().copied());
    Some(finish(command, &program))
}

/// Runs `command` to its end, or stops it when it takes too long.
pub(crate) fn finish(mut command: Command, name: &Path) -> Ended {
    // Files, not pipes: nobody has to read along while the program runs.
    let [output, errors] = ["out", "err"].map(|ending| name.with_extension(format!("{ending}-{}", unique())));
    let create = |path: &Path| File::create(path).expect("a file below `target` can be made");
    command.stdin(Stdio::null()).stdout(create(&output)).stderr(create(&errors));
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{command:?} does not start: {error}"));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("the program can be asked") {
            break status;
        }
        if start.elapsed() > LIMIT {
            child.kill().expect("the program can be stopped");
            child.wait().expect("the program has been stopped");
            panic!("{command:?} still runs after {LIMIT:?}; on standard error: {}", take(&errors));
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    Ended { status: status.code(), output: take(&output), errors: take(&errors) }
}

/// Reads a file and removes it.
fn take(path: &Path) -> String {
    let text = String::from_utf8_lossy(&fs::read(path).expect("the program's output is there")).into_owned();
    fs::remove_file(path).expect("the program's output was there");
    text
}

/// Whether a program of this name is on the path.
pub(crate) fn has_program(name: &str) -> bool {
    Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// Says that something was not tested. The test runner hides what passing tests print by macros; this line shows.
pub(crate) fn skipped(what: &str) {
    std::io::stderr().write_all(format!("skipped: {what}\n").as_bytes()).expect("standard error is open");
}

impl Ended {
    /// The program ended well and every check in it held.
    #[track_caller]
    pub(crate) fn assert_passed(&self) {
        assert!(self.status == Some(0) && self.output.contains(" checks, 0 failed"), "{self}");
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { status, output, errors } = self;
        write!(f, "exit status {status:?}\n--- standard output\n{output}--- standard error\n{errors}")
    }
}
