import { METHODS } from 'node:http';
import { answering, asking, OK, oneExchange, request, requestInChunks, requestWith } from '../compose.ts';
import type { DataPathCase } from '../data-path-case.ts';

// CONNECT asks for a tunnel to elsewhere, which a reverse proxy does not offer.
const FORWARDED = METHODS.filter((method) => method !== 'CONNECT');

const WHY_UNKNOWN = 'the parser of node:http knows a closed list of methods';

function unknownMethod(name: string, method: string): DataPathCase {
  return {
    ...oneExchange(name, request(`${method} /calls/1`), OK),
    knownDifference: { gateway: WHY_UNKNOWN },
  };
}

/** RFC 9110 §9: a proxy forwards methods without knowing them, and any request may carry content. */
export const methodCases: readonly DataPathCase[] = [
  ...FORWARDED.map(
    (method): DataPathCase => ({
      name: `${method} without content, with a length, and in chunks`,
      statuses: [200, 200, 200],
      upstream: answering(),
      client: asking(
        request(`${method} /calls/1`),
        requestWith('two bodies', `${method} /calls/2`, 'Content-Type: text/plain'),
        requestInChunks('5\r\nthree\r\n3\r\n go\r\n0\r\n\r\n', `${method} /calls/3`),
      ),
      verify: ({ requests }) => {
        const bodies = requests.map(({ body }) => body).join('|');
        if (bodies !== '|two bodies|three go') throw new Error(`${method} lost its content: ${bodies}`);
      },
    }),
  ),
  unknownMethod('a method that nobody knows', 'FROBNICATE'),
  unknownMethod('a method in lower case, which is another method', 'get'),
  unknownMethod('a method of every character that a token may have', "aZ09!#$%&'*+-.^_`|~"),
  oneExchange('a POST without any content', request('POST /calls/1'), OK),
  oneExchange('OPTIONS without content gains no field', request('OPTIONS /calls/1', 'Accept: */*'), OK),
  oneExchange('PROPFIND without content gains no field', request('PROPFIND /calls/1', 'Depth: 0'), OK),
];
