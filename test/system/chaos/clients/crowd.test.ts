/** Clients and upstream without a sidecar between them: their records must agree, and every planted lie must be noticed. */
import { expect, it } from 'vitest';
import { Book } from '../../../chaos/accounts/book.ts';
import { Crowd } from '../../../chaos/clients/crowd.ts';
import { Ledger, LedgerReader, type Seen } from '../../../chaos/truth/ledger.ts';
import { randomOf } from '../../../chaos/truth/pattern.ts';
import { LIE_KINDS, type LieKind, Lies } from '../../../chaos/upstream/lies.ts';
import { ScriptedUpstream } from '../../../chaos/upstream/scripted-upstream.ts';
import { until } from '../../../support/comet/until.ts';
import { playsAll } from '../../../support/effort.ts';
import { useFolder } from '../../../support/export/access-log/folder.ts';

const SEED = 11;
const CALLS = playsAll ? 500 : 250;

const at = useFolder();

/** Lets a crowd call an upstream with this lie; returns the violations. */
async function talk(mode: 'calm' | 'chaos', lie?: LieKind): Promise<{ sorts: string[]; book: Book }> {
  const ledgerPath = at('ledger');
  const parts = { seed: SEED, ledger: new Ledger(ledgerPath), lies: new Lies(lie, 2), isDirect: true };
  const upstream = new ScriptedUpstream(parts);
  const book = new Book(SEED);
  const crowd = new Crowd({
    seed: SEED,
    port: await upstream.listen(0),
    size: { call: 40, poll: 20, socket: 10 },
    random: randomOf(SEED, 'pace'),
    lifeOf: () => 1,
    book,
  });
  // Without a sidecar, no one answers for an upstream that breaks off, or hides that it has closed.
  if (mode === 'chaos') book.windows.open('no sidecar', 0);
  crowd.begin(mode);
  await until('enough calls', () => Object.values(book.counts).reduce((sum, { sent }) => sum + sent, 0) >= CALLS);
  await crowd.stop();
  upstream.close();
  const seen = new Map<string, Seen>();
  new LedgerReader(ledgerPath).readInto(seen);
  book.settle(seen);
  return { sorts: [...book.differences.counts.keys()], book };
}

it('the crowd and its upstream agree on every call in calm', async () => {
  const { sorts, book } = await talk('calm');
  expect(sorts).toEqual([]);
  expect(book.total('answered')).toBeGreaterThanOrEqual(CALLS);
  expect(book.messages.echoed).toBe(book.messages.sent);
});

it('the crowd and its upstream agree on bytes and counts during faults', async () => {
  const { sorts, book } = await talk('chaos');
  // Without a sidecar the second of two answers reaches the client.
  expect(sorts.filter((sort) => sort !== 'wrong bytes')).toEqual([]);
  expect(book.total('aborted')).toBeGreaterThan(CALLS / 100);
  expect(book.total('failed')).toBeGreaterThan(CALLS / 100);
});

const NOTICED: Readonly<Record<LieKind, string>> = {
  'answer-byte': 'wrong bytes',
  'answer-head': 'wrong bytes',
  'answer-short': 'cut answers',
  'answer-of-another': 'wrong bytes',
  'poll-byte': 'wrong bytes',
  'echo-byte': 'wrong bytes',
  'echo-twice': 'wrong bytes',
  'request-byte': 'wrong bytes',
  'message-byte': 'wrong bytes',
  lost: 'lost calls',
  doubled: 'doubled calls',
};

it.each(LIE_KINDS)('the accounts report a single planted lie: %s', async (lie) => {
  const { sorts } = await talk('calm', lie);
  expect(sorts).toContain(NOTICED[lie]);
});
