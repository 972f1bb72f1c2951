/**
 * Records every answer of a monitoring server in this process: in tests, and in processes that tests start, which load
 * it by NODE_OPTIONS (setup.ts). It sits between the server and its connections, so that it records every kind of
 * client: fetch, a raw socket, a real Prometheus. Plain JavaScript without packages, since every start of a sidecar
 * loads it.
 *
 * Each answer is one record in a file of the folder D2S_ANSWERS_FOLDER: a line of JSON, then as many bytes of content
 * as that line says.
 */
import diagnostics from 'node:diagnostics_channel';
import { openSync, writevSync } from 'node:fs';

/** As long as a test's process lives; there is one for each folder. */
const files = new Map();

// A test process loads this once for each of its test files.
const IS_SUBSCRIBED = Symbol.for('d2-sidecar.records-answers');
if (globalThis[IS_SUBSCRIBED] !== true) {
  globalThis[IS_SUBSCRIBED] = true;
  diagnostics.subscribe('fastify.initialization', ({ fastify }) => watch(fastify));
}

function watch(fastify) {
  const folder = process.env.D2S_ANSWERS_FOLDER;
  if (folder === undefined) return;
  // Opened now: a test may use up all descriptors of its process.
  const file = files.get(folder) ?? openSync(`${folder}/${process.pid}`, 'a');
  files.set(folder, file);
  const routes = [];
  fastify.addHook('onRoute', ({ url }) => void routes.push(url));
  const write = (record, chunks) => {
    // Only the monitor has health.
    if (!routes.includes('/livez')) return;
    const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    const line = JSON.stringify({ ...record, bytes, applications: applicationsOf(routes) });
    writeAll(file, [Buffer.from(`${line}\n`), ...chunks, Buffer.from('\n')]);
  };
  const { server } = fastify;
  server.prependListener('request', (request, response) => watchResponse(request, response, write));
  // Answers to malformed requests are written to the socket itself.
  server.prependListener('connection', (socket) => watchSocket(socket, write));
  server.prependListener('secureConnection', (socket) => watchSocket(socket, write));
}

/** As clients write them in paths. */
function applicationsOf(routes) {
  const ends = '/api/rest/v0/admin/d2/sessions';
  const bases = routes.filter((url) => url.endsWith(ends)).map((url) => url.slice(1, -ends.length));
  return [...new Set(bases)].map((base) => base.replaceAll('::', ':'));
}

function watchResponse({ method, url }, response, write) {
  const chunks = [];
  let isRecorded = false;
  const keep = (chunk, encoding) => {
    if (method === 'HEAD') return;
    if (typeof chunk === 'string') chunks.push(Buffer.from(chunk, typeof encoding === 'string' ? encoding : 'utf8'));
    else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk));
  };
  const record = (isWhole) => {
    // Without a head there was no answer.
    if (isRecorded || !response._header) return;
    isRecorded = true;
    write({ method, target: url, head: response._header, isWhole }, chunks);
  };
  const { write: writePart, end } = response;
  response.write = function (...parts) {
    keep(...parts);
    return writePart.apply(this, parts);
  };
  response.end = function (...parts) {
    keep(...parts);
    // Recorded before the client has all of it, since the test may then end the process. Only an answer without content
    // has no head yet.
    if (response._header) record(true);
    const ended = end.apply(this, parts);
    record(true);
    return ended;
  };
  response.once('close', () => record(false));
}

function watchSocket(socket, write) {
  const { end } = socket;
  socket.end = function (...parts) {
    const ended = end.apply(this, parts);
    const [text] = parts;
    if (typeof text === 'string' && text.startsWith('HTTP/1.1 ')) {
      const headEnd = text.indexOf('\r\n\r\n') + 4;
      write({ head: text.slice(0, headEnd), isWhole: true }, [Buffer.from(text.slice(headEnd))]);
    }
    return ended;
  };
}

function writeAll(file, buffers) {
  const all = buffers.length > 512 ? [Buffer.concat(buffers)] : buffers;
  const total = all.reduce((sum, buffer) => sum + buffer.length, 0);
  const written = writevSync(file, all);
  if (written !== total) throw new Error('an answer could not be written down');
}
