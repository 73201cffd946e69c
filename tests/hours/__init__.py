# SPDX-License-Identifier: Apache-2.0
"""Tests that take hours, or that pass on a quiet machine only.

They are in no run of all tests: start one by name, and read what it prints.
"""
