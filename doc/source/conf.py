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

"""Sphinx settings; ``tox -e docs``."""

extensions = [
    'cliff.sphinxext',
    'openstackdocstheme',
    'oslo_config.sphinxconfiggen',
    'oslo_config.sphinxext',
]

project = 'cinder-tiers'
copyright = '2026, OpenStack contributors'
root_doc = 'index'
exclude_patterns = []
pygments_style = 'native'

html_theme = 'openstackdocs'
openstackdocs_repo_name = 'x/cinder-tiers'
openstackdocs_auto_name = False
openstackdocs_use_storyboard = False
openstackdocs_pdf_link = False

config_generator_config_file = [
    ('../../etc/cinder-tiers/config-generator.conf', '_static/cinder-tiers'),
]
