import { resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { expect, it } from 'vitest';
import { CallSpans, type CallSpansParts } from '../../../../src/export/otlp/call-spans.ts';
import type { EndedCall } from '../../../../src/measure/record/call-observer.ts';
import { ManualClock } from '../../../support/clock.ts';
import { endedCall } from '../../../support/export/access-log/ended-call.ts';

const MS = 1e6;
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

const clock = new ManualClock();
const CALL = endedCall({ name: 'E.Demo.Test', beganNs: clock.nowNs() - 250.5 * MS, endedNs: clock.nowNs() });
const PARTS: CallSpansParts = {
  ...{ resource: resourceFromAttributes({}), scope: { name: 'd2-sidecar', version: '1' }, clock },
  ...{ sampleRatio: 1, slowerThanMs: 0, take: () => {} },
};

function spansOf(calls: readonly EndedCall[], options: Partial<CallSpansParts> = {}): ReadableSpan[] {
  const made: ReadableSpan[] = [];
  const spans = new CallSpans({ ...PARTS, take: (create) => made.push(create()), ...options });
  // As in the recorder: asked when the call begins.
  for (const call of calls) {
    const ownTraceparent = call.isComet ? undefined : spans.traceparentFor(call.traceparent);
    spans.callEnded({ ...call, ownTraceparent });
  }
  return made;
}

const spanOf = (call: Partial<EndedCall>) => spansOf([{ ...CALL, ...call }])[0] as ReadableSpan;

it('a span has the kind, name and times of the call, and is of kind server', () => {
  const span = spanOf({});
  expect(span).toMatchObject({ name: 'rpc E.Demo.Test', kind: 1, status: { code: 0 }, ended: true });
  const endS = Date.UTC(2026, 2, 1, 8) / 1e3;
  expect(span.endTime).toEqual([endS, 0]);
  expect(span.startTime).toEqual([endS - 1, 749_500_000]);
  expect(span.duration).toEqual([0, 250_500_000]);
});

it('a span has only closed sets, names and the client as attributes: no user, session or path', () => {
  expect(spanOf({ traceparent: `00-${TRACE}-${PARENT}-01` }).attributes).toEqual({
    'd2.application': 'smartWeb',
    'd2.call.kind': 'rpc',
    'd2.call.name': 'E.Demo.Test',
    'd2.call.outcome': 'answered',
    'd2.call.transport': 'rest',
    'client.address': '10.0.0.7',
    'd2.call.client_wait': 0,
    'http.request.method': 'POST',
    'http.response.status_code': 200,
  });
  expect(spanOf({ method: 's3cr3t' }).attributes['http.request.method']).toBe('_OTHER');
});

it.each([
  [{ status: 404 }, 0, undefined],
  [{ status: 500 }, 2, '500'],
  [{ status: 0, outcome: 'failed', errorCode: 'D2S_ERR_UPSTREAM_REFUSED' }, 2, 'D2S_ERR_UPSTREAM_REFUSED'],
] as const)('a span says whether the call failed, and why: %o', (call, code, type) => {
  const { status, attributes } = spanOf(call);
  expect(status.code).toBe(code);
  expect(attributes['error.type']).toBe(type);
  expect('http.response.status_code' in attributes).toBe(call.status > 0);
});

it('a span has short, well-formed names', () => {
  expect(spanOf({ name: 'x'.repeat(300) }).name).toBe(`rpc ${'x'.repeat(256)}`);
  expect(spanOf({ name: 'half \ud83d' }).name).toBe('rpc half \\ud83d');
});

it('sampling without a traceparent takes the configured share, each in its own trace', () => {
  let i = 0;
  const random = () => (i++ % 10) / 10;
  const calls = Array.from({ length: 100 }, () => CALL);
  const made = spansOf(calls, { sampleRatio: 0.3, random });
  expect(made).toHaveLength(30);
  expect(new Set(made.map((span) => span.spanContext().traceId)).size).toBe(30);
  expect(made.every((span) => span.parentSpanContext === undefined)).toBe(true);
  expect(spansOf([CALL], { sampleRatio: 0 })).toHaveLength(0);
});

it('sampling with a traceparent follows its flag, whatever the share', () => {
  const sampled = { ...CALL, traceparent: `00-${TRACE}-${PARENT}-01` };
  const [span] = spansOf([sampled], { sampleRatio: 0 });
  expect(span?.spanContext()).toMatchObject({ traceId: TRACE, traceFlags: 1 });
  expect(span?.spanContext().spanId).not.toBe(PARENT);
  expect(span?.parentSpanContext).toMatchObject({ traceId: TRACE, spanId: PARENT, isRemote: true });
  expect(spansOf([{ ...CALL, traceparent: `00-${TRACE}-${PARENT}-00` }], { sampleRatio: 1 })).toHaveLength(0);
  // Of the flags only the lowest bit is about sampling; later versions may have more behind them.
  expect(spansOf([{ ...CALL, traceparent: `00-${TRACE}-${PARENT}-03` }], { sampleRatio: 0 })).toHaveLength(1);
  expect(spansOf([{ ...CALL, traceparent: `01-${TRACE}-${PARENT}-01-more` }], { sampleRatio: 0 })).toHaveLength(1);
});

it.each([
  `00-${TRACE}-${PARENT}-01-more`,
  `ff-${TRACE}-${PARENT}-01`,
  `00-${'0'.repeat(32)}-${PARENT}-01`,
  `01-${TRACE}-${PARENT}-01-${'x'.repeat(300)}`,
])('a traceparent that cannot be read is as none: %s', (traceparent) => {
  expect(spansOf([{ ...CALL, traceparent }], { sampleRatio: 0 })).toHaveLength(0);
  expect(spansOf([{ ...CALL, traceparent }])[0]?.parentSpanContext).toBeUndefined();
});

it('sampling takes only slow calls with slowerThan', () => {
  const calls = [100, 250.5, 251].map((ms) =>
    endedCall({ ...CALL, beganNs: CALL.endedNs - ms * MS, durationNs: ms * MS }),
  );
  const sampled = { ...CALL, traceparent: `00-${TRACE}-${PARENT}-01`, beganNs: CALL.endedNs - 1 };
  const made = spansOf([...calls, sampled], { slowerThanMs: 250.5 });
  expect(made.map(({ duration }) => duration)).toEqual([[0, 251_000_000]]);
});
