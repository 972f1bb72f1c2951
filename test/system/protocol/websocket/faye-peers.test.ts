import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import faye from 'faye';
import { expect, it } from 'vitest';
import { Listener } from '../../../support/protocol/websocket/frames.ts';
import { Tap } from './tap.ts';

const CHANNEL = '/d2/object/x';
/** Frames of every length form, and one that needs several reads. */
const VALUES = Array.from({ length: 200 }, (_, i) => ({ i, text: 'äöü €😀'.repeat(i % 50 === 49 ? 8_000 : i) }));

interface Message {
  readonly channel: string;
  readonly data?: unknown;
}

function publishedIn(texts: readonly string[]): unknown[] {
  const messages = texts.flatMap((text) => JSON.parse(text) as Message | Message[]);
  return messages.flatMap(({ channel, data }) => (channel === CHANNEL && data !== undefined ? [data] : []));
}

it('reads the messages of a faye client and a faye server, uncompressed', async () => {
  const server = createServer();
  const bayeux = new faye.NodeAdapter({ mount: '/faye', timeout: 10 });
  bayeux.attach(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const tap = new Tap((server.address() as AddressInfo).port);
  const client = new faye.Client(`http://127.0.0.1:${await tap.listen()}/faye`);

  let received = 0;
  const all = new Promise<void>((resolve) => {
    const subscribed = client.subscribe(CHANNEL, () => {
      received += 1;
      if (received === VALUES.length) resolve();
    });
    void Promise.resolve(subscribed).then(() => Promise.all(VALUES.map((value) => client.publish(CHANNEL, value))));
  });
  await all;
  await client.disconnect();
  const captures = tap.captures();
  await tap.close();
  bayeux.close();
  await new Promise((resolve) => server.close(resolve));

  expect(captures.map(({ extensions }) => extensions)).toEqual([{}]);
  for (const from of ['client', 'upstream'] as const) {
    for (const size of [1, 1_460, 65_536]) {
      const bytes = captures[0]?.[from] as Buffer;
      const listener = new Listener({ from }).pushPieces(bytes, () => size);
      expect(listener.told.filter((told) => 'unread' in told)).toEqual([]);
      const published = publishedIn(listener.texts);
      expect(published.length).toBe(VALUES.length);
      expect(JSON.stringify(published) === JSON.stringify(VALUES), `${from} in pieces of ${size}`).toBe(true);
    }
  }
});
