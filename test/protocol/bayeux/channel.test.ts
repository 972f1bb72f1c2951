import { describe, expect, it } from 'vitest';
import {
  type ChannelPattern,
  isMeta,
  isService,
  matchChannel,
  parseChannelPattern,
} from '../../../src/protocol/bayeux/channel.ts';

function pattern(text: string): ChannelPattern {
  const parsed = parseChannelPattern(text);
  if (typeof parsed === 'string') throw new Error(parsed);
  return parsed;
}

const match = (text: string, channel: string) => matchChannel(pattern(text), channel);

describe('channels', () => {
  it('of the protocol and of services are told by their first segment', () => {
    expect(['/meta/connect', '/meta/x', '/metal/x', '/a/meta/x', '/service/x'].map(isMeta)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(['/service/d2/rpc', '/services/x', '/a/service/x'].map(isService)).toEqual([true, false, false]);
  });
});

describe('a pattern', () => {
  it('without captures takes that channel only', () => {
    expect(match('/service/d2/rpc', '/service/d2/rpc')).toEqual([]);
    expect(match('/service/d2/rpc', '/service/d2/rpcJava')).toBeUndefined();
    expect(match('/service/d2/rpc', '/service/d2/rpc/')).toBeUndefined();
    expect(match('/a', '/%61')).toBeUndefined();
  });

  it('captures segments in their order', () => {
    expect(match('/d2/object/{name}', '/d2/object/H.Demo')).toEqual(['H.Demo']);
    expect(match('/{a}/x/{b}', '/1/x/2')).toEqual(['1', '2']);
    expect(match('/{a}', '/1')).toEqual(['1']);
  });

  it.each([
    '/d2/object',
    '/d2/object/',
    '/d2/object//',
    '/d2/object/a/b',
    '/d2/object/a/',
    '/d2/objects/a',
    '/d2/object//a',
    '//d2/object/a',
    'd2/object/a',
    '/D2/object/a',
    '',
  ])('captures exactly one segment, none of %s', (channel) => {
    expect(match('/d2/object/{name}', channel)).toBeUndefined();
  });

  it('compares what stands behind a capture as a whole', () => {
    expect(match('/d2/{name}/value', '/d2/a/value')).toEqual(['a']);
    for (const channel of ['/d2/a/values', '/d2/a/valu', '/d2/a', '/d2/a/value/x']) {
      expect(match('/d2/{name}/value', channel), channel).toBeUndefined();
    }
  });

  it('decodes what it captures, once, and leaves composition alone', () => {
    const captured = (segment: string) => match('/o/{name}', `/o/${segment}`)?.[0];
    expect(captured('%C4%8Cerpadlo%20%2F1')).toBe('Čerpadlo /1');
    expect(captured('%2541')).toBe('%41');
    expect(captured('100%')).toBe('100%');
    expect(captured('%FF')).toBe('%FF');
    expect(captured('Č')).toBe('Č');
    expect(captured('C\u030c')).toBe('C\u030c');
  });

  it('takes the protocol’s wild cards for texts', () => {
    expect(match('/d2/object/{name}', '/d2/object/*')).toEqual(['*']);
    expect(match('/d2/object/{name}', '/d2/object/**')).toEqual(['**']);
    expect(match('/d2/object/{name}', '/d2/**')).toBeUndefined();
    expect(match('/d2/*', '/d2/*')).toEqual([]);
    expect(match('/d2/*', '/d2/a')).toBeUndefined();
  });

  it.each([
    ['', 'each segment'],
    ['d2/object', 'each segment'],
    ['/', 'each segment'],
    ['/a/', 'each segment'],
    ['/a//b', 'each segment'],
    ['/a b', 'each segment'],
    ['/a\u0000', 'each segment'],
    ['/x{a}', 'each segment'],
    ['/{a', 'each segment'],
    ['/{}', 'each segment'],
    ['/{1a}', 'each segment'],
    ['/{a}/{a}', '{a} once'],
    ['/meta/connect', 'not the protocol’s own'],
  ])('%j cannot be one', (text, expected) => {
    expect(parseChannelPattern(text)).toEqual(expect.stringContaining(expected));
  });
});
