import { describe, expect, it } from 'vitest';
import type { CometRule } from '../../../src/config/config.ts';
import {
  CACHED_CHANNEL_CHARS,
  CACHED_CHANNELS,
  CometClassifier,
} from '../../../src/measure/classify/comet-classifier.ts';

const byDefault = new CometClassifier({ rules: [], defaultRules: true });

function only(...rules: CometRule[]): CometClassifier {
  return new CometClassifier({ rules, defaultRules: false });
}

/** `kind action name`, for comparing at a glance. */
function told(classifier: CometClassifier, ...[when, channel, data]: Parameters<CometClassifier['classify']>) {
  const meaning = classifier.classify(when, channel, data);
  return meaning && `${meaning.kind} ${meaning.action} ${meaning.name}`;
}

describe('by default', () => {
  it.each([
    ['subscribe', '/d2/object/H.Demo', undefined, 'object subscribe H.Demo'],
    ['unsubscribe', '/d2/object/H.Demo', undefined, 'object unsubscribe H.Demo'],
    ['delivery', '/d2/object/H.Demo', { value: 1 }, 'object value H.Demo'],
    ['delivery', '/d2/object/%C4%8Cerpadlo%201', null, 'object value Čerpadlo 1'],
    ['subscribe', '/d2/object/*', undefined, 'object subscribe *'],
    ['publish', '/service/d2/subscribeObject', { objectName: 'H.Demo' }, 'object subscribe H.Demo'],
    ['publish', '/service/d2/unSubscribeObject', { objectName: 'H.Demo' }, 'object unsubscribe H.Demo'],
    ['delivery', '/service/d2/object', { objectName: 'H.Demo', value: 1 }, 'object value H.Demo'],
    ['publish', '/service/d2/rpc', { eventName: 'E.Demo', rpcName: 'Test' }, 'rpc call E.Demo.Test'],
    [
      'publish',
      '/service/d2/rpc',
      { eventName: 'E.Demo', interfaceName: 'IMain', rpcName: 'Test' },
      'rpc call E.Demo.IMain.Test',
    ],
    ['publish', '/service/d2/rpcJava', { eventName: 'E.Demo', rpcName: 'Test' }, 'rpc call E.Demo.Test'],
    ['publish', '/service/d2/rpcSBA', { eventName: 'E.Demo', rpcName: 'Get' }, 'sba call E.Demo.Get'],
  ] as const)('%s on %s with %j is what the contract says', (when, channel, data, expected) => {
    expect(told(byDefault, when, channel, data)).toBe(expected);
  });

  it.each([
    ['publish', '/d2/object/H.Demo', { value: 1 }],
    ['subscribe', '/d2/object', undefined],
    ['subscribe', '/d2/**', undefined],
    ['subscribe', '/service/d2/rpc', undefined],
    ['delivery', '/service/d2/rpc', { eventName: 'E.Demo', rpcName: 'Test' }],
    ['delivery', '/chat/room', { text: 'x' }],
    ['publish', '/service/d2/rpc', undefined],
    ['publish', '/service/d2/rpc', 'E.Demo.Test'],
    ['publish', '/service/d2/rpc', { eventName: 'E.Demo' }],
    ['publish', '/service/d2/rpc', { eventName: 'E.Demo', rpcName: '' }],
    ['publish', '/service/d2/rpc', { eventName: 'E.Demo', rpcName: null }],
    ['publish', '/service/d2/rpc', { eventName: { a: 1 }, rpcName: ['Test'] }],
    ['publish', '/service/d2/rpc', { eventName: true, rpcName: 'Test' }],
  ] as const)('%s on %s with %j is nothing', (when, channel, data) => {
    expect(byDefault.classify(when, channel, data)).toBeUndefined();
  });

  it('an optional part vanishes when it is missing, null, empty or no text', () => {
    for (const interfaceName of [null, '', {}, [], false]) {
      const data = { eventName: 'E.Demo', interfaceName, rpcName: 'Test' };
      expect(told(byDefault, 'publish', '/service/d2/rpc', data)).toBe('rpc call E.Demo.Test');
    }
  });

  it('hidden characters are U+FFFD, the same for all that happens to one object', () => {
    const objectName = 'H.\x1b[31m\u202eDemo\n';
    const channel = `/d2/object/${encodeURIComponent(objectName)}`;
    const expected = 'H.\ufffd[31m\ufffdDemo\ufffd';
    for (const when of ['subscribe', 'unsubscribe', 'delivery'] as const)
      expect(byDefault.classify(when, channel, undefined)?.name).toBe(expected);
    for (const last of ['subscribeObject', 'unSubscribeObject'])
      expect(byDefault.classify('publish', `/service/d2/${last}`, { objectName })?.name).toBe(expected);
    const call = { eventName: 'E.\u2028', rpcName: 'Te\u0085st' };
    expect(told(byDefault, 'publish', '/service/d2/rpc', call)).toBe('rpc call E.\ufffd.Te\ufffdst');
  });

  it('a number is a name, too', () => {
    const data = { eventName: 7, interfaceName: 0, rpcName: 1.5 };
    expect(told(byDefault, 'publish', '/service/d2/rpc', data)).toBe('rpc call 7.0.1.5');
  });

  it('no name comes from what every JavaScript object has', () => {
    const rule: CometRule = { channel: '/x', kind: 'rpc', name: '{/constructor/name}' };
    expect(only(rule).classify('publish', '/x', [])).toBeUndefined();
    expect(only(rule).classify('publish', '/x', {})).toBeUndefined();
  });

  it('is nothing without the default rules', () => {
    expect(only().classify('delivery', '/d2/object/H.Demo', {})).toBeUndefined();
  });
});

describe('rules of the user', () => {
  it('come first', () => {
    const classifier = new CometClassifier({
      rules: [{ channel: '/d2/object/{name}', kind: 'object', action: 'value', name: 'O.{name}' }],
      defaultRules: true,
    });
    expect(told(classifier, 'delivery', '/d2/object/a', {})).toBe('object value O.a');
    expect(told(classifier, 'subscribe', '/d2/object/a', {})).toBe('object subscribe a');
  });

  it('of kind none take out what a later rule would match, at all times or at one', () => {
    const none: CometRule = { channel: '/d2/object/secret', kind: 'none', name: '' };
    const always = new CometClassifier({ rules: [none], defaultRules: true });
    const once = new CometClassifier({ rules: [{ ...none, when: 'delivery' }], defaultRules: true });
    expect(told(always, 'delivery', '/d2/object/secret', {})).toBeUndefined();
    expect(told(always, 'subscribe', '/d2/object/secret', {})).toBeUndefined();
    expect(told(always, 'delivery', '/d2/object/a', {})).toBe('object value a');
    expect(told(once, 'delivery', '/d2/object/secret', {})).toBeUndefined();
    expect(told(once, 'subscribe', '/d2/object/secret', {})).toBe('object subscribe secret');
  });

  it('may name calls by the channel, or by a part of it and data', () => {
    const classifier = only(
      { channel: '/service/call/{event}/{method}', kind: 'rpc', name: '{event}.{method}' },
      { channel: '/service/sba/{event}', kind: 'sba', name: '{event}[:{/a/0}].{/b~1c}' },
    );
    expect(told(classifier, 'publish', '/service/call/E.Demo/Test', undefined)).toBe('rpc call E.Demo.Test');
    expect(told(classifier, 'publish', '/service/sba/E', { a: ['x'], 'b/c': 'y' })).toBe('sba call E:x.y');
    expect(told(classifier, 'publish', '/service/sba/E', { 'b/c': 'y' })).toBe('sba call E.y');
  });

  it('that find no name leave the message to the next one', () => {
    const classifier = only(
      { channel: '/service/call', kind: 'sba', name: '{/sba}' },
      { channel: '/service/call', kind: 'rpc', name: '{/rpc}' },
      { channel: '/service/{any}', kind: 'rpc', name: 'other' },
    );
    // Each twice: what depends on data must not be remembered for the channel, nor hide what does not.
    for (const _ of [1, 2]) {
      expect(told(classifier, 'publish', '/service/call', { rpc: 'a' })).toBe('rpc call a');
      expect(told(classifier, 'publish', '/service/call', {})).toBe('rpc call other');
      expect(told(classifier, 'publish', '/service/call', { sba: 'b', rpc: 'a' })).toBe('sba call b');
    }
    expect(classifier.cachedChannels).toBe(0);
  });

  it('that come to an empty name match nothing', () => {
    expect(only({ channel: '/x', kind: 'rpc', name: '[{/a}]' }).classify('publish', '/x', {})).toBeUndefined();
  });

  it('bring how the answer is found, the same for all calls of a rule', () => {
    const reply = { channel: '/service/answer', id: '/data/requestId', error: '/data/error' };
    const classifier = only({ channel: '/service/{event}', kind: 'rpc', name: '{event}', reply });
    const first = classifier.classify('publish', '/service/a', {})?.reply;
    expect(first).toEqual({ channel: '/service/answer', id: ['data', 'requestId'], error: ['data', 'error'] });
    expect(classifier.classify('publish', '/service/b', {})?.reply).toBe(first);
    const data = { eventName: 'E', rpcName: 'R' };
    expect(byDefault.classify('publish', '/service/d2/rpc', data)?.reply).toEqual({
      channel: undefined,
      id: ['id'],
      error: undefined,
    });
  });
});

describe('channels that are remembered', () => {
  it('give the same meaning, apart for each thing that happens on them', () => {
    const classifier = new CometClassifier({ rules: [], defaultRules: true });
    const value = classifier.classify('delivery', '/d2/object/a', 1);
    const subscribe = classifier.classify('subscribe', '/d2/object/a', undefined);
    expect(classifier.classify('delivery', '/d2/object/a', 2)).toBe(value);
    expect(classifier.classify('subscribe', '/d2/object/a', undefined)).toBe(subscribe);
    expect(value).not.toBe(subscribe);
    expect(classifier.cachedChannels).toBe(1);
  });

  it('are bounded in number and length, and a scan of unknown channels takes no place', () => {
    const classifier = new CometClassifier({ rules: [], defaultRules: true });
    const long = `/d2/object/${'x'.repeat(CACHED_CHANNEL_CHARS)}`;
    expect(told(classifier, 'delivery', long, {})).toBe(`object value ${long.slice('/d2/object/'.length)}`);
    expect(classifier.classify('delivery', '/other/x', {})).toBeUndefined();
    expect(classifier.cachedChannels).toBe(0);
    for (let i = 0; i < 3 * CACHED_CHANNELS; i += 1) classifier.classify('delivery', `/d2/object/${i}`, {});
    expect(classifier.cachedChannels).toBeGreaterThan(CACHED_CHANNELS);
    expect(classifier.cachedChannels).toBeLessThanOrEqual(2 * CACHED_CHANNELS);
  });
});
