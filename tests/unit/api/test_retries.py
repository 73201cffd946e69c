# SPDX-License-Identifier: Apache-2.0

"""When Cinder does not find the type that was set, a request starts anew.

The door is in front of an application that answers as Cinder does when the
type is deleted meanwhile.
"""

import io
import json

from cinder_tiers import api
from tests.unit.api import pass_through_case
from tests.unit.api import streams

DATA = b'{"volume": {"size": 1, "volume_type": "image-tier"}}'


class Missing:
    """Answers 404, and uses up the environ, as applications may do."""

    def __init__(self, happens=(), text=b'an answer'):
        """Nothing received yet.

        :param text: the body of each answer
        :param happens: functions, one for each request, called before it is
            answered; each further request is answered 202
        """
        self._happens = list(happens)
        self.text = text
        self.received = []
        self.answers = []

    def __call__(self, environ, start_response):
        self.received.append((dict(environ), environ['wsgi.input'].read()))
        answer = io.BytesIO(self.text)
        self.answers.append(answer)
        status = '202 Accepted'
        if self._happens:
            self._happens.pop(0)()
            status = '404 Not Found'
        environ['SCRIPT_NAME'] += environ.pop('PATH_INFO')
        environ['cinder.context'] = environ['HTTP_X_ANY'] = None
        environ['CONTENT_TYPE'] = 'text/plain'
        environ['application.own'] = 'any'
        start_response(status, [('X-Number', str(len(self.answers)))])
        return answer


class RetriesTestCase(pass_through_case.PassThroughTestCase):
    def setUp(self):
        super().setUp()
        self.add_type(
            'second',
            tiers_name='second',
            tiers_fallback='<is> True',
            tiers_priority='-1',
        )

    def delete(self, name):
        return lambda: self.cinder.delete_type(self.types[name])

    def send_to(self, application):
        """One create; (status, headers, the answer) and what arrived."""
        started = []
        environ = self.environ(streams.Stream(DATA), length=str(len(DATA)))
        answer = api.filter_factory({})(application)(
            environ, lambda *start: started.append(start)
        )
        ((status, headers),) = started
        self.assertEqual(
            [('X-Number', str(len(application.answers)))], headers
        )
        self.assertEqual(application.text, b''.join(answer))
        return status, [
            self.names.get(json.loads(body)['volume']['volume_type'])
            for environ, body in application.received
        ]

    def test_the_next_try_starts_where_the_first_one_did(self):
        application = Missing([self.delete('general')])
        status, names = self.send_to(application)
        self.assertEqual(
            ('202 Accepted', ['general', 'second']), (status, names)
        )
        first, second = (
            dict(environ) for environ, _body in application.received
        )
        for environ, (_environ, body) in zip(
            (first, second), application.received, strict=True
        ):
            environ.pop('wsgi.input')
            self.assertEqual(str(len(body)), environ.pop('CONTENT_LENGTH'))
        self.assertEqual(first, second)

    def test_an_answer_that_is_not_used_is_closed(self):
        application = Missing([self.delete('general')])
        self.send_to(application)
        self.assertEqual(
            [True, False], [answer.closed for answer in application.answers]
        )

    def test_answers_need_not_have_a_close(self):
        application = Missing([self.delete('general')])

        def unclosable(environ, start_response):
            return list(application(environ, start_response))

        started = []
        self.assertEqual(
            [b'an answer'],
            api.filter_factory({})(unclosable)(
                self.environ(streams.Stream(DATA), length=str(len(DATA))),
                lambda *start: started.append(start[0]),
            ),
        )
        self.assertEqual(['202 Accepted'], started)

    def test_when_no_tier_is_left_the_request_goes_on_as_it_came(self):
        """The last tier takes the rule away by which it was chosen."""
        for name in ('second', 'database'):
            self.cinder.delete_type(self.types[name])
        application = Missing([self.delete('general')])
        self.send_to(application)
        self.assertEqual(DATA, application.received[-1][1])

    def test_the_third_answer_stands(self):
        self.add_type(
            'third',
            tiers_name='third',
            tiers_fallback='<is> True',
            tiers_priority='-2',
        )
        self.add_type(
            'fourth',
            tiers_name='fourth',
            tiers_fallback='<is> True',
            tiers_priority='-3',
        )
        application = Missing(
            [
                self.delete(name)
                for name in ('general', 'second', 'third', 'fourth')
            ]
        )
        status, names = self.send_to(application)
        self.assertEqual(
            ('404 Not Found', ['general', 'second', 'third']), (status, names)
        )
        self.assertFalse(application.answers[-1].closed)

    def test_a_404_for_another_reason_stands(self):
        """Whoever provokes it would get a volume without a tier else."""
        application = Missing([lambda: None])
        self.assertEqual(
            ('404 Not Found', ['general']), self.send_to(application)
        )
        self.assertTrue(application.answers[0].closed)

    def test_a_type_that_was_closed_only_while_cinder_looked(self):
        """It is open again when the middleware looks, but Cinder said so."""
        application = Missing(
            [lambda: None],
            json.dumps(
                {
                    'itemNotFound': {
                        'code': 404,
                        'message': f'Typ {self.types["general"]} fehlt.',
                    }
                }
            ).encode(),
        )
        self.assertEqual(
            ('202 Accepted', ['general', 'general']),
            self.send_to(application),
        )

    def test_another_type_that_was_not_found_is_the_clients_affair(self):
        application = Missing([lambda: None], self.types['database'].encode())
        self.assertEqual(
            ('404 Not Found', ['general']), self.send_to(application)
        )

    def test_so_it_does_when_the_type_cannot_be_looked_up(self):
        def drop():
            with self.cinder.engine.begin() as connection:
                connection.exec_driver_sql('DROP TABLE volume_types')

        application = Missing([drop])
        self.assertEqual(
            ('404 Not Found', ['general']), self.send_to(application)
        )
