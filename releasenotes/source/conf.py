# SPDX-License-Identifier: Apache-2.0

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
