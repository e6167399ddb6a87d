//! The C interface of poolgrad: acl and aclnn.
