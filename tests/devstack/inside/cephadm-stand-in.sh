#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# A stand-in for cephadm, which runs Ceph from container images. It knows of
# cephadm's command line what devstack-plugin-ceph uses, and runs the daemons
# of Debian's packages: one monitor, one manager, and one OSD in a file.

set -e -o pipefail

readonly STATE=/var/lib/cephadm-stand-in
readonly CONF=$STATE/ceph.conf
readonly OSD_BYTES=$((10 << 30))
readonly NAME=stand-in

echo "cephadm: this is a STAND-IN, with the daemons of Debian's packages" >&2

# unit NAME COMMAND...: a daemon, in a unit of systemd.
unit() {
    systemd-run --quiet --collect --unit="cephadm-stand-in-$1" "${@:2}"
}

bootstrap() {
    local fsid='' given='' conf='' keyring='' public_key='' address=''
    while (($# > 0)); do
        case $1 in
            --fsid) fsid=$2 ;;
            --config) given=$2 ;;
            --output-config) conf=$2 ;;
            --output-keyring) keyring=$2 ;;
            --output-pub-ssh-key) public_key=$2 ;;
            --mon-ip) address=$2 ;;
            *)
                shift
                continue
                ;;
        esac
        shift 2
    done
    local addresses="[v2:$address:3300/0,v1:$address:6789/0]"
    # A bootstrap that failed is tried again.
    rm_cluster
    mkdir -p "$STATE"/{mon,mgr,osd,run} "$(dirname "$conf")"
    cat >"$CONF" <<END
[global]
fsid = $fsid
mon_host = $addresses
public_addr = $address
cluster_addr = $address
run_dir = $STATE/run
osd_crush_chooseleaf_type = 0
[mon]
mon_data = $STATE/mon
paxos_propose_interval = 0.05
paxos_min_wait = 0.01
mon_data_avail_warn = 5
[mgr]
mgr_data = $STATE/mgr
[osd]
osd_data = $STATE/osd
bluestore_block_size = $OSD_BYTES
END
    printf '[global]\n\tfsid = %s\n\tmon_host = %s\n' "$fsid" "$addresses" \
        >"$conf"
    ceph-authtool --create-keyring "$STATE/mon.keyring" --gen-key -n mon. \
        --cap mon 'allow *'
    ceph-authtool --create-keyring "$keyring" --gen-key -n client.admin \
        --cap mon 'allow *' --cap osd 'allow *' --cap mds 'allow *' \
        --cap mgr 'allow *'
    ceph-authtool "$STATE/mon.keyring" --import-keyring "$keyring"
    monmaptool --create --fsid "$fsid" --addv "$NAME" "$addresses" \
        "$STATE/monmap"
    ceph-mon -c "$CONF" --mkfs -i "$NAME" --monmap "$STATE/monmap" \
        --keyring "$STATE/mon.keyring"
    unit mon ceph-mon -f -i "$NAME" -c "$CONF"
    local ceph=(timeout 60 ceph -c "$conf" -k "$keyring")
    "${ceph[@]}" config assimilate-conf -i "$given" >/dev/null
    "${ceph[@]}" auth get-or-create "mgr.$NAME" mon 'allow profile mgr' \
        osd 'allow *' mds 'allow *' -o "$STATE/mgr/keyring"
    unit mgr ceph-mgr -f -i "$NAME" -c "$CONF"
    if [[ -n $public_key ]]; then
        echo 'no SSH is needed' >"$public_key"
    fi
    # What says that there is a cluster comes last.
    echo "$fsid" >"$STATE/fsid"
}

# add_osd CEPH...: the command that asks its monitor.
add_osd() {
    local ceph=("$@") uuid key id
    uuid=$(uuidgen)
    key=$(ceph-authtool --gen-print-key)
    id=$(echo "{\"cephx_secret\": \"$key\"}" \
        | "${ceph[@]}" osd new "$uuid" -i -)
    ceph-authtool --create-keyring "$STATE/osd/keyring" --name "osd.$id" \
        --add-key "$key" >/dev/null
    ceph-osd -c "$CONF" -i "$id" --mkfs --osd-uuid "$uuid" 2>/dev/null
    unit "osd$id" ceph-osd -f -i "$id" -c "$CONF"
    echo "Scheduled osd.all-available-devices update..."
}

# As cephadm's: a command of Ceph, with a configuration and a keyring.
shell() {
    local conf=/etc/ceph/ceph.conf keyring=/etc/ceph/ceph.client.admin.keyring
    while (($# > 0)); do
        case $1 in
            --config) conf=$2 ;;
            --keyring) keyring=$2 ;;
            --fsid | -m | --mount | -v | --volume) ;;
            --)
                shift
                break
                ;;
            *) break ;;
        esac
        shift 2
    done
    local program=$1
    shift
    if [[ $program == ceph && "$*" == orch* ]]; then
        if [[ "$*" != 'orch apply osd --all-available-devices' ]]; then
            echo "cephadm stand-in: it cannot: ceph $*" >&2
            exit 22
        fi
        add_osd ceph -c "$conf" -k "$keyring"
    else
        exec "$program" -c "$conf" -k "$keyring" "$@"
    fi
}

rm_cluster() {
    local units
    mapfile -t units < <(systemctl list-units --all --plain --no-legend \
        'cephadm-stand-in-*' | awk '{ print $1 }')
    if ((${#units[@]} > 0)); then
        systemctl kill --signal=KILL "${units[@]}"
        while systemctl is-active --quiet "${units[@]}"; do
            sleep 0.1
        done
    fi
    rm -rf "$STATE"
}

while [[ ${1:-} == --image ]]; do
    shift 2
done
command=${1:-}
[[ $# -eq 0 ]] || shift
case $command in
    ls)
        if [[ -e $STATE/fsid ]]; then
            printf '[{"style": "cephadm:v1", "name": "mon.%s", "fsid": "%s"}]\n' \
                "$NAME" "$(<"$STATE/fsid")"
        else
            echo '[]'
        fi
        ;;
    bootstrap) bootstrap "$@" ;;
    shell) shell "$@" ;;
    rm-cluster) rm_cluster ;;
    *)
        echo "cephadm stand-in: it has no command '$command'" >&2
        exit 22
        ;;
esac
