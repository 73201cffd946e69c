# SPDX-License-Identifier: Apache-2.0

"""Tests for any cloud with cinder-tiers, as a plugin of Tempest.

Only Tempest imports it, by the entry point `tempest.test_plugins`; the doors
and the commands must not. What Tempest is not needed for is in `expected`.
"""
