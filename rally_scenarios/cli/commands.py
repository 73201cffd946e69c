# SPDX-License-Identifier: Apache-2.0

"""What the entry points of `openstack tier` name: see `deferred`."""

from cinder_tiers.cli import deferred

_CLI = 'rally_scenarios.cli'
CompareResults = deferred.command(f'{_CLI}.compare', 'CompareResults')
PlanRepeats = deferred.command(f'{_CLI}.repeats', 'PlanRepeats')
RecommendTier = deferred.command(f'{_CLI}.recommend', 'RecommendTier')
ShowEffects = deferred.command(f'{_CLI}.effects', 'ShowEffects')
ShowHeadroom = deferred.command(f'{_CLI}.headroom', 'ShowHeadroom')
ShowResponse = deferred.command(f'{_CLI}.response', 'ShowResponse')
ShowTrend = deferred.command(f'{_CLI}.trend', 'ShowTrend')
TuneTier = deferred.command(f'{_CLI}.tune', 'TuneTier')
WatchTiers = deferred.command(f'{_CLI}.watch', 'WatchTiers')
WriteReport = deferred.command(f'{_CLI}.report', 'WriteReport')
