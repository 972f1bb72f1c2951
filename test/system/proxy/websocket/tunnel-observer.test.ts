import { once } from 'node:events';
import net from 'node:net';
import { describe, expect, it } from 'vitest';
import type { TunnelObserver } from '../../../../src/proxy/exchange/exchange.ts';
import { observeTunnel } from '../../../../src/proxy/websocket/open-tunnel.ts';
import { type Peer, type PeerScript, send, takeHead } from '../../../support/wire/peer.ts';
import { turns } from '../../../support/wire/split-writer.ts';
import { untilStill } from '../../../support/wire/still.ts';
import { BodySeen } from '../../wire/message-reader.ts';
import { type StandOptions, SWITCHING, useStand } from '../stand.ts';

const MEBIBYTE = 1_048_576;
const SIDES = ['client', 'upstream'] as const;
type Side = (typeof SIDES)[number];

const stand = useStand();

/** What one tunnel's observer was told. */
class Seen implements TunnelObserver {
  readonly client = new BodySeen();
  readonly upstream = new BodySeen();
  closed = 0;
  bytesBehindClosing = 0;

  readonly onClientBytes = (bytes: Buffer): void => this.#see('client', bytes);
  readonly onUpstreamBytes = (bytes: Buffer): void => this.#see('upstream', bytes);

  onClosed(): void {
    this.closed += 1;
  }

  #see(side: Side, bytes: Buffer): void {
    this[side].add(bytes);
    if (this.closed > 0) this.bytesBehindClosing += bytes.length;
  }
}

let seen: Seen;
/** What came in order, e.g. `response 101`. */
let told: string[];

async function start(upstream: PeerScript, options: StandOptions = {}): Promise<void> {
  seen = new Seen();
  told = [];
  const observer: StandOptions['observer'] = {
    onBegin: (exchange) => {
      exchange.wantsResponse = true;
      exchange.requestObserver = { onBytes: () => told.push('request bytes'), onEnd: () => told.push('request end') };
    },
    onResponse: (exchange, response) => {
      told.push(`response ${response.status} ${response.field('upgrade')} ${exchange.hasEnded}`);
      exchange.tunnelObserver = seen;
      exchange.responseObserver = {
        onBytes: (bytes) => told.push(bytes.toString('latin1')),
        onEnd: () => told.push('response end'),
      };
    },
  };
  await stand.start({ upstream, observer, ...options });
}

const accept = [takeHead, send(SWITCHING)];

/** Both ends of a tunnel, those of `first` first. */
async function tunnel(first: Side = 'client'): Promise<[Peer, Peer]> {
  await start(accept);
  const client = await stand.tunnel();
  const upstream = stand.upstreams[0] as Peer;
  return first === 'client' ? [client, upstream] : [upstream, client];
}

const other = (side: Side) => SIDES[1 - SIDES.indexOf(side)] as Side;

/** Once both ends are gone, and time for what should not follow. */
async function expectClosedOnce(): Promise<void> {
  await stand.allClosed();
  while (seen.closed === 0) await turns(1);
  await turns(1);
  expect([seen.closed, seen.bytesBehindClosing, stand.sidecar.reporter.observerErrors]).toEqual([1, 0, 0]);
}

describe('a tunnel’s observer', () => {
  it('is asked for at the 101, before its exchange ends, and told that the sidecar was destroyed', async () => {
    await tunnel();
    expect(told).toEqual(['request end', 'response 101 websocket false']);
    expect(seen.closed).toBe(0);
    stand.sidecar.dispatcher.destroy();
    await expectClosedOnce();
  });

  it.each(SIDES)('sees what the other side sends after the %s has ended its side', async (side) => {
    const [first, second] = await tunnel(side);
    first.finish('last words');
    await second.ended();
    expect(seen.closed).toBe(0);
    second.send('and ');
    second.finish('mine');
    await first.take('and mine');
    await expectClosedOnce();
    expect([seen[side].describe(), seen[other(side)].describe()]).toEqual(['last words', 'and mine']);
  });

  // `endTogether`: http-proxy's pipes leave the other end open for ever.
  it.each(SIDES)('is told that a reset of the %s ended it', async (side) => {
    const [first, second] = await tunnel(side);
    first.send('from the first');
    second.send('from the second');
    await Promise.all([second.take('from the first'), first.take('from the second')]);
    first.reset();
    await expectClosedOnce();
    expect([seen[side].describe(), seen[other(side)].describe()]).toEqual(['from the first', 'from the second']);
  });
});

it.each(SIDES)('an observed tunnel lets a slow %s make the other side wait, and loses nothing', async (slow) => {
  const [{ socket: reader }, sender] = await tunnel(slow);
  reader.removeAllListeners('data');
  reader.pause();
  const sentBytes = 48 * MEBIBYTE;
  // More than the kernel and the streams hold on two hops, and far less than the whole.
  const stalledBelow = sentBytes / 2;
  const piece = Buffer.alloc(MEBIBYTE, 'a b c d e f g \xff');
  const [expected, received] = [new BodySeen(), new BodySeen()];
  let sent = 0;
  const sending = (async () => {
    for (; sent < sentBytes; sent += piece.length) {
      await new Promise((resolve) => sender.socket.write(piece, resolve));
      expected.add(piece);
    }
  })();
  expect(await untilStill(() => sent)).toBeLessThan(stalledBelow);
  // Nothing has been let out of the stalled stream to the observer alone.
  expect(await untilStill(() => seen[other(slow)].bytes)).toBeLessThan(stalledBelow);
  // The other direction does not stand.
  reader.write('still here');
  await sender.take('still here');

  reader.on('data', (bytes: Buffer) => received.add(bytes));
  reader.resume();
  await sending;
  sender.socket.end();
  await once(reader, 'end');
  reader.end();
  expect(received.describe()).toBe(expected.describe());
  expect(seen[other(slow)].describe()).toBe(expected.describe());
  expect(seen[other(slow)].bytes).toBe(sentBytes);
  await expectClosedOnce();
});

it.each(SIDES)('observeTunnel waits for both ends when the %s closes first', (side) => {
  const ends = { client: new net.Socket(), upstream: new net.Socket() };
  const observer = new Seen();
  observeTunnel(ends.client, ends.upstream, observer);
  ends[side].emit('close', false);
  expect(observer.closed).toBe(0);
  ends[other(side)].emit('close', true);
  expect(observer.closed).toBe(1);
});
