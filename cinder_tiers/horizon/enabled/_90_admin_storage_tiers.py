# SPDX-License-Identifier: Apache-2.0

"""Adds the panel of tiers for administrators to Horizon."""

PANEL = 'storage_tiers'
PANEL_DASHBOARD = 'admin'
PANEL_GROUP = 'volume'
ADD_PANEL = 'cinder_tiers.horizon.admin.panel.StorageTiers'
