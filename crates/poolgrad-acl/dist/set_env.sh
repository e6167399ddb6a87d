# Points CANN build lines and programs at this tree. Source it: `. set_env.sh`; a second time changes nothing.

# bash tells where this file is, so the tree may be moved. Plain sh does not: there the place counts where the tree
# was laid out.
_poolgrad_root='@ROOT@'
if [ -n "${BASH_VERSION:-}" ]; then
    # shellcheck disable=SC3028,SC3054 # only bash comes here
    _poolgrad_root=$(CDPATH= cd "$(dirname "${BASH_SOURCE:-$0}")" && pwd)
fi

if [ -e "$_poolgrad_root/lib64/libascendcl.so" ]; then
    export ASCEND_HOME_PATH="$_poolgrad_root"
    export ASCEND_TOOLKIT_HOME="$_poolgrad_root"
    export ASCEND_CUSTOM_PATH="$_poolgrad_root"
    export ASCEND_AICPU_PATH="$_poolgrad_root"
    export ASCEND_OPP_PATH="$_poolgrad_root/opp"
    case ":${LD_LIBRARY_PATH:-}:" in
        *":$_poolgrad_root/lib64:"*) ;;
        *) export LD_LIBRARY_PATH="$_poolgrad_root/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" ;;
    esac
    unset _poolgrad_root
else
    echo "set_env.sh: no lib64/libascendcl.so in $_poolgrad_root; source this file with bash, or lay the tree out again" >&2
    unset _poolgrad_root
    # The status of the last command is that of the `.` that sourced this file.
    false
fi
