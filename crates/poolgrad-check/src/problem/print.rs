//! Problems to lines of the problem language.

use std::fmt;

use poolgrad::{DType, Pool};

use super::{Fill, MemoryLayout, Problem};

/// A list as the language writes it: one value where all are equal.
struct Listed<'a>(&'a [i64]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all_equal = self.0.windows(2).all(|pair| pair[0] == pair[1]);
        let shown = if all_equal { &self.0[..1] } else { self.0 };
        Joined(shown).fmt(f)
    }
}

/// A list with every value, joined by `x`.
struct Joined<'a>(&'a [i64]);

impl fmt::Display for Joined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, value) in self.0.iter().enumerate() {
            write!(f, "{}{value}", if i == 0 { "" } else { "x" })?;
        }
        Ok(())
    }
}

fn name_of<T: PartialEq>(named: &[(&'static str, T)], value: &T) -> &'static str {
    named.iter().find(|(_, other)| other == value).map_or("", |(name, _)| name)
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.spec.name())?;
        if let Some(batch) = self.batch {
            write!(f, "n{batch}")?;
        }
        write!(f, "c{} in{}", self.channels, Joined(&self.input))?;
        match &self.spec.pool {
            Pool::Max(pool) => {
                write!(f, " k{}", Listed(&pool.kernel_size))?;
                if pool.stride != pool.kernel_size {
                    write!(f, " s{}", Listed(&pool.stride))?;
                }
                if pool.padding.iter().any(|&value| value != 0) {
                    write!(f, " p{}", Listed(&pool.padding))?;
                }
                if pool.dilation.iter().any(|&value| value != 1) {
                    write!(f, " d{}", Listed(&pool.dilation))?;
                }
                if pool.ceil_mode {
                    f.write_str(" ceil")?;
                }
            }
            Pool::AdaptiveMax(pool) => write!(f, " out{}", Listed(&pool.output_size))?,
            Pool::AdaptiveAvg(pool) => write!(f, " out{}", Listed(&pool.output_size))?,
            other => unreachable!("no line can be written for {other:?}"),
        }
        if self.dtype != DType::F32 {
            write!(f, " {}", self.dtype)?;
        }
        if self.has_indices() && self.index_dtype != DType::I64 {
            write!(f, " {}", self.index_dtype)?;
        }
        if self.layout != MemoryLayout::Ncdhw {
            write!(f, " {}", name_of(&MemoryLayout::ALL, &self.layout))?;
        }
        if self.fill != Fill::Random {
            write!(f, " {}", name_of(&Fill::ALL, &self.fill))?;
        }
        Ok(())
    }
}
