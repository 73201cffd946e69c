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

"""Sphinx settings of the release notes; ``tox -e releasenotes``."""

extensions = ['openstackdocstheme', 'reno.sphinxext']

project = 'cinder-tiers release notes'
copyright = '2026, OpenStack contributors'
root_doc = 'index'
exclude_patterns = []
pygments_style = 'native'

html_theme = 'openstackdocs'
openstackdocs_repo_name = 'x/cinder-tiers'
openstackdocs_auto_name = False
openstackdocs_use_storyboard = False
