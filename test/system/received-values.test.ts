/** What an answer to a read of an object has to bring so that it counts as a received value. */
import { expect, it } from 'vitest';
import { basic } from '../support/monitor/access/access-files.ts';
import { atHeads } from '../support/wire/stand.ts';
import { get, MODES, startLimitStand } from './limits/limit-stand.ts';

const OK = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n';

/** A request of an object, the answer, and the values that it brings. */
const READS: readonly (readonly [name: string, answer: string, values: number, method?: string])[] = [
  ['length', `${OK}Content-Length: 2\r\n\r\n21`, 1],
  ['chunks-with-extension', `${OK}${CHUNKED}002;a=0\r\n21\r\n0\r\n\r\n`, 1],
  ['partial', 'HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-1/9\r\nContent-Length: 2\r\n\r\n21', 1],
  ['until-close', `${OK}Connection: close\r\n\r\n21`, 1],
  ['interim-first', `HTTP/1.1 103 Early Hints\r\n\r\n${OK}Content-Length: 2\r\n\r\n21`, 1],
  ['head-request', `${OK}Content-Length: 2\r\n\r\n`, 0, 'HEAD'],
  ['no-content', 'HTTP/1.1 204 No Content\r\n\r\n', 0],
  ['not-modified', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n', 0],
  ['redirect', 'HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 2\r\n\r\n21', 0],
  ['empty-length', `${OK}Content-Length: 0\r\n\r\n`, 0],
  ['empty-chunked-with-trailer', `${OK}${CHUNKED}000;a=b\r\nX: y\r\n\r\n`, 0],
  ['empty-until-close', `${OK}Connection: close\r\n\r\n`, 0],
  ['not-found', 'HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n21', 0],
];

it.each(MODES)('a read counts as a received value only with content ($name)', async (mode) => {
  const stand = await startLimitStand(mode, undefined, {
    onConnection: (socket) =>
      atHeads(socket, (head) => {
        const [, answer = ''] = READS.find(([name]) => head.includes(`/${name} `)) ?? [];
        socket.write(answer);
        if (answer.includes('Connection: close')) socket.end();
      }),
  });
  const valuesOf = async (path: string, ...names: readonly string[]) => {
    const { meters } = await stand.read<{ meters: Record<string, { count: number }> }>(path);
    return names.map((name) => meters[`object.${name}newValues`]?.count ?? 0);
  };
  let total = 0;
  for (const [name, , values, method = 'GET'] of READS) {
    for (const [times, kind] of ['object', 'archive'].entries()) {
      const peer = await stand.connect();
      const authorization = `Authorization: ${basic('anna', 'pass')}`;
      peer.send(get(`/smartWeb/api/rest/v0/d2/${kind}/${name}`, authorization).replace('GET', method));
      await expect.poll(() => peer.received).toMatch(/^HTTP\/1\.1 [2345]/m);
      total += values;
      await expect
        .poll(() => valuesOf('metrics/d2/object', '', `${name}.`), { message: `${kind} ${name}` })
        .toEqual([total, values * (times + 1)]);
    }
  }
  const [session] = await stand.read<{ id: string; requests: number }[]>('d2/sessions');
  expect(session?.requests).toBe(2 * READS.length);
  expect(await valuesOf(`metrics/d2/object?session=${session?.id}`, '')).toEqual([total]);
});
