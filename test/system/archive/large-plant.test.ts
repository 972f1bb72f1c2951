/**
 * 90 days of a large plant (500 RPCs, 40 calls a second): the size of the file, and the time of queries. Older days are written in
 * minutes of ten minutes and of an hour, which leaves the same rows. Only every tenth name is written, and its share of the file multiplied. Minutes long, so `npm run test:all` only.
 */
import { statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { openArchiveFile } from '../../../src/archive/archive-file.ts';
import { Store } from '../../../src/archive/store.ts';
import { createMinute, NO_SQLITE } from '../../support/archive/minutes.ts';
import { deferTo, temporaryFolder } from '../../support/deferred.ts';
import { playsAll } from '../../support/effort.ts';
import { Random } from '../../support/fuzz/random.ts';

const DAY_S = 86_400;
const CALLS_PER_S = 40;
const NAMES = 500;
const END = Date.UTC(2026, 5, 1) / 1_000;
const MAX_BYTES = 500_000_000;
const MAX_QUERY_MS = 200;
const VARIANTS = 12;

const random = new Random(90);
const TENTH = 10;
const weights = Array.from({ length: NAMES }, (_, at) => 1 / (at + 1) ** 0.9);
const sum = weights.reduce((total, weight) => total + weight, 0);
/** Durations of a name are spread around its own median, from 2 ms to 2 s. */
const medians = weights.map(() => 2e6 * Math.exp(random.next() * Math.log(1_000)));

/** Of a Poisson distribution, by the normal one for large means. */
function poisson(mean: number): number {
  if (mean > 50) return Math.max(0, Math.round(mean + Math.sqrt(mean) * normal()));
  let [count, product] = [0, random.next()];
  for (; product > Math.exp(-mean); count += 1) product *= random.next();
  return count;
}

function normal(): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}

function minuteOf(seconds: number) {
  const calls = weights.flatMap((weight, at) => {
    if (at % TENTH !== 3) return [];
    const count = poisson((CALLS_PER_S * seconds * weight) / sum);
    return {
      name: `E.Event${at}.Method`,
      ns: Array.from({ length: count }, () => (medians[at] ?? 0) * Math.exp(0.5 * normal())),
    };
  });
  return createMinute(0, calls, { sessions: 300 });
}

it.skipIf(NO_SQLITE || !playsAll)('90 days of a large plant', { timeout: 1_800_000 }, () => {
  const file = path.join(temporaryFolder(deferTo(afterAll)), 'history.db');
  const { database } = openArchiveFile(file);
  const store = new Store(database, { keepS: 90 * DAY_S, maxBytes: 1_073_741_824 });
  const variants = {
    minute: Array.from({ length: VARIANTS }, () => minuteOf(60)),
    ten: Array.from({ length: VARIANTS }, () => minuteOf(600)),
    hour: Array.from({ length: VARIANTS }, () => minuteOf(3_600)),
  };
  for (let time = END - 90 * DAY_S; time < END; ) {
    const age = END - time - 7_200;
    const length = age > 14 * DAY_S ? 'hour' : age > 2 * DAY_S ? 'ten' : 'minute';
    const minute = random.pick(variants[length]);
    store.write([{ ...minute, time, epochMs: (time + 60) * 1_000 }], []);
    time += { hour: 3_600, ten: 600, minute: 60 }[length];
  }
  database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  const ofAll = "SELECT sum(length(buckets)) AS bytes FROM steps JOIN series ON series.id = series WHERE name = ''";
  // Rows of all calls together are there once, however many names there are.
  const once = Number(database.prepare(ofAll).get()?.bytes);
  const bytes = TENTH * (statSync(file).size - once) + once;
  for (const days of [1 / 24, 1 / 4, 1, 2, 7, 14, 30, 90]) {
    for (const name of ['rpc', 'rpc.E.Event3.Method', 'rpc.E.Event493.Method']) {
      const beganMs = performance.now();
      const values = store.read('smartWeb', name, { from: END - days * DAY_S, to: END, now: END })?.values;
      expect(performance.now() - beganMs).toBeLessThan(MAX_QUERY_MS);
      expect(values?.length).toBeGreaterThan(0);
    }
  }
  expect(bytes).toBeLessThan(MAX_BYTES);
  database.close();
});
