# SPDX-License-Identifier: Apache-2.0

"""Serves Horizon with a Content-Security-Policy, as a browser gets it.

    python -m tests.horizon.served

prints the port once it answers, and runs until its standard input ends.
"""

import os
import sys
import threading

os.environ['DJANGO_SETTINGS_MODULE'] = 'tests.horizon.settings'

import django  # noqa: E402

django.setup()

from django.contrib.staticfiles import handlers  # noqa: E402
from django.core import management  # noqa: E402
from django.core.servers import basehttp  # noqa: E402
from django.core import wsgi  # noqa: E402

#: Nothing comes from elsewhere. Horizon's own scripts need the two "unsafe".
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'self'; form-action 'self'"
)


def with_policy(application):
    """The application, with the policy in each answer."""

    def answer(environ, start_response):
        def start(status, headers, *rest):
            return start_response(
                status, [*headers, ('Content-Security-Policy', POLICY)], *rest
            )

        return application(environ, start)

    return answer


def main():
    """Serves until standard input ends."""
    management.call_command(
        'collectstatic', interactive=False, link=True, verbosity=0
    )
    server = basehttp.ThreadedWSGIServer(
        ('127.0.0.1', 0), basehttp.WSGIRequestHandler
    )
    server.set_app(
        with_policy(handlers.StaticFilesHandler(wsgi.get_wsgi_application()))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


if __name__ == '__main__':
    main()
