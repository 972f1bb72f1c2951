import { expect, it } from 'vitest';
import { parseFigures } from '../../../bench/load/wrk.ts';

const OUTPUT = `Running 1s test @ http://127.0.0.1:40123
  3 requests in 1.04s, 139.00B read
Requests/sec:   1087.47
figures requests=1128 durationUs=1037433 bytes=139872 errors=2 p50Us=458 p99Us=38756 maxUs=48253
`;

it("wrk's exact figures are those of its last line, not the rounded ones above", () => {
  const counts = { requests: 1128, durationUs: 1037433, bytes: 139872, errors: 2 };
  expect(parseFigures(OUTPUT)).toEqual({ ...counts, p50Us: 458, p99Us: 38756, maxUs: 48253 });
});

it.each([
  [
    'without that line, with the text that it has instead',
    'unable to connect: Connection refused\n',
    'Connection refused',
  ],
  ['when a figure is missing', OUTPUT.replace('p99Us=38756 ', ''), 'no p99Us'],
  ['when a figure is not a number', OUTPUT.replace('p50Us=458', 'p50Us=nan'), 'no p50Us'],
])("wrk's output is refused %s", (_, output, message) => {
  expect(() => parseFigures(output)).toThrow(message);
});
