/** The upstream of an abuse run as a process: it answers the users of plant.ts, and 401 to all others. */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { obeyOrders } from '../channel.ts';
import { Bayeux } from './bayeux.ts';
import { acceptCometSocket } from './comet-socket.ts';
import { createSite } from './site.ts';

const bayeux = new Bayeux();
const server = http.createServer({ maxHeaderSize: 128 * 1024, keepAliveTimeout: 60_000 }, createSite(bayeux));
server.on('upgrade', (request, socket) => acceptCometSocket(request, socket, bayeux));
server.on('clientError', (_, socket) => socket.destroy());
server.listen({ port: 0, host: '127.0.0.1', backlog: 4_096 });
await once(server, 'listening');

obeyOrders({ port: () => (server.address() as AddressInfo).port });
