# SPDX-License-Identifier: Apache-2.0

"""Targets of the entry points of `openstack tier`; see `deferred`."""

from cinder_tiers.cli import deferred

_CLI = 'cinder_tiers.cli'
_LOOP = 'cinder_tiers.loop'
ApplyTiers = deferred.command(f'{_CLI}.apply', 'ApplyTiers')
AuditTiers = deferred.command(f'{_CLI}.audit', 'AuditTiers')
CompareResults = deferred.command(
    f'{_LOOP}.compare.compare_command', 'CompareResults'
)
ExplainPlacement = deferred.command(f'{_CLI}.explain', 'ExplainPlacement')
ExportTiers = deferred.command(f'{_CLI}.export', 'ExportTiers')
FaultTier = deferred.command(f'{_LOOP}.fault.fault_command', 'FaultTier')
LintImages = deferred.command(f'{_CLI}.lint_images', 'LintImages')
ListTiers = deferred.command(f'{_CLI}.tiers', 'ListTiers')
ListVolumes = deferred.command(f'{_CLI}.volumes', 'ListVolumes')
PlanRepeats = deferred.command(
    f'{_LOOP}.compare.repeats_command', 'PlanRepeats'
)
PlanTiers = deferred.command(f'{_CLI}.plan', 'PlanTiers')
PublishFigures = deferred.command(
    f'{_LOOP}.publish.publish_command', 'PublishFigures'
)
RecommendTier = deferred.command(
    f'{_LOOP}.recommend.recommend_command', 'RecommendTier'
)
RepairVolumes = deferred.command(
    f'{_LOOP}.repair.repair_command', 'RepairVolumes'
)
ShowBackendConfig = deferred.command(
    f'{_CLI}.backend_config', 'ShowBackendConfig'
)
ShowEffects = deferred.command(f'{_LOOP}.sweep.effects_command', 'ShowEffects')
ShowHeadroom = deferred.command(
    f'{_LOOP}.headroom.headroom_command', 'ShowHeadroom'
)
ShowResponse = deferred.command(
    f'{_LOOP}.fault.response_command', 'ShowResponse'
)
ShowResult = deferred.command(f'{_LOOP}.report.result_command', 'ShowResult')
ShowTier = deferred.command(f'{_CLI}.tiers', 'ShowTier')
ShowTrend = deferred.command(f'{_LOOP}.compare.trend_command', 'ShowTrend')
ShowUsage = deferred.command(f'{_LOOP}.usage.usage_command', 'ShowUsage')
SweepTier = deferred.command(f'{_LOOP}.sweep.sweep_command', 'SweepTier')
TuneTier = deferred.command(f'{_LOOP}.tune.tune_command', 'TuneTier')
ValidateCatalog = deferred.command(f'{_CLI}.validate', 'ValidateCatalog')
WatchTiers = deferred.command(f'{_LOOP}.watch.watch_command', 'WatchTiers')
WriteReport = deferred.command(f'{_LOOP}.report.report_command', 'WriteReport')
