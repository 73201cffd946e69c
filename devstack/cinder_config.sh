#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# Enables and disables cinder-tiers in Cinder's services: its filter and
# weigher in cinder.conf, for cinder-scheduler, and its middleware in
# api-paste.ini of cinder-api. Sourced by plugin.sh.

# Cinder's default of scheduler_default_filters, for a cinder.conf without it.
_CINDER_TIERS_STOCK_FILTERS=AvailabilityZoneFilter
_CINDER_TIERS_STOCK_FILTERS+=,CapacityFilter,CapabilitiesFilter
# And of scheduler_default_weighers.
_CINDER_TIERS_STOCK_WEIGHERS=CapacityWeigher

# Where api-paste.ini has its pipelines.
_CINDER_TIERS_PIPELINES=composite:openstack_volume_api_v3

# Lists and sections
# ------------------

# _cinder_tiers_list_add list item - the comma separated list with the item
function _cinder_tiers_list_add {
    local list=${1// /} item=$2
    if [[ ,$list, == *,$item,* ]]; then
        echo "$list"
    else
        echo "${list:+$list,}$item"
    fi
}

# _cinder_tiers_list_remove list item - the list without the item
function _cinder_tiers_list_remove {
    local list=,${1// /}, item=$2
    list=${list//,$item,/,}
    list=${list#,}
    echo "${list%,}"
}

# _cinder_tiers_option_add option item stock - add to a list in cinder.conf
function _cinder_tiers_option_add {
    local list
    list=$(iniget "$CINDER_CONF" DEFAULT "$1")
    iniset "$CINDER_CONF" DEFAULT "$1" \
        "$(_cinder_tiers_list_add "${list:-$3}" "$2")"
}

# _cinder_tiers_option_remove option item stock - undo it
function _cinder_tiers_option_remove {
    local list
    list=$(_cinder_tiers_list_remove \
        "$(iniget "$CINDER_CONF" DEFAULT "$1")" "$2")
    if [[ -z "$list" || "$list" == "$3" ]]; then
        inidelete "$CINDER_CONF" DEFAULT "$1"
    else
        iniset "$CINDER_CONF" DEFAULT "$1" "$list"
    fi
}

# _cinder_tiers_delete_section file section - with all of its options, and with
# the blank line that iniset puts before a new section. Blank lines and
# comments before the next section belong to that one.
function _cinder_tiers_delete_section {
    local rest
    rest=$(
        awk -v header="[$2]" '
            /^\[/ {
                inside = ($0 == header)
                if (inside && (held == "\n" || held ~ /\n\n$/))
                    held = substr(held, 1, length(held) - 1)
                printf "%s", held
                held = ""
            }
            /^[ \t]*([#;]|$)/ { held = held $0 "\n"; next }
            inside { held = ""; next }
            { printf "%s%s\n", held, $0; held = "" }
            END { printf "%s.", held }' "$1"
    ) && printf '%s' "${rest%.}" >"$1"
}

# Services
# --------

# Enables cinder-tiers in those services that run on this node.
function configure_cinder_tiers_services {
    if is_service_enabled c-sch; then
        _cinder_tiers_option_add scheduler_default_filters TierFilter \
            "$_CINDER_TIERS_STOCK_FILTERS"
        _cinder_tiers_option_add scheduler_default_weighers TierWeigher \
            "$_CINDER_TIERS_STOCK_WEIGHERS"
    fi
    if is_service_enabled c-api; then
        configure_cinder_tiers_api_paste
    fi
    iniset "$CINDER_CONF" cinder_tiers on_error "$CINDER_TIERS_ON_ERROR"
}

# The last of the filters of /v3, whatever requests are authenticated with:
# it must know the project. DevStack copies Cinder's file at each stack.sh.
function configure_cinder_tiers_api_paste {
    local file=$CINDER_API_PASTE_INI found
    sed -i -e "/^\[$_CINDER_TIERS_PIPELINES\]/,/^\[/ {
        / tiers apiv3\$/! s/^\([a-z_]* *=.*\) apiv3\$/\1 tiers apiv3/
    }" "$file"
    found=$(iniget "$file" "$_CINDER_TIERS_PIPELINES" keystone)
    if [[ "$found" != *" tiers apiv3" ]]; then
        die $LINENO "$file: [$_CINDER_TIERS_PIPELINES] keystone is '$found', \
expected filters and apiv3: is this the api-paste.ini of Cinder 26 or later?"
    fi
    iniset "$file" filter:tiers paste.filter_factory \
        cinder_tiers.api:filter_factory
}

# Disables it again; what others have added stays.
function unconfigure_cinder_tiers_services {
    if [[ -e "$CINDER_CONF" ]]; then
        _cinder_tiers_option_remove scheduler_default_filters TierFilter \
            "$_CINDER_TIERS_STOCK_FILTERS"
        _cinder_tiers_option_remove scheduler_default_weighers TierWeigher \
            "$_CINDER_TIERS_STOCK_WEIGHERS"
        _cinder_tiers_delete_section "$CINDER_CONF" cinder_tiers
    fi
    if [[ -e "$CINDER_API_PASTE_INI" ]]; then
        sed -i -e 's/ tiers apiv3$/ apiv3/' "$CINDER_API_PASTE_INI"
        _cinder_tiers_delete_section "$CINDER_API_PASTE_INI" filter:tiers
    fi
}
