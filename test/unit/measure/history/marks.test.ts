import { beforeEach, expect, it } from 'vitest';
import { History } from '../../../../src/measure/history/history.ts';
import type { ManualClock } from '../../../support/clock.ts';
import { available, createSources, type Sources, unavailable } from '../../../support/measure/history/sources.ts';

let sources: Sources;
let clock: ManualClock;
let history: History;
beforeEach(() => {
  sources = createSources();
  ({ clock } = sources);
  history = new History(sources, clock);
});

/** Marks since the start, as kind and text, after a look one second later. */
function look(): string[] {
  clock.advanceMs(1_000);
  return history.marks.slice(1).map(({ kind, text }) => `${kind}: ${text}`);
}

const REFUSED = { kind: 'unreachable', reason: 'ECONNREFUSED', isTls: false } as const;

it('marks begin with the start and the restore', () => {
  expect(history.marks).toEqual([{ epochMs: clock.epochMs(), kind: 'start', text: 'The sidecar has started.' }]);
  const restored = new History({ ...sources, isRestored: true }, clock);
  expect(restored.marks.map(({ kind }) => kind)).toEqual(['start', 'restored']);
});

it('marks tell when the upstream is lost and back, as of the moment it happened, also between two looks', () => {
  sources.upstream.reachability = { kind: 'reachable', sinceEpochMs: 1_000 };
  expect(look()).toEqual([]);
  sources.upstream.reachability = { ...REFUSED, sinceEpochMs: 2_000 };
  expect(look()).toEqual(['upstreamLost: The upstream takes no connections: ECONNREFUSED.']);
  // Another reason is no other loss.
  sources.upstream.reachability = { ...REFUSED, reason: 'ETIMEDOUT', sinceEpochMs: 2_000 };
  expect(look()).toHaveLength(1);
  sources.upstream.reachability = { kind: 'reachable', sinceEpochMs: 3_000 };
  expect(look()).toHaveLength(2);
  expect(look()[1]).toBe('upstreamBack: The upstream takes connections again.');
  sources.upstream.reachability = { kind: 'reachable', sinceEpochMs: 4_000 };
  expect(look()[2]).toBe('upstreamBack: The upstream takes connections again.');
  expect(history.marks.slice(1).map(({ epochMs }) => epochMs)).toEqual([2_000, 3_000, 4_000]);
});

it('marks tell when the JVM is lost and back, once it has been read', () => {
  sources.jvm.state = unavailable('There is no such process.', 400);
  expect(look()).toEqual([]);
  sources.jvm.state = available({}, 500);
  expect(look()).toEqual([]);
  sources.jvm.state = unavailable('There is no such process.', 4_000);
  expect(look()).toEqual(['jvmLost: The JVM cannot be read: There is no such process.']);
  expect(look()).toHaveLength(1);
  sources.jvm.state = available({}, 9_000);
  expect(look().slice(1)).toEqual(['jvmBack: The JVM can be read.']);
  expect(history.marks.slice(1).map(({ epochMs }) => epochMs)).toEqual([4_000, 9_000]);
});

it.each([
  ['collections', { collectors: new Map([['G1', { count: 3 }]]) }, { collectors: new Map([['G1', { count: 2 }]]) }],
  ['loaded classes', { classes: { loaded: 900 } }, { classes: { loaded: 899 } }],
])('marks notice a restarted JVM by its %s', (_what, before, after) => {
  sources.jvm.state = available(before);
  look();
  expect(look()).toEqual([]);
  sources.jvm.state = available(after);
  expect(look()).toEqual(['jvmRestart: The JVM has restarted.']);
  expect(look()).toHaveLength(1);
});

it('marks show a drain and reloads', () => {
  sources.lifecycle.state = 'serving';
  expect(look()).toEqual([]);
  clock.advanceMs(1_000);
  sources.reloads.lastAppliedEpochMs = clock.epochMs();
  expect(look()).toEqual(['reload: The configuration was reloaded.']);
  sources.lifecycle.state = 'draining';
  look();
  sources.lifecycle.state = 'stopping';
  expect(look().slice(1)).toEqual(['drain: The sidecar has begun to drain.']);
});

it('marks are at most 200; dropped ones are counted', () => {
  for (let i = 1; i <= 250; i += 1) {
    sources.reloads.lastAppliedEpochMs += 1;
    expect(history.marks).toHaveLength(Math.min(200, i + 1));
  }
  expect(history.droppedMarks).toBe(51);
  expect(history.marks.every(({ kind }) => kind === 'reload')).toBe(true);
});

it('marks that last end when the sidecar stops, at the latest', () => {
  sources.upstream.reachability = { ...REFUSED, sinceEpochMs: 2_000 };
  sources.jvm.state = available({}, 500);
  look();
  sources.jvm.state = unavailable('There is no such process.', 4_000);
  look();
  sources.jvm.state = available({}, 9_000);
  look();
  history.mark('verdict', 'The server cannot be reached.');
  history.mark('note', 'A new release.');
  clock.advanceMs(7_000);
  history.end();
  const ends = Object.fromEntries(history.marks.map(({ kind, endEpochMs }) => [kind, endEpochMs]));
  expect(ends).toMatchObject({ upstreamLost: clock.epochMs(), verdict: clock.epochMs(), jvmLost: 9_000 });
  expect([ends.note, ends.start, ends.jvmBack]).toEqual([undefined, undefined, undefined]);
});
