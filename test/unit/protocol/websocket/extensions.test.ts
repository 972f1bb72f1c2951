import { describe, expect, it } from 'vitest';
import { parseExtensions } from '../../../../src/protocol/websocket/extensions.ts';

const FULL = { contextTakeover: true, windowBits: 15 };

describe('what a 101 agreed on', () => {
  it('is nothing without the field, or with an empty one', () => {
    for (const values of [[], [''], [' ', ' , ']]) expect(parseExtensions(values)).toEqual({});
  });

  it('is compression with its defaults', () => {
    for (const value of ['permessage-deflate', ' Permessage-Deflate , ', 'permessage-deflate\t']) {
      expect(parseExtensions([value])).toEqual({ deflate: { client: FULL, upstream: FULL } });
    }
    expect(parseExtensions(['', 'permessage-deflate'])).toEqual({ deflate: { client: FULL, upstream: FULL } });
  });

  it('is compression for each direction separately', () => {
    expect(parseExtensions(['permessage-deflate; client_no_context_takeover; server_max_window_bits=10'])).toEqual({
      deflate: {
        client: { contextTakeover: false, windowBits: 15 },
        upstream: { contextTakeover: true, windowBits: 10 },
      },
    });
    expect(parseExtensions(['permessage-deflate;server_no_context_takeover ;client_max_window_bits = "8"'])).toEqual({
      deflate: {
        client: { contextTakeover: true, windowBits: 8 },
        upstream: { contextTakeover: false, windowBits: 15 },
      },
    });
  });

  for (const value of [
    'x-webkit-deflate-frame',
    'permessage-bzip2',
    'permessage-deflate, permessage-deflate',
    'permessage-deflate, foo',
    'permessage-deflate; foo',
    'permessage-deflate; foo=1',
    'permessage-deflate;',
    'permessage-deflate; client_max_window_bits',
    'permessage-deflate; server_max_window_bits',
    'permessage-deflate; server_max_window_bits=7',
    'permessage-deflate; server_max_window_bits=16',
    'permessage-deflate; server_max_window_bits=010',
    'permessage-deflate; server_max_window_bits=1e1',
    'permessage-deflate; server_max_window_bits=""',
    'permessage-deflate; server_max_window_bits="12',
    'permessage-deflate; server_max_window_bits=10; server_max_window_bits=10',
    'permessage-deflate; client_no_context_takeover=',
    'permessage-deflate; client_no_context_takeover=1',
    'permessage-deflate; client_no_context_takeover; client_no_context_takeover',
    '; server_no_context_takeover',
    'permessage-deflate; __proto__',
  ]) {
    it(`cannot be read: ${value}`, () => {
      expect(parseExtensions([value])).toBe('unknown');
    });
  }

  it('cannot be read when it stands in two fields', () => {
    expect(parseExtensions(['permessage-deflate', 'permessage-deflate'])).toBe('unknown');
  });
});
