import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { CaseRun } from './case-run.ts';
import { ScriptedUpstream } from './scripted-upstream.ts';
import { Signal } from './signal.ts';
import { SplitWriter } from './split-writer.ts';

/** The sizes in which `text`, divided at `splitAt`, arrives at the other side. */
async function segmentsOf(text: string, splitAt: number): Promise<number[]> {
  const upstream = await ScriptedUpstream.listen();
  const sizes: number[] = [];
  const came = new Signal();
  upstream.add(new CaseRun('any'), async ({ socket }) => {
    socket.on('data', (bytes) => {
      sizes.push(bytes.length);
      came.notify();
    });
  });
  const socket = connect(upstream.port, '127.0.0.1');
  try {
    const head = 'GET / HTTP/1.1\r\nX-Case: any\r\n\r\n';
    const writer = new SplitWriter(socket, head.length + splitAt);
    await writer.write(head);
    await writer.write(text);
    await came.until(() => sizes.reduce((sum, size) => sum + size, 0) === text.length);
    return sizes;
  } finally {
    socket.destroy();
    await upstream.close();
  }
}

it('divides what it writes at the given offset of all that it has written', async () => {
  for (let splitAt = 1; splitAt < 10; splitAt += 1) {
    expect(await segmentsOf('0123456789', splitAt)).toEqual([splitAt, 10 - splitAt]);
  }
});
