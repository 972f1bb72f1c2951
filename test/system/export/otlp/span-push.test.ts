import { resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import { MAX_WAITING_SPANS, SpanPush } from '../../../../src/export/otlp/call-spans.ts';
import { createReceiver } from '../../../../src/export/otlp/receiver.ts';
import { SignalNumbers } from '../../../../src/export/otlp/signal-numbers.ts';
import { accept, OtlpReceiver } from '../../../support/export/otlp/otlp-receiver.ts';
import { createLineLogger, otlpConfig } from './stand.ts';

let receiver: OtlpReceiver;
let push: SpanPush;
let numbers: SignalNumbers;
beforeEach(async () => {
  receiver = await OtlpReceiver.listen();
  const logger = createLineLogger();
  numbers = new SignalNumbers('traces', logger);
  const config = { ...otlpConfig({ timeoutMs: 5_000 }), endpoint: receiver.endpoint };
  const to = createReceiver('traces', { config, env: {}, logger });
  push = new SpanPush({ receiver: to, numbers, clock: systemClock, userAgent: 'd2-sidecar/1', delayMs: 5 });
});
afterEach(async () => {
  push.exporter.close();
  await receiver.close();
});

const resource = resourceFromAttributes({});
const instrumentationScope = { name: 'd2-sidecar' };

function createSpan(name: string): ReadableSpan {
  return {
    ...{ name, kind: 1, startTime: [1, 0], endTime: [1, 5], duration: [0, 5], status: { code: 0 }, attributes: {} },
    ...{ links: [], events: [], ended: true, resource, instrumentationScope },
    ...{ droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 },
    spanContext: () => ({ traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 }),
  };
}

const take = (count: number): void => {
  for (let i = 0; i < count; i += 1) push.take(() => createSpan(`span ${i}`));
};

it('drops and counts spans beyond the limit of the queue, without creating them', async () => {
  const held: (() => void)[] = [];
  receiver.answer = (response, request) => held.push(() => accept(response, request));
  take(MAX_WAITING_SPANS + 10);
  expect(push.waiting).toBe(MAX_WAITING_SPANS);
  expect(numbers.items.dropped).toBe(10);
  let made = 0;
  push.take(() => {
    made += 1;
    return createSpan('one more');
  });
  expect([made, numbers.items.dropped]).toEqual([0, 11]);
  await receiver.until(() => held.length > 0);
  receiver.answer = accept;
  for (const answer of held) answer();
  await push.processor.forceFlush();
  await receiver.until(() => receiver.spans.length === MAX_WAITING_SPANS);
  await push.processor.shutdown();
  expect(push.waiting).toBe(0);
  expect(numbers.items).toEqual({ accepted: MAX_WAITING_SPANS, rejected: 0, lost: 0, dropped: 11 });
});
