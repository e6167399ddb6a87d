//! Each header of the installed tree compiles by itself, in C and in C++, with every warning on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{scratch, tree};

/// The headers of the tree, as programs include them.
pub(crate) fn headers() -> Vec<String> {
    let root = tree().join("include");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the tree has headers") {
            let path: PathBuf = entry.expect("the tree can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(&root).expect("it lies below");
                found.push(name.to_str().expect("names are plain").to_owned());
            }
        }
    }
    found.sort();
    found
}

fn compiles(compiler: &str, arguments: &[&str], source: &Path) {
    let include = tree().join("include");
    let ended = Command::new(compiler)
        .args(arguments)
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"])
        .arg(format!("-I{}", include.display()))
        .arg(source)
        .output()
        .unwrap_or_else(|error| panic!("{compiler} does not start: {error}"));
    let complaints = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{compiler} {arguments:?} {}:\n{complaints}", source.display());
}

// Oracle: the compiler. Twice, because a header without a guard would show only then.
#[test]
fn every_header_compiles_alone_and_twice() {
    let headers = headers();
    assert!(headers.iter().any(|name| name == "aclnnop/level2/aclnn_adaptive_max_pool2d.h"), "{headers:?}");
    for name in &headers {
        let source = scratch().join(name.replace('/', "-"));
        fs::write(&source, format!("#include \"{name}\"\n#include \"{name}\"\ntypedef int no_empty_file;\n"))
            .expect("a file can be made");
        compiles("gcc", &["-x", "c", "-std=c99"], &source);
        compiles("g++", &["-x", "c++", "-std=c++11", "-Wold-style-cast"], &source);
        compiles("g++", &["-x", "c++", "-std=c++20"], &source);
    }
}

// Oracle: numbers of the interface, restated. What programs were compiled with must not drift.
#[test]
fn constants_have_the_documented_numbers() {
    let pairs = [
        ("ACL_SUCCESS", 0),
        ("ACL_ERROR_INVALID_PARAM", 100_000),
        ("ACL_ERROR_REPEAT_INITIALIZE", 100_002),
        ("ACL_ERROR_REPEAT_FINALIZE", 100_037),
        ("ACL_ERROR_INVALID_BUNDLE_MODEL_ID", 148_053),
        ("ACL_ERROR_BAD_ALLOC", 200_000),
        ("ACL_ERROR_STORAGE_OVER_LIMIT", 300_000),
        ("ACL_ERROR_PROFILING_FAILURE", 500_005),
        ("ACL_ERROR_RT_PARAM_INVALID", 107_000),
        ("ACL_ERROR_RT_CONTEXT_NULL", 107_002),
        ("ACL_ERROR_RT_INVALID_HANDLE", 107_017),
        ("ACL_ERROR_RT_MEMORY_ALLOCATION", 207_001),
        ("ACL_ERROR_RT_STREAM_SYNC_TIMEOUT", 507_046),
        ("ACL_ERROR_RT_EVENT_SYNC_TIMEOUT", 507_047),
        ("ACL_ERROR_RT_VECTOR_CORE_EXCEPTION", 507_035),
        ("ACL_ERROR_GE_SHAPE_INVALID", 145_021),
        ("ACLNN_ERR_PARAM_NULLPTR", 161_001),
        ("ACLNN_ERR_PARAM_INVALID", 161_002),
        ("ACLNN_ERR_RUNTIME_ERROR", 361_001),
        ("ACLNN_ERR_INNER_NULLPTR", 561_103),
        ("ACL_DT_UNDEFINED", -1),
        ("ACL_FLOAT16", 1),
        ("ACL_INT64", 9),
        ("ACL_DOUBLE", 11),
        ("ACL_BF16", 27),
        ("ACL_FLOAT4_E1M2", 41),
        ("ACL_FORMAT_UNDEFINED", -1),
        ("ACL_FORMAT_ND", 2),
        ("ACL_FORMAT_NCDHW", 30),
        ("ACL_FRACTAL_Z_3D", 33),
        ("ACL_FORMAT_NCL", 47),
        ("ACL_FORMAT_FRACTAL_NZ_C0_8", 54),
        ("ACL_MEMCPY_DEFAULT", 4),
        ("ACL_MEM_MALLOC_HUGE1G_ONLY_P2P", 7),
        ("ACL_EVENT_RECORDED_STATUS_COMPLETE", 1),
        ("ACL_EVENT_STATUS_COMPLETE", 0),
        ("ACL_HOST", 1),
        ("ACL_OPT_DETERMINISTIC", 0),
    ];
    let checks: String =
        pairs.iter().map(|(name, value)| format!("static_assert({name} == {value}, \"{name}\");\n")).collect();
    let sizes =
        "static_assert(sizeof(aclDataType) == 4 && sizeof(aclFormat) == 4 && sizeof(aclnnStatus) == 4, \"\");";
    let source = scratch().join("constants.cpp");
    let text = format!("#include \"acl/acl.h\"\n#include \"aclnn/acl_meta.h\"\n{checks}{sizes}\n");
    fs::write(&source, text).expect("a file can be made");
    compiles("g++", &["-std=c++11"], &source);
}
