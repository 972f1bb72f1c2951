import { beforeEach, expect, it } from 'vitest';
import { parse } from 'yaml';
import { MAX_CHANNELS, MAX_DEPTH } from '../../../../src/cli/learn/bounds.ts';
import { Heard, toRules } from './heard.ts';

let heard: Heard;
beforeEach(() => {
  heard = new Heard();
});

const ann = {};
/** A word of letters for each number. */
const wordOf = (n: number) =>
  [...n.toString(20)].map((digit) => 'abcdefghijklmnopqrst'[Number.parseInt(digit, 20)]).join('');

it('the report lists channels, counts and shapes', () => {
  heard.call(ann, '/service/werk/ruf', '1', { method: 'a', rows: [{ x: 1 }, { x: null }] }, { ok: true });
  heard.call(ann, '/service/werk/ruf', '2', { method: 'b', deep: { er: 'c' } }, { ok: 'no' });
  heard.client(ann, { channel: '/service/werk/ruf', id: '3', data: { method: 'c' } });
  heard.upstream(ann, { channel: '/service/werk/ruf', id: '3', successful: false, error: '500::x' });
  heard.client(ann, { channel: '/meta/subscribe', subscription: ['/werk/H.Demo', '/werk/*'] });
  heard.upstream(ann, { channel: '/meta/subscribe', successful: false, subscription: '/werk/H.Demo' });
  expect(heard.report()).toBe(`\
# d2-sidecar learn: 300 s, messages from clients: 4, from the server: 6, channels: 3.
# Variable parts: {name} is a segment of a channel, {} a key of an object, {n} an entry of a list. "always" means that
# every object at that place has the field. No values are shown.

# Channels with nothing to fill in:
#
# /werk/*
#   subscribed by clients: 1
#   A wildcard stands for several channels; write rules for those.

# Channels that no rule reads. Replace each FILL_IN, delete the rules that you do not need, run \`d2-sidecar check\`.
# docs/comet.md#rules has every key. In a name, {/pointer} is a field of the data; write [.{/pointer}] for an
# optional field. Add reply: { error: /data/... } to a call if a field of its answer reports a failure.
comet:
  rules:
    # /service/werk/ruf
    #   published by clients: 3
    #     /method      text, always, its key suggests a name
    #     /rows        list, sometimes
    #     /rows/{n}    object, always
    #     /rows/{n}/x  null or number, always
    #     /deep        object, sometimes
    #     /deep/er     text, always
    #   acknowledged by the server without data: 2
    #   refused by the server: 1
    #   answered by the server with the same id: 2
    #     /ok  boolean or text, always
    - channel: "/service/werk/ruf"
      kind: rpc # answered, so a call; or sba
      name: "{FILL_IN}" # what is called, such as {/method}

    # /werk/{name}
    #   subscribed by clients: 1
    #   subscriptions refused by the server: 1
    - { channel: "/werk/{name}", kind: object, action: subscribe, name: "{name}" }
    - { channel: "/werk/{name}", kind: object, action: unsubscribe, name: "{name}" }
`);
});

it('the report is a valid document without any message, and says what may be wrong', () => {
  heard.survey.onFailure();
  expect(parse(heard.report())).toEqual({ comet: { rules: [] } });
  expect(heard.report()).toContain('# No channel was used.');
  expect(heard.report()).toContain('# 1 messages could not be read because of a bug in the sidecar.');
});

it('values of messages never appear in the report', () => {
  const user = 'markedsmith';
  const clientId = 'markedclient';
  // These words could be names: only their places show that they are data.
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
  expect(report).toContain('/byUser/{}/count');
  const channels = toRules(report).map(({ channel }) => channel);
  expect(channels).toEqual(expect.arrayContaining(['/werk/{name}', '/plain/{name}']));
});

const said = (channel: string, data: unknown = 1) => ({ channel, data });

it.each<[string, { channel: string }[], RegExp, string]>([
  [
    'a key that differs in each message',
    ['smith', 'jones', 'brown'].map((name) => said('/service/a', { method: 'm', by: { [name]: { since: 1 } } })),
    /smith|jones|brown/,
    '/by/{}/since',
  ],
  ['channels with a number', [1, 2].map((n) => said(`/service/tank${n}/level`)), /tank/, '# /service/{name}/level\n'],
  [
    'the user of a later handshake',
    [
      said('/user/gretel/inbox', { gretel: { level: 1 } }),
      { channel: '/meta/handshake', ext: { authentication: { user: 'gretel' } } } as { channel: string },
    ],
    /gretel/,
    '# /user/{name}/inbox\n',
  ],
])('names that later turn out to be data are not shown: %s', (_, messages, names, shown) => {
  for (const message of messages) {
    if (/^.(werk)/.test(message.channel)) heard.upstream(ann, message);
    else heard.client(ann, message);
  }
  expect(heard.report()).not.toMatch(names);
  expect(heard.report()).toContain(shown);
});

it('the bounds limit channels, fields, and messages that wait for an answer, and count what was skipped', () => {
  // Services below services, so that no place has too many of them.
  for (let n = 0; n < 12_000; n += 1) {
    const channel = `/service/${wordOf(n % 90)}x/${wordOf(Math.trunc(n / 90))}x`;
    const data = Object.fromEntries([...'abcdefghijkl'].map((letter) => [`${wordOf(n)}${letter}q`, n]));
    heard.client(ann, { channel, id: String(n), data });
  }
  for (let n = 0; n < 13_000; n += 1) heard.client(ann, { channel: '/service/a', id: `a${n}`, data: 1 });
  const { channels, skipped } = heard.survey.finish();
  expect(channels.length).toBeGreaterThan(100);
  expect(channels.length).toBeLessThanOrEqual(MAX_CHANNELS);
  expect(skipped.get('channels')).toBeGreaterThan(5_000);
  expect(skipped.get('fields')).toBeGreaterThan(500);
  expect(skipped.get('pending')).toBe(5_000);
});

it('the bounds limit the depth and the parts of data, and appear in the report when they are hit', () => {
  heard.client(ann, { channel: '/service/a', data: JSON.parse(`${'{"in":'.repeat(50)}1${'}'.repeat(50)}`) });
  const report = heard.report();
  expect(report).toContain(`${'/in'.repeat(MAX_DEPTH)} `);
  expect(report).not.toContain('/in'.repeat(MAX_DEPTH + 1));
  expect(report).toContain('# A bound was hit by messages with parts that were nested too deep or came too late: 1.');
  heard.client(ann, { channel: '/service/b', data: Array(19).fill(Array(19).fill(Array(19).fill(1))) });
  expect(heard.survey.finish().skipped.get('parts')).toBe(2);
});

it('the bounds make all keys of an object variable when there are too many', () => {
  const data = Object.fromEntries(Array.from({ length: 41 }, (_, n) => [`kax${wordOf(n)}`, n]));
  heard.client(ann, { channel: '/service/a', data });
  heard.client(ann, { channel: '/service/a', data: { kaxa: 1, next: 2 } });
  const report = heard.report();
  expect(report).toMatch(/# {5}\/\{\} {2}number, always\n/);
  expect(report).not.toMatch(/\/(?:k|next)/);
});
