import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { checkCometRules } from '../../../src/classify/comet-classifier.ts';
import { MAX_CHANNELS } from '../../../src/classify/learn/bounds.ts';
import { Heard, toRules } from './heard.ts';

const ann = {};

describe('the report', () => {
  it('tells channels, counts and shapes', () => {
    const heard = new Heard();
    heard.call(ann, '/service/werk/ruf', '1', { method: 'a', rows: [{ x: 1 }, { x: null }] }, { ok: true });
    heard.call(ann, '/service/werk/ruf', '2', { method: 'b', deep: { er: 'c' } }, { ok: false });
    heard.client(ann, { channel: '/service/werk/ruf', id: '3', data: { method: 7 } });
    heard.upstream(ann, { channel: '/service/werk/ruf', id: '3', successful: false, error: '500::x' });
    heard.client(ann, { channel: '/meta/subscribe', subscription: ['/werk/H.Demo', '/werk/*'] });
    heard.upstream(ann, { channel: '/meta/subscribe', successful: false, subscription: '/werk/H.Demo' });
    expect(heard.report()).toBe(`\
# d2-sidecar learn: 300 s, 4 messages of 1 clients, 6 of the server,
# 3 channels or families of channels that differ in {name} or {id} only.
# Shapes of data show each field with its types, in how many messages it is, and how many different values it has;
# {key} is any key that looks like data, {n} any entry of a list. No values are kept or shown.
#
# /service/werk/ruf: published 3, acknowledged without data 2, refused 1, answers with data 2
#   data that clients publish:
#     /method      number or text, in 3 of 3, 3 different
#     /rows        list, in 1 of 3
#     /rows/{n}    object, in 1 of 3
#     /rows/{n}/x  null or number, in 1 of 3, 1 different
#     /deep        object, in 1 of 3
#     /deep/er     text, in 1 of 3, 1 different
#   data of answers:
#     /ok  boolean, in 2 of 2
#
# /werk/*: subscribed 1
#   no rule: a wildcard stands for several channels, and which of them are objects is not to be seen
#
# /werk/{name} (1 of them): subscribed 1, subscriptions refused 1

# Proposals, to be looked over: guesses by what was heard. Rules that you have already stay in front of them.
comet:
  rules:
    # calls: 2 of 3 were answered with data on the same channel, found by /id
    - { channel: "/service/werk/ruf", kind: rpc, action: call, name: "ruf" }
    # objects that are channels of their own: 1 heard
    - { channel: "/werk/{name}", kind: object, action: subscribe, name: "{name}" }
    - { channel: "/werk/{name}", kind: object, action: unsubscribe, name: "{name}" }
    - { channel: "/werk/{name}", kind: object, action: value, name: "{name}" }
`);
  });

  it('is a document also when nothing was heard, and says what may be wrong', () => {
    const report = new Heard().report();
    expect(parse(report)).toEqual({ comet: { rules: [] } });
    expect(report).toContain('# Nothing was heard on any channel.');
  });

  it('tells what could not be looked at', () => {
    const heard = new Heard();
    heard.survey.onFailure();
    expect(heard.report()).toContain('# 1 messages could not be looked at, for a mistake in the sidecar.');
  });
});

describe('values', () => {
  it('are nowhere in the report, wherever they were', () => {
    const heard = new Heard();
    const user = 'markedsmith';
    const clientId = 'markedclient';
    // Distinct words that a name could be made of as well: only where they stand tells that they are data.
    const word = (n: number) => `marked${'bcdfgklmnp'[n % 10]}a${'bcdfgklmnp'[Math.trunc(n / 10) % 10]}o`;
    heard.client(undefined, {
      channel: '/meta/handshake',
      ext: { authentication: { user, credentials: 'markedpassword' } },
      id: 'markedid',
    });
    heard.upstream(undefined, { channel: '/meta/handshake', successful: true, clientId, ext: { x: 'markedext' } });
    for (let n = 0; n < 60; n += 1) {
      const data = {
        method: word(n % 3),
        objectName: `Marked.${n}`,
        text: 'marked text',
        number: 987_654,
        [`marked.${n}`]: 1,
        [`Marked${n}`]: { [word(n)]: word(n) },
        [`marked ${n}`]: [{ [`M-${n}-${n}`]: word(n) }],
        'marked@example.org': true,
        [user]: { [clientId]: 1 },
        byUser: { [word(n)]: { count: 987_654 } },
        list: [word(n), [word(n)]],
        'marked\n- key: marked': 1,
        markedfae98bce7712: 1,
      };
      const id = `markedid${n}`;
      const ext = { [word(n)]: word(n), ack: 987_654 };
      heard.client(ann, { channel: '/service/a/ruf', id, clientId, data, ext });
      heard.upstream(ann, { channel: '/service/a/ruf', id, clientId, data: { ...data, n }, ext });
      for (const channel of [
        `/werk/Marked.Object${n}`,
        `/queue/${clientId}`,
        `/user/${user}/inbox`,
        `/plant/${word(n)}`,
        `/plain/${word(n % 3)}`,
        `/reply/${'0123456789abcdef'.slice(n % 8)}markd`,
        `/odd/mark ed\n- marked: ${n}`,
        `/service/${word(n)}`,
      ]) {
        heard.client(ann, { channel: '/meta/subscribe', subscription: [channel], id });
        heard.upstream(ann, { channel: '/meta/subscribe', error: `403:${channel},marked:marked`, successful: false });
        heard.upstream(ann, { channel, data });
      }
    }
    const report = heard.report();
    expect(report.match(/.*(?:mark|987_?654).*/gi)).toBeNull();
    expect(report).toContain('/byUser/{key}/count');
    expect(toRules(report).map(({ channel }) => channel)).toEqual(
      expect.arrayContaining(['/werk/{name}', '/plain/{name}']),
    );
  });
});

describe('any traffic', () => {
  it('gives a document with rules that can be used', () => {
    let seed = 7;
    const next = (max: number): number => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
      return (seed >>> 8) % max;
    };
    const texts = [
      '__proto__',
      'constructor',
      'toString',
      '',
      '/',
      '~',
      '{x}',
      'a',
      'id',
      'tag',
      'rpcName',
      '*',
      '#',
      '"',
      'H.1',
    ];
    const text = (): string => texts[next(texts.length)] ?? '';
    const data = (depth: number): unknown => {
      const kind = next(depth > 0 ? 7 : 5);
      if (kind === 6)
        return JSON.parse(`{${[1, 2, 3].map(() => `${JSON.stringify(text())}: ${JSON.stringify(data(depth - 1))}`)}}`);
      if (kind === 5) return [data(depth - 1), data(depth - 1)];
      return [text(), next(9), null, true, false][kind];
    };
    const channel = (): string => `/${[text(), text(), text()].slice(next(3)).join('/')}`;
    let proposed = 0;
    for (let round = 0; round < 30; round += 1) {
      const heard = new Heard();
      const clients = [{}, {}, undefined];
      for (let n = 0; n < 200; n += 1) {
        const client = clients[next(3)];
        const subscription = next(3) === 0 ? channel() : undefined;
        const message = {
          channel: next(4) === 0 ? '/meta/subscribe' : channel(),
          id: next(20),
          data: data(4),
          subscription,
        };
        if (next(2) === 0) heard.client(client, message);
        else heard.upstream(client, next(4) === 0 ? { ...message, successful: next(2) === 0 } : message);
      }
      const rules = heard.rules();
      proposed += rules.length;
      expect(() => checkCometRules(rules)).not.toThrow();
      expect(rules.every(({ channel }) => !channel.startsWith('/meta/'))).toBe(true);
    }
    expect(proposed).toBeGreaterThan(100);
  });
});

describe('bounds', () => {
  it('hold against any number of channels, fields, parts and questions, and say what was passed over', () => {
    const heard = new Heard();
    const wordOf = (n: number) =>
      [...n.toString(20)].map((digit) => 'abcdefghijklmnopqrst'[Number.parseInt(digit, 20)]).join('');
    let deep: object = {};
    for (let n = 0; n < 50; n += 1) deep = { deep };
    heard.client(ann, {
      channel: '/service/deep',
      data: { deep, list: Array(30).fill(1), many: Array(19).fill(Array(19).fill(Array(19).fill(1))) },
    });
    for (let n = 0; n < 12_000; n += 1) {
      // Services below services, so that no place has too many of them.
      const channel = `/service/${wordOf(n % 90)}x/${wordOf(Math.trunc(n / 90))}x`;
      heard.client(ann, { channel, id: String(n), data: { tag: `t${n}`, [`${wordOf(n)}q`]: n, [`${wordOf(n)}w`]: n } });
    }
    heard.client(ann, { channel: `/${'a/'.repeat(20)}`, data: 1 });
    const { families, boundsHit } = heard.survey.finish();
    expect(families.length).toBeLessThanOrEqual(MAX_CHANNELS);
    expect(boundsHit.channels).toBeGreaterThan(5_000);
    expect(boundsHit.parts).toBeGreaterThan(2);
  });

  it('are told in the report', () => {
    const heard = new Heard();
    for (let n = 0; n < 25_000; n += 1) heard.client(ann, { channel: '/service/a', id: String(n), data: 1 });
    expect(heard.report()).toContain(
      '# A bound was hit: 5000 messages of clients that were forgotten before anything could answer them.',
    );
  });

  it('fold the keys of an object with too many of them', () => {
    const heard = new Heard();
    const data = Object.fromEntries(
      Array.from({ length: 41 }, (_, n) => [`k${'abcdefghij'[n % 10]}${'xyzuv'[(n / 10) | 0]}`, n]),
    );
    heard.client(ann, { channel: '/service/a', data });
    heard.client(ann, { channel: '/service/a', data: { kax: 1, next: 2 } });
    const report = heard.report();
    expect(report).toMatch(/# {5}\/\{key\} {2}number, in 2 of 2, 41 different\n/);
    expect(report).not.toMatch(/\/(?:k|next)/);
  });
});
