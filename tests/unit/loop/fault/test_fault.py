# SPDX-License-Identifier: Apache-2.0

"""What faults are refused, and which OSDs they strike."""
