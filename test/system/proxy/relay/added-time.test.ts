/** `d2_sidecar_added_seconds`: from which moment to which. Time stands still here but where a test lets it pass. */
import http from 'node:http';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Direction, Exchange, ExchangeObserver } from '../../../../src/proxy/exchange/exchange.ts';
import { ManualClock } from '../../../support/clock.ts';
import { untilTestEnds } from '../../../support/deferred.ts';
import { type Application, send as sendTo, startApplication } from '../../../support/net.ts';
import { type ObservedStand, startObserved } from '../../../support/wire/observed-stand.ts';

const LARGE = 'x'.repeat(20_000);
/** What passes between the head's reading and its writing, on the way to the upstream, there, and on the way back. */
const [BEFORE_NS, UPSTREAM_NS, BEHIND_NS] = [5_000_000, 30_000_000, 7_000_000];

let clock: ManualClock;
let added: [direction: Direction, addedNs: number][];
let upstream: Application;
let stand: ObservedStand;
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });

const OBSERVER: ExchangeObserver = {
  onBegin: () => {
    clock.ns += BEFORE_NS;
  },
  // The answer's last byte has come, and is not written yet.
  onEnd: () => {
    clock.ns += BEHIND_NS;
  },
  onAdded: (direction, addedNs) => {
    added.push([direction, addedNs]);
  },
};

async function start(observer = OBSERVER): Promise<void> {
  stand = await startObserved({ upstreamPort: upstream.port, clock }, observer, untilTestEnds);
}

beforeEach(async () => {
  clock = new ManualClock();
  clock.ns = 1_000;
  added = [];
  upstream = await startApplication(({ url }, response) => {
    clock.ns += UPSTREAM_NS;
    response.end(url?.includes('large') ? LARGE : 'ok');
  }, untilTestEnds);
});

const send = (path: string, body = '') => sendTo(stand.port, path, { method: 'POST', agent, body });

describe('the time that the relay adds', () => {
  it.each([
    ['and from the last byte of the answer likewise', '/a', '', BEHIND_NS],
    ['also where bodies are large, and written before anybody is told of the end', '/large', LARGE, 0],
  ])('is from the head having been read to its being written, %s', async (_what, path, body, behindNs) => {
    await start();
    await send(path, body);
    expect(added).toEqual([
      ['request', BEFORE_NS],
      ['response', behindNs],
    ]);
  });

  it('is measured also with an observer, who is told after the write', async () => {
    let readNs = 0;
    const reading: ExchangeObserver = {
      ...OBSERVER,
      onBegin: (exchange: Exchange) => {
        exchange.requestObserver = {
          onBytes: () => undefined,
          onEnd: () => {
            readNs = clock.ns;
            clock.ns += 1_000_000_000;
          },
        };
        clock.ns += BEFORE_NS;
      },
    };
    await start(reading);
    await send('/a', 'body');
    expect(readNs).toBeGreaterThan(0);
    expect(added).toEqual([
      ['request', BEFORE_NS],
      ['response', 0],
    ]);
  });
});
