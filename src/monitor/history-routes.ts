/** `{base}/history` and the routes below it: what is on disk (archive/). */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Archive } from '../archive/archive.ts';
import type { NameChange } from '../archive/compare.ts';
import { type HistoryRows, STEPS } from '../archive/queries.ts';
import { formatIso, MS_PER_S } from '../base/clock.ts';
import { SidecarError } from '../base/errors.ts';
import { Problem } from '../base/problem.ts';
import { sanitizeText } from '../base/shown-text.ts';
import { parseDurationMs } from '../config/duration.ts';
import { NUMBERS } from './guard.ts';
import { jsonWithMember, renderList } from './json-pieces.ts';
import type { LoopShare } from './loop-share.ts';
import type { MonitoredLive } from './monitored.ts';
import { isPretty, sendPieces } from './send.ts';

const PERIOD = ['count', 'errors', 'p50', 'p95'] as const;
const NAME_COLUMNS = ['name', ...PERIOD, ...PERIOD.map((key) => `${key}Before`)];
const ISO = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?$/;

export function addHistoryRoutes(
  server: FastifyInstance,
  { base, application }: { readonly base: string; readonly application: string },
  live: MonitoredLive,
  share: LoopShare,
): void {
  const ask: Archive['ask'] = async (...question) => {
    try {
      return await live.archive().ask(...question);
    } catch (error) {
      throw error instanceof SidecarError ? new Problem(503, error.message) : error;
    }
  };
  const read = async (request: FastifyRequest) => {
    const { range, name } = parseQuery(request, live);
    const query = { ...range, minStep: parseStep(request) };
    const rows = await ask('read', application, name, query);
    if (rows === undefined) throw new Problem(404, `The history has no "${name.split(';', 1)[0]}".`);
    return { range, rows };
  };
  server.get(`${base}/history`, NUMBERS, async (request, reply) => {
    const { range, rows } = await read(request);
    const head = { from: formatTime(range.from), to: formatTime(range.to), step: rows.step, columns: rows.columns };
    const list = renderList(eachRow(rows), isPretty(request));
    return sendPieces(request, reply, jsonWithMember(head, 'rows', list), share);
  });
  server.get(`${base}/history.csv`, NUMBERS, async (request, reply) => {
    const { rows } = await read(request);
    return sendPieces(request, reply, renderCsv(rows), share, 'text/csv; charset=utf-8; header=present');
  });
  server.get(`${base}/history/names`, NUMBERS, async (request, reply) => {
    const { range } = parseQuery(request, live);
    const { than = undefined } = request.query as Readonly<Record<string, unknown>>;
    const other = than === undefined ? 2 * range.from - range.to : parseTime('than', than, range.now);
    const found = await ask('compare', application, { ...range, than: other });
    const head = { from: formatTime(found.from), to: formatTime(found.to), than: formatTime(found.than) };
    return sendPieces(request, reply, renderNames(head, found.names, isPretty(request)), share);
  });
  server.get(`${base}/history/slower`, NUMBERS, async (request, reply) => {
    const now = live.clock.epochMs() / MS_PER_S;
    const { since } = request.query as Readonly<Record<string, unknown>>;
    const { from, to, periods, names } = await ask('findSlower', application, parseTime('since', since, now), now);
    const head = { from: formatTime(from), to: formatTime(to), periods };
    return sendPieces(request, reply, renderNames(head, names, isPretty(request)), share);
  });
  server.get(`${base}/history/marks`, NUMBERS, async (request, reply) => {
    const { from, to } = parseQuery(request, live).range;
    const listed = (await ask('marks', from, to)).map(({ epochMs, endEpochMs, kind, text }) => ({
      time: formatIso(epochMs),
      until: endEpochMs === undefined ? null : formatIso(endEpochMs),
      ...{ kind, text },
    }));
    return sendPieces(request, reply, renderList(listed, isPretty(request)), share);
  });
}

/** What can be said of two periods of each name, in the columns of `NAME_COLUMNS`. */
function renderNames(head: Readonly<Record<string, number | string>>, names: readonly NameChange[], pretty: boolean) {
  const rows = names.map(({ name, now, before }) => [
    name,
    ...PERIOD.map((key) => now[key]),
    ...PERIOD.map((key) => before[key]),
  ]);
  return jsonWithMember({ ...head, columns: NAME_COLUMNS }, 'rows', renderList(rows, pretty));
}

/** Seconds since 1970. Throws 400. */
function parseQuery({ query }: FastifyRequest, { clock }: MonitoredLive) {
  const { from = '-1h', to = '-0s', name = 'rpc' } = query as Readonly<Record<string, unknown>>;
  const now = clock.epochMs() / MS_PER_S;
  const range = { from: parseTime('from', from, now), to: parseTime('to', to, now), now };
  if (range.from >= range.to) throw new Problem(400, 'The parameter "from" must be before "to".');
  if (typeof name !== 'string')
    throw new Problem(400, 'The parameter "name" must be one name such as rpc or rpc.E.Demo.Run.');
  return { range, name: sanitizeText(name) };
}

function parseStep({ query }: FastifyRequest): number {
  const { step = '60' } = query as Readonly<Record<string, unknown>>;
  const found = STEPS.find((known) => String(known.step) === step);
  if (found === undefined) throw new Problem(400, 'The parameter "step" must be 60, 600 or 3600.');
  return found.step;
}

function parseTime(key: string, written: unknown, now: number): number {
  // A plus sign in a query means a space.
  const text = typeof written === 'string' ? written.replace(' ', '+') : '';
  const agoMs = text.startsWith('-') ? parseDurationMs(text.slice(1)) : undefined;
  if (agoMs !== undefined) return Math.max(0, now - agoMs / MS_PER_S);
  const [isIso, zone] = ISO.exec(text) ?? [];
  const epochMs =
    isIso === undefined ? Number.NaN : Date.parse(text.includes('T') && zone === undefined ? `${text}Z` : text);
  // Date.parse takes 30 February for 2 March.
  if (Number.isNaN(epochMs) || new Date(text.slice(0, 10)).getUTCDate() !== Number(text.slice(8, 10)))
    throw new Problem(400, `The parameter "${key}" must be a time such as 2026-03-01T08:00:00Z or -7d.`);
  return epochMs / MS_PER_S;
}

function formatTime(seconds: number): string {
  return formatIso(seconds * MS_PER_S);
}

function* eachRow({ columns, values }: HistoryRows): Generator<(string | number | null)[]> {
  for (let at = 0; at < values.length; at += columns.length) {
    const [time = 0, ...numbers] = values.subarray(at, at + columns.length);
    yield [formatTime(time), ...numbers.map((number) => (Number.isNaN(number) ? null : number))];
  }
}

/** RFC 4180. */
function* renderCsv(rows: HistoryRows): Generator<string> {
  yield `${rows.columns.join(',')}\r\n`;
  for (const row of eachRow(rows)) yield `${row.map((value) => value ?? '').join(',')}\r\n`;
}
