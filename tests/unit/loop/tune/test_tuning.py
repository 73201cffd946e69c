# SPDX-License-Identifier: Apache-2.0

"""What is confirmed of a tuning, in worlds whose truth is known."""
