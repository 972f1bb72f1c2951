/** The lower bound: bytes from socket to socket in Node, unread. Back pressure both ways, nothing else. */
import net from 'node:net';
import { HOST, listen, UPSTREAM_PORT } from './arguments.ts';

function forward(from: net.Socket, to: net.Socket): void {
  from.on('data', (chunk) => {
    if (!to.write(chunk)) from.pause();
  });
  to.on('drain', () => from.resume());
  from.on('end', () => to.end());
  from.on('error', () => to.destroy());
  from.on('close', () => to.destroy());
}

const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
  const upstream = net.connect({ port: UPSTREAM_PORT, host: HOST, allowHalfOpen: true, noDelay: true });
  forward(client, upstream);
  forward(upstream, client);
});
listen(server);
