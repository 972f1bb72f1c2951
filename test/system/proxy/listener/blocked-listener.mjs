/** A process of its own that listens on the address and port of its arguments, tells its port, and takes nobody. */
import net from 'node:net';

const [host, port] = process.argv.slice(2);
const server = net.createServer();
server.listen(Number(port), host, () => {
  process.send({ port: server.address().port }, () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
});
