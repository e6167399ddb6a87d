//! Steps: other programs that a chore runs one after the other, with their output passed through.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::Failure;
use crate::counts::Counts;

/// A program to run in the workspace's folder, and what to say when it fails.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) command: Vec<String>,
    pub(crate) environment: Vec<(&'static str, String)>,
    /// Text that the output must not hold.
    pub(crate) refused: Option<&'static str>,
    /// What to do about a failure.
    pub(crate) advice: &'static str,
    /// Why the step does not run here; it counts as one test skipped.
    pub(crate) reason: Option<&'static str>,
}

impl Step {
    /// A step that runs cargo with `arguments`, given as one line without quoting.
    pub(crate) fn cargo(name: &'static str, arguments: &str, advice: &'static str) -> Self {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let command: Vec<&str> = std::iter::once(cargo.as_str()).chain(arguments.split_whitespace()).collect();
        Self::program(name, &command, advice)
    }

    /// A step that runs a program with its arguments.
    pub(crate) fn program(name: &'static str, command: &[&str], advice: &'static str) -> Self {
        let command = command.iter().map(|&word| word.to_owned()).collect();
        Self { name, command, environment: Vec::new(), refused: None, advice, reason: None }
    }

    /// A step that does not run here, and why.
    pub(crate) fn skipped(name: &'static str, reason: &'static str) -> Self {
        Self { reason: Some(reason), ..Self::program(name, &[], "") }
    }

    /// With an environment variable set.
    pub(crate) fn with(mut self, variable: &'static str, value: impl Into<String>) -> Self {
        self.environment.push((variable, value.into()));
        self
    }

    /// Failing if the output holds `text`.
    pub(crate) fn without(mut self, text: &'static str) -> Self {
        self.refused = Some(text);
        self
    }

    /// The command as a person would type it.
    fn line(&self) -> String {
        let variables = self.environment.iter().map(|(name, value)| format!("{name}={value:?} "));
        let program = Path::new(&self.command[0])
            .file_name()
            .map_or_else(|| self.command[0].clone(), |name| name.to_string_lossy().into_owned());
        // A program passed as text goes over many lines; its first word is enough to know it by.
        let short = |word: &str| if word.contains('\n') { "'…'".to_owned() } else { word.to_owned() };
        let rest = self.command[1..].iter().map(|word| format!(" {}", short(word)));
        variables.chain(std::iter::once(program)).chain(rest).collect()
    }

    /// Runs the step, passing its output through, and adds the tests it reports to `counts`.
    ///
    /// # Errors
    /// One line that names the step, its command and the remedy.
    pub(crate) fn run(&self, counts: &mut Counts) -> Result<(), String> {
        if let Some(reason) = self.reason {
            println!("==> {}: skipped: {reason}", self.name);
            counts.skipped += 1;
            return Ok(());
        }
        println!("==> {}: {}", self.name, self.line());
        let complain =
            |problem: &str| format!("step `{}` {problem}: `{}`; {}", self.name, self.line(), self.advice);
        let mut child = Command::new(&self.command[0])
            .args(&self.command[1..])
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(crate::workspace())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| complain(&format!("did not start ({error})")))?;
        let mut is_refused = false;
        if let Some(output) = child.stdout.take() {
            let mut reader = BufReader::new(output);
            let mut line = Vec::new();
            // Bytes, not `lines()`: a test may print what is no UTF-8, and its counts have to be read all the same.
            while reader
                .read_until(b'\n', &mut line)
                .map_err(|error| complain(&format!("cannot be read ({error})")))?
                > 0
            {
                let text = String::from_utf8_lossy(&line);
                print!("{text}");
                counts.read(&text);
                is_refused |= self.refused.is_some_and(|refused| text.contains(refused));
                line.clear();
            }
        }
        let status = child.wait().map_err(|error| complain(&format!("was lost ({error})")))?;
        match self.refused {
            _ if !status.success() => Err(complain(&format!("failed ({status})"))),
            Some(refused) if is_refused => Err(complain(&format!("printed {refused:?}"))),
            _ => Ok(()),
        }
    }
}

/// Runs `steps` up to the first that fails, then prints what each took, and last, in either case, the counts line.
///
/// # Errors
/// If a step fails; its message has been printed.
pub(crate) fn run_all(steps: &[Step]) -> Result<(), Failure> {
    let mut counts = Counts::default();
    let mut seconds = Vec::with_capacity(steps.len());
    let result = steps.iter().try_for_each(|step| {
        let start = Instant::now();
        let result = step.run(&mut counts);
        seconds.push((start.elapsed().as_secs(), step.name));
        result
    });
    println!("\n==> seconds of each step");
    seconds.iter().for_each(|(seconds, name)| println!("{seconds:5}  {name}"));
    if let Err(message) = &result {
        eprintln!("\n{message}");
        // Something else than a test may have failed, such as a lint or a crash; "0 failed" would be a lie.
        counts.failed = counts.failed.max(1);
    }
    println!("{counts}");
    result.map_err(|_| Failure::Told)
}

/// Compiler flags that leave out the kernels of all ISA levels but the target's own. A library that was built with them runs
/// on any machine.
///
/// Most of the time of a build goes to compiling kernels, once for each level. The flags are those of `fearless_simd`.
pub(crate) const ONE_LEVEL: &str =
    "--cfg disable_dispatch_sse4_2 --cfg disable_dispatch_avx2 --cfg disable_dispatch_avx512";

/// Compiler flags that leave out the kernels of SSE4.2, and no others.
pub(crate) const ALL_BUT_SSE4_2: &str = "--cfg disable_dispatch_sse4_2";

/// Compiler flags that leave out all kernels but those of SSE4.2. What was built with them needs a processor of 2009 or later.
///
/// Processors of other architectures have one level, and no such flags.
pub(crate) fn only_sse4_2() -> &'static str {
    match std::env::consts::ARCH {
        "x86" | "x86_64" => {
            "--cfg disable_dispatch_avx2 --cfg disable_dispatch_avx512 -C target-feature=+sse4.2,+popcnt,+cmpxchg16b"
        }
        _ => ONE_LEVEL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step that runs a shell line.
    fn shell(line: &str) -> Step {
        Step::program("shell", &["sh", "-c", line], "read it")
    }

    // Oracle: the exit status and the text that the shell was told to give.
    #[test]
    fn a_failing_step_names_itself_and_keeps_its_counts() {
        let mut counts = Counts::default();
        let error = shell("echo 'test result: FAILED. 2 passed; 1 failed; 0 ignored'; exit 3")
            .run(&mut counts)
            .unwrap_err();
        assert_eq!(counts.to_string(), "2 passed, 1 failed, 0 skipped");
        assert!(error.starts_with("step `shell` failed (exit status: 3): `sh -c"), "{error}");
        assert!(error.ends_with("; read it"), "{error}");
    }

    #[test]
    fn the_steps_after_a_failure_do_not_run() {
        let marker = std::env::temp_dir().join(format!("xtask-steps-{}", std::process::id()));
        let touch = shell(&format!("touch '{}'", marker.display()));
        run_all(&[shell("exit 1"), touch]).unwrap_err();
        assert!(!marker.exists());
    }

    #[test]
    fn a_skipped_step_is_counted_and_does_not_run() {
        let mut counts = Counts::default();
        Step::skipped("nothing", "there is nothing to do").run(&mut counts).unwrap();
        assert_eq!(counts.to_string(), "0 passed, 0 failed, 1 skipped");
    }

    #[test]
    fn refused_output_is_a_failure() {
        let mut counts = Counts::default();
        shell("echo fine").without("bad").run(&mut counts).unwrap();
        let error = shell("echo bad").without("bad").run(&mut counts).unwrap_err();
        assert!(error.contains("printed \"bad\""), "{error}");
    }

    #[test]
    fn a_program_that_does_not_exist_is_a_message() {
        let mut step = shell("");
        step.command = vec!["no-such-program-of-poolgrad".into()];
        let error = step.run(&mut Counts::default()).unwrap_err();
        assert!(error.contains("did not start"), "{error}");
    }
}
