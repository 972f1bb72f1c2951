/** Common parts of all answers: their header fields, and the refusals that any request can get. */
import { NO_CACHE } from '../problem.ts';
import { SECURITY_FIELDS } from '../security-fields.ts';
import type { Answer, AnswerFields, Endpoint } from './endpoint.ts';
import type { ExampleName } from './examples.ts';

const SECURITY_DESCRIPTIONS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'The media type is not guessed.',
  'content-security-policy': 'An answer that is shown as a page shows nothing.',
  'x-frame-options': 'The same, for browsers that do not know the field above.',
  'referrer-policy': 'Addresses are not passed on.',
  'cross-origin-resource-policy': 'Pages of others cannot embed it.',
};

export const COMMON_FIELDS: AnswerFields = {
  'cache-control': { description: 'Caches ask again each time.', schema: { const: NO_CACHE } },
  ...Object.fromEntries(
    Object.entries(SECURITY_FIELDS).map(([name, value]) => [
      name,
      { description: SECURITY_DESCRIPTIONS[name] ?? '', schema: { const: value } },
    ]),
  ),
};

export const METRICS_WINDOW: AnswerFields = {
  'metrics-window': {
    description: 'Seconds that durations of timers describe.',
    schema: { type: 'number', minimum: 0 },
  },
};

/** Fields of an answer that was replaced because it was too large. */
const OF_THE_ANSWER: AnswerFields = Object.fromEntries(
  ['vary', 'metrics-window', 'age', 'metrics-source'].map((name) => [
    name,
    { description: 'As the answer would have had it.', schema: { type: 'string' }, isOptional: true },
  ]),
);

export type RefusalName = keyof typeof REFUSALS;

/** A refusal under its name in `components`. */
interface Refusal extends Answer {
  readonly status: number;
  /** The endpoints that can send it; `none`: never an answer to GET or HEAD of a path here. */
  readonly of: 'all' | 'guarded' | 'named' | 'none';
}

function refusal(
  status: number,
  of: Refusal['of'],
  description: string,
  fields: AnswerFields = {},
  example = `problem${status}` as ExampleName,
): Refusal {
  const content = { 'application/problem+json': { schema: 'Problem', examples: [example] } };
  return { status, of, description, fields, content } as Refusal;
}

/** `Retry-After` in seconds (RFC 9110 §10.2.3). */
const WAITING: AnswerFields = {
  'retry-after': { description: 'Seconds.', schema: { type: 'integer', minimum: 0 } },
};

export const REFUSALS = {
  BadRequest: refusal(400, 'all', 'The request, its host or one of its parameters cannot be read.'),
  Unauthorized: refusal(401, 'guarded', 'A credential is needed, or the one that came is not right.', {
    'www-authenticate': {
      description: 'One field for each scheme that is taken.',
      schema: { type: 'string', pattern: '^(?:Basic|Bearer) realm="d2-sidecar"' },
    },
  }),
  Forbidden: refusal(403, 'guarded', 'The role of the reader does not go so far.'),
  NotFound: refusal(404, 'named', 'There is no such application, name, session or path.'),
  MethodNotAllowed: refusal(405, 'none', 'This port only takes GET and HEAD, on every path.', {
    allow: { description: 'What it takes.', schema: { const: 'GET, HEAD' } },
  }),
  RequestTimeout: refusal(408, 'all', 'The request did not come in time (`monitor.headTimeout`).'),
  ContentTooLarge: refusal(413, 'all', 'The request has a content of more than 1 KiB, or of unknown length.'),
  Misdirected: refusal(421, 'guarded', 'The port is asked for by a name that is not in `monitor.hosts`.'),
  TooManyRequests: refusal(429, 'guarded', 'Too many wrong credentials came from that address.', WAITING),
  HeadTooLarge: refusal(431, 'all', 'The head of the request is larger than 16 KiB.'),
  Failed: refusal(500, 'all', 'The answer could not be made; the log says more.'),
  Busy: refusal(
    503,
    'guarded',
    'Too many passwords wait to be verified, or nobody can be let in.',
    WAITING,
    'problemBusy',
  ),
  AnswerTooLarge: refusal(507, 'guarded', 'The answer is larger than `monitor.maxAnswerBytes`.', OF_THE_ANSWER),
} as const satisfies Readonly<Record<string, Refusal>>;

export function refusalsOf({ access, answers, parameters = [], path }: Endpoint): readonly RefusalName[] {
  const isNamed = path.includes('{') || parameters.includes('session');
  const applies: Readonly<Record<Refusal['of'], boolean>> = {
    all: true,
    guarded: access !== 'open',
    named: isNamed,
    none: false,
  };
  const names = Object.keys(REFUSALS) as RefusalName[];
  return names.filter((name) => applies[REFUSALS[name].of] && !(REFUSALS[name].status in answers));
}
