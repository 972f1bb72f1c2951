import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Random } from '../support/fuzz/random.ts';
import { clientText, compressed, deflated, text } from '../support/protocol/websocket/frames.ts';
import type { Peer } from '../support/wire/peer.ts';
import { get, type Stand, startStand } from '../support/wire/stand.ts';
import { response, WEBSOCKET } from './wire/compose.ts';

const ACCEPTED = ['101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'] as const;
const STREAMS = Number(process.env.MUTATED_STREAMS ?? 60);
const FRAMES = 12;
const DEFLATE = 'Sec-WebSocket-Extensions: permessage-deflate';
const UPGRADE = get('/smartWeb/api/cometd', `${[...WEBSOCKET, DEFLATE].join('\r\n')}\r\n`);

const MESSAGES = [
  [{ channel: '/meta/handshake', id: '1', version: '1.0', supportedConnectionTypes: ['websocket'] }],
  [{ channel: '/meta/handshake', id: '1', clientId: 'abcdefgh', successful: true }],
  [{ channel: '/meta/connect', id: '2', clientId: 'abcdefgh', connectionType: 'websocket' }],
  [{ channel: '/meta/subscribe', id: '3', clientId: 'abcdefgh', subscription: '/d2/object/H.Level' }],
  [{ channel: '/d2/object/H.Level', data: { value: 17.5, quality: 'good' } }],
  [{ channel: '/service/d2/rpc', id: '4', clientId: 'abcdefgh', data: { eventName: 'E', rpcName: 'R' } }],
  [{ channel: '/service/d2/rpc', id: '4', data: 1 }],
].map((messages) => JSON.stringify(messages));

/** A stream of frames, in which some bytes are changed, doubled, cut or made up. */
function mutatedStream(random: Random, from: 'client' | 'upstream'): Buffer {
  const frames = Array.from({ length: FRAMES }, () => {
    const message = random.pick(MESSAGES);
    if (from === 'client') return clientText(message);
    return random.chance(0.5) ? compressed(deflated(message)) : text(message);
  });
  return mutated(random, Buffer.concat(frames));
}

function mutated(random: Random, bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  for (let changes = random.below(5); changes > 0; changes -= 1) copy[random.below(copy.length)] = random.below(256);
  const at = random.below(copy.length);
  if (random.chance(0.2)) return Buffer.concat([copy.subarray(0, at), copy.subarray(random.below(copy.length))]);
  if (random.chance(0.1)) return copy.subarray(0, at + 1);
  return copy;
}

/** Writes in pieces of any size, and waits until the other side has as many bytes; whether they are the same. */
async function passes(random: Random, from: Peer, to: Peer, bytes: Buffer): Promise<boolean> {
  for (let at = 0; at < bytes.length; ) {
    const end = Math.min(bytes.length, at + 1 + random.below(200));
    from.socket.write(bytes.subarray(at, end));
    at = end;
  }
  return (await to.takeLength(bytes.length)) === bytes.toString('latin1');
}

describe('mutated Comet traffic', () => {
  let stand: Stand;
  const numbers = () => stand.sidecar.recorder.own.comet;

  beforeAll(async () => {
    stand = await startStand({ config: (base) => ({ comet: { ...base.comet, maxBodyBytes: 4_096 } }) });
  });

  afterAll(() => stand.close());

  it('passes over WebSocket unchanged, in both directions', async () => {
    const random = new Random(20_261_121);
    for (let i = 0; i < STREAMS; i += 1) {
      const [client, upstream] = await stand.ask(UPGRADE);
      await upstream.head();
      upstream.send(response(...ACCEPTED, ...(random.chance(0.7) ? [DEFLATE] : [])));
      await client.head();
      const bothPass = Promise.all([
        passes(random, client, upstream, mutatedStream(random, 'client')),
        passes(random, upstream, client, mutatedStream(random, 'upstream')),
      ]);
      expect(await bothPass).toEqual([true, true]);
      client.socket.destroy();
    }
    expect(numbers().unread.malformed).toBeGreaterThan(0);
    expect(numbers().counts.upstreamMessages).toBeGreaterThan(0);
    expect(stand.sidecar.reporter.observerErrors).toBe(0);
  });
});
