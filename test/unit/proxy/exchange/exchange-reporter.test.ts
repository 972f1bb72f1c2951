import { beforeEach, expect, it, vi } from 'vitest';
import { createLogger } from '../../../../src/base/logger.ts';
import {
  type BodyObserver,
  COMPLETED,
  type Exchange,
  type ExchangeObserver,
  type ResponseHeadView,
  type TunnelObserver,
} from '../../../../src/proxy/exchange/exchange.ts';
import { AddedTime, ExchangeReporter } from '../../../../src/proxy/exchange/exchange-reporter.ts';
import { type RecordingLogger, recordingLogger } from '../../../support/wire/recording-logger.ts';

const REQUEST = { method: 'POST', target: '/cometd', field: () => undefined, fields: () => [] };
const CLIENT = { remoteAddress: '10.0.0.7', remotePort: 50_412, secure: false };
const HEAD: ResponseHeadView = { status: 200, field: () => undefined, fields: () => [] };
const BYTES = Buffer.from('payload');

/** What was told, e.g. `request onBytes payload`. */
let told: string[];
let failing: Set<string>;
let recording: RecordingLogger;

beforeEach(() => {
  told = [];
  failing = new Set();
  recording = recordingLogger();
});

function tell(what: string, bytes = ''): void {
  told.push(bytes === '' ? what : `${what} ${bytes}`);
  if (failing.has(what)) throw new RangeError('a secret of the request');
}

const reader = (direction: string): BodyObserver => ({
  onBytes: (bytes) => tell(`${direction} onBytes`, bytes.toString('latin1')),
  onEnd: () => tell(`${direction} onEnd`),
});

const TUNNEL: TunnelObserver = {
  onClientBytes: (bytes) => tell('onClientBytes', bytes.toString('latin1')),
  onUpstreamBytes: (bytes) => tell('onUpstreamBytes', bytes.toString('latin1')),
  onClosed: () => tell('onClosed'),
};

const ALL: ExchangeObserver = {
  onBegin: (exchange) => {
    exchange.requestObserver = reader('request');
    exchange.wantsResponse = true;
    tell('onBegin');
  },
  onResponse: (exchange) => {
    exchange.responseObserver = reader('response');
    exchange.tunnelObserver = TUNNEL;
    tell('onResponse');
  },
  onEnd: () => tell('onEnd'),
};

function createReporter(observer: ExchangeObserver): ExchangeReporter {
  return new ExchangeReporter({ nowNs: () => 1, epochMs: () => 1 }, observer, recording.logger);
}

/** Everything that a data path can report, as often as it could happen. */
function playAll(reporter: ExchangeReporter): Exchange {
  const exchange = reporter.begin(REQUEST, CLIENT);
  for (let i = 0; i < 2; i += 1) reporter.requestBytes(exchange, BYTES);
  reporter.requestEnd(exchange);
  reporter.response(exchange, HEAD);
  for (let i = 0; i < 2; i += 1) reporter.responseBytes(exchange, BYTES);
  reporter.responseEnd(exchange);
  const tunnel = reporter.tunnelOf(exchange);
  reporter.end(exchange, COMPLETED);
  reporter.requestBytes(exchange, BYTES);
  reporter.responseBytes(exchange, BYTES);
  reporter.end(exchange, COMPLETED);
  tunnel?.onClientBytes(BYTES);
  tunnel?.onUpstreamBytes(BYTES);
  tunnel?.onClientBytes(BYTES);
  for (let i = 0; i < 2; i += 1) tunnel?.onClosed();
  tunnel?.onClientBytes(BYTES);
  return exchange;
}

const bodyOf = (direction: string) => [1, 2].map(() => `${direction} onBytes payload`).concat(`${direction} onEnd`);
const TUNNELLED = ['onClientBytes payload', 'onUpstreamBytes payload', 'onClientBytes payload', 'onClosed'];
const WHOLE = ['onBegin', ...bodyOf('request'), 'onResponse', ...bodyOf('response'), 'onEnd', ...TUNNELLED];

it('ExchangeReporter reports an exchange until its ending, and its tunnel until it is closed', () => {
  playAll(createReporter(ALL));
  expect(told).toEqual(WHOLE);
});

it('ExchangeReporter does not report a response that is not wanted', () => {
  const onBegin = () => tell('onBegin');
  playAll(createReporter({ ...ALL, onBegin }));
  expect(told).toEqual(['onBegin', 'onEnd']);
});

it.each([
  ['onBegin', ['onBegin', 'onEnd']],
  ['request onBytes', ['onBegin', 'request onBytes payload', 'onEnd']],
  ['onResponse', [...WHOLE.slice(0, 5), 'onEnd']],
  ['onEnd', WHOLE],
  ['onClientBytes', [...WHOLE.slice(0, 10), 'onClosed']],
  ['onClosed', WHOLE],
])('ExchangeReporter ends the observation, and nothing else, when %s throws', (what, expected) => {
  failing.add(what);
  const reporter = createReporter(ALL);
  const exchange = playAll(reporter);
  expect(told).toEqual(expected);
  expect([exchange.hasEnded, reporter.open, reporter.observerErrors]).toEqual([true, 0, 1]);
});

it('ExchangeReporter counts every failure and logs the first one, by its name alone', () => {
  failing.add('request onBytes').add('onEnd').add('onClientBytes').add('onClosed');
  const reporter = createReporter(ALL);
  playAll(reporter);
  playAll(reporter);
  // Unobserved from the first one on, the exchange has no tunnel to be observed.
  expect(reporter.observerErrors).toBe(4);
  const message = expect.not.stringContaining('secret');
  expect(recording.logged).toEqual([{ level: 'error', details: { error: 'RangeError' }, message }]);
});

const silent = () => undefined;
let measured: number[];
let added: AddedTime;
const nowNs = vi.fn(() => 1_000);
const clock = { nowNs, epochMs: () => 0 };

beforeEach(() => {
  nowNs.mockClear();
  measured = [];
  added = new AddedTime(clock, (addedNs) => measured.push(addedNs));
});

it('the time added is measured for the first and for one in 17, in each of 64 places, and the clock is read for these only', () => {
  const samples = Array.from({ length: 1 + 3 * 17 }, () => added.sample(400));
  for (const sinceNs of samples) added.written(sinceNs);
  expect(samples).toEqual(samples.map((_, i) => (i % 17 === 0 ? 400 : 0)));
  expect([measured, nowNs.mock.calls.length]).toEqual([[600, 600, 600, 600], 4]);
  const places = new Set<number>();
  for (let i = 0; i < 17 * 64; i += 1) if (added.sample(400) > 0) places.add(i % 64);
  expect(places.size).toBe(64);
});

it('the time added is reported by direction; an observer that throws is only counted', () => {
  const told: unknown[] = [];
  const onAdded = (direction: string, addedNs: number) => {
    told.push(`${direction} ${addedNs}`);
    if (told.length === 2) throw new Error('a secret');
  };
  const reporter = new ExchangeReporter(clock, { onBegin: silent, onEnd: silent, onAdded }, createLogger('silent'));
  const { request, response } = reporter.added;
  request.written(900);
  expect(() => response.written(300)).not.toThrow();
  request.written(999);
  expect(told).toEqual(['request 100', 'response 700', 'request 1']);
  expect(reporter.observerErrors).toBe(1);
});
