# SPDX-License-Identifier: Apache-2.0

"""Sphinx settings; ``tox -e docs``."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / 'ext'))

extensions = [
    'cliff.sphinxext',
    'openstackdocstheme',
    'oslo_config.sphinxconfiggen',
    'oslo_config.sphinxext',
    'tiers_commands',
    'tiers_keys',
]

project = 'cinder-tiers'
copyright = '2026, OpenStack contributors'
root_doc = 'index'
exclude_patterns = []
pygments_style = 'native'

# An option such as --quantity keeps its two hyphens.
smartquotes_action = 'qe'

html_theme = 'openstackdocs'
html_static_path = ['_static']
html_css_files = ['cinder-tiers.css']
openstackdocs_repo_name = 'x/cinder-tiers'
openstackdocs_auto_name = False
openstackdocs_use_storyboard = False
openstackdocs_pdf_link = False

config_generator_config_file = [
    ('../../etc/cinder-tiers/config-generator.conf', '_static/cinder-tiers'),
]

# Those of every command of cliff.
autoprogram_cliff_ignored = [
    '--help',
    '--format',
    '--column',
    '--quote',
    '--noindent',
    '--max-width',
    '--fit-width',
    '--print-empty',
    '--sort-column',
    '--sort-ascending',
    '--sort-descending',
]
