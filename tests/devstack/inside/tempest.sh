#!/bin/bash
# SPDX-License-Identifier: Apache-2.0

# Runs the tests of this project with Tempest, in the container of
# tests/devstack/run.sh, as the user of DevStack. The last line of the output
# is "N passed, N failed, N skipped".

set -e -o pipefail

readonly FOLDER=/opt/stack/tempest-run
readonly BIN=/opt/stack/data/venv/bin
export OS_CLOUD=devstack-admin
PATH=/opt/stack/devstack/files/openstack-cli-server:$BIN:$PATH

password=$(awk -F= '$1 == "ADMIN_PASSWORD" { print $2 }' \
    /opt/stack/devstack/local.conf)
public=$(openstack network show public -f value -c id)
rm -rf "$FOLDER"
mkdir -p "$FOLDER"
cat >"$FOLDER/tempest.conf" <<END
[DEFAULT]
log_dir = $FOLDER
log_file = tempest.log
[oslo_concurrency]
lock_path = $FOLDER/locks
[auth]
use_dynamic_credentials = True
admin_username = admin
admin_project_name = admin
admin_domain_name = Default
admin_password = $password
[identity]
uri_v3 = http://$1/identity/v3
region = RegionOne
[service_available]
cinder = True
glance = True
nova = True
neutron = True
swift = False
horizon = False
[network]
public_network_id = $public
project_network_cidr = 10.100.0.0/16
[validation]
run_validation = False
[compute]
# Flavors that DevStack makes; the tests bring their images.
flavor_ref = c1
flavor_ref_alt = d1
[volume]
storage_protocol = ceph
[image]
disk_formats = raw
container_formats = bare
END

# Only what the entry point brings is a test of this project.
export TEMPEST_CONFIG_DIR=$FOLDER
"$BIN/tempest" list-plugins | grep -w cinder_tiers
# Without -P, Python imports the folder of the checkout, which is in the
# working directory, and not the installed package.
site=$("$BIN/python" -P -c 'import pathlib, tempest
print(pathlib.Path(tempest.__file__).parent)')
cat >"$FOLDER/.stestr.conf" <<END
[DEFAULT]
test_path=$site/test_discover
top_dir=$site/..
group_regex=([^\.]*\.)*
END
cd "$FOLDER"
status=0
PYTHON=$BIN/python "$BIN/stestr" run --concurrency 2 \
    '^cinder_tiers\.tempest\.tests\.' || status=$?
# "none": there was no run before this one.
tally() {
    "$BIN/python" -B /opt/stack/cinder-tiers/tests/tally.py "$@"
}
tally failures . none
read -r passed failed skipped < <(tally counts . none)
echo "$passed passed, $failed failed, $skipped skipped"
exit "$status"
