# SPDX-License-Identifier: Apache-2.0

"""Adds the panel of tiers for members to Horizon."""

PANEL = 'storage_tiers'
PANEL_DASHBOARD = 'project'
PANEL_GROUP = 'volumes'
ADD_PANEL = 'cinder_tiers.horizon.project.panel.StorageTiers'
