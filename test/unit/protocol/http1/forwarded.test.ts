import { expect, it } from 'vitest';
import { type ForwardedMode, forwardedLines, withAllowedOptions } from '../../../../src/protocol/http1/forwarded.ts';
import { RequestReader } from '../../../../src/protocol/http1/request-reader.ts';

const FOR = 'X-Forwarded-For: 10.0.0.7';
const PROTO = 'X-Forwarded-Proto: http';
const HOST = 'X-Forwarded-Host: app.example:8081';

it.each<[string, ForwardedMode, Partial<Record<'host' | 'has' | 'scheme' | 'from', string>>, string[]]>([
  ['append client, scheme and host', 'append', {}, [FOR, PROTO, HOST]],
  ['leave the scheme of the edge alone when appending', 'append', { has: 'proto' }, [FOR, HOST]],
  ['leave the host of the edge alone when appending', 'append', { has: 'host' }, [FOR, PROTO]],
  [
    'are all three when replacing, whatever was sent',
    'replace',
    { has: 'proto host', scheme: 'https' },
    [FOR, `${PROTO}s`, HOST],
  ],
  ['have no host for a request without one', 'replace', { host: '' }, [FOR, PROTO]],
  [
    'have no zone of the client’s address',
    'append',
    { from: 'fe80::1%eth0' },
    ['X-Forwarded-For: fe80::1', PROTO, HOST],
  ],
  ['are none when off', 'off', {}, []],
])('forwarding fields %s', (_, mode, { host = 'app.example:8081', has = '', scheme, from = '10.0.0.7' }, lines) => {
  const summary = { hasForwardedProto: has.includes('proto'), hasForwardedHost: has.includes('host') };
  const client = { remoteAddress: from, secure: scheme === 'https' };
  const text = forwardedLines(mode, client, { host: host || undefined, summary });
  expect(text).toBe(lines.map((line) => `${line}\r\n`).join(''));
});

it.each([
  [
    'keeps what else Connection names',
    'Connection: keep-alive,  UPGRADE , X-Hop\r\nconnection: upgrade\r\nupgrade: a, b\r\nX-Hop: 1',
    'Connection: keep-alive, X-Hop\r\nX-Hop: 1',
  ],
  ['loses a folded line together with its first one', 'Upgrade: h2c,\r\n\twebsocket\r\n more\r\nX: 1', 'X: 1'],
])('a head without its upgrade %s', (_, fields, left) => {
  const headOf = (lines: string) => `POST /x HTTP/1.1\r\nHost: a\r\n${lines}\r\n\r\n`;
  expect(withAllowedOptions(headOf(fields), false)).toBe(headOf(left));
});

it('a head that has no upgrade stays byte for byte the same', () => {
  const fields = 'Connection:keep-alive ,x\r\nX-Upgrade: \xe9 \r\nUpgrade-Insecure-Requests: 1';
  const head = `GET /upgrade: HTTP/1.1\r\nHost: a\r\n${fields}\r\n\r\n`;
  for (const keepsUpgrade of [true, false]) expect(withAllowedOptions(head, keepsUpgrade)).toBe(head);
});

it.each(['X-Forwarded-For', 'x-forwarded-host', 'Forwarded', 'Client-Cert', 'ssl_client_cert', 'TraceParent'])(
  'Connection never names %s, which a next proxy would then remove',
  (name) => {
    const headOf = (options: string) => `GET / HTTP/1.1\r\nHost: a\r\n${options}X-A: 1\r\n\r\n`;
    const reader = new RequestReader(1_000);
    reader.append(Buffer.from(headOf(`Connection: TE, X-Hop,\t${name} \r\nConnection: ${name}\r\n`)));
    expect(reader.nextHead()).toMatchObject({ text: headOf('Connection: TE, X-Hop\r\n') });
  },
);
