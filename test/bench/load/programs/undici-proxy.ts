/** A proxy as one would write it today without a library: `http.Server` in front of undici's `dispatch`, fields passed raw. */
import http from 'node:http';
import { type Dispatcher, Pool } from 'undici';
import { HOST, HTTP_OPTIONS, listen, UPSTREAM_PORT } from './arguments.ts';

/** Hop-by-hop fields (RFC 9110 section 7.6.1), which are not passed on. */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'te', 'trailer', 'upgrade']);
const upstream = new Pool(`http://${HOST}:${UPSTREAM_PORT}`, { pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });

function toUpstreamFields(request: http.IncomingMessage): string[] {
  const fields: string[] = [];
  for (let at = 0; at < request.rawHeaders.length; at += 2) {
    const name = request.rawHeaders[at] as string;
    if (!HOP_BY_HOP.has(name.toLowerCase())) fields.push(name, request.rawHeaders[at + 1] as string);
  }
  fields.push('X-Forwarded-For', request.socket.remoteAddress ?? '', 'X-Forwarded-Proto', 'http');
  return fields;
}

function handlerFor(response: http.ServerResponse): Dispatcher.DispatchHandler {
  return {
    onRequestStart: (controller) => {
      response.on('close', () => {
        if (!response.writableFinished) controller.abort(new Error('the client left'));
      });
      response.on('drain', () => controller.resume());
    },
    onResponseStart: (_controller, status, headers) => {
      for (const name of HOP_BY_HOP) delete headers[name];
      response.writeHead(status, headers as http.OutgoingHttpHeaders);
    },
    onResponseData: (controller, chunk) => {
      if (!response.write(chunk)) controller.pause();
    },
    onResponseEnd: () => response.end(),
    onResponseError: () => response.destroy(),
  };
}

const server = http.createServer(HTTP_OPTIONS, (request, response) => {
  const hasBody = request.headers['content-length'] !== '0' && request.method !== 'GET';
  upstream.dispatch(
    {
      method: request.method as Dispatcher.HttpMethod,
      path: request.url ?? '/',
      headers: toUpstreamFields(request),
      body: hasBody ? request : null,
    },
    handlerFor(response),
  );
});
listen(server);
