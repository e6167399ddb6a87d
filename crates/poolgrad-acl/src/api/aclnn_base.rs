//! `aclnn/aclnn_base.h`.

use crate::codes;
use crate::fault::Fault;
use crate::ffi::boundary::enter;
use crate::ffi::types::Text;

/// Initialises nothing, but says so if the configuration cannot be read.
#[unsafe(no_mangle)]
extern "C" fn aclnnInit(configPath: Text) -> i32 {
    enter("aclnnInit", || match configPath.read().filter(|path| !path.is_empty()) {
        None => Ok(()),
        Some(path) => std::fs::metadata(&path).map(drop).map_err(|error| {
            let text = format!("configPath must name a file that can be read, got {path}: {error}");
            Fault::new(codes::NN_PARAM_INVALID, text)
        }),
    })
}

/// Ends nothing.
#[unsafe(no_mangle)]
extern "C" fn aclnnFinalize() -> i32 {
    codes::SUCCESS
}
