import { expect, it } from 'vitest';
import { TrailerFilter } from '../../../../src/protocol/http1/request-reader.ts';

const SECTION =
  'X-A: 1\r\nclient_cert: f\r\nCLIENT.CERT:\r\nClient-Cert-: k\r\nClient-Cer: k\r\nClient-Cert: f: g\r\nZ:\r\n\r\n';
const REST = 'X-A: 1\r\nClient-Cert-: k\r\nClient-Cer: k\r\nZ:\r\n\r\n';

it('a trailer filter removes the same lines however the section is split in three', () => {
  for (let first = 0; first <= SECTION.length; first += 1) {
    for (let second = first; second <= SECTION.length; second += 1) {
      const filter = new TrailerFilter(new Set(['client-cert']));
      const pieces = [SECTION.slice(0, first), SECTION.slice(first, second), SECTION.slice(second)];
      const passed = pieces.map((piece) => filter.filter(Buffer.from(piece, 'latin1')).toString('latin1'));
      expect(passed.join('')).toBe(REST);
    }
  }
});

it('a trailer filter holds back no more than the longest name that it removes', () => {
  const filter = new TrailerFilter(new Set(['client-cert']));
  let passed = 0;
  for (let sent = 1; sent <= 2_000; sent += 1) {
    passed += filter.filter(Buffer.from('x')).length;
    expect(sent - passed).toBeLessThanOrEqual('client-cert'.length + 1);
  }
});
