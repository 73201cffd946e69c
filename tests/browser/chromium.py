# SPDX-License-Identifier: Apache-2.0

"""Debian's Chromium, headless, and what it has loaded."""

import json

from selenium import webdriver
from selenium.webdriver.chrome import service

# Of Debian, see bindep.txt: selenium would download others.
PROGRAM = '/usr/bin/chromium'
DRIVER = '/usr/bin/chromedriver'


def start(profile):
    """A browser, which the caller quits.

    :param profile: path of a folder for what it keeps.
    """
    options = webdriver.ChromeOptions()
    options.binary_location = PROGRAM
    for each in (
        'headless=new',
        # Root has no sandbox; in it is a page that runs nothing.
        'no-sandbox',
        'disable-dev-shm-usage',
        'disable-background-networking',
        f'user-data-dir={profile}',
    ):
        options.add_argument(f'--{each}')
    options.set_capability(
        'goog:loggingPrefs', {'performance': 'ALL', 'browser': 'ALL'}
    )
    return webdriver.Chrome(options=options, service=service.Service(DRIVER))


def set_width(browser, pixels):
    """Give the window a width, also one that no window manager would."""
    browser.execute_cdp_cmd(
        'Emulation.setDeviceMetricsOverride',
        {
            'width': pixels,
            'height': 900,
            'deviceScaleFactor': 1,
            'mobile': False,
        },
    )


def loaded(browser):
    """Addresses that were asked for since the last call."""
    messages = [
        json.loads(entry['message'])['message']
        for entry in browser.get_log('performance')
    ]
    return {
        message['params']['request']['url']
        for message in messages
        if message['method'] == 'Network.requestWillBeSent'
    }
