# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

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
    print_blob=True)
hypothesis.settings.load_profile('cinder-tiers')
