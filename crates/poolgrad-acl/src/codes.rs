//! The codes that functions return, as the headers name them.

pub(crate) const SUCCESS: i32 = 0;

pub(crate) const INVALID_PARAM: i32 = 100_000;
pub(crate) const REPEAT_INITIALIZE: i32 = 100_002;
pub(crate) const INVALID_FILE: i32 = 100_003;
pub(crate) const PARSE_FILE: i32 = 100_006;
pub(crate) const REPEAT_FINALIZE: i32 = 100_037;
pub(crate) const FEATURE_UNSUPPORTED: i32 = 200_006;
pub(crate) const INTERNAL_ERROR: i32 = 500_000;

pub(crate) const RT_PARAM_INVALID: i32 = 107_000;
pub(crate) const RT_INVALID_DEVICEID: i32 = 107_001;
pub(crate) const RT_CONTEXT_NULL: i32 = 107_002;
pub(crate) const RT_STREAM_CONTEXT: i32 = 107_003;
pub(crate) const RT_EVENT_TIMESTAMP_INVALID: i32 = 107_006;
pub(crate) const RT_INVALID_HANDLE: i32 = 107_017;
pub(crate) const RT_WAIT_TIMEOUT: i32 = 107_019;
pub(crate) const RT_SYSPARAMOPT_NOT_SET: i32 = 107_021;
pub(crate) const RT_FEATURE_NOT_SUPPORT: i32 = 207_000;
pub(crate) const RT_MEMORY_ALLOCATION: i32 = 207_001;
pub(crate) const RT_NO_STREAM_RESOURCE: i32 = 207_008;
pub(crate) const RT_INTERNAL_ERROR: i32 = 507_000;
pub(crate) const RT_CONTEXT_RELEASE_ERROR: i32 = 507_007;
pub(crate) const RT_VECTOR_CORE_EXCEPTION: i32 = 507_035;
pub(crate) const RT_STREAM_SYNC_TIMEOUT: i32 = 507_046;
pub(crate) const RT_EVENT_SYNC_TIMEOUT: i32 = 507_047;

pub(crate) const NN_PARAM_NULLPTR: i32 = 161_001;
pub(crate) const NN_PARAM_INVALID: i32 = 161_002;
pub(crate) const NN_RUNTIME_ERROR: i32 = 361_001;
pub(crate) const NN_INNER: i32 = 561_000;
pub(crate) const NN_INNER_NULLPTR: i32 = 561_103;
