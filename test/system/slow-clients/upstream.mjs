/**
 * A server as slow clients like it: `/large` is as many bytes as its argument says, everything else answers when the whole request has come. In a process of its
 * own. Plain JavaScript, since it is forked as it is; sends its port.
 */
import http from 'node:http';

const LARGE = Buffer.alloc(Number(process.argv[2]), 'x');

const server = http.createServer((request, response) => {
  request.on('error', () => undefined);
  request.resume();
  request.on('end', () => response.end(request.url === '/large' ? LARGE : 'ok'));
});
// What is slow here is the sidecar's to end.
server.requestTimeout = 0;
server.keepAliveTimeout = 600_000;
server.listen(0, '127.0.0.1', 8_192, () => process.send(server.address().port));
process.on('disconnect', () => process.exit());
