/**
 * An upstream for slow clients: `/large` has the given number of bytes, everything else is answered once the whole request
 * has arrived. In a process of its own. Plain JavaScript, since it is forked directly; sends its port.
 */
import http from 'node:http';

const LARGE = Buffer.alloc(Number(process.argv[2]), 'x');

const server = http.createServer((request, response) => {
  request.on('error', () => undefined);
  request.resume();
  request.on('end', () => response.end(request.url === '/large' ? LARGE : 'ok'));
});
// Only the sidecar ends slow clients.
server.requestTimeout = 0;
server.keepAliveTimeout = 600_000;
server.listen(0, '127.0.0.1', 8_192, () => process.send(server.address().port));
process.on('disconnect', () => process.exit());
