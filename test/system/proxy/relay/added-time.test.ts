/** `d2_sidecar_added_seconds`: from which moment to which. Time stands still here but where a test lets it pass. */
import { expect, it } from 'vitest';
import { ManualClock } from '../../../support/clock.ts';
import { untilTestEnds } from '../../../support/deferred.ts';
import { send, startApplication } from '../../../support/net.ts';
import { startObserved } from '../../../support/wire/observed-stand.ts';

const LARGE = 'x'.repeat(20_000);
/** What passes between the head's reading and its writing, on the way to the upstream, there, and on the way back. */
const [BEFORE_NS, UPSTREAM_NS, BEHIND_NS] = [5_000_000, 30_000_000, 7_000_000];

it.each([
  ['and from the last byte of the answer likewise', '/a', '', BEHIND_NS],
  ['also where bodies are large, and written before anybody is told of the end', '/large', LARGE, 0],
])('the time that the relay adds is from the head having been read to its being written, %s', async (...way) => {
  const [, path, body, behindNs] = way;
  const clock = new ManualClock();
  clock.ns = 1_000;
  const added: unknown[] = [];
  const upstream = await startApplication(({ url }, response) => {
    clock.ns += UPSTREAM_NS;
    response.end(url?.includes('large') ? LARGE : 'ok');
  }, untilTestEnds);
  const observer = {
    onBegin: () => {
      clock.ns += BEFORE_NS;
    },
    // The answer's last byte has come, and is not written yet.
    onEnd: () => {
      clock.ns += BEHIND_NS;
    },
    onAdded: (...one: unknown[]) => void added.push(one),
  };
  const stand = await startObserved({ upstreamPort: upstream.port, clock }, observer, untilTestEnds);
  await send(stand.port, path, { method: 'POST', body });
  expect(added).toEqual([
    ['request', BEFORE_NS],
    ['response', behindNs],
  ]);
});
