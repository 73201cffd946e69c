# SPDX-License-Identifier: Apache-2.0

import io

import ddt
from hypothesis import given
from hypothesis import strategies
import testtools

from cinder_tiers.api import body
from tests.unit.api import streams

#: Lengths that say nothing, or what is not so.
LENGTHS = (
    None,
    '',
    '0',
    '1',
    '7',
    '-1',
    'x',
    '1e3',
    '1_0',
    ' 5',
    '+5',
    '\u0663',
    '9' * 30,
    str(body.MOST_BYTES),
    str(body.MOST_BYTES + 1),
)


def environ_of(stream, length=None, is_terminated=False):
    environ = {'wsgi.input': stream, 'REQUEST_METHOD': 'POST'}
    if length is not None:
        environ['CONTENT_LENGTH'] = length
    if is_terminated:
        environ['wsgi.input_terminated'] = True
    return environ


def bytes_to_read(length):
    """How far a server lets anybody read; None for no limit."""
    try:
        return max(0, int(length or ''))
    except ValueError:
        return None


@ddt.ddt
class ReadBodyTestCase(testtools.TestCase):
    def assert_body(self, expected, pieces, way=streams.at_once, **said):
        """This is read, and all is still there."""
        environ = environ_of(streams.Stream(*pieces), **said)
        self.assertEqual(expected, body.read_body(environ))
        self.assertEqual(
            b''.join(pieces), b''.join(way(environ['wsgi.input']))
        )

    def test_a_body_of_known_length(self):
        for way in streams.WAYS:
            self.assert_body(b'12345', [b'12', b'345'], way, length='5')

    def test_a_body_in_chunks(self):
        for way in streams.WAYS:
            self.assert_body(
                b'12345', [b'12', b'345'], way, is_terminated=True
            )

    def test_no_length_is_no_body(self):
        """A server that does not end the input would let us wait for ever."""
        stream = streams.Stream(b'12345')
        environ = environ_of(stream)
        self.assertEqual(b'', body.read_body(environ))
        self.assertIs(stream, environ['wsgi.input'])
        self.assertEqual(0, stream.reads)

    @ddt.data(str(body.MOST_BYTES + 1), '9' * 30, '-1', 'x', '1e3')
    def test_a_length_that_is_not_read_for(self, length):
        stream = streams.Stream(b'12345')
        environ = environ_of(stream, length)
        self.assertIsNone(body.read_body(environ))
        self.assertIs(stream, environ['wsgi.input'])
        self.assertEqual(0, stream.reads)

    def test_a_body_shorter_than_it_says(self):
        for way in streams.WAYS:
            self.assert_body(None, [b'12', b'345'], way, length='6')

    def test_chunks_up_to_the_limit(self):
        most = b'x' * body.MOST_BYTES
        self.assert_body(most, [most], is_terminated=True)
        self.assert_body(most, [most], length=str(len(most)))

    @ddt.data(1, 65536, 5 * body.MOST_BYTES)
    def test_chunks_beyond_the_limit(self, more):
        self.assert_body(
            None, [b'x' * body.MOST_BYTES, b'y' * more], is_terminated=True
        )

    def test_nobody_reads_more_of_them_than_needed(self):
        stream = streams.Stream(*[b'x' * 65536] * 100)
        body.read_body(environ_of(stream, is_terminated=True))
        self.assertThat(
            stream.reads,
            testtools.matchers.LessThan(body.MOST_BYTES // 65536 + 3),
        )

    @ddt.data(b'', b'1', b'12345')
    def test_an_error_is_for_who_comes_after(self, start):
        error = ConnectionResetError('gone')
        for said in ({'length': '6'}, {'is_terminated': True}):
            environ = environ_of(streams.Stream(start, error=error), **said)
            self.assertIsNone(body.read_body(environ))
            recorder = streams.Recorder(streams.by_bytes)
            recorder(environ, lambda *_: None)
            self.assertEqual((start, error), (recorder.body, recorder.error))
            self.assertRaises(ConnectionResetError, environ['wsgi.input'].read)

    def test_another_body_in_its_place(self):
        environ = environ_of(io.BytesIO(b'12345'), '5')
        environ['HTTP_TRANSFER_ENCODING'] = 'chunked'
        body.replace_body(environ, b'1234567')
        self.assertEqual('7', environ['CONTENT_LENGTH'])
        self.assertEqual(b'1234567', environ['wsgi.input'].read())
        self.assertNotIn('HTTP_TRANSFER_ENCODING', environ)

    @given(
        strategies.lists(strategies.binary(max_size=9), max_size=9),
        strategies.sampled_from(LENGTHS),
        strategies.booleans(),
        strategies.booleans(),
        strategies.sampled_from(streams.WAYS),
    )
    def test_whatever_comes_is_still_there(
        self, pieces, length, is_terminated, is_broken, way
    ):
        """As far as a server lets anybody read: to the length it was told."""
        whole = b''.join(pieces)
        most = bytes_to_read(length)
        pieces = [whole[:most]]
        error = ConnectionResetError() if is_broken else None
        recorders = []
        for is_read in (False, True):
            environ = environ_of(
                streams.Stream(*pieces, error=error), length, is_terminated
            )
            before = environ.copy()
            if is_read:
                body.read_body(environ)
            recorder = streams.Recorder(
                way if not is_broken else streams.by_bytes
            )
            recorder(environ, lambda *_: None)
            before['wsgi.input'] = environ['wsgi.input']
            self.assertEqual(before, environ)
            recorders.append((recorder.body, recorder.error))
        if is_broken and most is not None and len(whole) >= most:
            # It breaks after the end, where nobody has to read.
            recorders = [recorded[:1] for recorded in recorders]
        self.assertEqual(*recorders)
