import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { beforeEach, expect, it } from 'vitest';
import { AddedTime } from '../../../../src/proxy/exchange/added-time.ts';
import type { RelayServices } from '../../../../src/proxy/relay/relay-services.ts';
import { UpstreamLink } from '../../../../src/proxy/relay/upstream-link.ts';
import { DeferredWriter, WriteBatch } from '../../../../src/proxy/relay/write-batch.ts';
import type { UpstreamListener } from '../../../../src/proxy/upstream/upstream-connection.ts';

let written: string[];
let full: string[];
let measured: number[];
let batch: WriteBatch;

beforeEach(() => {
  written = [];
  full = [];
  measured = [];
  batch = new WriteBatch();
});

/** Notes in `written`, in order, what is written to all sockets. */
class FakeSocket extends EventEmitter {
  destroyed = false;
  readonly #takesMore: boolean;

  constructor(takesMore: boolean) {
    super();
    this.#takesMore = takesMore;
  }

  destroy(): void {
    this.destroyed = true;
  }

  write(text: string, encoding: string): boolean {
    written.push(`${text} ${encoding}`);
    return this.#takesMore;
  }
}

const socket = (takesMore = true) => new FakeSocket(takesMore) as unknown as Socket;
const added = new AddedTime({ nowNs: () => 1_000, epochMs: () => 0 }, (addedNs) => {
  expect(written.length).toBeGreaterThan(0);
  measured.push(addedNs);
});
const writer = (name = '') => new DeferredWriter(batch, added, () => full.push(name));
const turnEnd = () => new Promise((resolve) => setImmediate(resolve));

it('writes of one turn are done at its end, in their order, as latin1', async () => {
  writer().write(socket(), 'a');
  writer().write(socket(), 'b');
  expect(written).toEqual([]);
  await turnEnd();
  expect(written).toEqual(['a latin1', 'b latin1']);
});

it('writes of one turn wait for 63 others at most', () => {
  for (let i = 0; i < 63; i += 1) writer().write(socket(), `${i}`);
  expect(written).toHaveLength(0);
  writer().write(socket(), 'last');
  expect([written.length, written.at(-1)]).toEqual([64, 'last latin1']);
});

it('writes of one turn are done once each when a turn has more than one batch of them', async () => {
  for (let i = 0; i < 100; i += 1) writer().write(socket(), `${i}`);
  await turnEnd();
  expect(written).toEqual(Array.from({ length: 100 }, (_, i) => `${i} latin1`));
});

it('writes of one turn are done early by flush, and not again', async () => {
  writer().write(socket(), 'a');
  batch.flush();
  writer().write(socket(), 'b');
  expect(written).toEqual(['a latin1']);
  await turnEnd();
  expect(written).toEqual(['a latin1', 'b latin1']);
});

it('one direction keeps its order when a second text comes in the same turn', async () => {
  const [one, to] = [writer(), socket()];
  one.write(to, 'a');
  one.write(to, 'b');
  expect(written).toEqual(['a latin1']);
  await turnEnd();
  expect(written).toEqual(['a latin1', 'b latin1']);
});

it('one direction is written at once by flush, and not again', async () => {
  const one = writer();
  one.write(socket(), 'a');
  one.flush();
  expect(written).toEqual(['a latin1']);
  await turnEnd();
  expect(written).toEqual(['a latin1']);
});

it('one direction writes nothing to a socket that is gone, or when it is cleared, and measures nothing then', async () => {
  const [gone, cleared, to] = [writer(), writer(), socket()];
  gone.write(to, 'a', 400);
  to.destroy();
  cleared.write(socket(), 'b', 400);
  cleared.clear();
  await turnEnd();
  expect([written, full]).toEqual([[], []]);
  cleared.write(socket(), 'c');
  await turnEnd();
  expect([written, measured]).toEqual([['c latin1'], []]);
});

it('one direction reports a full socket', async () => {
  writer('roomy').write(socket(true), 'a');
  writer('full').write(socket(false), 'b');
  await turnEnd();
  expect(full).toEqual(['full']);
});

it('one direction measures the time added once, after the text is written, if it was sampled', async () => {
  const one = writer();
  one.write(socket(), 'a', 400);
  expect(measured).toEqual([]);
  await turnEnd();
  expect(measured).toEqual([600]);
  one.write(socket(), 'b');
  one.flush();
  expect(measured).toEqual([600]);
});

it('what an upstream was sent leaves out what waits in its socket', () => {
  const upstream = Object.assign(socket(), { bytesWritten: 10, writableLength: 3 });
  const parts = { upstream: { connect: () => ({ socket: upstream }) }, reporter: { added: { request: added } } };
  const services = { ...parts, writes: batch } as unknown as RelayServices;
  const link = new UpstreamLink(services, {} as UpstreamListener, () => undefined);
  expect(link.sentBytes).toBe(0);
  link.send(Buffer.from('a'));
  expect(link.sentBytes).toBe(7);
});
