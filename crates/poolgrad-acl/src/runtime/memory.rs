//! The memory that the runtime gives out: where each allocation lies, and what keeps it alive.
//!
//! Device memory is host memory. Its allocations are kept in order of address, so that an address leads to its
//! allocation, and work that uses one holds on to it: freeing takes the allocation out of the table at once, and the
//! memory goes when the last work is done. Some of what was freed last is kept a little longer, so that the use of a
//! freed address is found and is an error; its memory cannot have been given to anybody else yet.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, PoisonError, RwLock};

use crate::codes;
use crate::fault::{Fault, Outcome};
use crate::ffi::memory::{Block, Memory};

/// Who an allocation was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Device,
    Host,
}

/// One allocation.
#[derive(Clone, Debug)]
pub(crate) struct Allocation {
    pub(crate) block: Arc<Block>,
    pub(crate) side: Side,
    pub(crate) device: i32,
}

#[derive(Default)]
struct Table {
    live: BTreeMap<usize, Allocation>,
    /// What was freed last, the oldest first.
    freed: VecDeque<Allocation>,
    freed_bytes: usize,
}

/// Limits of what is kept of freed memory.
const MOST_FREED: usize = 64;
const MOST_FREED_BYTES: usize = 16 << 20;

static TABLE: RwLock<Table> = RwLock::new(Table { live: BTreeMap::new(), freed: VecDeque::new(), freed_bytes: 0 });

/// Where an address lies.
#[derive(Debug)]
pub(crate) enum Spot {
    /// In an allocation that begins at `start`.
    Live { start: usize, allocation: Allocation },
    /// In memory that was freed.
    Freed,
    /// In memory of the program's own, as far as can be told.
    Foreign,
}

impl Table {
    fn spot(&self, addr: usize) -> Spot {
        if let Some((&start, allocation)) = self.live.range(..=addr).next_back()
            && addr - start < allocation.block.len()
        {
            return Spot::Live { start, allocation: allocation.clone() };
        }
        let is_inside = |allocation: &Allocation| {
            let start = allocation.block.memory().addr();
            start <= addr && addr - start < allocation.block.len()
        };
        if self.freed.iter().any(is_inside) { Spot::Freed } else { Spot::Foreign }
    }

    /// Takes out an allocation; returns those whose memory is not kept any longer.
    fn take(&mut self, memory: Memory, side: Side) -> Outcome<Vec<Allocation>> {
        let addr = memory.addr();
        let Some(allocation) = self.live.remove(&addr) else {
            return Err(not_ours(memory, side, &self.spot(addr)));
        };
        if allocation.side != side {
            self.live.insert(addr, allocation);
            return Err(not_ours(memory, side, &self.spot(addr)));
        }
        let mut gone = Vec::new();
        if allocation.block.len() > MOST_FREED_BYTES {
            gone.push(allocation);
            return Ok(gone);
        }
        self.freed_bytes += allocation.block.len();
        self.freed.push_back(allocation);
        while self.freed.len() > MOST_FREED || self.freed_bytes > MOST_FREED_BYTES {
            let Some(oldest) = self.freed.pop_front() else { break };
            self.freed_bytes -= oldest.block.len();
            gone.push(oldest);
        }
        Ok(gone)
    }
}

/// Where an address lies.
pub(crate) fn spot(memory: Memory) -> Spot {
    TABLE.read().unwrap_or_else(PoisonError::into_inner).spot(memory.addr())
}

/// Allocates zeroed memory of `bytes` bytes, which are as many as the caller can count on.
pub(crate) fn allocate(bytes: usize, side: Side, device: i32) -> Outcome<Memory> {
    let block = Block::new(bytes)
        .ok_or_else(|| Fault::new(codes::RT_MEMORY_ALLOCATION, format!("there is no memory for {bytes} bytes")))?;
    let memory = block.memory();
    let allocation = Allocation { block: Arc::new(block), side, device };
    TABLE.write().unwrap_or_else(PoisonError::into_inner).live.insert(memory.addr(), allocation);
    Ok(memory)
}

/// Frees an allocation of this side that begins at `memory`.
pub(crate) fn free(memory: Memory, side: Side) -> Outcome {
    let gone = TABLE.write().unwrap_or_else(PoisonError::into_inner).take(memory, side)?;
    // Given back without the lock, which takes a while for large ones.
    drop(gone);
    Ok(())
}

#[cold]
fn not_ours(memory: Memory, side: Side, spot: &Spot) -> Fault {
    let function = match side {
        Side::Device => "aclrtMalloc",
        Side::Host => "aclrtMallocHost",
    };
    let what = match spot {
        Spot::Live { start, allocation } if *start == memory.addr() && allocation.side == Side::Host => {
            "host memory"
        }
        Spot::Live { start, .. } if *start == memory.addr() => "device memory",
        Spot::Live { .. } => "an address inside an allocation",
        Spot::Freed => "memory that is freed already",
        Spot::Foreign => "memory that this library did not allocate",
    };
    let addr = memory.addr();
    Fault::new(codes::RT_PARAM_INVALID, format!("the pointer must come from {function}, got {what} at {addr:#x}"))
}

/// What keeps memory in use alive; nothing for memory of the program's own.
pub(crate) type Hold = Option<Arc<Block>>;

/// Bytes relative to an address; signed, since views may begin before the address that they are made from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    pub(crate) low: i64,
    /// One beyond the last.
    pub(crate) high: i64,
}

impl Reach {
    /// The first `bytes` bytes.
    pub(crate) fn first(bytes: usize) -> Self {
        Self { low: 0, high: i64::try_from(bytes).unwrap_or(i64::MAX) }
    }
}

/// Holds on to the bytes that `reach` names from `memory`, or says, of the argument `name`, that they are not there.
pub(crate) fn hold(memory: Memory, reach: Reach, name: &str) -> Result<Hold, String> {
    match spot(memory) {
        Spot::Foreign => Ok(None),
        Spot::Freed => {
            Err(format!("{name} must lie in memory that is allocated, got {:#x}, which is freed", memory.addr()))
        }
        Spot::Live { start, allocation } => {
            let len = allocation.block.len() as i64;
            let at = (memory.addr() - start) as i64;
            let (low, high) = (at.saturating_add(reach.low), at.saturating_add(reach.high));
            if low < 0 || high > len {
                return Err(format!(
                    "{name} must lie inside its allocation of {len} bytes at {start:#x}, got bytes {low} to {high}"
                ));
            }
            Ok(Some(allocation.block))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, MutexGuard};

    use super::*;

    /// All tests share the table, and one pushes out what others have freed.
    fn alone() -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[test]
    fn freed_once_and_only_from_its_start() {
        let _alone = alone();
        let memory = allocate(64, Side::Device, 0).unwrap();
        let refuse = |memory, side, text: &str| {
            let fault = free(memory, side).unwrap_err();
            assert_eq!(fault.code, codes::RT_PARAM_INVALID);
            assert!(fault.text.contains(text), "{}", fault.text);
        };
        refuse(memory.offset(32), Side::Device, "inside an allocation");
        refuse(memory, Side::Host, "got device memory");
        free(memory, Side::Device).unwrap();
        refuse(memory, Side::Device, "freed already");
    }

    #[test]
    fn bytes_outside_an_allocation_are_not_held() {
        let _alone = alone();
        let memory = allocate(64, Side::Device, 0).unwrap();
        assert!(hold(memory, Reach::first(64), "x").unwrap().is_some());
        assert!(hold(memory, Reach::first(65), "x").is_err());
        assert!(hold(memory.offset(32), Reach { low: -32, high: 32 }, "x").unwrap().is_some());
        assert!(hold(memory.offset(32), Reach { low: -33, high: 0 }, "x").is_err());
        assert!(hold(memory.offset(63), Reach { low: 0, high: i64::MAX }, "x").is_err());
        let held = hold(memory, Reach::first(8), "x").unwrap().unwrap();
        free(memory, Side::Device).unwrap();
        assert!(hold(memory, Reach::first(8), "x").unwrap_err().contains("freed"));
        assert_eq!(held.len(), 64, "what is held is still there");
    }

    #[test]
    fn freed_memory_is_kept_within_limits() {
        let _alone = alone();
        for bytes in [64, MOST_FREED_BYTES, MOST_FREED_BYTES + 1] {
            for _ in 0..2 * MOST_FREED {
                free(allocate(bytes, Side::Device, 0).unwrap(), Side::Device).unwrap();
            }
            let table = TABLE.read().unwrap();
            assert!(table.freed.len() <= MOST_FREED && table.freed_bytes <= MOST_FREED_BYTES);
            assert_eq!(table.freed_bytes, table.freed.iter().map(|freed| freed.block.len()).sum::<usize>());
        }
    }
}
