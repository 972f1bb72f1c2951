/** Descriptions of the live page and its data. The data is no stable interface: it follows the page and may change. */
import { PAGE_POLICY } from '../live/page-routes.ts';
import type { Answer, AnswerFields, Endpoint } from './endpoint.ts';
import type { SchemaName } from './schemas.ts';

const FILE_FIELDS: AnswerFields = {
  'cache-control': { description: 'Kept, and asked about each time.', schema: { const: 'no-cache' } },
  vary: { description: 'The coding depends on it.', schema: { const: 'accept-encoding' } },
  etag: { description: 'Of the file in this coding.', schema: { type: 'string', pattern: '^"[^"]+"$' } },
  'content-encoding': {
    description: 'How it is compressed, if it is.',
    schema: { enum: ['br', 'gzip'] },
    isOptional: true,
  },
};

const PAGE_FIELDS: AnswerFields = {
  ...FILE_FIELDS,
  'content-security-policy': { description: 'The page loads from here only.', schema: { const: PAGE_POLICY } },
};

const NOT_BUILT: Answer = {
  description: 'The page is not in this installation.',
  content: { 'application/problem+json': { schema: 'Problem' } },
};

function file(fields: AnswerFields, mediaTypes: readonly string[]): Endpoint['answers'] {
  const { 'content-encoding': _coding, ...ofUnchanged } = fields;
  return {
    200: {
      description: 'The file.',
      content: Object.fromEntries(mediaTypes.map((type) => [type, {}])),
      fields,
    },
    304: { description: 'It is what the reader has.', content: {}, fields: ofUnchanged },
    503: NOT_BUILT,
  };
}

function live(path: string, id: string, summary: string, schema: SchemaName): Endpoint {
  return {
    ...{ path, id, summary, of: 'sidecar', tag: 'page', access: 'metrics' },
    answers: { 200: { description: 'Data of the page.', content: { 'application/json': { schema } } } },
  };
}

export const PAGE_ENDPOINTS: readonly Endpoint[] = [
  {
    ...{ path: '/', id: 'page', summary: 'The live page.', of: 'sidecar', tag: 'page', access: 'open' },
    answers: file(PAGE_FIELDS, ['text/html; charset=utf-8']),
  },
  {
    ...{ path: '/page/{file}', id: 'pageFile', summary: 'A file of the live page.', parameters: ['file'] },
    ...{ of: 'sidecar', tag: 'page', access: 'open' },
    answers: file({ ...FILE_FIELDS, 'content-security-policy': { ...anyPolicy() } }, [
      'text/html; charset=utf-8',
      'text/javascript; charset=utf-8',
      'text/css; charset=utf-8',
      'image/svg+xml',
    ]),
  },
  { ...live('/live', 'live', 'Conditions, and the last hour.', 'Live'), parameters: ['since'] },
  {
    ...live('/live/{application}/rpc', 'liveRpc', 'A row for each RPC.', 'LiveCalls'),
    parameters: ['application'],
  },
  {
    ...live('/live/{application}/sba', 'liveSba', 'A row for each SBA RPC.', 'LiveCalls'),
    parameters: ['application'],
  },
  {
    ...live('/live/{application}/objects', 'liveObjects', 'A row for each object.', 'LiveObjects'),
    parameters: ['application'],
  },
  {
    ...live('/live/{application}/sessions', 'liveSessions', 'A row for each session.', 'LiveSessions'),
    ...{ parameters: ['application'], access: 'sessions' },
  },
];

/** Describes the field without its exact value. */
function anyPolicy(): AnswerFields[string] {
  return { description: 'What it may load, if it is shown as a page.', schema: { type: 'string', minLength: 1 } };
}
