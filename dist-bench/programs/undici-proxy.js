/** What one would write today without a proxy library: `http.Server` before undici's `dispatch`, fields passed raw. */
import http from 'node:http';
import { Pool } from 'undici';
import { BACKLOG, HOST, IDLE_TIMEOUT_MS, readPorts } from './arguments.js';
const { port, upstreamPort } = readPorts();
/** Of one connection only (RFC 9110 section 7.6.1), so not passed on. */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding', 'te', 'trailer', 'upgrade']);
const upstream = new Pool(`http://${HOST}:${upstreamPort}`, { pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
function toUpstreamFields(request) {
    const fields = [];
    for (let at = 0; at < request.rawHeaders.length; at += 2) {
        const name = request.rawHeaders[at];
        if (!HOP_BY_HOP.has(name.toLowerCase()))
            fields.push(name, request.rawHeaders[at + 1]);
    }
    fields.push('X-Forwarded-For', request.socket.remoteAddress ?? '', 'X-Forwarded-Proto', 'http');
    return fields;
}
function handlerFor(response) {
    return {
        onRequestStart: (controller) => {
            response.on('close', () => {
                if (!response.writableFinished)
                    controller.abort(new Error('the client left'));
            });
            response.on('drain', () => controller.resume());
        },
        onResponseStart: (_controller, status, headers) => {
            for (const name of HOP_BY_HOP)
                delete headers[name];
            response.writeHead(status, headers);
        },
        onResponseData: (controller, chunk) => {
            if (!response.write(chunk))
                controller.pause();
        },
        onResponseEnd: () => response.end(),
        onResponseError: () => response.destroy(),
    };
}
const server = http.createServer((request, response) => {
    const hasBody = request.headers['content-length'] !== '0' && request.method !== 'GET';
    upstream.dispatch({
        method: request.method,
        path: request.url ?? '/',
        headers: toUpstreamFields(request),
        body: hasBody ? request : null,
    }, handlerFor(response));
});
server.keepAliveTimeout = IDLE_TIMEOUT_MS;
server.requestTimeout = 0;
server.listen({ port, host: HOST, backlog: BACKLOG });
