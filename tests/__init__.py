# SPDX-License-Identifier: Apache-2.0

"""All tests, and what hypothesis is told for them."""

import os

import hypothesis

hypothesis.settings.register_profile(
    'cinder-tiers',
    # The machine may be slow, or have other work.
    deadline=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
    # What a CI finds must be of the change that it looks at; elsewhere each
    # run tries other examples.
    derandomize='CI' in os.environ,
    print_blob=True,
)
hypothesis.settings.load_profile('cinder-tiers')
