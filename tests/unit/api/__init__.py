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

"""Tests in here import Cinder, which must be told how to run beforehand.

As cinder-scheduler does under OS_CINDER_DISABLE_EVENTLET_PATCHING. Unsaid,
the first import that needs oslo.service would choose eventlet and patch the
threads of this process. And as cinder-api does, all objects are known before
any module of its API is loaded.
"""

from cinder import monkey_patch

monkey_patch.patch(backend='threading')

from cinder import objects  # noqa: E402

objects.register_all()
