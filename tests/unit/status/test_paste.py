# SPDX-License-Identifier: Apache-2.0

"""Whether api-paste.ini of cinder-api has the door."""

import ddt

from cinder_tiers.status import checks
from cinder_tiers.status import paste
from tests.unit.status import test_checks


@ddt.ddt
class ApiTestCase(test_checks.ChecksTestCase):
    def check(
        self,
        text,
        tiers,
        default_type='image-tier',
        strategy='keystone',
        is_limited=True,
    ):
        return checks.api(
            tiers,
            file='api-paste.ini',
            door=paste.find_door(
                text, strategy=strategy, is_limited=is_limited
            ),
            default_type=default_type,
        )

    @ddt.data(
        (test_checks.STOCK_PASTE, test_checks.NONE, checks.SUCCESS, ''),
        (test_checks.OPEN, test_checks.NONE, checks.SUCCESS, ''),
        (
            test_checks.OPEN,
            test_checks.state(test_checks.GENERAL),
            checks.SUCCESS,
            '',
        ),
        (
            test_checks.STOCK_PASTE,
            test_checks.state(test_checks.GENERAL),
            checks.WARNING,
            '[composite:openstack_volume_api_v3] keystone',
        ),
        # A name of one's own is as good.
        (
            test_checks.OPEN.replace('tiers apiv3', 'mine apiv3').replace(
                '[filter:tiers]', '[filter:mine]'
            ),
            test_checks.state(test_checks.GENERAL),
            checks.SUCCESS,
            '',
        ),
        # cinder-api would not start, whether there are tiers or not.
        (
            test_checks.OPEN.replace(test_checks.EXAMPLE, ''),
            test_checks.NONE,
            checks.FAILURE,
            '[filter:tiers]',
        ),
        (
            test_checks.OPEN.replace(
                'keystonecontext tiers', 'tiers keystonecontext'
            ),
            test_checks.NONE,
            checks.FAILURE,
            'comes before keystonecontext, which sets the project of the '
            'request; put it directly before the application',
        ),
        (
            test_checks.OPEN.replace(
                'keystonecontext tiers', 'keystonecontext tiers tiers'
            ),
            test_checks.NONE,
            checks.FAILURE,
            'more than once',
        ),
    )
    @ddt.unpack
    def test_the_door(self, text, tiers, code, found):
        self.assert_result(code, found, self.check(text, tiers))

    def test_the_filter_that_knows_the_project_is_named(self):
        self.assert_result(
            checks.FAILURE,
            'comes before noauth, which',
            self.check(
                test_checks.OPEN.replace(
                    'cors noauth apiv3', 'cors tiers noauth apiv3'
                ),
                test_checks.state(test_checks.GENERAL),
                strategy='noauth',
            ),
        )

    def test_the_pipeline_is_the_one_that_cinder_takes(self):
        for strategy, is_limited in (('noauth', True), ('keystone', False)):
            self.assert_result(
                checks.WARNING,
                'Tiers are applied',
                self.check(
                    test_checks.OPEN,
                    test_checks.state(test_checks.GENERAL),
                    strategy=strategy,
                    is_limited=is_limited,
                ),
            )

    @ddt.data(None, '__DEFAULT__', 'general')
    def test_a_default_type_that_names_a_backend(self, default_type):
        self.assert_result(
            checks.WARNING,
            f'default_volume_type is {default_type}',
            self.check(
                test_checks.OPEN,
                test_checks.state(test_checks.GENERAL),
                default_type=default_type,
            ),
        )

    def test_names_are_proposed_as_the_default_type(self):
        result = self.check(
            test_checks.OPEN,
            test_checks.state(
                test_checks.GENERAL,
                following=(
                    'image-tier',
                    '6f5902ac-2378-4a23-bdc5-7b5e1ab30e5a',
                ),
            ),
            'x',
        )
        self.assert_result(
            checks.WARNING,
            'one of 6f5902ac-2378-4a23-bdc5-7b5e1ab30e5a, image-tier.',
            result,
        )

    def test_the_default_type_may_be_an_id(self):
        self.assert_result(
            checks.SUCCESS,
            '',
            self.check(
                test_checks.OPEN,
                test_checks.state(test_checks.GENERAL),
                default_type='id-image-tier',
            ),
        )

    @ddt.data(
        '',
        'x',
        '[a]\nb',
        test_checks.STOCK_PASTE.replace('/v3:', '/v2:'),
        test_checks.STOCK_PASTE.replace(
            '[composite:openstack_volume_api_v3]', '[composite:other]'
        ),
    )
    def test_another_file_is_refused(self, text):
        error = self.assertRaises(
            ValueError,
            paste.find_door,
            text,
            strategy='keystone',
            is_limited=True,
        )
        self.assertNotEqual('', str(error))
