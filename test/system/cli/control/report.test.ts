import { writeFileSync } from 'node:fs';
import net from 'node:net';
import { Readable } from 'node:stream';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { requestReport, requestStatus } from '../../../../src/cli/control/control-client.ts';
import { ControlStand, NotingTarget } from '../../../support/cli/control/stand.ts';

const MAX_BYTES = 8_000_000;
const REFUSED = { code: 'D2S_ERR_CONTROL' };

class Reported extends NotingTarget {
  readonly asked: boolean[] = [];
  source: () => Readable = () => Readable.from(['{"a":', '1}\n']);
  override report = (includesUsers: boolean): Promise<Readable> => {
    this.asked.push(includesUsers);
    return Promise.resolve(this.source());
  };
}

const OTHER = 'did not answer like a d2-sidecar of this version: run the command of the version that runs';
const ok = (body: string) =>
  `HTTP/1.1 200 OK\r\nServer: d2-sidecar\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

const stand = new ControlStand();
let target: Reported;
beforeEach(() => {
  target = new Reported();
});

describe('a report over the control socket', () => {
  it('arrives complete, however large it is', async () => {
    const { path } = await stand.open('s.sock', target);
    expect(await requestReport(path, false)).toBe('{"a":1}\n');
    const large = `"${'é'.repeat(3_000_000)}"\n`;
    target.source = () => Readable.from([Buffer.from(large.slice(0, 1_000_001)), Buffer.from(large.slice(1_000_001))]);
    expect(await requestReport(path, true, MAX_BYTES)).toBe(large);
    expect(target.asked).toEqual([false, true]);
  });

  it('is refused when it has more bytes than allowed, though fewer characters', async () => {
    const { path } = await stand.open('s.sock', target);
    target.source = () => Readable.from([Buffer.from('é'.repeat(4_000_001))]);
    const message = `${path}: the answer is larger than 8000000 bytes`;
    await expect(requestReport(path, false, MAX_BYTES)).rejects.toMatchObject({ ...REFUSED, message });
  });

  it('distinguishes a report that was cut off from a complete one', async () => {
    const { path } = await stand.open('s.sock', target);
    function* broken() {
      yield '{"a":';
      throw new TypeError('never shown');
    }
    target.source = () => Readable.from(broken());
    const message = `${path}: the answer was cut off: ECONNRESET`;
    await expect(requestReport(path, false)).rejects.toMatchObject({ ...REFUSED, message });
    await vi.waitFor(() => expect(stand.log.lines).toEqual(['warn a report was cut off']));
    target.report = () => Promise.reject(new Error('never shown'));
    await expect(requestReport(path, false)).rejects.toMatchObject({ message: `${path}: an unexpected error` });
  });

  it('is closed when the client does not read it', async () => {
    const source = new Readable({ read: () => void source.push(Buffer.alloc(65_536, 'x')) });
    const isLetGo = new Promise((resolve) => source.once('close', resolve).on('error', () => undefined));
    target.source = () => source;
    const { path } = await stand.open('s.sock', target, undefined, 50);
    const client = net.connect(path).on('error', () => undefined);
    client.write('GET /report HTTP/1.1\r\n\r\n');
    client.pause();
    await isLetGo;
    client.destroy();
  });
});

it('a client says why nobody answers', async () => {
  stand.leaveStale('ended.sock');
  writeFileSync(stand.at('file'), '');
  for (const [name, reason] of [
    ['absent.sock', 'does not exist: no sidecar runs with this control socket'],
    ['ended.sock', 'nobody listens there: the sidecar has ended'],
    ['file', 'is no socket, expected the control socket of a sidecar'],
  ] as const) {
    const path = stand.at(name);
    await expect(requestStatus(path)).rejects.toMatchObject({ ...REFUSED, message: `${path}: ${reason}` });
  }
});

it.each([
  ['of another shape', ok('{"pid":"4711"}'), OTHER],
  ['in the protocol of an earlier version', '{"kind":"refused","reason":"unknown command"}\n', OTHER],
  ['cut off', ok('{"pid":4711').replace('Length: ', 'Length: 9'), 'the answer was cut off: ECONNRESET'],
])('a client says what is wrong with an answer: %s', async (_what, answer, reason) => {
  const path = await stand.openOther('s.sock', answer);
  await expect(requestStatus(path)).rejects.toMatchObject({ ...REFUSED, message: `${path}: ${reason}` });
});
