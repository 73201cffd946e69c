# SPDX-License-Identifier: Apache-2.0

"""The table of Ceph releases in the documentation, as the tests found it.

A run of the contract tests with CINDER_TIERS_TEST_TABLE leaves a file in that
folder for the release that it ran on. All of them become the table with::

    python -m tests.contract.releases FOLDER doc/source/admin/ceph-releases.csv
"""

import argparse
import csv
import json
import os
import pathlib
import platform

from cinder_tiers.domain.state import action as actions

#: Resource kinds, in the order of the plan, without those for which the
#: clusters of these tests have no Keystone and no Glance:
#: tests/unit/execute/test_cinder_world.py.
KINDS = tuple(
    kind.value
    for kind in actions.Kind
    if kind not in (actions.Kind.PROJECT_DEFAULTS, actions.Kind.TAG_NAMESPACE)
)
#: Kinds that no Ceph release makes a difference to.
OF_CINDER = {'volume type', 'qos spec', 'default quota', 'type encryption'}
#: Aspects that the audit names after a change of what has one.
AUDITED = {
    'pool',
    'pool options',
    'osd options',
    'host osd options',
    'primary affinity',
    'cephx user',
    'cache tier',
}
VARIABLE = 'CINDER_TIERS_TEST_TABLE'
YES = 'yes'


def kind_of(name: str) -> str:
    """The kind of an object of a plan.

    :raises LookupError: none is known for it.
    """
    for kind in KINDS:
        if name.startswith(f'{kind} '):
            return kind
    raise LookupError(name)


def keep(version: str, refused: dict[str, bool]) -> None:
    """Keep that all kinds passed on a release.

    :param version: of Ceph.
    :param refused: {option of OSDs: whether a plan with it is refused}.
    """
    folder = os.environ.get(VARIABLE)
    if folder is None:
        return
    rows = dict.fromkeys(set(KINDS) - OF_CINDER, YES)
    rows |= {
        name: 'refused: mClock' if is_refused else YES
        for name, is_refused in refused.items()
    }
    pathlib.Path(folder, f'{version}.json').write_text(
        json.dumps(
            {
                'ceph': version,
                'python': platform.python_version(),
                'rows': rows,
            }
        )
    )


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('folder', type=pathlib.Path)
    parser.add_argument('table', type=pathlib.Path)
    arguments = parser.parse_args()
    found = sorted(
        (
            json.loads(file.read_text())
            for file in arguments.folder.glob('*.json')
        ),
        key=lambda one: tuple(map(int, one['ceph'].split('.'))),
    )
    names = [kind for kind in KINDS if kind not in OF_CINDER]
    names += sorted(
        {name for one in found for name in one['rows']} - set(names)
    )
    with arguments.table.open('w', newline='') as stream:
        writer = csv.writer(stream, lineterminator='\n')
        writer.writerow(['Kind', *(f'Ceph {one["ceph"]}' for one in found)])
        for name in names:
            writer.writerow(
                [name, *(one['rows'].get(name, 'not tried') for one in found)]
            )


if __name__ == '__main__':
    main()
