/** http-proxy as in its README, with the usual additions: an agent that keeps connections, and X-Forwarded-*. */
import http from 'node:http';
import httpProxy from 'http-proxy';
import { HOST, HTTP_OPTIONS, listen, UPSTREAM_PORT } from './arguments.ts';

const agent = new http.Agent({ keepAlive: true });
const proxy = httpProxy.createProxyServer({ target: { host: HOST, port: UPSTREAM_PORT }, agent, xfwd: true });
proxy.on('error', (_error, _request, response) => response.destroy());

listen(http.createServer(HTTP_OPTIONS, (request, response) => proxy.web(request, response)));
