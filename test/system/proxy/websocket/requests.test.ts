import { describe, expect, it } from 'vitest';
import { type StandOptions, SWITCHING, UPGRADE, useStand } from '../stand.ts';

const stand = useStand();

/** The head that reaches the upstream for a handshake with these fields. */
async function forwarded(fields: readonly string[], options: StandOptions = {}): Promise<string> {
  let head = '';
  await stand.start({
    ...options,
    upstream: async (upstream) => {
      head = await upstream.head();
      upstream.send(SWITCHING);
    },
  });
  await stand.client(withFields(fields)).head();
  return head;
}

const withFields = (fields: readonly string[]) =>
  UPGRADE.replace(/\r\n$/, `${fields.map((f) => `${f}\r\n`).join('')}\r\n`);

const SPOOFED = ['X-Forwarded-Proto: https', 'X-Forwarded-For: 9.9.9.9'];

// Exact bytes: data-path cases do not compare all of them for a WebSocket.
describe('the head of a handshake', () => {
  it.each<[string, string[]] | [string, string[], string[]]>([
    [
      'byte for byte, with duplicates, letter case and order; lines of one name have its first form',
      ['hOsT-x: b', 'X-One: 1', 'x-two: 2', 'X-Two: 3', 'Set-Cookie: a', 'X: \xe9', 'Age: 1', 'age: 2'],
      ['hOsT-x: b', 'X-One: 1', 'x-two: 2', 'x-two: 3', 'Set-Cookie: a', 'X: \xe9', 'Age: 1', 'Age: 2'],
    ],
    ['with Keep-Alive, TE and an unknown expectation', ['Keep-Alive: 300', 'TE: trailers', 'Expect: wonders']],
    ['with a length of zero', ['Content-Length: 0']],
    ['without a Trailer, which needs chunks', ['Trailer: X'], []],
  ])('reaches the upstream %s', async (_how, sent, expected = sent) => {
    expect(await forwarded(sent)).toBe(withFields(expected));
  });

  it('gets the forwarding fields after those of the client, or in their place', async () => {
    const own = ['X-Forwarded-For: 127.0.0.1', 'X-Forwarded-Proto: http', 'X-Forwarded-Host: a'];
    const appended = [
      'X-Forwarded-Proto: https',
      'X-Forwarded-For: 9.9.9.9',
      'X-Forwarded-For: 127.0.0.1',
      'X-Forwarded-Host: a',
    ];
    expect(await forwarded(SPOOFED, { forwarded: 'append' })).toBe(withFields(appended));
    await stand.close();
    expect(await forwarded(SPOOFED, { forwarded: 'replace' })).toBe(withFields(own));
  });
});
