# SPDX-License-Identifier: Apache-2.0

"""Packages of distributions and the container image: see run.sh."""
