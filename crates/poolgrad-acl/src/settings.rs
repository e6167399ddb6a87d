//! What the environment says, read once for the process.

use std::sync::OnceLock;

use crate::log::{self, Level};

/// Whose rules the operators' arguments follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Exactly what A2 and A3 accept, so that what passes here passes there.
    A2,
    /// What Ascend 950 accepts.
    A950,
    /// Everything that the library can compute.
    Permissive,
}

/// What becomes of an index outside its volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexPolicy {
    /// The stream fails.
    Strict,
    /// The contribution is left out.
    Drop,
}

/// The settings of this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    pub(crate) profile: Profile,
    pub(crate) index_policy: IndexPolicy,
    pub(crate) n_devices: i32,
}

/// Reads the environment at the first call.
pub(crate) fn settings() -> &'static Settings {
    static SETTINGS: OnceLock<Settings> = OnceLock::new();
    SETTINGS.get_or_init(|| Settings {
        profile: choose(
            "POOLGRAD_PROFILE",
            &[("a2", Profile::A2), ("950", Profile::A950), ("permissive", Profile::Permissive)],
        ),
        index_policy: choose(
            "POOLGRAD_INDEX_POLICY",
            &[("strict", IndexPolicy::Strict), ("drop", IndexPolicy::Drop)],
        ),
        n_devices: n_devices(),
    })
}

/// The value that a variable names; the first of `values` if it is unset, or if it names none, which is said.
pub(crate) fn choose<T: Copy>(variable: &str, values: &[(&str, T)]) -> T {
    let Some(got) = std::env::var_os(variable).filter(|got| !got.is_empty()) else { return values[0].1 };
    values.iter().find(|(name, _)| got == *name).map_or_else(
        || {
            let names: Vec<_> = values.iter().map(|(name, _)| *name).collect();
            log::complain(&format!(
                "{variable} must be {}, got {}; {} is used",
                names.join(" or "),
                got.display(),
                names[0]
            ));
            values[0].1
        },
        |(_, value)| *value,
    )
}

fn n_devices() -> i32 {
    const MOST: i32 = 64;
    let Some(got) = std::env::var_os("POOLGRAD_DEVICE_COUNT").filter(|got| !got.is_empty()) else { return 1 };
    match got.to_str().and_then(|got| got.parse().ok()) {
        Some(n @ 1..=MOST) => n,
        _ => {
            let got = got.display();
            log::line(
                Level::Error,
                &format!("POOLGRAD_DEVICE_COUNT must be from 1 to {MOST}, got {got}; 1 is used"),
            );
            1
        }
    }
}
