import { beforeEach, expect, it } from 'vitest';
import { cometRuleSchema } from '../../../../src/config/rules/comet-rules.ts';
import { filledIn, Heard, toRules } from './heard.ts';

let heard: Heard;
beforeEach(() => {
  heard = new Heard();
});

const ann = {};
const ben = {};
const TAGS = ['H.Boiler', 'S.Pump1', 'D.Valve-2', 'H.Demo'];
const FILL_IN = { kind: 'FILL_IN', action: 'FILL_IN', name: '{FILL_IN}' };

it('a service that answers with the same id gets a rule for calls, with fields that may name them', () => {
  for (let n = 0; n < 4; n += 1) {
    const face = n % 2 === 0 ? { iface: 'IMain' } : {};
    const data = { event: `E.Job${n}`, count: n, ...face, call: { method: 'Run' }, list: [{ name: 'x' }] };
    heard.call(ann, '/service/werk/ruf', String(n), data, { result: n });
  }
  const report = heard.report();
  expect(toRules(report)).toEqual([{ channel: '/service/werk/ruf', kind: 'rpc', name: '{FILL_IN}' }]);
  expect(report).toContain('name: "{FILL_IN}" # what is called, such as {/event}, {/iface}, {/call/method}\n');
});

it('a service that answers with the same id gets no rule for calls when the answer has no data, another client, an unknown client or another id', () => {
  for (const [n, client] of [ben, undefined, ann].entries()) {
    const channel = '/service/a';
    heard.client(ann, { channel, id: `${n}`, data: { method: 'm' } });
    heard.upstream(ann, { channel, id: `${n}`, successful: true });
    heard.upstream(client, { channel, id: client === ann ? 'other' : `${n}`, data: { result: 1 } });
  }
  const report = heard.report();
  expect(report).not.toContain('answered by the server');
  expect(toRules(report)[0]).toEqual({ channel: '/service/a', when: 'publish', ...FILL_IN });
});

it('a channel to which clients publish gets a rule with a kind to fill in, also when messages come back to their sender', () => {
  heard.client(ann, { channel: '/service/werk/watch', id: '1', data: { tag: 'H.Demo' } });
  heard.client(ann, { channel: '/talk', id: '1', data: { text: 'hello' } });
  heard.upstream(ann, { channel: '/talk', id: '1', data: { text: 'hello' } });
  const report = heard.report();
  const channels = ['/service/werk/watch', '/talk'];
  expect(toRules(report)).toEqual(channels.map((channel) => ({ channel, when: 'publish', ...FILL_IN })));
  expect(report).toContain('such as {/tag}\n');
  expect(report).toContain('# reply: { channel: FILL_IN, id: FILL_IN }');
});

const AREAS = ['nord1', 'nord2', 'nord3'].flatMap((area) => TAGS.map((tag) => `/werk/${area}/${tag}`));

it.each([
  [
    'share a template from three plain words on',
    ['/werk/Boiler', '/werk/Pump', '/werk/Valve', '/news'],
    ['/news {FILL_IN}', '/werk/{name} {name}'],
  ],
  ['may have an area before their names', AREAS, ['/werk/{name1}/{name2} {name1}.{name2}']],
])('objects with channels %s', (_, channels, rules) => {
  for (const channel of channels) heard.upstream(ann, { channel, data: { objectName: 'H.Demo' } });
  const report = heard.report();
  expect(toRules(report).map(({ channel, name }) => `${channel} ${name}`)).toEqual(rules);
  expect(report).not.toMatch(/Pump|nord/);
});

it('a channel that rules read is reported and gets no rule', () => {
  const reply = { channel: '/service/answer', id: '/data/callId' };
  heard = new Heard([{ channel: '/service/own', kind: 'rpc', name: '{/method}', reply }]);
  heard.call(ann, '/service/d2/rpc', '1', { eventName: 'E.Demo', rpcName: 'Test' }, { result: 1 });
  heard.client(ann, { channel: '/service/own', id: '2', data: { method: 'm', callId: 7 } });
  heard.upstream(ann, { channel: '/service/answer', data: { callId: 7, result: 1 } });
  for (const tag of TAGS) {
    heard.client(ann, { channel: '/meta/subscribe', subscription: [`/d2/object/${tag}`] });
    heard.upstream(ann, { channel: `/d2/object/${tag}`, data: { value: 1 } });
    heard.client(ann, { channel: '/service/d2/subscribeObject', data: { objectName: tag } });
    heard.upstream(ann, { channel: '/service/d2/object', data: { objectName: tag, value: 1 } });
  }
  const report = heard.report();
  expect(toRules(report)).toEqual([]);
  for (const line of [
    '# /service/own\n#   published by clients: 1, 1 of them read by a rule',
    '# /service/answer\n#   delivered by the server: 1, 1 of them read by a rule',
    '# /d2/object/{name}\n#   subscribed by clients: 4, 4 of them read by a rule',
  ]) {
    expect(report).toContain(line);
  }
});

const ODD_DATA =
  '{"method":"x","a/b":"y","}":1,"__proto__":{"a":1},"constructor":[{}],"":0,"~":"{x}","{x}":"#","#":null,"\\"":true,"*":[]}';
const ODD_CHANNELS = '/a b/c,/{x}/y,/x//y,/ü/ö,/service/[a],/plant/*,/**,/%2e,/ünter/ä.b,/'.split(',');

it('every rule is valid after it is filled in, and refused before', () => {
  for (const [n, channel] of [...ODD_CHANNELS, `/${'longword/'.repeat(12)}x`, '/meta/own'].entries()) {
    heard.client(ann, { channel: '/meta/subscribe', subscription: channel });
    heard.upstream(ann, { channel, data: { objectName: 'x' } });
    heard.call(ann, channel, `c${n}`, JSON.parse(ODD_DATA), { error: null, 'b~c': 1 });
  }
  const filled = toRules(filledIn(heard.report()));
  expect(filled.length).toBeGreaterThan(0);
  for (const rule of filled) expect(cometRuleSchema.parse(rule)).toMatchObject(rule);
  const open = heard.rules().filter((rule) => JSON.stringify(rule).includes('FILL_IN'));
  expect(open.length).toBeGreaterThan(0);
  for (const rule of open) {
    const wrong = cometRuleSchema.safeParse(rule).error?.issues[0]?.path[0];
    expect(['action', 'kind', 'name']).toContain(wrong);
  }
});
