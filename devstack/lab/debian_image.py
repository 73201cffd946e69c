# SPDX-License-Identifier: Apache-2.0
"""Adds a Debian with cloud-init as a guest to a lab that runs."""

from collections.abc import Callable
import time

from lab.guests.debian import image
from lab.guests import image_file
from lab.host import packages
from lab import layout
from lab.openstack import access
from lab.processes import supervisord


def add(lab: layout.Layout, print_line: Callable[[str], None] = print) -> None:
    """Add image and flavor ``cinder-tiers-debian`` to a lab that runs.

    :param print_line: takes each line for the user.
    :raises lab.guests.build_folder.GuestImageError: apt has no list of
        Debian's.
    :raises lab.guests.debian.image.DiskFullError: too little disk is free.
    :raises lab.host.commands.CommandFailed: a tool is missing or failed.
    :raises lab.processes.supervisord.SupervisorError: the lab does not run.
    """
    supervisord.Supervisor(lab).check_up()
    started = time.monotonic()
    apt_log = lab.log / 'apt.log'
    packages.install_debian_packages(apt_log, image.HOST_PACKAGES)
    remark = image_file.build_with_current_lists(
        lambda: image.build(
            work_directory=lab.cache / 'debian-work',
            output=lab.debian_image,
            log=lab.log / 'debian-image.log',
        ),
        apt_log,
    )
    print_line(f'image      {time.monotonic() - started:6.1f} s  {remark}')
    started = time.monotonic()
    access.run_in_cloud(lab, 'debian-image')
    print_line(
        f'in Glance  {time.monotonic() - started:6.1f} s  cinder-tiers-debian'
    )
