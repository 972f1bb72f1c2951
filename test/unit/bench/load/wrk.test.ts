import { describe, expect, it } from 'vitest';
import { parseFigures } from '../../../bench/load/wrk.ts';

const OUTPUT = `Running 1s test @ http://127.0.0.1:40123
  1 threads and 64 connections
  3 requests in 1.04s, 139.00B read
Requests/sec:   1087.47
figures requests=1128 durationUs=1037433 bytes=139872 errors=2 p50Us=458 p99Us=38756 maxUs=48253
`;

describe("wrk's output", () => {
  it('gives the exact figures of its last line, not the rounded ones above', () => {
    expect(parseFigures(OUTPUT)).toEqual({
      requests: 1128,
      durationUs: 1037433,
      bytes: 139872,
      errors: 2,
      p50Us: 458,
      p99Us: 38756,
      maxUs: 48253,
    });
  });

  it('is refused without that line, with the text that it has instead', () => {
    expect(() => parseFigures('unable to connect to 127.0.0.1:9 Connection refused\n')).toThrow('Connection refused');
  });

  it('is refused when a figure is missing or not a number', () => {
    expect(() => parseFigures(OUTPUT.replace('p99Us=38756 ', ''))).toThrow('no p99Us');
    expect(() => parseFigures(OUTPUT.replace('p50Us=458', 'p50Us=nan'))).toThrow('no p50Us');
  });
});
