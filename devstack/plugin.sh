#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# DevStack plugin: installs cinder-tiers, enables its filter and weigher in
# cinder-scheduler and its middleware in cinder-api (cinder_config.sh), and
# creates the tiers on the Ceph of devstack-plugin-ceph. The lab (lab.sh, lab/)
# is another way to get a cloud and has nothing to do with it.
#
# DevStack sources this file once for each phase, from stack.sh, unstack.sh
# and clean.sh. What happens when:
#
# pre-install   stop early when something is missing
# install       the package, where the services and the CLI run; stop early
#               when the operator's tiers file is not valid
# post-config   TierFilter and TierWeigher, and the filter in api-paste.ini,
#               before cinder-scheduler and cinder-api start
# extra         pools and volume types, then the backends: cinder-volume must
#               not start on a pool that does not exist, and volume types
#               need a running cinder-api
# test-config   check that what runs is what was declared
# unstack       cinder.conf and api-paste.ini as they were
# clean         the files that it has made

_XTRACE_CINDER_TIERS=$(set +o | grep xtrace)
set +o xtrace

# Files
# -----

_CINDER_TIERS_UNDO=$CINDER_TIERS_STATE_DIR/undo.ini
_CINDER_TIERS_OWN_CATALOG=$CINDER_TIERS_STATE_DIR/tiers.yaml

source "$CINDER_TIERS_DIR/devstack/cinder_config.sh"

# Conditions
# ----------

# Whether tiers are created from this node: where the API is.
function _cinder_tiers_apply_here {
    [[ "$CINDER_TIERS_APPLY" == "True" ]] && is_service_enabled c-api
}

# Whether backends of tiers run on this node.
function _cinder_tiers_backends_here {
    [[ "$CINDER_TIERS_APPLY" == "True" ]] && is_service_enabled c-vol
}

function _cinder_tiers_is_ceph_enabled {
    is_plugin_enabled devstack-plugin-ceph &&
        [[ "${ENABLE_CEPH_CINDER:-True}" == "True" ]]
}

# Commands
# --------

function _cinder_tiers_catalog {
    echo "${CINDER_TIERS_CATALOG:-$_CINDER_TIERS_OWN_CATALOG}"
}

# The keyring of the cephx user of plan and apply, where Ceph looks for it.
function _cinder_tiers_keyring {
    echo "$CEPH_CONF_DIR/ceph.client.$CINDER_TIERS_CEPH_USER.keyring"
}

# _cinder_tiers_openstack command... - openstack tier command...
#
# The openstack on PATH may be the client of openstack-cli-server, which runs
# the command in a server without most of the caller's environment, CEPH_CONF
# too: this is the command itself.
function _cinder_tiers_openstack {
    CEPH_CONF=$CEPH_CONF_FILE "$(get_python_exec_prefix)/openstack" \
        --os-region-name="$REGION_NAME" tier "$@" \
        --catalog "$(_cinder_tiers_catalog)"
}

# _cinder_tiers_ceph command... - a ceph command as its admin, in the way of
# devstack-plugin-ceph. Its FSID is not used: that is a new one whenever its
# settings are read.
function _cinder_tiers_ceph {
    local fsid
    fsid=$(awk '$1 == "fsid" { print $3 }' "$CEPH_CONF_DIR/ceph.conf")
    sudo "${CEPHADM:-/usr/bin/cephadm}" --image "$CONTAINER_IMAGE" shell \
        --fsid "$fsid" --config "$CEPH_CONF_DIR/ceph.conf" \
        --keyring "$CEPH_CONF_DIR/ceph.client.admin.keyring" -- ceph "$@"
}

# Phases
# ------

function check_cinder_tiers {
    if ! is_service_enabled cinder; then
        die $LINENO "cinder-tiers needs Cinder: enable c-api, c-sch, c-vol"
    fi
    if [[ "$CINDER_TIERS_APPLY" != "True" ]]; then
        return
    fi
    if ! _cinder_tiers_is_ceph_enabled; then
        die $LINENO "cinder-tiers creates its tiers in Ceph, but Cinder has \
none: add 'enable_plugin devstack-plugin-ceph' to local.conf and leave \
ENABLE_CEPH_CINDER alone, or set CINDER_TIERS_APPLY=False to only enable \
cinder-tiers in Cinder's services and make the tiers' volume types yourself"
    fi
    if [[ "$REMOTE_CEPH" == "True" && -z "$CINDER_TIERS_CATALOG" ]]; then
        die $LINENO "REMOTE_CEPH=True: set CINDER_TIERS_CATALOG to a tiers \
file that fits that Ceph"
    fi
    if [[ -n "$CINDER_TIERS_CATALOG" && ! -r "$CINDER_TIERS_CATALOG" ]]; then
        die $LINENO "CINDER_TIERS_CATALOG: cannot read $CINDER_TIERS_CATALOG"
    fi
    if [[ "$REMOTE_CEPH" == "True" ]] && _cinder_tiers_apply_here &&
        [[ ! -r "$(_cinder_tiers_keyring)" ]]; then
        die $LINENO "REMOTE_CEPH=True: $(_cinder_tiers_keyring) cannot be \
read: put the keyring of client.$CINDER_TIERS_CEPH_USER there, readable by \
$STACK_USER, or set CINDER_TIERS_CEPH_USER. devstack-plugin-ceph empties \
$CEPH_CONF_DIR at each unstack.sh: keep copies elsewhere"
    fi
    # devstack-plugin-ceph installs them only beside a Ceph of its own.
    install_package python3-rados python3-rbd
}

function install_cinder_tiers {
    local extras=""
    if _cinder_tiers_apply_here || _cinder_tiers_backends_here; then
        extras=cli
    fi
    if [[ "$CINDER_TIERS_RALLY" == "True" ]]; then
        extras=cli,rally
    fi
    setup_develop "$CINDER_TIERS_DIR" $extras

    # They are not on PyPI: DevStack's venv sees them as system packages, but
    # only while it runs the distribution's own Python.
    if _cinder_tiers_apply_here && ! python3 -c 'import rados, rbd'; then
        die $LINENO "python3 ($(command -v python3)) cannot import rados and \
rbd of the distribution: stack with the distribution's Python"
    fi

    # Needs no cloud, and the phase that reads it next comes minutes later.
    if [[ -n "$CINDER_TIERS_CATALOG" && -n "$extras" ]]; then
        _cinder_tiers_openstack validate -f lint ||
            die $LINENO "CINDER_TIERS_CATALOG: $CINDER_TIERS_CATALOG is not \
valid, see above"
    fi
}

# The cephx user of plan and apply, with a keyring that STACK_USER can read.
# That of a remote Ceph is there: check_cinder_tiers has looked.
function create_cinder_tiers_ceph_user {
    local name=client.$CINDER_TIERS_CEPH_USER key
    if [[ "$REMOTE_CEPH" != "True" ]]; then
        key=$(_cinder_tiers_ceph auth get-or-create "$name" \
            mon 'allow *' mgr 'allow *' osd 'allow *') ||
            die $LINENO "Ceph did not create the cephx user $name"
        sudo install -m 600 -o "$STACK_USER" /dev/stdin \
            "$(_cinder_tiers_keyring)" <<<"$key"
    fi
}

# Tiers for the one OSD of devstack-plugin-ceph. They differ in nothing but
# their pools: this is for trying placement, not performance.
function write_cinder_tiers_catalog {
    local device_class
    device_class=$(_cinder_tiers_ceph osd crush class ls -f json |
        jq -r '.[0] // empty')
    if [[ -z "$device_class" ]]; then
        die $LINENO "no OSD of Ceph has a device class: see 'ceph osd tree'"
    fi
    # Ceph refuses pools with one copy by default.
    _cinder_tiers_ceph config set global mon_allow_pool_size_one true ||
        die $LINENO "Ceph did not allow pools with one copy"

    local common="cluster: ceph, device_class: $device_class"
    common+=", failure_domain: osd, replicated: {size: 1, min_size: 1,"
    common+=" single_copy: true}"
    cat >"$_CINDER_TIERS_OWN_CATALOG" <<CATALOG
# Written by the cinder-tiers plugin of DevStack at each stack.sh. To change
# it, copy it and set CINDER_TIERS_CATALOG in local.conf.
version: 1
follow_image_types: [image-tier]
clusters:
  ceph:
    user: $CINDER_TIERS_CEPH_USER
    cinder_user: $CINDER_CEPH_USER
    images_pool: $GLANCE_CEPH_POOL
    conf: $CEPH_CONF_FILE
    secret_uuid: $CINDER_CEPH_UUID
tiers:
  database:
    tags: [database]
    priority: 20
    rbd: {pool: tier-database, $common}
  general:
    fallback: true
    rbd: {pool: tier-general, $common}
  archive:
    tags: [archive]
    priority: 10
    rbd: {pool: tier-archive, $common}
CATALOG
}

function apply_cinder_tiers {
    create_cinder_tiers_ceph_user
    if [[ -z "$CINDER_TIERS_CATALOG" ]]; then
        write_cinder_tiers_catalog
    fi
    _cinder_tiers_openstack apply --yes ||
        die $LINENO "the tiers could not be applied, see above"
}

# _cinder_tiers_set_default option value - set an option of [DEFAULT], and
# remember what must be undone
function _cinder_tiers_set_default {
    local option=$1 value=$2 before
    before=$(iniget "$CINDER_CONF" DEFAULT "$option")
    if [[ "$option" == enabled_backends ]]; then
        # A list: what DevStack has enabled stays.
        local backend backends=$before
        for backend in ${value//,/ }; do
            iniset "$_CINDER_TIERS_UNDO" backends "$backend" added
            backends=$(_cinder_tiers_list_add "$backends" "$backend")
        done
        value=$backends
    elif [[ "$before" != "$value" ]]; then
        iniset "$_CINDER_TIERS_UNDO" DEFAULT "$option" "$before"
    fi
    iniset "$CINDER_CONF" DEFAULT "$option" "$value"
}

# Merge the sections that "openstack tier backend-config" prints.
function configure_cinder_tiers_backends {
    local sections section="" line
    sections=$(_cinder_tiers_openstack backend-config \
        --rbd-secret-uuid "$CINDER_CEPH_UUID" \
        --ceph-conf "$CEPH_CONF_FILE") ||
        die $LINENO "no backend sections could be printed for \
$(_cinder_tiers_catalog)"
    while IFS= read -r line; do
        if [[ "$line" =~ ^\[(.+)\]$ ]]; then
            section=${BASH_REMATCH[1]}
        elif [[ "$line" =~ ^([a-z0-9_]+)\ *=\ *(.*)$ ]]; then
            if [[ "$section" == DEFAULT ]]; then
                _cinder_tiers_set_default "${BASH_REMATCH[1]}" \
                    "${BASH_REMATCH[2]}"
            else
                iniset "$CINDER_CONF" "$section" "${BASH_REMATCH[1]}" \
                    "${BASH_REMATCH[2]}"
            fi
        fi
    done <<<"$sections"
}

# Names of the backends that were added for tiers, one per line.
function _cinder_tiers_backends {
    if [[ -r "$_CINDER_TIERS_UNDO" ]]; then
        sed -ne '/^\[backends\]/,/^\[/ s/ = added$//p' "$_CINDER_TIERS_UNDO"
    fi
}

# cinder-volume reads its backends, and cinder-api its default type, at start.
function restart_cinder_for_tiers {
    local service
    for service in c-api c-vol; do
        if is_service_enabled $service; then
            restart_service devstack@$service
        fi
    done
}

# What runs is what was declared: no changes are left to do, and every backend
# has reported itself.
function check_cinder_tiers_result {
    _cinder_tiers_openstack plan ||
        die $LINENO "Cinder and Ceph do not match \
$(_cinder_tiers_catalog): see the plan above"
    local backend left=$SERVICE_TIMEOUT
    for backend in $(_cinder_tiers_backends); do
        until openstack --os-region-name="$REGION_NAME" volume service list \
            --service cinder-volume -f value -c Host -c State |
            grep -q "@$backend up$"; do
            if ((left-- <= 0)); then
                die $LINENO "backend $backend is not up after \
$SERVICE_TIMEOUT s: see the log of devstack@c-vol"
            fi
            sleep 1
        done
    done
}

# cinder.conf and api-paste.ini as they were before. The volume types go
# with Cinder's database and the pools with DevStack's Ceph.
function unconfigure_cinder_tiers {
    local backend option backends
    unconfigure_cinder_tiers_services
    if [[ ! -e "$CINDER_CONF" ]]; then
        return
    fi

    backends=$(iniget "$CINDER_CONF" DEFAULT enabled_backends)
    for backend in $(_cinder_tiers_backends); do
        backends=$(_cinder_tiers_list_remove "$backends" "$backend")
        iniset "$CINDER_CONF" DEFAULT enabled_backends "$backends"
        _cinder_tiers_delete_section "$CINDER_CONF" "$backend"
    done

    option=default_volume_type
    if [[ -r "$_CINDER_TIERS_UNDO" ]] &&
        ini_has_option "$_CINDER_TIERS_UNDO" DEFAULT $option; then
        local before
        before=$(iniget "$_CINDER_TIERS_UNDO" DEFAULT $option)
        if [[ -n "$before" ]]; then
            iniset "$CINDER_CONF" DEFAULT $option "$before"
        else
            inidelete "$CINDER_CONF" DEFAULT $option
        fi
    fi
    rm -f "$_CINDER_TIERS_UNDO"
}

function cleanup_cinder_tiers {
    if [[ "$REMOTE_CEPH" == "True" && "$CINDER_TIERS_APPLY" == "True" ]]; then
        echo "cinder-tiers: the pools, CRUSH rules and cephx capabilities of \
the tiers stay in the remote Ceph; remove them there when no longer needed"
    elif [[ -n "$CEPH_CONF_DIR" ]]; then
        sudo rm -f "$(_cinder_tiers_keyring)"
    fi
    rm -rf "$CINDER_TIERS_STATE_DIR"
}

# Entry
# -----

if [[ "$1" == "stack" && "$2" == "pre-install" ]]; then
    check_cinder_tiers
elif [[ "$1" == "stack" && "$2" == "install" ]]; then
    echo_summary "Installing cinder-tiers"
    install_cinder_tiers
    # Of a stack.sh without an unstack.sh after it: DevStack begins cinder.conf
    # anew.
    rm -f "$_CINDER_TIERS_UNDO"
elif [[ "$1" == "stack" && "$2" == "post-config" ]]; then
    if is_service_enabled c-sch || is_service_enabled c-api; then
        echo_summary "Enabling cinder-tiers in cinder-scheduler and cinder-api"
        configure_cinder_tiers_services
    fi
elif [[ "$1" == "stack" && "$2" == "extra" ]]; then
    mkdir -p "$CINDER_TIERS_STATE_DIR"
    if _cinder_tiers_apply_here; then
        echo_summary "Creating the tiers"
        apply_cinder_tiers
    fi
    if _cinder_tiers_apply_here || _cinder_tiers_backends_here; then
        echo_summary "Configuring the backends of the tiers"
        configure_cinder_tiers_backends
        restart_cinder_for_tiers
    fi
elif [[ "$1" == "stack" && "$2" == "test-config" ]]; then
    if _cinder_tiers_apply_here; then
        check_cinder_tiers_result
    fi
elif [[ "$1" == "unstack" ]]; then
    unconfigure_cinder_tiers
elif [[ "$1" == "clean" ]]; then
    cleanup_cinder_tiers
fi

$_XTRACE_CINDER_TIERS
