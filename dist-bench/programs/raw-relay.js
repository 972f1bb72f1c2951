/** The floor: bytes from socket to socket in Node, read by nobody. Back pressure both ways, nothing else. */
import net from 'node:net';
import { BACKLOG, HOST, readPorts } from './arguments.js';
const { port, upstreamPort } = readPorts();
function forward(from, to) {
    from.on('data', (chunk) => {
        if (!to.write(chunk))
            from.pause();
    });
    to.on('drain', () => from.resume());
    from.on('end', () => to.end());
    from.on('error', () => to.destroy());
    from.on('close', () => to.destroy());
}
const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const upstream = net.connect({ port: upstreamPort, host: HOST, allowHalfOpen: true, noDelay: true });
    forward(client, upstream);
    forward(upstream, client);
});
server.listen({ port, host: HOST, backlog: BACKLOG });
