# SPDX-License-Identifier: Apache-2.0

"""What a plan costs must not be a product of two large numbers."""

import testtools

from cinder_tiers.domain.plan import plan as plans
from cinder_tiers.domain.state import actual as actual_state
from cinder_tiers.domain.state import ceph as ceph_state
from cinder_tiers.domain.state import cinder as cinder_state
from cinder_tiers.files.tiers import reader

OSDS = 400
TIER = """
  t{number}:
    tags: [t{number}]
    priority: {number}
    fallback: {fallback}
    rbd:
      cluster: ceph
      pool: p{number}
      device_class: {device_class}
      replicated: {{size: 3}}
      pg_num: 8
      osd_options: {{osd_max_scrubs: 2}}
"""


class Counted(tuple):
    """OSDs that count how often one of them was looked at."""

    def __new__(cls, osds):
        made = super().__new__(cls, osds)
        made.looks = 0
        return made

    def __iter__(self):
        for one in super().__iter__():
            self.looks += 1
            yield one


def looks(*, tiers, hosts=0):
    """How often a plan of new tiers looks at an OSD."""
    options = ''.join(
        f'      host-{host}: {{osd_max_scrubs: 2}}\n' for host in range(hosts)
    )
    catalog = reader.read_text(
        'version: 1\nclusters:\n  ceph:\n    user: admin\n'
        + (f'    host_osd_options:\n{options}' if hosts else '')
        + 'tiers:'
        + ''.join(
            TIER.format(
                number=number,
                fallback=str(number == 0).lower(),
                device_class=('ssd', 'hdd')[number % 2],
            )
            for number in range(tiers)
        ),
        file='tiers.yaml',
    )
    osds = Counted(
        ceph_state.Osd(
            osd_id=osd,
            location={'root': 'default', 'host': f'host-{osd // 10}'},
            device_class=('ssd', 'hdd')[osd // 10 % 2],
        )
        for osd in range(OSDS)
    )
    schema = ceph_state.OptionSchema(
        name='osd_max_scrubs', kind='int', default='1'
    )
    values = {'osd_max_scrubs': '2'}
    made = plans.make(
        catalog=catalog,
        actual=actual_state.ActualState(
            cinder=cinder_state.CinderState(volume_types={}),
            ceph={
                'ceph': ceph_state.CephState(
                    crush_rules={},
                    erasure_code_profiles={},
                    pools={},
                    users={},
                    osds=osds,
                    option_schemas={schema.name: schema},
                    max_pg_per_osd=250,
                    class_options={
                        name: ceph_state.OsdOptions(name=name, values=values)
                        for name in ('ssd', 'hdd')
                    },
                    host_options={
                        f'host-{host}': ceph_state.OsdOptions(
                            name=f'host-{host}', values=values
                        )
                        for host in range(hosts)
                    },
                )
            },
        ),
    )
    kinds = [one.key.kind.value for one in made.actions]
    assert kinds.count('pool') == tiers  # noqa: S101
    return osds.looks


class OsdsTestCase(testtools.TestCase):
    def test_a_tier_more_is_no_look_at_all_osds_more(self):
        more = looks(tiers=42) - looks(tiers=2)
        self.assertLess(more, 40 * OSDS / 10)

    def test_a_host_more_is_no_look_at_all_osds_more(self):
        more = looks(tiers=10, hosts=40) - looks(tiers=10, hosts=4)
        self.assertLess(more, 36 * OSDS / 10)
