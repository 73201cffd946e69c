# SPDX-License-Identifier: Apache-2.0

"""The tests that Tempest runs."""
