/** What proves the name of a Comet session, which belongs to its cookie in any case. */
import { beforeEach, describe, expect, it } from 'vitest';
import { CometTraffic, type Message, type Sender } from '../../../support/measure/comet/comet-traffic.ts';
import { LOGOUT, RPC } from '../../../support/measure/record/traffic.ts';
import { testSessions } from '../../../support/wire/test-config.ts';

let traffic: CometTraffic;
beforeEach(() => {
  traffic = new CometTraffic();
});

const ANNA = { user: 'anna' };

/** The two data paths of a handshake: a long poll, and a message on a WebSocket. */
const TRANSPORTS: [string, (traffic: CometTraffic, sender: Sender, ext?: Message) => void][] = [
  [
    'long-polling',
    (traffic, sender, ext) => {
      const asked = { channel: '/meta/handshake', id: '1', ...(ext && { ext: { authentication: ext } }) };
      traffic.post([asked], [{ channel: '/meta/handshake', id: '1', clientId: 'a', successful: true }], sender);
    },
  ],
  ['WebSocket', (traffic, sender, ext) => traffic.webSocket(sender).handshake('a', ext && { authentication: ext })],
];

function shownOf(traffic: CometTraffic): [string | null, false | undefined] {
  const { userName, verified } = traffic.onlySession();
  return [userName, verified];
}

for (const [transport, handshake] of TRANSPORTS) {
  describe(`${transport}: the name of a handshake`, () => {
    it.each<[string, Sender, Message | undefined, string | null, false | undefined]>([
      ['none at all', {}, undefined, null, undefined],
      ['Basic alone', { user: 'anna' }, undefined, 'anna', undefined],
      ['Basic beside a cookie', { user: 'anna', cookie: 'one' }, undefined, 'anna', false],
      ['ext.authentication alone', {}, ANNA, 'anna', undefined],
      ['ext.authentication beside a cookie', { cookie: 'one' }, ANNA, 'anna', false],
      ['both, with one name', { user: 'anna' }, ANNA, 'anna', undefined],
      ['both, with two names', { user: 'mallory' }, ANNA, 'mallory', false],
      ['ext.authentication beside a key without a name', { apiKey: 'key-2' }, ANNA, 'anna', false],
      ['a key with a name', { apiKey: 'key-1' }, undefined, 'historian', undefined],
    ])('%s', (_, sender, ext, userName, verified) => {
      const sessions = { ...testSessions, apiKeys: [{ user: 'historian', key: 'key-1' }] };
      traffic = new CometTraffic({ sessions });
      handshake(traffic, sender, ext);
      expect(shownOf(traffic)).toEqual([userName, verified]);
    });

    it('is proven by a credential that was proven before', () => {
      traffic.send({ line: RPC, user: 'anna' });
      handshake(traffic, { user: 'anna', cookie: 'one' });
      expect(traffic.users()).toEqual(['anna 1', 'anna 0']);
    });

    it('is proven by a credential that is proven afterwards, and by that one only', () => {
      handshake(traffic, { user: 'anna', password: 'wrong', cookie: 'one' });
      traffic.send({ line: RPC, user: 'anna' });
      expect(traffic.users()).toEqual(['anna 0, unverified', 'anna 1']);
      traffic.send({ line: RPC, user: 'anna', password: 'wrong' });
      expect(traffic.users()).toEqual(['anna 0', 'anna 2']);
    });

    it.each(['anna', 'mallory'])('is the name of a form login on its cookie, %s; the session stays', (user) => {
      handshake(traffic, { cookie: 'one' }, ANNA);
      const { id } = traffic.onlySession();
      traffic.login(user, { cookie: 'one' });
      expect(shownOf(traffic)).toEqual([user, undefined]);
      expect(traffic.onlySession().id).toBe(id);
    });

    it('does not take the place of a name that was proven', () => {
      traffic.login('mallory', { cookie: 'one' });
      handshake(traffic, { cookie: 'one' }, ANNA);
      expect(shownOf(traffic)).toEqual(['mallory', undefined]);
    });

    it('leaves the sessions of the user it states untouched', () => {
      traffic.send({ line: RPC, user: 'anna' });
      traffic.login('anna', { cookie: 'of-anna' });
      const before = traffic.sessions();
      handshake(traffic, { cookie: 'one', user: 'anna', password: 'wrong' }, ANNA);
      traffic.clock.advanceMs(1_000);
      traffic.subscribe('a', '/d2/object/H.Level', { cookie: 'one' });
      const fields = { cookie: 'JSESSIONID=one' };
      traffic.send({ line: LOGOUT, fields, user: 'anna', password: 'wrong' });
      expect(traffic.sessions().slice(0, 2)).toEqual(before);
      expect(traffic.sessions()).toHaveLength(3);
      traffic.send({ line: LOGOUT, fields });
      expect(traffic.sessions()).toEqual(before);
    });
  });
}

it('a client that was there before the sidecar proves nothing with what it states', () => {
  traffic.release(traffic.hold('a', { user: 'anna' }));
  expect(shownOf(traffic)).toEqual(['anna', false]);
});
