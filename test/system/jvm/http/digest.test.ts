/** Digest: the examples of RFC 7616 §3.9.1, and a server that takes it by the letter. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { HttpSource } from '../../../../src/jvm/http/http-source.ts';
import { answerChallenge, selectChallenge } from '../../../../src/jvm/http/login.ts';
import { WILDFLY } from '../../../../src/jvm/http/wildfly.ts';
import { ManualClock } from '../../../support/clock.ts';
import { credentialsOf, failureOf, soon } from '../../../support/jvm/http/sources.ts';
import { type DigestServerOptions, startDigestServer } from './digest-server.ts';

const EXAMPLE = [
  'Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=SHA-256, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"',
  'Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm=MD5, nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"',
] as const;
const MUFASA = { username: 'Mufasa', password: 'Circle of Life' };
const REQUEST = {
  method: 'GET',
  target: '/dir/index.html',
  nonceCount: 1,
  cnonce: 'f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ',
} as const;

function answerTo(fields: readonly string[], credentials = MUFASA): string {
  const challenge = selectChallenge(fields);
  if (challenge === undefined) throw new Error('no challenge');
  return answerChallenge(challenge, credentials, REQUEST);
}

it.each([
  ['SHA-256', EXAMPLE[0], '753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1'],
  ['MD5', EXAMPLE[1], '8ca523f5e9506fed4657c9700eebdbec'],
])('answerChallenge computes the response of the RFC with %s', (algorithm, field, response) => {
  const answer = answerTo([field]);
  expect(answer).toContain(`response="${response}"`);
  expect(answer).toContain(`algorithm=${algorithm}, `);
  expect(answer).toContain('nc=00000001, ');
  expect(answer).toContain('opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"');
});

it('answerChallenge encodes a non-ASCII user by RFC 8187, and quotes special characters', () => {
  expect(answerTo([EXAMPLE[1]], { username: 'žofia', password: 'x' })).toContain("username*=UTF-8''%C5%BEofia, ");
  expect(answerTo([EXAMPLE[1]], { username: 'a"b\\c', password: 'x' })).toContain('username="a\\"b\\\\c", ');
});

it.each([
  ['Basic alone', ['Basic realm="Digest nonce=\\"x\\", qop=auth"']],
  ['an algorithm that is not known', ['Digest realm="a", nonce="b", qop="auth", algorithm=MD5-sess']],
  ['integrity alone', ['Digest realm="a", nonce="b", qop="auth-int"']],
  ['a quotation without end', ['Digest realm="a, nonce=b, qop=auth']],
])('selectChallenge finds nothing usable in %s', (_, fields) => {
  expect(selectChallenge(fields)).toBeUndefined();
});

describe('a source that logs in by Digest', () => {
  const ANSWER =
    '{"outcome":"success","result":{"step-1":{"outcome":"success","result":{"total-loaded-class-count":7}}}}';
  const user = { username: 'monitor', password: 'word of "monitor"' };
  async function start(options: Partial<DigestServerOptions> = {}, password = user.password) {
    const server = await startDigestServer({ ...user, answer: ANSWER, ...options });
    onTestFinished(() => server.close());
    const clock = new ManualClock();
    const login = { url: server.origin, credentials: credentialsOf('monitor', password), clock };
    return { server, source: new HttpSource({ ...WILDFLY, further: [] }, login), clock };
  }

  it.each([
    ['MD5', ['MD5']],
    ['SHA-256', ['MD5', 'SHA-256']],
  ] as const)('logs in by %s of %j, and reuses one nonce with a growing count', async (algorithm, algorithms) => {
    const { server, source } = await start({ algorithms });
    for (let poll = 0; poll < 3; poll += 1) expect((await source.read(soon())).classes.loaded).toBe(7);
    expect(server.outcomes).toEqual(['challenged', ...[1, 2, 3].map((count) => `accepted ${algorithm} ${count}`)]);
  });

  it('continues with a new nonce, whether the challenge calls the old one stale or not', async () => {
    const { server, source } = await start({ usesOfNonce: 2 });
    for (let poll = 0; poll < 4; poll += 1) await source.read(soon());
    server.nonces.clear();
    server.state.saysStale = false;
    await source.read(soon());
    const twice = ['accepted MD5 1', 'accepted MD5 2'];
    expect(server.outcomes.slice(1)).toEqual([...twice, 'stale', ...twice, 'stale', 'accepted MD5 1']);
  });

  it('sends a wrong password once, then only after the wait', async () => {
    const { server, source, clock } = await start({}, 'mistyped');
    for (let poll = 0; poll < 11; poll += 1) {
      expect((await failureOf(source.read(soon()))).code).toBe('D2S_ERR_JVM_ACCESS');
      clock.advanceS(5);
    }
    expect(server.outcomes).toEqual(['challenged', 'refused']);
    clock.advanceS(5);
    await failureOf(source.read(soon()));
    expect(server.outcomes.filter((outcome) => outcome === 'refused')).toHaveLength(2);
  });

  it('tries a password that was changed on the server at most twice', async () => {
    const { server, source, clock } = await start();
    await source.read(soon());
    server.state.password = 'another';
    for (let poll = 0; poll < 11; poll += 1) {
      await failureOf(source.read(soon()));
      clock.advanceS(5);
    }
    expect(server.outcomes.slice(2)).toEqual(['refused', 'refused']);
  });

  it('stops after three requests if every nonce is stale', async () => {
    const { server, source } = await start({ usesOfNonce: 0 });
    expect((await failureOf(source.read(soon()))).code).toBe('D2S_ERR_JVM_ACCESS');
    expect(server.outcomes).toEqual(['challenged', 'stale', 'stale']);
  });
});
