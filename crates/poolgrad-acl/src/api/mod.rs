//! The C functions, one file for each header that declares any; those of `acl_rt.h` are many, and are grouped.
#![allow(unsafe_code)]
#![allow(non_snake_case, reason = "functions and arguments are named as the vendor names them")]

mod acl_base;
mod acl_base_mdl;
mod acl_meta;
mod acl_rt;
mod aclnn_base;
mod aclnnop;
mod phases;
