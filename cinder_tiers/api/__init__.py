# SPDX-License-Identifier: Apache-2.0

"""The API door, for api-paste.ini of Cinder.

[filter:tiers]
paste.filter_factory = cinder_tiers.api:filter_factory
"""

from cinder_tiers.api.middleware import filter_factory

__all__ = ('filter_factory',)
