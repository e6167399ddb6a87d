//! Ways to run a problem that must not change its result: instruction sets, thread counts, kernels.

use poolgrad::{Isa, PlanOptions};

use crate::cli;
use crate::failure::Failure;

/// One way to run a problem; what is absent is the library's choice.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub(super) isa: Option<Isa>,
    pub(super) threads: Option<usize>,
    pub(super) kernel: Option<String>,
}

/// Every combination of an instruction set (a name, or `all` of this machine's) and a thread count.
///
/// # Errors
/// If this machine has no such instruction set.
pub(super) fn ways(isa: Option<&str>, threads: &[usize], kernel: Option<&str>) -> Result<Vec<Way>, Failure> {
    let isas = match isa {
        None => vec![None],
        Some("all") => Isa::available().into_iter().map(Some).collect(),
        Some(name) => {
            let isa = cli::isa(name).map_err(|has| Failure::usage(format!("--isa {name}: {has}")))?;
            vec![Some(isa)]
        }
    };
    let threads =
        if threads.is_empty() { vec![None] } else { threads.iter().copied().map(Some).collect::<Vec<_>>() };
    let way = |isa| threads.iter().map(move |&threads| Way { isa, threads, kernel: kernel.map(str::to_owned) });
    Ok(isas.into_iter().flat_map(way).collect())
}

impl Way {
    /// The options that choose this way.
    pub(super) fn options(&self) -> PlanOptions {
        let mut options = PlanOptions::default();
        if let Some(isa) = self.isa {
            options = options.isa(isa);
        }
        if let Some(threads) = self.threads {
            options = options.threads(threads);
        }
        if let Some(kernel) = &self.kernel {
            options = options.kernel(kernel);
        }
        options
    }

    /// The arguments that choose this way.
    pub(super) fn arguments(&self) -> String {
        let isa = self.isa.map(|isa| format!(" --isa {isa}"));
        let threads = self.threads.map(|threads| format!(" --threads {threads}"));
        let kernel = self.kernel.as_ref().map(|kernel| format!(" --kernel {kernel}"));
        [isa, threads, kernel].into_iter().flatten().collect()
    }
}
