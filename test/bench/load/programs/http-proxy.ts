/** http-proxy as in its README, with the usual additions: an agent that keeps connections, and X-Forwarded-*. */
import http from 'node:http';
import httpProxy from 'http-proxy';
import { BACKLOG, HOST, IDLE_TIMEOUT_MS, readPorts } from './arguments.ts';

const { port, upstreamPort } = readPorts();
const agent = new http.Agent({ keepAlive: true });
const proxy = httpProxy.createProxyServer({ target: { host: HOST, port: upstreamPort }, agent, xfwd: true });
proxy.on('error', (_error, _request, response) => response.destroy());

const server = http.createServer((request, response) => proxy.web(request, response));
server.keepAliveTimeout = IDLE_TIMEOUT_MS;
server.requestTimeout = 0;
server.listen({ port, host: HOST, backlog: BACKLOG });
