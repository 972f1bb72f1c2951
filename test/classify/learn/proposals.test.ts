import { describe, expect, it } from 'vitest';
import { checkCometRules } from '../../../src/classify/comet-classifier.ts';
import { Heard, toRules } from './heard.ts';

const ann = {};
const ben = {};
const TAGS = ['H.Boiler', 'S.Pump1', 'D.Valve-2', 'H.Demo'];

describe('calls', () => {
  it('are those messages that are answered with data, by id, named by event, interface and method', () => {
    const heard = new Heard();
    for (let n = 0; n < 12; n += 1) {
      const face = n % 2 === 0 ? { iface: 'IMain' } : {};
      const data = { event: `E.Job${n % 3}`, ...face, method: `Run${n % 2}`, parameters: [n] };
      heard.call(ann, '/service/werk/ruf', String(n), data, n % 4 === 0 ? { error: 'E_FAILED' } : { result: n });
    }
    expect(heard.rules()).toEqual([
      {
        channel: '/service/werk/ruf',
        kind: 'rpc',
        action: 'call',
        name: '{/event}[.{/iface}].{/method}',
        reply: { error: '/data/error' },
      },
    ]);
  });

  it('are found by an id in the data and on another channel', () => {
    const heard = new Heard();
    for (let n = 0; n < 12; n += 1) {
      const data = { requestId: `r-${n}`, procedure: 'E.Job.Run' };
      heard.client(ann, { channel: '/service/werk/ruf', id: String(n), data });
      heard.upstream(ann, { channel: '/service/werk/ruf', id: String(n), successful: true });
      heard.upstream(ann, { channel: '/werk/antwort', data: { requestId: `r-${n}`, result: n } });
    }
    expect(heard.rules()).toEqual([
      {
        channel: '/service/werk/ruf',
        kind: 'rpc',
        action: 'call',
        name: '{/procedure}',
        reply: { channel: '/werk/antwort', id: '/data/requestId' },
      },
    ]);
  });

  it('are of kind sba where the channel or a field says so', () => {
    const heard = new Heard();
    heard.call(ann, '/service/werk/sbaRuf', '1', { method: 'a' }, { result: 1 });
    heard.call(ann, '/service/werk/ruf', '2', { sbaMethod: 'a' }, { result: 1 });
    heard.call(ann, '/service/werk/anders', '3', { method: 'a' }, { result: 1 });
    expect(heard.rules().map(({ kind, name }) => [kind, name])).toEqual([
      ['rpc', '{/method}'],
      ['sba', '{/sbaMethod}'],
      ['sba', '{/method}'],
    ]);
  });

  it('are named by their channel where no field names them', () => {
    const heard = new Heard();
    for (const id of ['1', '2']) heard.call(ann, '/service/werk/getAlarms', id, { since: 17 }, { rows: [] });
    expect(heard.rules()).toEqual([
      { channel: '/service/werk/getAlarms', kind: 'rpc', action: 'call', name: 'getAlarms' },
    ]);
  });

  it('are not what comes back to its sender as it was sent, or is only acknowledged', () => {
    const heard = new Heard();
    for (let n = 0; n < 4; n += 1) {
      heard.client(ann, { channel: '/talk', id: String(n), data: { text: `hello ${n}` } });
      heard.upstream(ann, { channel: '/talk', id: String(n), data: { text: `hello ${n}` } });
      heard.client(ann, { channel: '/service/note', id: `n${n}`, data: { method: 'a' } });
      heard.upstream(ann, { channel: '/service/note', id: `n${n}`, successful: true });
    }
    expect(heard.rules().filter(({ kind }) => kind !== 'object')).toEqual([]);
  });

  it('are not taken for answered by what another client gets with the same id', () => {
    const heard = new Heard();
    for (let n = 0; n < 8; n += 1) {
      heard.client(ann, { channel: '/service/a', id: String(n), data: { method: 'm' } });
      heard.upstream(ben, { channel: '/service/a', id: String(n), data: { result: 1 } });
      heard.upstream(undefined, { channel: '/service/a', id: String(n), data: { result: 1 } });
    }
    expect(heard.rules().filter(({ kind }) => kind !== 'object')).toEqual([]);
  });

  it('say why there is no rule where each client has its answers on a channel of its own', () => {
    const heard = new Heard();
    for (const [n, client] of [{}, {}, {}].entries()) {
      heard.call(client, '/service/ruf', '1', { method: 'm' }, { result: 1 }, `/antwort/3f2a9c1b77${n}e`);
    }
    const report = heard.report();
    expect(report).toContain('answered on /antwort/{id}, and a rule can only name one channel');
    expect(toRules(report)).toEqual([]);
  });
});

describe('objects', () => {
  it('are channels of their own, as one family', () => {
    const heard = new Heard();
    for (const tag of TAGS) {
      heard.client(ann, { channel: '/meta/subscribe', id: '1', subscription: `/werk/wert/${tag}` });
      heard.upstream(ann, { channel: `/werk/wert/${tag}`, data: { value: 1 } });
    }
    const at = { channel: '/werk/wert/{name}', kind: 'object', name: '{name}' };
    expect(heard.rules()).toEqual([
      { ...at, action: 'subscribe' },
      { ...at, action: 'unsubscribe' },
      { ...at, action: 'value' },
    ]);
  });

  it('are a family also where their names are plain words, from three on', () => {
    const heard = new Heard();
    for (const tag of ['Boiler', 'Pump', 'Valve']) heard.upstream(ann, { channel: `/werk/${tag}`, data: { value: 1 } });
    heard.upstream(ann, { channel: '/news', data: { text: 'x' } });
    const report = heard.report();
    expect(toRules(report).map(({ channel, name }) => [channel, name])).toEqual([
      ...Array(3).fill(['/news', 'news']),
      ...Array(3).fill(['/werk/{name}', '{name}']),
    ]);
    expect(report).not.toContain('Pump');
  });

  it('are no services, however many of those there are', () => {
    const heard = new Heard();
    for (const word of ['Alarm', 'Status', 'Wert', 'Zeit']) {
      heard.upstream(ann, { channel: `/service/${word}`, data: { objectName: 'H.Demo' } });
    }
    expect(heard.rules().map(({ channel }) => channel)).toEqual(
      ['Alarm', 'Status', 'Wert', 'Zeit'].map((word) => `/service/${word}`),
    );
  });

  it('have areas in front of their names', () => {
    const heard = new Heard();
    for (const area of ['nord', 'sued', 'west', 'ost', 'mitte', 'hof']) {
      for (const tag of TAGS) heard.upstream(ann, { channel: `/werk/${area}/${tag}`, data: 1 });
    }
    expect(heard.rules()[0]).toEqual({
      channel: '/werk/{part1}/{name}',
      kind: 'object',
      action: 'subscribe',
      name: '{part1}.{name}',
    });
  });

  it('are subscribed and unsubscribed by messages, and carry the same field', () => {
    const heard = new Heard();
    for (const [n, tag] of TAGS.entries()) {
      heard.client(ann, { channel: '/service/werk/watch', id: `w${n}`, data: { tag, mode: 'fast' } });
      heard.upstream(ann, { channel: '/service/werk/watch', id: `w${n}`, successful: true });
      for (const value of [1, 2])
        heard.upstream(ann, { channel: '/service/werk/wert', data: { tag, value, mode: 'fast' } });
      heard.client(ann, { channel: '/service/werk/set', id: `s${n}`, data: { tag, to: 7 } });
      heard.upstream(ann, { channel: '/service/werk/wert', data: { tag, value: 7, mode: 'fast' } });
      heard.client(ann, { channel: '/service/werk/unwatch', id: `u${n}`, data: { tag } });
    }
    const report = heard.report();
    expect(toRules(report)).toEqual([
      { channel: '/service/werk/watch', when: 'publish', kind: 'object', action: 'subscribe', name: '{/tag}' },
      { channel: '/service/werk/unwatch', when: 'publish', kind: 'object', action: 'unsubscribe', name: '{/tag}' },
      { channel: '/service/werk/wert', kind: 'object', action: 'value', name: '{/tag}' },
    ]);
    expect(report).toMatch(
      /# \/service\/werk\/set: published 4\n# {3}no rule: speaks of objects that are subscribed elsewhere/,
    );
  });

  it('are unsubscribed by what comes after a subscription and is followed by no values, whatever it is called', () => {
    const heard = new Heard();
    for (const [n, objectName] of TAGS.entries()) {
      heard.client(ann, { channel: '/service/eins', id: `a${n}`, data: { objectName } });
      heard.upstream(ann, { channel: '/service/wert', data: { objectName, value: 1 } });
      heard.client(ann, { channel: '/service/zwei', id: `b${n}`, data: { objectName } });
    }
    const report = heard.report();
    expect(toRules(report).map(({ channel, action }) => [channel, action])).toEqual([
      ['/service/eins', 'subscribe'],
      ['/service/zwei', 'unsubscribe'],
      ['/service/wert', 'value'],
    ]);
    expect(report).toContain('the unsubscription is guessed from the order');
  });

  it('that are subscribed by an id in the data are no calls: their values come again and again', () => {
    const heard = new Heard();
    for (const tagId of TAGS) {
      heard.client(ann, { channel: '/service/watch', data: { tagId } });
      for (const value of [1, 2, 3]) heard.upstream(ann, { channel: '/service/wert', data: { tagId, value } });
    }
    const report = heard.report();
    expect(report).not.toContain('data of answers');
    expect(report).toContain('# /service/wert: delivered 12');
    expect(toRules(report).map(({ channel, action, name }) => [channel, action, name])).toEqual([
      ['/service/watch', 'subscribe', '{/tagId}'],
      ['/service/wert', 'value', '{/tagId}'],
    ]);
  });
});

describe('what rules read already', () => {
  it('is said, and not proposed again', () => {
    const heard = new Heard([{ channel: '/service/own', kind: 'rpc', name: '{/method}' }]);
    heard.call(ann, '/service/d2/rpc', '1', { eventName: 'E.Demo', rpcName: 'Test' }, { result: 1 });
    heard.call(ann, '/service/own', '2', { method: 'm' }, { result: 1 });
    for (const tag of TAGS) {
      heard.client(ann, { channel: '/meta/subscribe', subscription: [`/d2/object/${tag}`] });
      heard.upstream(ann, { channel: `/d2/object/${tag}`, data: { value: 1 } });
      heard.client(ann, { channel: '/service/d2/subscribeObject', data: { objectName: tag } });
      heard.upstream(ann, { channel: '/service/d2/object', data: { objectName: tag, value: 1 } });
    }
    const report = heard.report();
    expect(toRules(report)).toEqual([]);
    expect(report).toContain('published messages: 1 of 1 read by the built-in rules already');
    expect(report).toContain('published messages: 1 of 1 read by the rules of the configuration already');
    expect(report).toContain('subscriptions: 4 of 4 read by the built-in rules already');
    expect(report).toContain('deliveries: 4 of 4 read by the built-in rules already');
  });
});

describe('every proposal', () => {
  it('is a rule that can be used', () => {
    const heard = new Heard();
    const odd = [
      '/a b/c',
      '/{x}/y',
      '/x//y',
      '/ü/ö',
      '/service/[a]',
      '/plant/*',
      '/plant/**',
      '/%2e',
      '/ünter/ä.b',
      '/',
    ];
    for (const [n, channel] of odd.entries()) {
      heard.client(ann, { channel: '/meta/subscribe', subscription: channel });
      heard.upstream(ann, { channel, data: { objectName: 'x' } });
      heard.call(ann, channel, `c${n}`, { method: 'x', 'a/b': 'y', '}': 1 }, { error: null, 'b~c': 1 });
    }
    const rules = heard.rules();
    expect(rules.length).toBeGreaterThan(0);
    expect(() => checkCometRules(rules)).not.toThrow();
  });
});
