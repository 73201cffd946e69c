# SPDX-License-Identifier: Apache-2.0

"""What the entry points of `openstack tier` name: see `deferred`."""

from cinder_tiers.cli import deferred

_CLI = 'cinder_tiers.cli'
ApplyTiers = deferred.command(f'{_CLI}.apply', 'ApplyTiers')
AuditTiers = deferred.command(f'{_CLI}.audit', 'AuditTiers')
ExplainPlacement = deferred.command(f'{_CLI}.explain', 'ExplainPlacement')
ExportTiers = deferred.command(f'{_CLI}.export', 'ExportTiers')
FaultTier = deferred.command(f'{_CLI}.fault', 'FaultTier')
ListTiers = deferred.command(f'{_CLI}.tiers', 'ListTiers')
PlanTiers = deferred.command(f'{_CLI}.plan', 'PlanTiers')
ShowBackendConfig = deferred.command(
    f'{_CLI}.backend_config', 'ShowBackendConfig'
)
ShowTier = deferred.command(f'{_CLI}.tiers', 'ShowTier')
SweepTier = deferred.command(f'{_CLI}.sweep', 'SweepTier')
ListVolumes = deferred.command(f'{_CLI}.volumes', 'ListVolumes')
ValidateCatalog = deferred.command(f'{_CLI}.validate', 'ValidateCatalog')
