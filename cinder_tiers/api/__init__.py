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

"""The API door, for api-paste.ini of Cinder.

[filter:tiers]
paste.filter_factory = cinder_tiers.api:filter_factory
"""

from cinder_tiers.api.middleware import filter_factory

__all__ = ('filter_factory',)
