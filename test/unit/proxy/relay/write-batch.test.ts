import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { AddedTime } from '../../../../src/proxy/exchange/added-time.ts';
import { DeferredWriter, WriteBatch } from '../../../../src/proxy/relay/write-batch.ts';

/** Tells in order what is written to all sockets. */
class FakeSocket extends EventEmitter {
  destroyed = false;
  readonly #written: string[];
  readonly #takesMore: boolean;

  constructor(written: string[], takesMore = true) {
    super();
    this.#written = written;
    this.#takesMore = takesMore;
  }

  destroy(): void {
    this.destroyed = true;
  }

  write(text: string, encoding: string): boolean {
    this.#written.push(`${text} ${encoding}`);
    return this.#takesMore;
  }
}

function setUp() {
  const written: string[] = [];
  const full: string[] = [];
  const batch = new WriteBatch();
  const socket = (takesMore?: boolean) => new FakeSocket(written, takesMore) as unknown as Socket;
  const clock = { nowNs: () => 1_000, epochMs: () => 0 };
  const measured: number[] = [];
  const added = new AddedTime(clock, (addedNs) => {
    expect(written.length).toBeGreaterThan(0);
    measured.push(addedNs);
  });
  const writer = (name = '') => new DeferredWriter(batch, added, () => full.push(name));
  return { batch, written, full, measured, socket, writer };
}

const turnEnd = () => new Promise((resolve) => setImmediate(resolve));

describe('writes of one turn', () => {
  it('are done at its end, in their order, as latin1', async () => {
    const { written, socket, writer } = setUp();
    writer().write(socket(), 'a');
    writer().write(socket(), 'b');
    expect(written).toEqual([]);
    await turnEnd();
    expect(written).toEqual(['a latin1', 'b latin1']);
  });

  it('wait for 63 others at most', () => {
    const { written, socket, writer } = setUp();
    for (let i = 0; i < 63; i += 1) writer().write(socket(), `${i}`);
    expect(written).toHaveLength(0);
    writer().write(socket(), 'last');
    expect(written).toHaveLength(64);
    expect(written.at(-1)).toBe('last latin1');
  });

  it('are done once each when a turn has more than one batch of them', async () => {
    const { written, socket, writer } = setUp();
    for (let i = 0; i < 100; i += 1) writer().write(socket(), `${i}`);
    await turnEnd();
    expect(written).toEqual(Array.from({ length: 100 }, (_, i) => `${i} latin1`));
  });

  it('are done early by flush, and not again', async () => {
    const { batch, written, socket, writer } = setUp();
    writer().write(socket(), 'a');
    batch.flush();
    expect(written).toEqual(['a latin1']);
    writer().write(socket(), 'b');
    expect(written).toEqual(['a latin1']);
    await turnEnd();
    expect(written).toEqual(['a latin1', 'b latin1']);
  });

  it('go on in the next turn', async () => {
    const { written, socket, writer } = setUp();
    const one = writer();
    const to = socket();
    one.write(to, 'a');
    await turnEnd();
    one.write(to, 'b');
    await turnEnd();
    expect(written).toEqual(['a latin1', 'b latin1']);
  });
});

describe('the time added', () => {
  it('is measured once, after the text is written, if it was sampled', async () => {
    const { measured, socket, writer } = setUp();
    const one = writer();
    one.write(socket(), 'a', 400);
    expect(measured).toEqual([]);
    await turnEnd();
    expect(measured).toEqual([600]);
    one.write(socket(), 'b');
    one.flush();
    expect(measured).toEqual([600]);
  });

  it('is not measured when nothing is written', async () => {
    const { measured, socket, writer } = setUp();
    const [gone, cleared] = [writer(), writer()];
    const to = socket();
    gone.write(to, 'a', 400);
    to.destroy();
    cleared.write(socket(), 'b', 400);
    cleared.clear();
    cleared.write(socket(), 'c');
    await turnEnd();
    expect(measured).toEqual([]);
  });
});

describe('one direction', () => {
  it('keeps its order when a second text comes in the same turn', async () => {
    const { written, socket, writer } = setUp();
    const one = writer();
    const to = socket();
    one.write(to, 'a');
    one.write(to, 'b');
    expect(written).toEqual(['a latin1']);
    await turnEnd();
    expect(written).toEqual(['a latin1', 'b latin1']);
  });

  it('is written at once by flush, and not again', async () => {
    const { written, socket, writer } = setUp();
    const one = writer();
    one.write(socket(), 'a');
    one.flush();
    expect(written).toEqual(['a latin1']);
    await turnEnd();
    expect(written).toEqual(['a latin1']);
  });

  it('writes nothing to a socket that is gone', async () => {
    const { written, full, socket, writer } = setUp();
    const to = socket();
    writer().write(to, 'a');
    to.destroy();
    await turnEnd();
    expect(written).toEqual([]);
    expect(full).toEqual([]);
  });

  it('forgets what waits when it is cleared', async () => {
    const { written, socket, writer } = setUp();
    const one = writer();
    one.write(socket(), 'a');
    one.clear();
    await turnEnd();
    expect(written).toEqual([]);
  });

  it('reports a full socket', async () => {
    const { full, socket, writer } = setUp();
    writer('roomy').write(socket(true), 'a');
    writer('full').write(socket(false), 'b');
    await turnEnd();
    expect(full).toEqual(['full']);
  });
});
