#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# What the plugin needs of DevStack, with effects on a folder that can be
# looked at afterwards instead of on the machine:
#
#   $WORLD/cinder.conf        edited as DevStack's inc/ini-config does it
#   $WORLD/api-paste.ini      Cinder's own, until the plugin changes it
#   $WORLD/running/SERVICE    cinder.conf as it was when the service started
#   $WORLD/running/api-paste.ini    the same for that of cinder-api
#   $WORLD/installed          directory and extras of each installed package
#   $WORLD/packages           packages of the distribution
#   $WORLD/ceph/              users, and options that were set
#   $WORLD/applied.yaml       tiers file that was applied
#   $WORLD/venv/bin/openstack the command itself; openstack is here a function
#                             like the client of openstack-cli-server
#
# With DEVSTACK_DIR set, DevStack's own ini functions are taken from there.

# shellcheck disable=SC2034 # the plugin uses them
{
CINDER_CONF=$WORLD/cinder.conf
CINDER_API_PASTE_INI=$WORLD/api-paste.ini
DATA_DIR=$WORLD/data
STACK_USER=$(id -un)
REGION_NAME=RegionOne
SERVICE_TIMEOUT=1
}

# Ini files
# ---------

if [[ -n "$DEVSTACK_DIR" ]]; then
    source "$DEVSTACK_DIR/inc/ini-config"
else
    function iniget {
        awk -v section="[$2]" -v option="$3" '
            /^\[/ { inside = ($0 == section) }
            inside && index($0, "=") {
                name = $0; sub(/[ \t]*=.*/, "", name)
                if (name == option) {
                    sub(/^[^=]*=[ \t]*/, ""); print
                }
            }' "$1"
    }

    function ini_has_option {
        grep -qE "^$3[ \t]*=" <(sed -ne "/^\[$2\]/,/^\[.*\]/p" "$1")
    }

    function inidelete {
        sed -i -e "/^\[$2\]/,/^\[.*\]/ { /^$3[ \t]*=/ d; }" "$1"
    }

    # A new option goes right behind the header of its section.
    function iniset {
        grep -qsF "[$2]" "$1" || printf '\n[%s]\n' "$2" >>"$1"
        awk -v section="[$2]" -v option="$3" -v value="$4" \
            -v known="$(ini_has_option "$1" "$2" "$3" && echo yes)" '
            /^\[/ { inside = ($0 == section) }
            {
                name = $0; sub(/[ \t]*=.*/, "", name)
                if (inside && name == option) $0 = option " = " value
                print
                if ($0 == section && known != "yes") print option " = " value
            }' "$1" >"$1.new" && mv "$1.new" "$1"
    }
fi

# Functions of DevStack
# ---------------------

function trueorfalse {
    case "${!2:-$1}" in
        1 | [Yy]es | [Tt]rue) echo True ;;
        *) echo False ;;
    esac
}

function die {
    shift
    echo "die: $*" >&2
    exit 1
}

function echo_summary { echo "$*"; }
function define_plugin { :; }
function plugin_requires { :; }
function is_plugin_enabled { [[ ,$DEVSTACK_PLUGINS, == *,$1,* ]]; }

function is_service_enabled {
    [[ "$1" == cinder && "$ENABLED_SERVICES" == *c-* ]] ||
        [[ ,$ENABLED_SERVICES, == *,$1,* ]]
}

# Each python3-NAME brings a module NAME, unless it is for another Python.
function install_package {
    printf '%s\n' "$@" >>"$WORLD/packages"
    local package
    mkdir -p "$WORLD/site"
    for package in "$@"; do
        [[ -n "$OTHER_PYTHON" ]] || touch "$WORLD/site/${package#python3-}.py"
    done
}

function setup_develop { echo "$1 [$2]" >>"$WORLD/installed"; }

function restart_service {
    mkdir -p "$WORLD/running"
    cp "$CINDER_CONF" "$WORLD/running/${1#devstack@}"
    [[ "$1" != *c-api ]] || cp "$CINDER_API_PASTE_INI" "$WORLD/running/"
}

# Commands
# --------

function sudo { "$@"; }

# cephadm ... -- ceph COMMAND
function cephadm {
    while [[ "$1" != -- ]]; do shift; done
    shift 2
    mkdir -p "$WORLD/ceph"
    case "$*" in
        "auth get-or-create "*)
            printf '[%s]\n\tkey = SECRET\n' "$3"
            echo "$*" >"$WORLD/ceph/user" ;;
        "osd crush class ls -f json") echo "$CEPH_CLASSES" ;;
        "config set "*) echo "$*" >"$WORLD/ceph/config" ;;
        *) die 0 "unknown ceph command: $*" ;;
    esac
}

function get_python_exec_prefix { echo "$WORLD/venv/bin"; }

# The client of openstack-cli-server: the command itself runs in a server that
# has of the caller's environment no more than some names with OS_, which are
# not needed here.
function openstack {
    env --unset CEPH_CONF --unset CINDER_TIERS_RBD_SECRET_UUID \
        "$WORLD/venv/bin/openstack" "$@"
}

# Makes $WORLD/venv/bin/openstack.
function install_openstack {
    mkdir -p "$WORLD/venv/bin"
    cat >"$WORLD/venv/bin/openstack" <<END
#!/bin/bash
$(declare -f die iniget openstack_command tier_command)
openstack_command "\$@"
END
    chmod +x "$WORLD/venv/bin/openstack"
}

# tier_command module class argument... - a command that only reads the file.
function tier_command {
    "$PYTHON" -c '
import importlib, sys, types
module, name, *arguments = sys.argv[1:]
app = types.SimpleNamespace(
    stdout=sys.stdout, stderr=sys.stderr,
    options=types.SimpleNamespace(verbose_level=1))
command = getattr(importlib.import_module(module), name)(app, None)
sys.exit(command.run(command.get_parser("tier").parse_args(arguments)))
' "$@"
}

# The sections are really ours, of the real command, and so is what is wrong
# with a file: only what asks Cinder and Ceph is not.
function openstack_command {
    local catalog=${*: -1}
    while [[ "$1" == --* ]]; do shift; done
    case "$*" in
        "tier backend-config "*)
            tier_command cinder_tiers.cli.backend_config ShowBackendConfig \
                "${@:3}" ;;
        "tier validate "*)
            tier_command cinder_tiers.cli.validate ValidateCatalog "${@:3}" ;;
        "tier apply "*)
            echo "$CEPH_CONF" >"$WORLD/applied.ceph_conf"
            [[ -z "$APPLY_FAILS" ]] && cp "$catalog" "$WORLD/applied.yaml" ;;
        "tier plan "*) cmp -s "$catalog" "$WORLD/applied.yaml" || return 2 ;;
        "volume service list "*)
            local backend
            for backend in $(iniget "$WORLD/running/c-vol" DEFAULT \
                enabled_backends | tr , ' '); do
                [[ "$backend" == "$DOWN" ]] || echo "node@$backend up"
            done ;;
        *) die 0 "unknown openstack command: $*" ;;
    esac
}

# The scripts of DevStack
# -----------------------

function run_phase { source "$PLUGIN/plugin.sh" "$@"; }

# As stack.sh: what lib/cinder writes, and when it starts services.
function stack {
    source "$PLUGIN/override-defaults"
    source "$PLUGIN/settings"
    run_phase stack pre-install
    cp "$CINDER_API_PASTE" "$CINDER_API_PASTE_INI"
    cat >"$CINDER_CONF" <<CONF

[DEFAULT]
default_volume_type = ceph
enabled_backends = ceph
quota_volumes = $CINDER_QUOTA_VOLUMES
$CINDER_CONF_EXTRA

[ceph]
volume_backend_name = ceph
CONF
    cp "$CINDER_CONF" "$WORLD/cinder.conf.before"
    run_phase stack install
    run_phase stack post-config
    local service
    for service in c-api c-sch c-vol; do
        restart_service devstack@$service
    done
    run_phase stack extra
    run_phase stack test-config
}

# The phases that change cinder.conf once more, on top of what they did.
function configure_again {
    source "$PLUGIN/settings"
    run_phase stack post-config
    run_phase stack extra
}

function unstack {
    source "$PLUGIN/override-defaults"
    source "$PLUGIN/settings"
    run_phase unstack
}

function clean {
    unstack
    run_phase clean
}

set -o errexit
install_openstack
"$@"
