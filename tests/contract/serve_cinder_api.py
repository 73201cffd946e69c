# Licensed under the Apache License, Version 2.0 (the "License"); you may
# not use this file except in compliance with the License. You may obtain
# a copy of the License at
#
#      http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS, WITHOUT
# WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied. See the
# License for the specific language governing permissions and limitations
# under the License.

"""Serves Cinder's real API on sqlite, without Keystone, on a free port.

    python serve_cinder_api.py FOLDER

prints the port once it answers, and runs until its standard input ends.
"""

import pathlib
import sys
import threading
import wsgiref.simple_server

CONF = '''[DEFAULT]
state_path = {folder}
auth_strategy = noauth_include_project_id
transport_url = fake://
api_paste_config = {paste}
log_file = {folder}/log
[database]
connection = sqlite:///{folder}/db
[oslo_concurrency]
lock_path = {folder}
[coordination]
backend_url = file://{folder}
'''


class QuietHandler(wsgiref.simple_server.WSGIRequestHandler):
    """Does not print each request."""

    def log_message(self, *arguments):
        """Drops the line."""


def main():
    """Writes the configuration, makes the database and serves."""
    folder = pathlib.Path(sys.argv[1])
    paste = pathlib.Path(sys.prefix) / 'etc' / 'cinder' / 'api-paste.ini'
    conf = folder / 'cinder.conf'
    conf.write_text(CONF.format(folder=folder, paste=paste), 'utf-8')
    sys.argv = ['cinder-api', '--config-file', str(conf)]
    from cinder import objects
    objects.register_all()  # before what comes next, as cinder.cmd.api does
    from cinder.common import config
    from cinder.db import migration
    config.CONF(sys.argv[1:], project='cinder')
    migration.db_sync()
    from cinder.wsgi import api  # looks into the database when imported

    server = wsgiref.simple_server.make_server(
        '127.0.0.1', 0, api.application, handler_class=QuietHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


if __name__ == '__main__':
    main()
